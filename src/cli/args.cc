#include "cli/args.h"

#include "codec/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace reeve::cli {

namespace {

constexpr std::array<Option, 8> everywhere{{
    {.name = "json", .help = "one JSON object instead of text"},
    {.name = "quiet", .letter = 'q', .help = "print bare ids, one a line"},
    {.name = "project",
     .takes = Takes::Text,
     .value = "P",
     .help = "a project by name or folder; default: found from the working directory",
     .completes = Completes::Project},
    {.name = "home",
     .takes = Takes::Text,
     .value = "DIR",
     .help = "where the state is; default: $REEVE_HOME, else $XDG_STATE_HOME/reeve, else "
             "~/.local/state/reeve",
     .completes = Completes::File},
    {.name = "color",
     .takes = Takes::Text,
     .value = "WHEN",
     .help = "auto, always or never",
     .choices = "auto|always|never"},
    {.name = "time",
     .takes = Takes::Text,
     .value = "HOW",
     .help = "rel (3m ago) or iso (exact)",
     .choices = "rel|iso"},
    {.name = "version", .help = "print the version"},
    {.name = "help", .letter = 'h', .help = "print what a command does, with examples"},
}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// `-5` is data; `-n` is not.
bool is_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !is_digit(word[1]) && word[1] != '.';
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_among(std::string_view value, std::string_view choices) {
  while (!choices.empty()) {
    const std::size_t bar = choices.find('|');
    if (choices.substr(0, bar) == value) return true;
    choices = bar == std::string_view::npos ? "" : choices.substr(bar + 1);
  }
  return false;
}

const Option* option_named(std::span<const Option> options, std::string_view name) {
  const auto* const found = std::find_if(options.data(),
                                         options.data() + options.size(),
                                         [&](const Option& option) { return option.name == name; });
  return found == options.data() + options.size() ? nullptr : found;
}

const Option* option_lettered(std::span<const Option> options, char letter) {
  for (const Option& option : options) {
    if (option.letter == letter) return &option;
  }
  return nullptr;
}

// Reads the words from left to right, by the options of a command (or of none) and the global ones.
class Reader {
 public:
  Reader(std::span<const Option> own, std::span<const std::string_view> words, Parsed& parsed)
      : own_(own), words_(words), parsed_(parsed) {}

  // The complaint; empty: all was understood.
  std::string read(std::size_t skip, bool takes_command, bool lenient, bool passes = false) {
    for (; at_ < words_.size(); ++at_) {
      const std::string_view word = words_[at_];
      if (word == "--") {
        if (passes) parsed_.words.emplace_back(word);
        for (++at_; at_ < words_.size(); ++at_) {
          (takes_command ? parsed_.tail : parsed_.words).emplace_back(words_[at_]);
        }
        return "";
      }
      std::string complaint;
      const bool is_passed = passes && is_option(word) && !knows(word);
      if (!is_passed && word.starts_with("--")) {
        complaint = read_long(word.substr(2));
      } else if (!is_passed && is_option(word)) {
        complaint = read_letters(word);
      } else if (!is_passed && skip > 0) {
        --skip;
      } else {
        parsed_.words.emplace_back(word);
      }
      if (!complaint.empty() && !lenient) return complaint;
    }
    return "";
  }

 private:
  // Whether it is an option of ours, all of it. One without a name is for help and completion: it
  // belongs to whom the rest is passed on to.
  bool knows(std::string_view word) const {
    if (word.starts_with("--")) {
      const std::string_view name = word.substr(2, word.find('=') - 2);
      return option_named(own_, name) != nullptr || option_named(everywhere, name) != nullptr;
    }
    for (std::size_t i = 1; i < word.size(); ++i) {
      const Option* option = option_lettered(own_, word[i]);
      if (option == nullptr) option = option_lettered(everywhere, word[i]);
      if (option == nullptr || option->name.empty()) return false;
      if (option->takes != Takes::Nothing) return true;  // the rest is its value
    }
    return true;
  }

  std::string read_long(std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const Option* option = option_named(own_, name);
    if (option == nullptr) option = option_named(everywhere, name);
    if (option == nullptr) return unknown(name);
    if (equals == std::string_view::npos) return take(*option, std::nullopt);
    if (option->takes == Takes::Nothing) return fmt::format("--{} takes no value", name);
    return take(*option, word.substr(equals + 1));
  }

  std::string read_letters(std::string_view word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const Option* option = option_lettered(own_, word[i]);
      if (option == nullptr) option = option_lettered(everywhere, word[i]);
      if (option == nullptr) return fmt::format("unknown option -{}", word[i]);
      if (option->takes == Takes::Nothing || i + 1 == word.size()) {
        if (std::string complaint = take(*option, std::nullopt); !complaint.empty()) {
          return complaint;
        }
        continue;
      }
      return take(*option, word.substr(i + 1));
    }
    return "";
  }

  std::string take(const Option& option, std::optional<std::string_view> value) {
    if (option.takes == Takes::Nothing) {
      parsed_.add(option, "", false);
      return "";
    }
    if (!value && at_ + 1 < words_.size()) {
      const std::string_view next = words_[at_ + 1];
      // A bare number was meant as a duration, and is none; and so was what is less than nothing.
      const bool negative = next.starts_with('-') && !is_option(next) && next != "-";
      const bool wanted =
          option.takes == Takes::MaybeDuration
              ? parse_duration(next).has_value() || integer(next).has_value() || negative
              : next != "--";
      if (wanted) {
        value = next;
        ++at_;
      }
    }
    if (!value && option.takes == Takes::MaybeDuration) {
      parsed_.add(option, "", false);
      return "";
    }
    if (!value) return fmt::format("--{} wants a value: {}", option.name, option.value);
    if (std::string complaint = judge(option, *value); !complaint.empty()) return complaint;
    parsed_.add(option, std::string(*value), true);
    return "";
  }

  static std::string judge(const Option& option, std::string_view value) {
    switch (option.takes) {
      case Takes::Number:
        if (!integer(value)) {
          return fmt::format("--{} wants a whole number, not \"{}\"", option.name, value);
        }
        break;
      case Takes::Duration:
      case Takes::MaybeDuration:
        if (!parse_duration(value)) {
          return fmt::format(
              "--{} wants a duration such as 30s or 1h30m, not \"{}\"", option.name, value);
        }
        break;
      case Takes::Text:
        if (option.completes != Completes::File && !codec::is_utf8(value)) {
          return fmt::format("the value of --{} is not UTF-8: nothing was done", option.name);
        }
        if (option.name == "holder" && value.empty()) {
          return "--holder wants a name, and was given nothing";
        }
        if (option.name == "dedupe" && value.empty()) {
          return "--dedupe wants a key, and was given nothing";
        }
        break;
      case Takes::Nothing:
        break;
    }
    if (!option.choices.empty() && !is_among(value, option.choices)) {
      std::string choices(option.choices);
      std::replace(choices.begin(), choices.end(), '|', ' ');
      return fmt::format("--{} is one of: {}; not \"{}\"", option.name, choices, value);
    }
    return "";
  }

  std::string unknown(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const Option& option : own_) names.push_back(option.name);
    for (const Option& option : everywhere) names.push_back(option.name);
    const std::string_view meant = nearest(name, names);
    return meant.empty() ? fmt::format("unknown option --{}", name)
                         : fmt::format("unknown option --{}; did you mean --{}?", name, meant);
  }

