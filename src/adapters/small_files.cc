#include "adapters/run_directory.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace reeve::adapters {

std::string error_text(int number) {
  const char* text = strerrordesc_np(number);
  return text ? text : "error " + std::to_string(number);
}

Error::Code code_of(int number) {
  switch (number) {
    case ENOENT:
      return Error::Code::NotFound;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Error::Code::Timeout;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Error::Code::Full;
    default:
      return Error::Code::Io;
  }
}

Result<std::string> try_read_whole(const std::string& path, std::size_t most) {
  const auto complain = [&](int number) {
    return fail(code_of(number), "cannot read " + path + ": " + error_text(number));
  };
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return complain(errno);
  struct stat about{};
  if (fstat(file.get(), &about) != 0) return complain(errno);
  if (!S_ISREG(about.st_mode)) return fail(Error::Code::Io, path + " is no file");
  std::string text;
  text.resize(std::min(static_cast<std::size_t>(about.st_size), most));
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t size = read(file.get(), text.data() + at, text.size() - at);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return complain(errno);
    if (size == 0) break;
    at += static_cast<std::size_t>(size);
  }
  text.resize(at);
  return text;
}

std::optional<std::string> read_whole(const std::string& path, std::size_t most) {
  Result<std::string> text = try_read_whole(path, most);
  return text ? std::optional(*std::move(text)) : std::nullopt;
}

Result<void> write_whole(const std::string& path, std::string_view text, bool synced) {
  const Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  const auto complain = [&](int number) {
    return fail(code_of(number), "cannot write " + path + ": " + error_text(number));
  };
  if (!file) return complain(errno);
  while (!text.empty()) {
    const ssize_t size = write(file.get(), text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return complain(errno);
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  if (synced && fsync(file.get()) != 0) return complain(errno);
  return {};
}

Result<void> make_folders(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  const std::size_t slash = path.rfind('/');
  if (errno == ENOENT && slash != std::string::npos && slash > 0) {
    if (auto made = make_folders(path.substr(0, slash)); !made) return made;
    if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  }
  return fail(Error::Code::Io, "cannot make the folder " + path + ": " + error_text(errno));
}

bool sync_folder(const std::string& path) {
  const Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // EINVAL: this file system syncs no folders.
  return folder && (fsync(folder.get()) == 0 || errno == EINVAL);
}

// Of text in UTF-8: how long the letter at its beginning is; 0: it is none.
namespace {

std::size_t letter_at(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  if (first == 0) return 0;
  if (first < 0x80) return 1;
  std::size_t size = 0;
  std::uint32_t code = 0;
  if (first >= 0xC2 && first <= 0xDF) {
    size = 2;
    code = first & 0x1FU;
  } else if ((first & 0xF0U) == 0xE0) {
    size = 3;
    code = first & 0x0FU;
  } else if (first >= 0xF0 && first <= 0xF4) {
    size = 4;
    code = first & 0x07U;
  }
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t at = 1; at < size; ++at) {
    if ((byte(at) & 0xC0U) != 0x80) return 0;
    code = code << 6U | (byte(at) & 0x3FU);
  }
  const bool shorter = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return shorter || surrogate || code > 0x10FFFF ? 0 : size;
}

}  // namespace

std::string clean_text(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t size = letter_at(bytes);
    if (size == 0) {
      text += "\xEF\xBF\xBD";
      bytes.remove_prefix(1);
    } else {
      text += bytes.substr(0, size);
      bytes.remove_prefix(size);
    }
  }
  return text;
}

std::string_view last_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  text.remove_prefix(text.size() - most);
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0U) == 0x80) {
    text.remove_prefix(1);
  }
  return text;
}

}  // namespace reeve::adapters
