#include "runbook/section.h"

#include "core/event_name.h"
#include "core/interpolate.h"
#include "runbook/shell_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace reeve::runbook {
namespace {

bool is_alias(Keys keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

std::size_t offset_of_line(std::string_view text, std::uint32_t line) {
  std::size_t at = 0;
  for (std::uint32_t i = 1; i < line && at < text.size(); ++i) {
    const std::size_t newline = text.find('\n', at);
    if (newline == std::string_view::npos) break;
    at = newline + 1;
  }
  return at;
}

}  // namespace

Section::Section(Loading& loading, const Document& document, const Value& table, std::string label)
    : loading_(loading), document_(document), table_(table), label_(std::move(label)) {}

void Section::mistake(const Where& where, std::string message) const {
  loading_.mistake(where, std::move(message));
}

// ── Keys ──

const Value* Section::find(Keys keys) {
  for (const std::string_view key : keys) {
    if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  }
  const Member* found = nullptr;
  for (const Member& member : table_.members) {
    if (!is_alias(keys, member.key)) continue;
    if (found) {
      mistake(where_of(member.place),
              fmt::format("`{}` and `{}` say the same in {}: keep one of them",
                          found->key,
                          member.key,
                          label_));
    } else {
      found = &member;
    }
  }
  return found ? &found->value : nullptr;
}

bool Section::has(std::string_view key) const { return runbook::find(table_, key) != nullptr; }

void Section::finish() const {
  for (const Member& member : table_.members) {
    if (std::ranges::find(known_, member.key) != known_.end()) continue;
    mistake(where_of(member.place),
            fmt::format("unknown key `{}` in {}{}", member.key, label_, hint(member.key, known_)));
  }
}

void Section::missing(std::string_view key, std::string_view what) const {
  mistake(where(), fmt::format("{} needs `{}`: {}", label_, key, what));
}

void Section::expected(const Value& value, std::string_view key, std::string_view what) const {
  mistake(where_of(value), fmt::format("`{}` in {}: expected {}", key, label_, what));
}

bool Section::expect(const Value& value, Value::Kind kind, std::string_view key) const {
  if (value.kind == kind) return true;
  expected(value, key, fmt::format("{}, not {}", name_of(kind), name_of(value.kind)));
  return false;
}

// ── Plain values ──

std::optional<std::string> Section::text(Keys keys) {
  const Value* value = find(keys);
  if (!value || !expect(*value, Value::Kind::Text, *keys.begin())) return std::nullopt;
  if (value->text.find('\0') != std::string::npos) {
    expected(*value, *keys.begin(), "a text without a NUL");
    return std::nullopt;
  }
  return value->text;
}

std::optional<Duration> Section::duration(Keys keys, Duration least) {
  const Value* value = find(keys);
  if (!value) return std::nullopt;
  if (value->kind != Value::Kind::Text) {
    expected(*value, *keys.begin(), "a duration such as \"30s\" or \"1h30m\"");
    return std::nullopt;
  }
  const Result<Duration> duration = parse_duration(value->text);
  if (!duration) {
    mistake(where_of(*value),
            fmt::format("`{}` in {}: {}", *keys.begin(), label_, duration.error().message));
    return std::nullopt;
  }
  if (*duration < least) {
    expected(
        *value, *keys.begin(), fmt::format("a duration of at least {}", format_duration(least)));
    return std::nullopt;
  }
  return *duration;
}

std::optional<std::uint32_t> Section::number(Keys keys, std::uint32_t least) {
  const Value* value = find(keys);
  if (!value) return std::nullopt;
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const bool fits =
      value->kind == Value::Kind::Integer && value->integer >= least && value->integer <= most;
  if (!fits) {
    expected(*value, *keys.begin(), fmt::format("a whole number of at least {}", least));
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(value->integer);
}

std::optional<bool> Section::yes_or_no(Keys keys) {
  const Value* value = find(keys);
  if (!value || !expect(*value, Value::Kind::Bool, *keys.begin())) return std::nullopt;
  return value->boolean;
}

std::vector<const Value*> Section::texts(Keys keys) {
  const Value* value = find(keys);
  if (!value) return {};
  std::vector<const Value*> result;
  if (value->kind == Value::Kind::Text) {
    result.push_back(value);
  } else if (value->kind == Value::Kind::List) {
    for (const Value& item : value->items) {
      if (expect(item, Value::Kind::Text, *keys.begin())) result.push_back(&item);
    }
  } else {
    expected(*value, *keys.begin(), "a text or a list of texts");
  }
  return result;
}

std::vector<std::pair<const Member*, std::string>> Section::map(Keys keys) {
  const Value* value = find(keys);
  if (!value || !expect(*value, Value::Kind::Table, *keys.begin())) return {};
  std::vector<std::pair<const Member*, std::string>> result;
  for (const Member& member : value->members) {
    switch (member.value.kind) {
      case Value::Kind::Text:
        result.emplace_back(&member, member.value.text);
        break;
      case Value::Kind::Integer:
        result.emplace_back(&member, std::to_string(member.value.integer));
        break;
      case Value::Kind::Bool:
        result.emplace_back(&member, member.value.boolean ? "true" : "false");
        break;
      case Value::Kind::Decimal:
      case Value::Kind::List:
      case Value::Kind::Table:
      case Value::Kind::Moment:
        expected(member.value,
                 fmt::format("{}.{}", *keys.begin(), member.key),
                 fmt::format("a text, not {}", name_of(member.value.kind)));
        break;
    }
  }
  return result;
}

std::optional<std::size_t> Section::choice(Keys keys,
                                           std::initializer_list<std::string_view> words) {
  const std::optional<std::string> word = text(keys);
  if (!word) return std::nullopt;
  const auto found = std::ranges::find(words, *word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const std::vector<std::string> valid(words.begin(), words.end());
  const std::string near = nearest(*word, valid);
  mistake(where_of(*find(keys)),
          fmt::format("`{}` in {}: expected {}, not `{}`{}",
                      *keys.begin(),
                      label_,
                      fmt::join(words, " | "),
                      *word,
                      near.empty() ? "" : "; did you mean `" + near + "`?"));
  return std::nullopt;
}

std::optional<Section> Section::section(Keys keys) {
  const Value* value = find(keys);
  if (!value || !expect(*value, Value::Kind::Table, *keys.begin())) return std::nullopt;
  Section inner(loading_, document_, *value, fmt::format("{} {}", label_, *keys.begin()));
  inner.carriers_ = carriers_;
  return inner;
}

Section Section::within(const Value& table, std::string_view key) const {
  return Section(loading_, document_, table, fmt::format("{} {}", label_, key));
}

std::vector<Section> Section::sections(std::string_view key) {
  const Value* value = find({key});
  if (!value) return {};
  std::vector<Section> result;
  const bool is_list =
      value->kind == Value::Kind::List && std::ranges::all_of(value->items, [](const Value& item) {
        return item.kind == Value::Kind::Table;
      });
  if (!is_list) {
    const std::string inner = label_.size() > 2 ? label_.substr(1, label_.size() - 2) : label_;
    expected(*value, key, fmt::format("tables written as [[{}.{}]]", inner, key));
    return {};
  }
  for (const Value& item : value->items) {
    const Value* name = runbook::find(item, "name");
    const bool named = name && name->kind == Value::Kind::Text;
    result.emplace_back(loading_,
                        document_,
                        item,
                        fmt::format("{} {}{}", label_, key, named ? " " + name->text : ""));
  }
  return result;
}

// ── Texts with placeholders ──

std::string Section::shell(Keys keys, std::vector<Asked>& asked) {
  const Value* value = find(keys);
  return value ? shell_of(*value, *keys.begin(), asked) : "";
}

std::string Section::shell_of(const Value& value, std::string_view key, std::vector<Asked>& asked) {
  if (!expect(value, Value::Kind::Text, key)) return "";
  if (value.text.find_first_not_of(" \t\r\n") == std::string::npos) {
    expected(value, key, "a shell command, not an empty text");
    return "";
  }
  if (value.text.find('\0') != std::string::npos) {
    expected(value, key, "a shell command without a NUL");
    return "";
  }
  std::vector<std::string> names;
  names.reserve(carriers_.size());
  for (const Carrier& each : carriers_) names.push_back(each.name);
  ShellText shell = shell_text(value.text, names);
  for (const Hole& hole : shell.holes) asked.push_back({hole.name, where_in(value, hole.offset)});
  for (const ShellMistake& each : shell.mistakes) {
    if (each.carrier.empty()) {
      mistake(where_in(value, each.offset),
              fmt::format("`{}` in {}: {}", key, label_, each.message));
      continue;
    }
    mistake(std::ranges::find(carriers_, each.carrier, &Carrier::name)->where,
            fmt::format("`env` in {}: {} has a placeholder in it, and in `{}` {}",
                        label_,
                        each.carrier,
                        key,
                        each.message));
  }
  if (!shell.mistakes.empty()) return "";
  if (loading_.outside->check_shell) {
    if (const auto complaint = loading_.outside->check_shell(shell.program)) {
      const std::size_t offset = offset_of_line(value.text, complaint->line);
      mistake(
          where_in(value, offset),
          fmt::format("`{}` in {}: bash cannot read this: {}", key, label_, complaint->message));
      return "";
    }
  }
  loading_.runbook.written.emplace(shell.program, value.text);
  return std::move(shell.program);
}

void Section::ask(const Value& text, std::vector<Asked>& asked) const {
  for (const std::string& name : placeholders_in(text.text)) {
    const std::string braces = "{" + name + "}";
    std::size_t at = text.text.find(braces);
    while (at != std::string::npos && at > 0 &&
           std::string_view("${#").find(text.text[at - 1]) != std::string_view::npos) {
      at = text.text.find(braces, at + 1);
    }
    asked.push_back({name, where_in(text, at == std::string::npos ? 0 : at)});
  }
}

std::string Section::filled(Keys keys, std::vector<Asked>& asked) {
  const std::optional<std::string> value = text(keys);
  if (!value) return "";
  ask(*find(keys), asked);
  return *value;
}

std::vector<std::string> Section::patterns(Keys keys, std::vector<Asked>& asked) {
  std::vector<std::string> result;
  for (const Value* value : texts(keys)) {
    std::vector<Asked> here;
    ask(*value, here);
    Variables stand_ins;
    for (const Asked& each : here) stand_ins.emplace_back(each.name, "x");
    const auto example = interpolate(value->text, stand_ins);
    const std::string* filled_in = std::get_if<std::string>(&example);
    if (!filled_in || !is_pattern(*filled_in)) {
      expected(*value,
               *keys.begin(),
               "the pattern of an event such as \"pipeline:complete\" or \"ci:*:green\"");
      continue;
    }
    asked.insert(asked.end(), here.begin(), here.end());
    result.push_back(value->text);
  }
  return result;
}

// ── References ──

std::string Section::reference(Keys keys, std::string_view kind) {
  const std::optional<std::string> name = text(keys);
  if (!name) return "";
  refer(*find(keys), kind, *name);
  return *name;
}

void Section::refer(const Value& text, std::string_view kind, const std::string& name) const {
  loading_.references.push_back({{std::string(kind), name}, where_of(text)});
}

// ── Names ──

bool is_known(std::string_view name, const std::vector<std::string>& known) {
  if (std::ranges::find(known, name) != known.end()) return true;
  const std::size_t dot = name.find('.');
  return dot != std::string_view::npos &&
         std::ranges::find(known, std::string(name.substr(0, dot)) + ".*") != known.end();
}

std::string unknown_name(const Asked& asked,
                         const std::vector<std::string>& known,
                         std::string_view where) {
  std::vector<std::string> braced;
  for (const std::string& name : known) {
    if (!name.ends_with(".*")) braced.push_back("{" + name + "}");
  }
  const std::string name = "{" + asked.name + "}";
  return fmt::format("unknown name {} in {}{}", name, where, hint(name, braced));
}

definition::OnFail on_fail_of(const std::string& text) {
  if (text == "escalate") return definition::AskSomebody{};
  if (text == "fail") return definition::Fail{};
  return definition::GoTo{text};
}

}  // namespace reeve::runbook
