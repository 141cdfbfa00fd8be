#pragma once

#include "base/time.h"
#include "config/key.h"
#include "config/mistake.h"
#include "config/value.h"

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What is in force: what the project's file says, else the user's, else the default.
//
// A file with a mistake says nothing at all, so that nobody works with half of what was meant: the
// settings cannot be read then, and every mistake of every file is told at once.
namespace reeve::config {

enum class Origin : std::uint8_t { Default, User, Project };

// One key as one file has it.
struct Setting {
  const Key* key = nullptr;
  Value value;
  std::string text;  // as it was written
  Place place;       // of the key

  bool operator==(const Setting&) const = default;
};

struct Layer {
  Origin origin = Origin::User;
  std::string file;  // empty: there is none
  std::vector<Setting> settings = {};

  const Setting* find(std::string_view key) const;
};

// `file` as messages call it.
std::expected<Layer, Mistakes> read_layer(Origin origin, std::string file, std::string_view text);

struct InForce {
  Origin origin = Origin::Default;
  std::string file = {};
  Place place = {};
  Value value;
  std::string text;
};

class Settings {
 public:
  // All by default.
  Settings() = default;
  Settings(Layer user, Layer project) : user_(std::move(user)), project_(std::move(project)) {}

  InForce look_up(const Key& key) const;
  // All that the files say of it and the default, what counts most first.
  std::vector<InForce> all_of(const Key& key) const;

  // By a name of the table and of that kind.
  Duration duration(std::string_view key) const;
  std::uint64_t size(std::string_view key) const;
  std::int64_t integer(std::string_view key) const;
  bool truth(std::string_view key) const;
  std::string text(std::string_view key) const;
  std::vector<std::string> list(std::string_view key) const;

  const Layer& user() const { return user_; }
  const Layer& project() const { return project_; }

 private:
  template <class T>
  T get(std::string_view name) const;

  Layer user_{.origin = Origin::User, .file = ""};
  Layer project_{.origin = Origin::Project, .file = ""};
};

std::string_view name_of(Origin origin);  // default, user, project

}  // namespace reeve::config
