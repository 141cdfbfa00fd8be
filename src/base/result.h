#pragma once

#include <expected>
#include <string>
#include <utility>

namespace reeve {

// What went wrong, for two readers: `code` for a program (it becomes the JSON-RPC
// error and the exit status), `message` for a person (it says what to do next).
struct Error {
  enum class Code { BadRequest, NotFound, Conflict, Corrupt, Io, Timeout, Full };

  Code code;
  std::string message;

  bool operator==(const Error&) const = default;
};

// A value or the reason why there is none. A function says `return value;` or
// `return fail(Error::Code::NotFound, "...");`, and passes the failure of another on with
// `if (!r) return fail(r.error());`.
template <class T>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(Error error) {
  return std::unexpected<Error>(std::move(error));
}

[[nodiscard]] inline std::unexpected<Error> fail(Error::Code code, std::string message) {
  return fail(Error{code, std::move(message)});
}

}  // namespace reeve
