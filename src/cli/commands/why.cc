#include "cli/commands/groups.h"
#include "cli/commands/pipeline_verbs.h"
#include "cli/commands/runs.h"
#include "cli/commands/said.h"
#include "cli/commands/why_line.h"
#include "cli/commands/why_links.h"
#include "cli/commands/why_page.h"
#include "cli/context.h"
#include "cli/history.h"
#include "cli/text.h"
#include "codec/shell_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <optional>
#include <sstream>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace reeve::cli {

namespace {

// Of a page the rows for what is told below the links: two in five, or what these leave.
std::size_t room_below(std::size_t room, std::size_t links) {
  return std::max(room * 2 / 5, room - std::min(room, links));
}

std::vector<Words> head_of(const Output& output, const Json& why, std::size_t room) {
  return as_long_as_fits(room, [&](std::size_t most) {
    std::string how;
    if (why.has("state")) {
      how = fmt::format(": {}", why["state"].text());
      if (why.has("phase")) {
        how += fmt::format(" in {}, attempt {}",
                           fitted(printable(why["phase"].text()), most),
                           why["attempt"].text());
      }
      if (why.has("error")) how += fmt::format(": {}", in_short(why["error"].text(), 2, most));
    } else if (why["waiting_on"].items().empty()) {
      how = ": nothing is in the way";
    }
    const std::string name = fitted(printable(why["id"].text()), most);
    return std::vector{in_lines(
        fmt::format("{} {}{}", why["kind"].text(), output.styled(Style::Bold, name), how))};
  });
}

std::vector<Words> next_of(const Output& output, const Json& next, std::size_t room) {
  if (!next.is_object()) return {};
  return as_long_as_fits(room, [&](std::size_t most) {
    return std::vector{
        in_lines(fmt::format("next: {}{}",
                             in_short(next["what"].text(), 6, most),
                             next.has("at") ? fmt::format(", {}", output.moment(next["at"])) : ""),
                 6)};
  });
}

// What the program of a cron said last.
std::vector<Words> last_words_of(const Json& why, std::size_t room) {
  if (why["kind"].text() != "cron" || !why.has("output")) return {};
  std::vector<Words> words{{"said last"}};
  for (std::string& line : last_lines(marked_lines(why["output"].text(), ""), "", room - 1)) {
    words.push_back({std::move(line)});
  }
  return words;
}

// One screen. What stands above and below the links is counted first, and they have the rest.
void tell_page(Output& output, const Json& why) {
  const std::size_t screen = rows_of_screen();
  const bool is_bounded = screen != any_rows;
  const std::vector<Words> head = head_of(output, why, is_bounded ? screen / 3 : any_rows);
  const std::vector<Words> next = next_of(output, why["next"], is_bounded ? screen / 5 : any_rows);
  const auto links = [&](std::size_t room) {
    return links_in_words(output, why["waiting_on"].items(), why["id"].text(), room);
  };
  std::size_t room = 20;  // of a usual screen
  std::size_t below = any_rows;
  if (is_bounded) {
    room = screen - rows_of(head) - rows_of(next);
    below = room_below(room, rows_of(links(any_rows)));
  }
  const std::vector<Words> line = line_in_words(output, why, below);
  const std::vector<Words> last = last_words_of(why, below);  // of what nobody stands in line for
  if (is_bounded) room -= rows_of(line) + rows_of(last);
  tell(output, head);
  tell(output, links(room));
  tell(output, line);
  tell(output, next);
  tell(output, last);
}

// The text of a small file, or nothing.
std::string text_of_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text(4096, '\0');
  const ssize_t got = ::read(file, text.data(), text.size());
  ::close(file);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

// A process as /proc knows it.
struct Seen {
  std::int64_t parent = 0;
  std::uint64_t begun = 0;
  char state = '?';
};

std::optional<Seen> look_at(std::int64_t pid) {
  const std::string text = text_of_file(fmt::format("/proc/{}/stat", pid));
  // `pid (name) state parent …`: whatever the name is, it ends with the last parenthesis.
  const std::size_t name = text.rfind(") ");
  if (name == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(name + 2));
  Seen seen;
  rest >> seen.state >> seen.parent;
  std::string skipped;
  constexpr int before_begin = 17;  // the 22nd field; we have read four
  for (int i = 0; i < before_begin; ++i) rest >> skipped;
  rest >> seen.begun;
  return rest ? std::optional(seen) : std::nullopt;
}

// The oldest child: what whoever has the custody of a run started first, and that is the program.
std::int64_t first_child_of(std::int64_t parent) {
  DIR* const all = ::opendir("/proc");
  if (all == nullptr) return 0;
  std::int64_t first = 0;
  std::uint64_t begun = 0;
  // One thread. NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* const entry = ::readdir(all)) {
    std::int64_t pid = 0;
    const std::string_view name(entry->d_name);
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc{} || end != name.data() + name.size()) continue;
    const auto seen = look_at(pid);
    if (!seen || seen->parent != parent || seen->state == 'Z') continue;
    if (first != 0 && std::tie(begun, first) <= std::tie(seen->begun, pid)) continue;
    first = pid;
    begun = seen->begun;
  }
  ::closedir(all);
  return first;
}

