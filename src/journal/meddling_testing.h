#pragma once

#include "journal/files.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Files that go through the hands of a test: it sees every call that changes something, in order,
// and may make it fail instead.
namespace reeve::journal {

class Meddling final : public Files {
 public:
  // `create segment-000000000001.tmp`, `fill spare.tmp 8192`, `rename spare`, `sync_directory`, ...
  // An error is what the call then fails with. From any thread.
  using Meddler = std::function<std::optional<Error>(const std::string& call)>;

  explicit Meddling(Files& files) : files_(files) {}

  Meddler meddler;

  // What was asked for since the last time.
  std::vector<std::string> take_calls() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(calls_, {});
  }

  Result<std::unique_ptr<Claim>> claim() override { return files_.claim(); }
  Result<std::unique_ptr<File>> create(const std::string& name, Access access) override {
    if (const auto error = asked("create " + name)) return fail(*error);
    return wrapped(files_.create(name, access), name);
  }
  Result<std::unique_ptr<File>> open(const std::string& name, Access access) override {
    if (const auto error = asked("open " + name)) return fail(*error);
    return wrapped(files_.open(name, access), name);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    if (const auto error = asked("rename " + from)) return fail(*error);
    return files_.rename(from, to);
  }
  Result<void> remove(const std::string& name) override {
    if (const auto error = asked("remove " + name)) return fail(*error);
    return files_.remove(name);
  }
  Result<std::vector<std::string>> list() override { return files_.list(); }
  Result<void> sync_directory() override {
    if (const auto error = asked("sync_directory")) return fail(*error);
    return files_.sync_directory();
  }
  Result<std::uint64_t> free_space() override {
    if (free) return *free;
    return files_.free_space();
  }
  std::string path_of(const std::string& name) const override { return files_.path_of(name); }

  std::optional<std::uint64_t> free;  // instead of what there is

 private:
  class Wrapped final : public File {
   public:
    Wrapped(Meddling& files, std::unique_ptr<File> file, std::string name)
        : files_(files), file_(std::move(file)), name_(std::move(name)) {}

    Result<void> write(std::uint64_t offset, std::string_view bytes) override {
      if (const auto error = files_.asked("write " + name_)) return fail(*error);
      return file_->write(offset, bytes);
    }
    Result<void> sync() override {
      if (const auto error = files_.asked("sync " + name_)) return fail(*error);
      return file_->sync();
    }
    Result<std::size_t> read(std::uint64_t offset, std::span<char> buffer) override {
      return file_->read(offset, buffer);
    }
    Result<std::uint64_t> size() override { return file_->size(); }
    Result<void> fill_with_zeroes(std::uint64_t size) override {
      if (const auto error = files_.asked("fill " + name_ + " " + std::to_string(size)))
        return fail(*error);
      return file_->fill_with_zeroes(size);
    }
    Result<bool> has_name() override { return file_->has_name(); }
    void renamed(const std::string& path) override { file_->renamed(path); }

   private:
    Meddling& files_;
    std::unique_ptr<File> file_;
    std::string name_;
  };

  std::optional<Error> asked(const std::string& call) {
    {
      const std::scoped_lock lock(mutex_);
      calls_.push_back(call);
    }
    return meddler ? meddler(call) : std::nullopt;
  }

  Result<std::unique_ptr<File>> wrapped(Result<std::unique_ptr<File>> file,
                                        const std::string& name) {
    if (!file) return file;
    return std::make_unique<Wrapped>(*this, *std::move(file), name);
  }

  Files& files_;
  std::mutex mutex_;
  std::vector<std::string> calls_;
};

}  // namespace reeve::journal
