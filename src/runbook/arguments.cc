#include "runbook/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace reeve::runbook {
namespace {

constexpr std::array<std::string_view, 13> taken_names = {"wait",
                                                          "follow",
                                                          "dry-run",
                                                          "timeout",
                                                          "json",
                                                          "project",
                                                          "home",
                                                          "color",
                                                          "time",
                                                          "version",
                                                          "help",
                                                          "here",
                                                          "quiet"};
constexpr std::string_view taken_letters = "qh";

bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// Reads the spec from left to right.
class SpecReader {
 public:
  explicit SpecReader(std::string_view spec) : spec_(spec) {}

  std::expected<Arguments, std::vector<SpecMistake>> read() {
    for (skip_blanks(); at_ < spec_.size(); skip_blanks()) {
      const std::size_t begin = at_;
      Argument argument;
      if (!element(argument)) {
        leave(begin);
      } else if (check(argument, begin)) {
        arguments_.all.push_back(std::move(argument));
      }
    }
    if (!mistakes_.empty()) return std::unexpected(std::move(mistakes_));
    return std::move(arguments_);
  }

 private:
  char here() const { return at_ < spec_.size() ? spec_[at_] : '\0'; }
  void skip_blanks() {
    while (here() == ' ' || here() == '\t' || here() == '\n') ++at_;
  }
  bool wrong(std::size_t offset, std::string message) {
    mistakes_.push_back({offset, std::move(message)});
    return false;
  }
  // Behind the element that began there, as far as one can tell: the next may be right.
  void leave(std::size_t begin) {
    const char opening = spec_[begin];
    const std::string_view end = opening == '[' ? "]" : opening == '<' ? ">" : " \t\n";
    const std::size_t found = spec_.find_first_of(end, std::max(at_, begin + 1) - 1);
    at_ = found == std::string_view::npos ? spec_.size() : std::max(found, begin) + 1;
  }
  bool expect(char letter) {
    skip_blanks();
    if (here() == letter) return ++at_, true;
    return wrong(at_, fmt::format("expected `{}` here", letter));
  }
  std::string take_name() {
    const std::size_t begin = at_;
    while (is_letter(here()) || is_digit(here()) || here() == '_' || here() == '-') ++at_;
    return std::string(spec_.substr(begin, at_ - begin));
  }

  bool element(Argument& argument) {
    if (here() == '[') {
      ++at_;
      skip_blanks();
      argument.required = false;
      if (here() == '-') {
        if (!option(argument)) return false;
      } else {
        const bool angled = here() == '<';
        if (angled) ++at_;
        if (!positional(argument) || (angled && !expect('>'))) return false;
      }
      return expect(']');
    }
    argument.required = true;
    if (here() == '<') {
      ++at_;
      return positional(argument) && expect('>');
    }
    if (here() == '-') {
      if (!option(argument)) return false;
      if (argument.kind == Argument::Kind::Flag) {
        return wrong(at_, "an option without a value cannot be required: put it in [ ]");
      }
      return true;
    }
    return wrong(at_, "expected <name>, [name], [name...] or [-o/--option <value>]");
  }

  bool positional(Argument& argument) {
    skip_blanks();
    const std::size_t begin = at_;
    argument.name = take_name();
    if (argument.name.empty()) return wrong(begin, "expected a name here");
    std::ranges::replace(argument.name, '-', '_');
    if (spec_.substr(at_).starts_with("...")) {
      at_ += 3;
      argument.kind = Argument::Kind::Rest;
    }
    return true;
  }

  bool option(Argument& argument) {
    argument.kind = Argument::Kind::Flag;
    const std::size_t begin = at_;
    if (!spec_.substr(at_).starts_with("--")) {
      ++at_;
      if (!is_letter(here())) return wrong(at_, "expected a letter after the dash");
      argument.short_name = here();
      ++at_;
      if (here() == '/') ++at_;
    }
    if (spec_.substr(at_).starts_with("--")) {
      at_ += 2;
      argument.long_name = take_name();
      if (argument.long_name.empty()) return wrong(at_, "expected a name after the dashes");
    } else if (spec_[at_ - 1] == '/') {
      return wrong(at_, "expected --name after the slash");
    }
    argument.name =
        argument.long_name.empty() ? std::string(1, argument.short_name) : argument.long_name;
    std::ranges::replace(argument.name, '-', '_');
    if (is_taken(argument)) {
      return wrong(begin,
                   fmt::format("`reeve run` has an option of this name itself: {}",
                               spec_.substr(begin, at_ - begin)));
    }
    skip_blanks();
    if (here() != '<') return true;
    ++at_;
    argument.kind = Argument::Kind::Option;
    argument.value_name = take_name();
    if (argument.value_name.empty()) return wrong(at_, "expected a name here");
    return expect('>');
  }