  std::span<const Option> own_;
  std::span<const std::string_view> words_;
  Parsed& parsed_;
  std::size_t at_ = 0;
};

// Names and texts are UTF-8: what is not would come out as another one. Data is handed over as it
// is, and the paths of files are the file system's; but what a command of a runbook is given is
// text, though it may name a file.
bool must_be_text(const Command& command, std::size_t place) {
  if (command.arguments.empty() || command.passes_options) return true;
  const Argument& argument = command.arguments[std::min(place, command.arguments.size() - 1)];
  return argument.completes != Completes::File && !argument.name.starts_with("DATA");
}

std::string judge_arguments(const Command& command, const Parsed& parsed) {
  for (std::size_t i = 0; i < parsed.words.size(); ++i) {
    if (!must_be_text(command, i)) continue;
    if (!codec::is_utf8(parsed.words[i])) {
      return fmt::format("argument {} is not UTF-8: nothing was done", i + 1);
    }
  }
  std::size_t least = 0;
  bool unbounded = command.passes_options;
  for (const Argument& argument : command.arguments) {
    const bool needed = argument.count == Count::One || argument.count == Count::Some;
    if (needed && parsed.words.size() <= least) {
      return fmt::format("{} wants {}", command.name, argument.name);
    }
    if (needed) ++least;
    unbounded = unbounded || argument.count == Count::Some || argument.count == Count::Any;
  }
  if (!unbounded && parsed.words.size() > command.arguments.size()) {
    return fmt::format(
        "unexpected argument \"{}\"{}",
        parsed.words[command.arguments.size()],
        command.takes_command && parsed.tail.empty() ? "; put -- before the command" : "");
  }
  for (const Option& option : command.options) {
    if (option.required && !parsed.has(option.name)) {
      return fmt::format("{} wants --{} {}", command.name, option.name, option.value);
    }
  }
  if (command.takes_command && parsed.tail.empty()) {
    return fmt::format("{} wants a command behind --", command.name);
  }
  return "";
}

}  // namespace

const std::span<const Option> global_options = everywhere;

bool Parsed::has(std::string_view option) const {
  return std::any_of(
      given_.begin(), given_.end(), [&](const Given& given) { return given.name == option; });
}

std::optional<std::string_view> Parsed::text(std::string_view option) const {
  for (auto given = given_.rbegin(); given != given_.rend(); ++given) {
    if (given->name == option && given->has_value) return given->value;
  }
  return std::nullopt;
}

