#include "journal/real_files.h"

#include "base/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace reeve::journal {

namespace {

constexpr mode_t file_mode = 0600;
constexpr mode_t directory_mode = 0700;

// Zeroes are written in pieces, and each is pushed to the disk before the next, so that a commit
// that comes meanwhile waits behind little.
constexpr std::size_t fill_piece = std::size_t{1} << 20U;
constexpr std::uint64_t fill_sync_every = std::uint64_t{1} << 20U;

std::string error_text(int error) { return std::generic_category().message(error); }

std::unexpected<Error> failed(int error, std::string what) {
  Error::Code code = Error::Code::Io;
  if (error == ENOSPC || error == EDQUOT) code = Error::Code::Full;
  if (error == ENOENT) code = Error::Code::NotFound;
  return fail(code, fmt::format("{}: {}", std::move(what), error_text(error)));
}

// Why does not matter: nobody may go on as if there were only too little room.
std::unexpected<Error> sync_failed(int error, std::string_view path) {
  return fail(Error::Code::Io, fmt::format("cannot sync {}: {}", path, error_text(error)));
}

class RealFile final : public File {
 public:
  RealFile(int descriptor, std::string path, bool direct)
      : descriptor_(descriptor), path_(std::move(path)), direct_(direct) {}
  ~RealFile() override { ::close(descriptor_); }

  Result<void> write(std::uint64_t offset, std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t wrote =
          ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) {
        const int error = wrote < 0 ? errno : EIO;
        return failed(error, fmt::format("cannot write {} at offset {}", path_, offset));
      }
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
      offset += static_cast<std::uint64_t>(wrote);
    }
    return {};
  }

  // A direct file is written with O_DSYNC: write() has returned, so it is on stable storage.
  Result<void> sync() override {
    if (direct_) return {};
    if (::fdatasync(descriptor_) == 0) return {};
    return sync_failed(errno, path_);
  }

  Result<std::size_t> read(std::uint64_t offset, std::span<char> buffer) override {
    std::size_t done = 0;
    while (done < buffer.size()) {
      const ssize_t got = ::pread(descriptor_,
                                  buffer.data() + done,
                                  buffer.size() - done,
                                  static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        return failed(errno, fmt::format("cannot read {} at offset {}", path_, offset + done));
      }
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  Result<std::uint64_t> size() override {
    struct stat status{};
    if (::fstat(descriptor_, &status) == 0) return static_cast<std::uint64_t>(status.st_size);
    return failed(errno, fmt::format("cannot ask the size of {}", path_));
  }

  Result<void> fill_with_zeroes(std::uint64_t size) override {
    CHECK(!direct_);
    // Asks for all of it at once: contiguous where possible, and no room is known at the start.
    while (::fallocate(descriptor_, 0, 0, static_cast<off_t>(size)) != 0) {
      if (errno == EINTR) continue;
      if (errno == EOPNOTSUPP || errno == ENOSYS) break;
      return failed(errno, fmt::format("cannot take {} bytes for {}", size, path_));
    }
    const std::string zeroes(std::min<std::uint64_t>(size, fill_piece), '\0');
    for (std::uint64_t at = 0; at < size; at += zeroes.size()) {
      const std::uint64_t piece = std::min<std::uint64_t>(zeroes.size(), size - at);
      Result<void> written = write(at, std::string_view(zeroes).substr(0, piece));
      if (!written) return written;
      if ((at + piece) % fill_sync_every != 0) continue;
      if (Result<void> synced = sync(); !synced) return synced;
    }
    return {};
  }

  // Asks for nothing else: a file whose times somebody has asked for gets new ones with its next
  // write (Linux 6.13), and a synced write then writes the inode, too: half as slow again.
  Result<bool> has_name() override {
    struct statx status{};
    if (::statx(descriptor_, "", AT_EMPTY_PATH, STATX_NLINK, &status) == 0) {
      return status.stx_nlink > 0;
    }
    return failed(errno, fmt::format("cannot ask whether {} is there", path_));
  }

  void renamed(const std::string& path) override { path_ = path; }

 private:
  int descriptor_;
  std::string path_;
  bool direct_;
};

class RealClaim final : public Claim {
 public:
  explicit RealClaim(int directory) : directory_(directory) {}
  ~RealClaim() override { ::close(directory_); }

 private:
  int directory_;
};

}  // namespace

Result<std::unique_ptr<RealFiles>> RealFiles::open_directory(const std::string& path,
                                                             SyncMethod method) {
  const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return failed(errno, fmt::format("cannot open the directory {}", path));
  std::unique_ptr<RealFiles> files(new RealFiles(path, directory));
  files->method_ = method;
  if (method == SyncMethod::Probe) {
    const Result<bool> direct = files->direct_works();
    if (!direct) return fail(direct.error());
    files->method_ = *direct ? SyncMethod::Direct : SyncMethod::DataSync;
  }
  return files;
}

RealFiles::~RealFiles() { ::close(directory_); }