  static bool is_taken(const Argument& argument) {
    const bool letter = argument.short_name != '\0' &&
                        taken_letters.find(argument.short_name) != std::string_view::npos;
    return letter || std::ranges::find(taken_names, argument.long_name) != taken_names.end();
  }

  bool check(const Argument& argument, std::size_t begin) {
    if (!is_placeholder_name(argument.name)) {
      return wrong(begin,
                   fmt::format("`{}` cannot be a placeholder: a name begins with a small "
                               "letter and has letters, digits and _ after it",
                               argument.name));
    }
    const bool positional =
        argument.kind == Argument::Kind::Positional || argument.kind == Argument::Kind::Rest;
    for (const Argument& before : arguments_.all) {
      if (before.name == argument.name) {
        return wrong(begin, fmt::format("`{}` stands here twice", argument.name));
      }
      if (argument.short_name != '\0' && before.short_name == argument.short_name) {
        return wrong(begin, fmt::format("-{} stands here twice", argument.short_name));
      }
      if (positional && before.kind == Argument::Kind::Rest) {
        return wrong(begin, fmt::format("nothing can follow `{}...`", before.name));
      }
      if (positional && argument.required && before.kind == Argument::Kind::Positional &&
          !before.required) {
        return wrong(begin,
                     fmt::format("`{}` must be given, so it cannot follow `{}`, which need "
                                 "not be",
                                 argument.name,
                                 before.name));
      }
    }
    return true;
  }

  std::string_view spec_;
  std::size_t at_ = 0;
  Arguments arguments_;
  std::vector<SpecMistake> mistakes_;
};

std::string dashed(const Argument& argument) {
  std::string text;
  if (argument.short_name != '\0') text += fmt::format("-{}", argument.short_name);
  if (argument.long_name.empty()) return text;
  return text + (text.empty() ? "--" : "/--") + argument.long_name;
}

const std::string* value_in(const Values& values, std::string_view name) {
  const auto found = std::ranges::find(values, name, &Values::value_type::first);
  return found == values.end() ? nullptr : &found->second;
}

// Reads what somebody typed.
class WordReader {
 public:
  WordReader(const Arguments& arguments, std::span<const std::string_view> words)
      : arguments_(arguments), words_(words) {}

  std::expected<Values, std::string> read(const Values& defaults) {
    bool options = true;
    for (; at_ < words_.size() && complaint_.empty(); ++at_) {
      const std::string_view word = words_[at_];
      if (options && word == "--") {
        options = false;
      } else if (options && word.starts_with("--")) {
        long_option(word.substr(2));
      } else if (options && word.size() > 1 && word.front() == '-' && !is_digit(word[1])) {
        short_options(word.substr(1));
      } else {
        positional(word);
      }
    }
    if (complaint_.empty()) complete(defaults);
    if (!complaint_.empty()) return std::unexpected(complaint_);
    return std::move(values_);
  }

 private:
  void long_option(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const auto found = std::ranges::find(arguments_.all, name, &Argument::long_name);
    if (name.empty() || found == arguments_.all.end()) {
      std::vector<std::string> known;
      for (const Argument& each : arguments_.all) {
        if (!each.long_name.empty()) known.push_back("--" + each.long_name);
      }
      const std::string asked = fmt::format("--{}", name);
      complaint_ = fmt::format("unknown option {}{}", asked, hint(asked, known));
      return;
    }
    const bool inline_value = equals != std::string_view::npos;
    if (found->kind == Argument::Kind::Flag) {
      if (inline_value) {
        complaint_ = fmt::format("--{} takes no value", name);
      } else {
        give(*found, "true");
      }
    } else if (inline_value) {
      give(*found, text.substr(equals + 1));
    } else {
      give_next(*found);
    }
  }

