#pragma once

#include "sim/disk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

// A file of the simulated disk; for disk.cc alone.
namespace reeve::sim {

inline constexpr std::size_t sector_size = 512;
inline constexpr std::size_t page_size = 4096;
inline constexpr std::size_t sectors_a_page = page_size / sector_size;

struct Disk::Page {
  std::array<char, page_size> bytes{};
};

// Two versions of a file: what reads find and what the disk has. Pages are shared while they are
// equal; none is a page of zeroes.
struct Disk::Inode {
  using PagePtr = std::shared_ptr<Page>;

  std::vector<PagePtr> cached;
  std::vector<PagePtr> durable;
  std::vector<std::uint8_t> dirty;       // a bit a sector, for each page
  std::vector<std::size_t> dirty_pages;  // those with a bit
  std::uint64_t cached_size = 0;
  std::uint64_t durable_size = 0;
  bool lying = false;  // some clean page differs from the disk: a sync has failed

  static char* own(PagePtr& page) {
    if (!page) {
      page = std::make_shared<Page>();
    } else if (page.use_count() > 1) {
      page = std::make_shared<Page>(*page);
    }
    return page->bytes.data();
  }

  void grow(std::uint64_t size) {
    if (size <= cached_size) return;
    cached_size = size;
    const std::size_t pages = (size + page_size - 1) / page_size;
    if (pages <= cached.size()) return;
    cached.resize(pages);
    durable.resize(pages);
    dirty.resize(pages);
  }

  void write(std::uint64_t offset, std::string_view bytes) {
    grow(offset + bytes.size());
    while (!bytes.empty()) {
      const std::size_t page = offset / page_size;
      const std::size_t within = offset % page_size;
      const std::size_t size = std::min(bytes.size(), page_size - within);
      std::memcpy(own(cached[page]) + within, bytes.data(), size);
      if (dirty[page] == 0) dirty_pages.push_back(page);
      for (std::size_t s = within / sector_size; s <= (within + size - 1) / sector_size; ++s) {
        dirty[page] = static_cast<std::uint8_t>(dirty[page] | (1U << s));
      }
      offset += size;
      bytes.remove_prefix(size);
    }
  }

  // Brings dirty sectors to the disk: those of which `chosen` says so.
  template <class Chosen>
  void settle(Chosen chosen) {
    for (const std::size_t page : dirty_pages) {
      for (std::size_t s = 0; s < sectors_a_page; ++s) {
        if ((dirty[page] & (1U << s)) == 0 || !chosen()) continue;
        std::memcpy(own(durable[page]) + s * sector_size,
                    cached[page]->bytes.data() + s * sector_size,
                    sector_size);
      }
      dirty[page] = 0;
    }
  }

  void sync() {
    if (lying) {
      settle([] { return true; });
    } else {
      for (const std::size_t page : dirty_pages) {
        durable[page] = cached[page];
        dirty[page] = 0;
      }
    }
    dirty_pages.clear();
    durable_size = cached_size;
  }

  template <class Coin>
  void fail_to_sync(Coin coin) {
    settle(coin);
    dirty_pages.clear();
    if (coin()) durable_size = cached_size;
    lying = true;
  }

  template <class Coin>
  void lose_power(Coin coin) {
    settle(coin);
    if (lying) {
      cached = durable;
    } else {
      for (const std::size_t page : dirty_pages) cached[page] = durable[page];
    }
    dirty_pages.clear();
    lying = false;
    if (coin()) durable_size = cached_size;
    cached_size = durable_size;
  }

  std::size_t read(std::uint64_t offset, std::span<char> buffer) const {
    if (offset >= cached_size) return 0;
    const std::size_t total = std::min<std::uint64_t>(buffer.size(), cached_size - offset);
    for (std::size_t done = 0; done < total;) {
      const std::size_t page = (offset + done) / page_size;
      const std::size_t within = (offset + done) % page_size;
      const std::size_t size = std::min(total - done, page_size - within);
      if (cached[page]) {
        std::memcpy(buffer.data() + done, cached[page]->bytes.data() + within, size);
      } else {
        std::memset(buffer.data() + done, 0, size);
      }
      done += size;
    }
    return total;
  }
};

}  // namespace reeve::sim
