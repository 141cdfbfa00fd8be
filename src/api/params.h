#pragma once

#include "api/json_reader.h"
#include "api/limits.h"
#include "base/time.h"

#include <array>
#include <cstdint>
#include <forward_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

// The fields of a request, read by name and kind. The first thing that does not fit is kept as the
// problem, and what is read after it means nothing: so a method reads all it wants, says that this
// was all, and then looks once whether there was a problem. A field that nobody asked for is one.
//
//     const std::string_view name = params.need_text("name");
//     const std::optional<Duration> wait = params.duration("wait_ms");
//     if (!params.finish()) ... params.problem()
//
// `null` is the same as absent. Views are good as long as the text that was read and this object.
namespace reeve::api {

struct Problem {
  std::string field;    // "items[3].delay_ms"
  std::string message;  // a sentence that names it

  bool is_set() const { return !message.empty(); }
};

class Params {
 public:
  explicit Params(Problem& problem, std::string path = {})
      : problem_(problem), path_(std::move(path)) {}
  Params(const Params&) = delete;
  Params& operator=(const Params&) = delete;

  // For an object inside of this one; what is wrong there is wrong here.
  Params within(std::string_view name) { return Params(problem_, path_of(name)); }

  // The fields of this object, instead of those before.
  void read(const Raw& object);

  bool has(std::string_view name);
  const Raw* raw(std::string_view name);  // null: absent

  std::optional<std::string_view> text(std::string_view name);
  std::string_view need_text(std::string_view name);
  bool flag(std::string_view name);  // absent: false
  std::optional<std::int64_t> integer(std::string_view name,
                                      std::int64_t least = 0,
                                      std::int64_t most = std::numeric_limits<std::int64_t>::max());
  std::int64_t need_integer(std::string_view name,
                            std::int64_t least = 0,
                            std::int64_t most = std::numeric_limits<std::int64_t>::max());
  std::optional<Duration> duration(std::string_view name);
  // At least a millisecond: what would be over at once is nobody's wish.
  std::optional<Duration> some_duration(std::string_view name);

  // An array: `each(raw, index)` for its elements, until there is a problem. False: absent.
  template <class Each>
  bool each(std::string_view name, std::size_t most, Each each);
  template <class Each>
  bool each_text(std::string_view name, std::size_t most, Each each);

  // Nothing else was wanted. False: there is a problem.
  bool finish();

  bool is_good() const { return !problem_.is_set(); }
  const Problem& problem() const { return problem_; }

  // Says what is wrong with a field; the first one stays.
  void refuse(std::string_view name, std::string_view what);
  void missing(std::string_view name) { refuse(name, "is missing"); }
  std::string path_of(std::string_view name) const;

 private:
  struct Field {
    std::string_view name;
    Raw value;
    bool wanted = false;
  };
  Field* find(std::string_view name);
  void expect(std::string_view name, std::string_view what, const Raw& found);
  std::string& scratch();

  Problem& problem_;
  std::string path_;
  std::array<Field, limits::object_fields> fields_;
  std::size_t count_ = 0;
  std::array<std::string_view, limits::object_fields> asked_;  // for the nearest one
  std::size_t asked_count_ = 0;
  std::forward_list<std::string> texts_;  // those with escapes
};

template <class Each>
bool Params::each(std::string_view name, std::size_t most, Each each) {
  const Raw* found = raw(name);
  if (!found) return false;
  if (found->kind != JsonKind::Array) {
    expect(name, "an array", *found);
    return true;
  }
  JsonReader reader(found->text);
  reader.enter('[');
  Raw element;
  for (std::size_t index = 0;
       is_good() && reader.next(']') && reader.value(element, limits::request_depth);
       ++index) {
    if (index == most) {
      refuse(name, "has more than " + std::to_string(most) + " elements");
      break;
    }
    each(element, index);
  }
  return true;
}

template <class Each>
bool Params::each_text(std::string_view name, std::size_t most, Each each) {
  return this->each(name, most, [&](const Raw& element, std::size_t index) {
    const std::optional<std::string_view> text = text_of(element, scratch());
    const std::string place = text ? std::string() : '[' + std::to_string(index) + ']';
    if (!text) return expect(std::string(name) + place, "a string", element);
    each(*text);
  });
}

}  // namespace reeve::api