// Behind a phase that runs there is a process: the chain ends with it. Who has the custody of the
// run stands in its folder in the home; the program is the first that this one started. If that one
// is gone nobody's end is seen by it any more, and the daemon looks for what is left.
void add_process(const std::string& home, Json& link) {
  const std::string text =
      text_of_file(fmt::format("{}/runs/{}/started", home, link["run"].text()));
  std::istringstream words(text);
  std::int64_t keeper = 0;
  std::uint64_t begun = 0;
  if (!(words >> keeper >> begun)) return;
  const auto seen = look_at(keeper);
  if (!seen || seen->begun != begun || seen->state == 'Z') {
    link.set("detail", "what watched over its program is gone; what is left of it is looked for");
    return;
  }
  if (const std::int64_t pid = first_child_of(keeper)) link.set("pid", pid);
}

Json with_processes(Context& context, const Json& why) {
  const auto home = context.home();
  if (!home) return why;
  Json chain = Json::array();
  for (Json link : why["waiting_on"].items()) {
    if (link.has("run")) add_process(home->path, link);
    chain.push(std::move(link));
  }
  Json whole = why;
  whole.set("waiting_on", std::move(chain));
  return whole;
}

// Says how to say which one.
Failure clearer(Failure failure, const std::string& name) {
  if (failure.code != "AMBIGUOUS") return failure;
  std::string kinds;
  for (const Json& kind : failure.details["kinds"].items()) {
    kinds += fmt::format("{}--kind {}", kinds.empty() ? "" : " or ", kind.text());
  }
  if (!kinds.empty()) {
    failure.message = fmt::format("more than one thing is called {}; say {}", name, kinds);
  }
  return failure;
}

// A worker or a cron that so far only the runbooks know of.
Answer or_not_started(Context& context, const Parsed& parsed, Answer answer) {
  const std::string& name = parsed.words[0];
  const std::string_view said = parsed.text("kind").value_or("");
  const auto of = [&](std::string_view kind, std::string_view fact, std::string_view verb) {
    if (answer || (!said.empty() && said != kind)) return;
    if (!or_defined(context, kind, name, answer)) return;
    const std::string detail =
        fmt::format("{}; `reeve {} {} {}` {}s it", fact, kind, verb, codec::shell_word(name), verb);
    Json chain = Json::array();
    chain.push(json_of({{"kind", kind}, {"name", name}, {"depth", 0}, {"detail", detail}}));
    answer = json_of(
        {{"id", name}, {"kind", kind}, {"waiting_on", std::move(chain)}, {"line", Json::array()}});
  };
  of("worker", "it is not started", "start");
  of("cron", "it is not enabled", "enable");
  return answer;
}

}  // namespace

int why_command(Context& context, const Parsed& parsed) {
  const std::string& name = parsed.words[0];
  Answer answer =
      context.client().ask("why.get", json_of({{"id", name}, {"kind", text_of(parsed, "kind")}}));
  if (!answer && answer.error().code == "NOT_FOUND") {
    // It waits for nothing any more.
    if (auto past = show_from_history(context, name)) {
      past->set("waiting_on", Json::array());
      answer = *std::move(past);
    } else {
      answer = or_not_started(context, parsed, std::move(answer));
    }
  }
  if (!answer) return context.fail(clearer(answer.error(), name));
  Json why = with_processes(context, *answer);
  if (why["kind"].text() == "cron") add_last_words(context, why);
  if (context.json()) return context.output.succeed(why);
  tell_page(context.output, why);
  return context.output.done();
}

int show_command(Context& context, const Parsed& parsed) {
  Answer answer = context.client().ask(
      "state.show", json_of({{"id", parsed.words[0]}, {"kind", text_of(parsed, "kind")}}));
  bool is_past = false;
  if (!answer && answer.error().code == "NOT_FOUND") {
    if (auto past = show_from_history(context, parsed.words[0])) {
      answer = *std::move(past);
      is_past = true;
    }
  }
  if (!answer) return context.fail(clearer(answer.error(), parsed.words[0]));
  if (context.json()) return context.output.succeed(*answer);
  if (context.quiet()) {
    context.output.line((*answer)[answer->has("id") ? "id" : "name"].text());
    return context.output.done();
  }
  if ((*answer)["kind"].text() == "pipeline" && !is_past) {
    pipeline_verbs::tell(context, *answer);
    return context.output.done();
  }
  std::size_t widest = 0;
  for (const auto& [name, value] : answer->members()) widest = std::max(widest, name.size());
  for (const auto& [name, value] : answer->members()) {
    if (name == "seq" || value.is_null()) continue;
    const bool moment = value.is_string() && parse_moment(value.text()).has_value();
    const bool tree = value.is_array() || value.is_object();
    if (value.is_array() && value.items().empty()) continue;
    const std::string text = moment                         ? context.output.moment(value)
                             : tree || value.text().empty() ? printable(value.write())
                                                            : printable(value.text());
    context.output.sentence(
        fmt::format("{:<{}}{}", name, widest + 2, Output::on_screen(text, widest + 2)), widest + 2);
  }
  return context.output.done();
}

}  // namespace reeve::cli