  void short_options(std::string_view letters) {
    for (std::size_t i = 0; i < letters.size() && complaint_.empty(); ++i) {
      const auto found = std::ranges::find(arguments_.all, letters[i], &Argument::short_name);
      if (found == arguments_.all.end()) {
        complaint_ = fmt::format("unknown option -{}", letters[i]);
      } else if (found->kind == Argument::Kind::Flag) {
        give(*found, "true");
      } else if (i + 1 < letters.size()) {
        give(*found, letters.substr(i + 1));
        return;
      } else {
        give_next(*found);
      }
    }
  }

  void give_next(const Argument& argument) {
    if (at_ + 1 == words_.size()) {
      complaint_ = fmt::format("{} wants a value: <{}>", dashed(argument), argument.value_name);
      return;
    }
    give(argument, words_[++at_]);
  }

  void give(const Argument& argument, std::string_view value) {
    if (value_in(values_, argument.name)) {
      complaint_ = fmt::format("{} was given twice", dashed(argument));
      return;
    }
    values_.emplace_back(argument.name, value);
  }

  void positional(std::string_view word) {
    for (const Argument& argument : arguments_.all) {
      if (argument.kind == Argument::Kind::Rest) {
        rest_.emplace_back(word);
        return;
      }
      if (argument.kind == Argument::Kind::Positional && !value_in(values_, argument.name)) {
        values_.emplace_back(argument.name, word);
        return;
      }
    }
    complaint_ = fmt::format("unexpected argument {}", word);
  }

  void complete(const Values& defaults) {
    for (const Argument& argument : arguments_.all) {
      if (argument.kind == Argument::Kind::Rest) {
        const std::string* other = rest_.empty() ? value_in(defaults, argument.name) : nullptr;
        if (argument.required && rest_.empty()) {
          complaint_ = fmt::format("missing <{}...>", argument.name);
          return;
        }
        values_.emplace_back(argument.name, other ? *other : json_list(rest_));
      } else if (value_in(values_, argument.name)) {
        continue;
      } else if (const std::string* other = value_in(defaults, argument.name)) {
        values_.emplace_back(argument.name, *other);
      } else if (argument.required) {
        complaint_ = argument.kind == Argument::Kind::Option
                         ? fmt::format("missing {} <{}>", dashed(argument), argument.value_name)
                         : fmt::format("missing <{}>", argument.name);
        return;
      } else if (argument.kind == Argument::Kind::Flag) {
        values_.emplace_back(argument.name, "false");
      }
    }
  }

  const Arguments& arguments_;
  std::span<const std::string_view> words_;
  std::size_t at_ = 0;
  Values values_;
  std::vector<std::string> rest_;
  std::string complaint_;
};

}  // namespace

std::expected<Arguments, std::vector<SpecMistake>> parse_arguments(std::string_view spec) {
  return SpecReader(spec).read();
}

std::expected<Values, std::string> read_words(const Arguments& arguments,
                                              const Values& defaults,
                                              std::span<const std::string_view> words) {
  return WordReader(arguments, words).read(defaults);
}

std::string usage_of(const Arguments& arguments) {
  std::string usage;
  for (const Argument& argument : arguments.all) {
    if (!usage.empty()) usage += ' ';
    std::string inner;
    switch (argument.kind) {
      case Argument::Kind::Positional:
        inner = argument.name;
        break;
      case Argument::Kind::Rest:
        inner = argument.name + "...";
        break;
      case Argument::Kind::Option:
        inner = dashed(argument) + " <" + argument.value_name + ">";
        break;
      case Argument::Kind::Flag:
        inner = dashed(argument);
        break;
    }
    const bool option = argument.kind == Argument::Kind::Option;
    if (argument.required) {
      usage += option ? inner : "<" + inner + ">";
    } else {
      usage += "[" + inner + "]";
    }
  }
  return usage;
}

bool is_placeholder_name(std::string_view name) {
  if (name.empty() || !((name[0] >= 'a' && name[0] <= 'z') || name[0] == '_')) return false;
  return std::ranges::all_of(
      name, [](char letter) { return is_letter(letter) || is_digit(letter) || letter == '_'; });
}

std::string json_text(std::string_view text) {
  std::string json = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      json += '\\';
      json += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) {
      json += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(letter)));
    } else {
      json += letter;
    }
  }
  return json + "\"";
}

std::string json_list(std::span<const std::string> texts) {
  std::string json = "[";
  for (const std::string& text : texts) {
    if (json.size() > 1) json += ',';
    json += json_text(text);
  }
  return json + "]";
}

}  // namespace reeve::runbook
