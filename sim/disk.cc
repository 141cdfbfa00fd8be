#include "sim/disk.h"

#include "base/check.h"
#include "sim/disk_inode.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reeve::sim {

using journal::Access;

// --- one file
// --------------------------------------------------------------------------------------

class Disk::Handle final : public journal::File {
 public:
  Handle(Disk& disk, std::string name, std::shared_ptr<Inode> inode, Access access)
      : disk_(disk),
        name_(std::move(name)),
        inode_(std::move(inode)),
        access_(access),
        generation_(disk.generation_) {}

  Result<void> write(std::uint64_t offset, std::string_view bytes) override {
    CHECK(access_ != Access::Read);
    if (access_ == Access::Commit) {
      CHECK(offset % journal::block_size == 0 && bytes.size() % journal::block_size == 0);
      CHECK(reinterpret_cast<std::uintptr_t>(bytes.data()) % journal::block_size == 0);
    }
    const Turn turn = begin("write", true);
    if (turn.fault) {
      // In the middle of it: nobody knows how much was done.
      if (turn.fault != Fault::PowerLoss) {
        const std::size_t sectors = bytes.size() / sector_size + 1;
        bytes = bytes.substr(0, std::min(bytes.size(), disk_.random() % sectors * sector_size));
      }
      if (turn.fault != Fault::Enospc) put(offset, bytes);
    }
    if (turn.error) return fail(*turn.error);
    if (!room_for(offset + bytes.size())) {
      return fail(Error::Code::Full, fmt::format("cannot write {}: no room", name_));
    }
    put(offset, bytes);
    return {};
  }

  Result<void> sync() override {
    const Turn turn = begin("sync");
    if (turn.fault == Fault::Eio || turn.fault == Fault::Enospc) {
      inode_->fail_to_sync([&] { return disk_.coin(); });
    }
    if (turn.error) return fail(*turn.error);
    inode_->sync();
    return {};
  }

  Result<std::size_t> read(std::uint64_t offset, std::span<char> buffer) override {
    if (const Turn turn = begin("read"); turn.error) return fail(*turn.error);
    return inode_->read(offset, buffer);
  }

  Result<std::uint64_t> size() override {
    if (const Turn turn = begin("size"); turn.error) return fail(*turn.error);
    return inode_->cached_size;
  }

  Result<void> fill_with_zeroes(std::uint64_t size) override {
    CHECK(inode_->cached_size == 0);
    const Turn turn = begin("fill", true);
    if (turn.fault) {
      const std::uint64_t part = disk_.random() % (size + 1);
      if (room_for(part)) grow(part);
    }
    if (turn.error) return fail(*turn.error);
    if (!room_for(size)) {
      return fail(Error::Code::Full, fmt::format("cannot fill {}: no room", name_));
    }
    grow(size);
    return {};
  }

 private:
  Turn begin(std::string_view what, bool takes_room = false) {
    Turn turn = disk_.next(what, name_, takes_room);
    if (generation_ == disk_.generation_) return turn;
    return {.fault = {}, .error = Error{Error::Code::Io, name_ + " was opened before a crash"}};
  }

  bool room_for(std::uint64_t end) const {
    return end <= inode_->cached_size ||
           disk_.used_ + (end - inode_->cached_size) <= disk_.capacity_;
  }

  void grow(std::uint64_t size) {
    if (size <= inode_->cached_size) return;
    disk_.used_ += size - inode_->cached_size;
    inode_->grow(size);
  }

  void put(std::uint64_t offset, std::string_view bytes) {
    if (bytes.empty()) return;
    grow(offset + bytes.size());
    inode_->write(offset, bytes);
  }

  Disk& disk_;
  std::string name_;
  std::shared_ptr<Inode> inode_;
  Access access_;
  std::uint64_t generation_;
};

// One of before a restart was its process's, and ended with that.
class Disk::Claimed final : public journal::Claim {
 public:
  explicit Claimed(Disk& disk) : disk_(disk) { disk_.claimed_ = this; }
  ~Claimed() override {
    if (disk_.claimed_ == this) disk_.claimed_ = nullptr;
  }

 private:
  Disk& disk_;
};

// --- the disk
// --------------------------------------------------------------------------------------

Disk::Disk(std::uint64_t seed) : seed_(seed), capacity_(std::uint64_t{1} << 40U) {}

Disk::~Disk() = default;

