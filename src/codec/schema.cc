#include "codec/schema.h"

#include "codec/text_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace reeve::codec {
namespace {

std::string plain_name(std::string_view name) {
  std::string plain(name);
  for (std::size_t at = 0; (at = plain.find("reeve::", at)) != std::string::npos;) {
    plain.erase(at, 7);
  }
  return plain;
}

// Collects what is told of each type by its name, and gives the words for one that has none.
class Schema {
 public:
  std::string words_for(const Shape& shape);
  std::string text() const {
    std::string all;
    for (const auto& [name, told] : types_) all += fmt::format("{} {}\n", name, told);
    return all;
  }

 private:
  std::string named(const Shape& shape, std::string told);
  std::string words_for_struct(const Shape& shape);

  std::map<std::string, std::string> types_;
  std::set<const Shape*> begun_;
};

std::string Schema::named(const Shape& shape, std::string told) {
  std::string name = plain_name(shape.name);
  types_[name] = std::move(told);
  return name;
}

std::string Schema::words_for_struct(const Shape& shape) {
  if (shape.name.empty()) {
    return fmt::format(
        "pair<{}, {}>", words_for(*shape.fields[0].shape), words_for(*shape.fields[1].shape));
  }
  if (!begun_.insert(&shape).second) return plain_name(shape.name);
  std::string fields;
  for (const Field& field : shape.fields) {
    fields +=
        fmt::format("{}\n  {} {}", fields.empty() ? "" : ",", field.name, words_for(*field.shape));
  }
  return named(shape, shape.closed ? "{" + fields + "}" : "(" + fields + ")");
}

std::string Schema::words_for(const Shape& shape) {
  switch (shape.kind) {
    case Kind::Bool:
      return "bool";
    case Kind::Unsigned:
      return shape.prefix.empty() ? fmt::format("u{}", shape.width * 8)
                                  : fmt::format("u{} \"{}\"", shape.width * 8, shape.prefix);
    case Kind::Signed:
      return fmt::format("i{}", shape.width * 8);
    case Kind::Enum: {
      std::string names;
      for (const std::string_view name : shape.enumerators) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", snake_case(name));
      }
      return named(shape, fmt::format("({})", names));
    }
    case Kind::Text:
      return "text";
    case Kind::Bytes:
      return "bytes";
    case Kind::Lapse:
      return shape.unit == 1 ? "duration" : fmt::format("duration of {} ms", shape.unit);
    case Kind::EngineTime:
      return "time";
    case Kind::WallTime:
      return "wall";
    case Kind::Struct:
      return words_for_struct(shape);
    case Kind::Optional:
      return fmt::format("optional<{}>", words_for(*shape.item));
    case Kind::Vector:
      return fmt::format("list<{}>", words_for(*shape.item));
    case Kind::Bits:
      return "list<bool>";
    case Kind::Variant: {
      if (!shape.name.empty() && !begun_.insert(&shape).second) return plain_name(shape.name);
      std::string all;
      for (const Alternative& alternative : shape.alternatives) {
        all += fmt::format("{}{} {}",
                           all.empty() ? "" : ", ",
                           snake_case(alternative.name),
                           words_for(*alternative.shape));
      }
      all = fmt::format("one of ({})", all);
      return shape.name.empty() ? all : named(shape, all);
    }
    case Kind::Map:
      return fmt::format("map<{}, {}>", words_for(*shape.key), words_for(*shape.item));
    case Kind::Set:
      return fmt::format("set<{}>", words_for(*shape.key));
  }
  return {};
}

// A type's name and what is told of it, a type a line that does not begin with a space.
std::map<std::string, std::string> types_in(std::string_view schema) {
  std::map<std::string, std::string> types;
  std::string* current = nullptr;
  while (!schema.empty()) {
    std::string_view line = schema.substr(0, schema.find('\n'));
    schema.remove_prefix(std::min(line.size() + 1, schema.size()));
    if (line.empty()) continue;
    if (line[0] != ' ') {
      const std::size_t end = line.find(' ');
      current = &types[std::string(line.substr(0, end))];
      line.remove_prefix(std::min(end + 1, line.size()));
    } else {
      line.remove_prefix(2);
      if (current && !current->ends_with('(') && !current->ends_with('{')) *current += ' ';
    }
    if (current) *current += line;
  }
  return types;
}

// Whether `now` is `before` with something added where a round bracket closes.
bool continues(std::string_view before, std::string_view now) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < before.size(); ++i, ++at) {
    const bool was_empty = i > 0 && before[i] == ')' && before[i - 1] == '(';
    if (at < now.size() && before[i] == ')' && (now[at] == ',' || (was_empty && now[at] != ')'))) {
      for (int depth = 0; at < now.size() && (depth > 0 || now[at] != ')'); ++at) {
        depth += now[at] == '(' ? 1 : now[at] == ')' ? -1 : 0;
      }
    }
    if (at >= now.size() || before[i] != now[at]) return false;
  }
  return at == now.size();
}

}  // namespace

std::string schema_of(std::span<const Shape* const> roots) {
  Schema schema;
  for (const Shape* root : roots) schema.words_for(*root);
  return schema.text();
}

std::vector<std::string> broken_promises(std::string_view before, std::string_view now) {
  std::vector<std::string> broken;
  const std::map<std::string, std::string> types = types_in(now);
  for (const auto& [name, told] : types_in(before)) {
    const auto found = types.find(name);
    if (found == types.end()) {
      broken.push_back(fmt::format("{}: gone; it was {}", name, told));
    } else if (!continues(told, found->second)) {
      broken.push_back(fmt::format("{}: {}; it was {}", name, found->second, told));
    }
  }
  return broken;
}

}  // namespace reeve::codec