std::vector<std::string_view> Parsed::texts(std::string_view option) const {
  std::vector<std::string_view> values;
  for (const Given& given : given_) {
    if (given.name == option && given.has_value) values.emplace_back(given.value);
  }
  return values;
}

std::optional<std::int64_t> Parsed::number(std::string_view option) const {
  const std::optional<std::string_view> value = text(option);
  return value ? integer(*value) : std::nullopt;
}

std::optional<Duration> Parsed::duration(std::string_view option) const {
  const std::optional<std::string_view> value = text(option);
  if (!value) return std::nullopt;
  const Result<Duration> duration = parse_duration(*value);
  return duration ? std::optional<Duration>(*duration) : std::nullopt;
}

Parsed Parsed::with(const std::function<std::string(std::string_view)>& other) const {
  Parsed changed = *this;
  for (std::string& word : changed.words) word = other(word);
  for (Given& given : changed.given_) given.value = other(given.value);
  return changed;
}

void Parsed::add(const Option& option, std::string value, bool has_value) {
  given_.push_back(Given{option.name, std::move(value), has_value});
}

Found find_command(std::span<const Group> groups, std::span<const std::string_view> words) {
  // The first two words that are neither options nor the values of global ones.
  std::array<std::string_view, 2> said;
  std::size_t count = 0;
  for (std::size_t i = 0; i < words.size() && count < said.size(); ++i) {
    if (words[i] == "--") break;
    if (words[i].starts_with("--")) {
      const Option* option = option_named(everywhere, words[i].substr(2));
      if (option != nullptr && option->takes != Takes::Nothing) ++i;
    } else if (!is_option(words[i])) {
      said[count++] = words[i];
    }
  }
  Found found;
  if (count == 0) return found;
  for (const Group& group : groups) {
    if (group.word.empty()) {
      for (const Command& command : group.commands) {
        if (command.name == said[0]) return Found{&group, &command, 1};
      }
    } else if (group.word == said[0]) {
      found.group = &group;
      found.words = 1;
      for (const Command& command : group.commands) {
        if (count == 2 && command.name.substr(group.word.size() + 1) == said[1]) {
          return Found{&group, &command, 2};
        }
      }
      return found;
    }
  }
  return found;
}

Result<Parsed> parse(const Command& command,
                     std::size_t command_words,
                     std::span<const std::string_view> words) {
  Parsed parsed;
  parsed.command = &command;
  Reader reader(command.options, words, parsed);
  std::string complaint =
      reader.read(command_words, command.takes_command, false, command.passes_options);
  if (complaint.empty() && !parsed.has("help") && !parsed.has("version"))
    complaint = judge_arguments(command, parsed);
  if (!complaint.empty()) return fail(Error::Code::BadRequest, std::move(complaint));
  return parsed;
}

Parsed parse_globals(std::span<const std::string_view> words) {
  Parsed parsed;
  Reader reader({}, words, parsed);
  reader.read(0, false, true);
  return parsed;
}

std::string_view nearest(std::string_view typed, std::span<const std::string_view> candidates) {
  // Edits including the swap of neighbours; at most a third of what was typed may be wrong.
  const auto distance = [](std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
      row[0] = i;
      for (std::size_t j = 1; j <= b.size(); ++j) {
        const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
        row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
          row[j] = std::min(row[j], before[j - 2] + 1);
        }
      }
      std::swap(before, last);
      std::swap(last, row);
    }
    return last[b.size()];
  };
  std::string_view best;
  std::size_t least = std::max<std::size_t>(1, typed.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const bool begins = typed.size() >= 2 && candidate.starts_with(typed);
    const std::size_t edits = begins ? 1 : distance(typed, candidate);
    if (edits >= least) continue;
    least = edits;
    best = candidate;
  }
  return best;
}

std::string usage_line(const Command& command) {
  std::string line = fmt::format("reeve {}", command.name);
  for (const Argument& argument : command.arguments) {
    const bool optional = argument.count == Count::Maybe || argument.count == Count::Any;
    const bool many = argument.count == Count::Some || argument.count == Count::Any;
    line += fmt::format(
        " {}{}{}{}", optional ? "[" : "", argument.name, many ? "…" : "", optional ? "]" : "");
  }
  for (const Option& option : command.options) {
    std::string text =
        option.letter != 0 ? fmt::format("-{}", option.letter) : fmt::format("--{}", option.name);
    if (option.takes == Takes::MaybeDuration) {
      text += fmt::format(" [{}]", option.value);
    } else if (option.takes != Takes::Nothing) {
      text += fmt::format(" {}", option.value);
    }
    line += option.required ? fmt::format(" {}", text) : fmt::format(" [{}]", text);
  }
  if (command.takes_command) line += " -- CMD…";
  return line;
}

}  // namespace reeve::cli