// A file system may take the flags and fail the write, so it is tried with a write.
Result<bool> RealFiles::direct_works() {
  constexpr const char* name = "probe.tmp";
  const int descriptor = ::openat(
      directory_, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_DIRECT | O_DSYNC, file_mode);
  if (descriptor < 0 && errno == EINVAL) return false;
  if (descriptor < 0) return failed(errno, fmt::format("cannot create {}", path_of(name)));
  const std::unique_ptr<void, void (*)(void*)> block(std::aligned_alloc(block_size, block_size),
                                                     std::free);
  std::fill_n(static_cast<char*>(block.get()), block_size, '\0');
  const ssize_t wrote = ::pwrite(descriptor, block.get(), block_size, 0);
  ::close(descriptor);
  ::unlinkat(directory_, name, 0);
  return wrote == static_cast<ssize_t>(block_size);
}

Result<std::unique_ptr<File>> RealFiles::open_file(const std::string& name,
                                                   Access access,
                                                   int flags) {
  const bool direct = access == Access::Commit && method_ == SyncMethod::Direct;
  flags |= O_CLOEXEC | (access == Access::Read ? O_RDONLY : O_RDWR);
  if (direct) flags |= O_DIRECT | O_DSYNC;
  const int descriptor = ::openat(directory_, name.c_str(), flags, file_mode);
  if (descriptor < 0) {
    const int error = errno;
    const std::string_view verb = (flags & O_CREAT) != 0 ? "create" : "open";
    std::unexpected<Error> failure =
        failed(error, fmt::format("cannot {} {}", verb, path_of(name)));
    // Nothing has happened to the disk.
    const bool later = error == EMFILE || error == ENFILE || error == ENOMEM;
    if (later) failure.error().code = Error::Code::Full;
    return failure;
  }
  return std::make_unique<RealFile>(descriptor, path_of(name), direct);
}

// Where the file system knows no such lock (NFS locks no directory), the home's own has to do.
Result<std::unique_ptr<Claim>> RealFiles::claim() {
  const int directory = ::openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return failed(errno, fmt::format("cannot open the directory {}", path_));
  auto claim = std::make_unique<RealClaim>(directory);
  if (::flock(directory, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return fail(Error::Code::Conflict,
                fmt::format("{} is in use: another process writes this journal", path_));
  }
  return claim;
}

Result<std::unique_ptr<File>> RealFiles::create(const std::string& name, Access access) {
  CHECK(access != Access::Read);
  return open_file(name, access, O_CREAT | O_TRUNC);
}

Result<std::unique_ptr<File>> RealFiles::open(const std::string& name, Access access) {
  return open_file(name, access, 0);
}

Result<void> RealFiles::rename(const std::string& from, const std::string& to) {
  if (::renameat(directory_, from.c_str(), directory_, to.c_str()) == 0) return {};
  return failed(errno, fmt::format("cannot rename {} to {}", path_of(from), to));
}

Result<void> RealFiles::remove(const std::string& name) {
  if (::unlinkat(directory_, name.c_str(), 0) == 0) return {};
  return failed(errno, fmt::format("cannot remove {}", path_of(name)));
}

Result<std::vector<std::string>> RealFiles::list() {
  const int descriptor = ::openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return failed(errno, fmt::format("cannot list {}", path_));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(descriptor), ::closedir);
  if (!stream) {
    ::close(descriptor);
    return failed(errno, fmt::format("cannot list {}", path_));
  }
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    // One stream a call: no other thread reads it. NOLINTNEXTLINE(concurrency-mt-unsafe)
    const dirent* const entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    struct stat status{};
    if (::fstatat(directory_, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(status.st_mode)) names.emplace_back(entry->d_name);
  }
  if (errno != 0) return failed(errno, fmt::format("cannot list {}", path_));
  std::ranges::sort(names);
  return names;
}

Result<void> RealFiles::sync_directory() {
  if (::fsync(directory_) == 0) return {};
  return sync_failed(errno, path_);
}

Result<std::uint64_t> RealFiles::free_space() {
  struct statvfs status{};
  if (::fstatvfs(directory_, &status) != 0) {
    return failed(errno, fmt::format("cannot ask how much room is left in {}", path_));
  }
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

std::string RealFiles::path_of(const std::string& name) const { return path_ + "/" + name; }

Result<void> make_directory(const std::string& path) {
  std::string parent = path.starts_with('/') ? "/" : ".";
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    const bool last = end == std::string::npos;
    const bool made = ::mkdir(part.c_str(), directory_mode) == 0;
    if (!made && errno != EEXIST) {
      return failed(errno, fmt::format("cannot make the directory {}", part));
    }
    if (made || last) {
      // Or it might be gone after a loss of power, with all that was synced in it; also one that is
      // there, since whoever made it may not have come as far as this.
      const auto above = RealFiles::open_directory(parent, SyncMethod::DataSync);
      if (!above && made) return fail(above.error());
      if (above) {
        if (Result<void> synced = (*above)->sync_directory(); !synced) return synced;
      }
    }
    if (last) return {};
    parent = part;
  }
}

JournalId random_journal_id() {
  JournalId id;
  std::size_t done = 0;
  while (done < id.bytes.size()) {
    const ssize_t got = ::getrandom(id.bytes.data() + done, id.bytes.size() - done, 0);
    CHECK(got > 0 || errno == EINTR);
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  return id;
}

}  // namespace reeve::journal