// SplitMix64.
std::uint64_t Disk::random() {
  std::uint64_t z = (seed_ += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

void Disk::strike(std::uint64_t nth, Fault fault) {
  CHECK(nth > 0);
  strike_at_ = operations_ + nth;
  strike_ = fault;
}

void Disk::spare_us() { strike_at_ = 0; }

Disk::Turn Disk::next(std::string_view what, const std::string& name, bool takes_room) {
  if (down_) return {.fault = {}, .error = Error{Error::Code::Io, "the machine is down"}};
  ++operations_;
  if (operations_ != strike_at_) return {};
  strike_at_ = 0;
  if (strike_ == Fault::PowerLoss || strike_ == Fault::Kill) down_ = strike_;
  const bool full = strike_ == Fault::Enospc && takes_room;
  return {.fault = strike_,
          .error = Error{full ? Error::Code::Full : Error::Code::Io,
                         fmt::format("cannot {} {}: {}",
                                     what,
                                     name,
                                     full ? "no space left on device" : "input/output error")}};
}

void Disk::apply(const Step& step, Directory& directory) {
  if (step.from) {
    const auto found = directory.find(*step.from);
    if (found != directory.end() && found->second == step.inode) directory.erase(found);
  }
  if (step.to) directory[*step.to] = step.inode;
}

void Disk::take(Step step) {
  apply(step, cached_);
  unsynced_.push_back(std::move(step));
}

void Disk::recount() {
  used_ = 0;
  for (const auto& [name, inode] : cached_) used_ += inode->cached_size;
}

void Disk::lose_power() {
  // Every inode that anybody may still find: those of the disk and those of the steps that may
  // survive.
  // In an order that does not depend on where they are in memory: a seed is the same run always.
  std::vector<Inode*> inodes;
  const auto add = [&](Inode* inode) {
    if (std::ranges::find(inodes, inode) == inodes.end()) inodes.push_back(inode);
  };
  for (const auto& [name, inode] : durable_) add(inode.get());
  for (const Step& step : unsynced_) add(step.inode.get());
  for (Inode* const inode : inodes) inode->lose_power([&] { return coin(); });

  for (const Step& step : unsynced_) {
    if (coin()) apply(step, durable_);
  }
  unsynced_.clear();
  cached_ = durable_;
}

void Disk::restart(Fault how) {
  if (down_) how = *down_;
  CHECK(how == Fault::PowerLoss || how == Fault::Kill);
  if (how == Fault::PowerLoss) lose_power();
  recount();
  down_.reset();
  strike_at_ = 0;
  claimed_ = nullptr;
  ++generation_;
}

void Disk::set_free_space(std::uint64_t bytes) { capacity_ = used_ + bytes; }

void Disk::flip(const std::string& name, std::uint64_t offset, unsigned bit) {
  Inode& inode = *cached_.at(name);
  CHECK(offset < inode.cached_size && bit < 8);
  const std::size_t page = offset / page_size;
  const bool shared = inode.cached[page] == inode.durable[page];
  char& byte = Inode::own(inode.cached[page])[offset % page_size];
  byte = static_cast<char>(byte ^ (1 << bit));
  if (shared) {
    inode.durable[page] = inode.cached[page];
  } else {
    char& below = Inode::own(inode.durable[page])[offset % page_size];
    below = static_cast<char>(below ^ (1 << bit));
  }
}

std::map<std::string, std::string> Disk::contents() const {
  std::map<std::string, std::string> contents;
  for (const auto& [name, inode] : cached_) {
    std::string bytes(inode->cached_size, '\0');
    inode->read(0, bytes);
    contents.emplace(name, std::move(bytes));
  }
  return contents;
}

Result<std::unique_ptr<journal::Claim>> Disk::claim() {
  if (const Turn turn = next("claim", "the directory"); turn.error) return fail(*turn.error);
  if (claimed_) return fail(Error::Code::Conflict, "another process writes here");
  return std::make_unique<Claimed>(*this);
}

Result<std::unique_ptr<journal::File>> Disk::create(const std::string& name, Access access) {
  CHECK(access != Access::Read);
  const Turn turn = next("create", name, true);
  const bool halfway = turn.fault == Fault::Kill || turn.fault == Fault::PowerLoss;
  if (turn.error && !(halfway && coin())) return fail(*turn.error);
  auto inode = std::make_shared<Inode>();
  take({.from = {}, .to = name, .inode = inode});
  recount();
  if (turn.error) return fail(*turn.error);
  return std::make_unique<Handle>(*this, name, std::move(inode), access);
}

Result<std::unique_ptr<journal::File>> Disk::open(const std::string& name, Access access) {
  if (const Turn turn = next("open", name); turn.error) return fail(*turn.error);
  const auto found = cached_.find(name);
  if (found == cached_.end()) return fail(Error::Code::NotFound, "there is no " + name);
  return std::make_unique<Handle>(*this, name, found->second, access);
}

Result<void> Disk::rename(const std::string& from, const std::string& to) {
  const Turn turn = next("rename", from, true);
  const bool halfway = turn.fault == Fault::Kill || turn.fault == Fault::PowerLoss;
  if (turn.error && !(halfway && coin())) return fail(*turn.error);
  const auto found = cached_.find(from);
  if (found == cached_.end()) return fail(Error::Code::NotFound, "there is no " + from);
  take({.from = from, .to = to, .inode = found->second});
  recount();
  if (turn.error) return fail(*turn.error);
  return {};
}

Result<void> Disk::remove(const std::string& name) {
  const Turn turn = next("remove", name);
  const bool halfway = turn.fault == Fault::Kill || turn.fault == Fault::PowerLoss;
  if (turn.error && !(halfway && coin())) return fail(*turn.error);
  const auto found = cached_.find(name);
  if (found == cached_.end()) return fail(Error::Code::NotFound, "there is no " + name);
  take({.from = name, .to = {}, .inode = found->second});
  recount();
  if (turn.error) return fail(*turn.error);
  return {};
}

Result<std::vector<std::string>> Disk::list() {
  if (const Turn turn = next("list", "the directory"); turn.error) return fail(*turn.error);
  std::vector<std::string> names;
  names.reserve(cached_.size());
  for (const auto& [name, inode] : cached_) names.push_back(name);
  return names;
}

Result<void> Disk::sync_directory() {
  if (const Turn turn = next("sync", "the directory"); turn.error) return fail(*turn.error);
  for (const Step& step : unsynced_) apply(step, durable_);
  unsynced_.clear();
  return {};
}

Result<std::uint64_t> Disk::free_space() {
  if (const Turn turn = next("ask the room of", "the disk"); turn.error) return fail(*turn.error);
  return capacity_ > used_ ? capacity_ - used_ : 0;
}

}  // namespace reeve::sim
