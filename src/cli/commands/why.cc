#include "cli/commands/board.h"
#include "cli/commands/groups.h"
#include "cli/commands/pipeline_verbs.h"
#include "cli/commands/said.h"
#include "cli/commands/why_links.h"
#include "cli/context.h"
#include "cli/history.h"
#include "cli/text.h"

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

std::string since(const Output& output, const Json& moment) {
  const std::string text = output.moment(moment);
  return text == "now" ? "since just now" : fmt::format("since {}", text);
}

// What a semaphore has left, and what the asker wants of it; the first in line gets it first.
std::string wanted_of(const Json& why) {
  if (!why.has("free")) return "";
  std::string text = why.has("wants") ? fmt::format(": wants {}, ", why["wants"].text()) : ": ";
  text += fmt::format("{} of {} free", why["free"].text(), why["capacity"].text());
  const Json& first = why["line"].items().front();
  if (why["place"].number() > 1 && first["place"].number() == 1) {
    text += fmt::format(
        ", behind {} who wants {}", printable(first["holder"].text()), first["weight"].text());
  }
  return text;
}

// A line that is long is told by its first, the asker and the number: one screen has no room for
// more, and `--json` has them.
void tell_in_line(Output& output, const Json& why) {
  const auto& line = why["line"].items();
  if (line.empty()) return;
  constexpr std::int64_t few = 6;
  constexpr std::int64_t first = 3;
  const auto listed = static_cast<std::int64_t>(line.size());
  const std::int64_t all = why.has("waiting") ? why["waiting"].number() : listed;
  const std::int64_t asker = why.has("line_of") ? why["place"].number() : 0;
  std::string head = "in line";
  if (why.has("line_of")) head += fmt::format(" for {}", printable(why["line_of"].text()));
  if (why.has("place")) head += fmt::format(", at place {}", why["place"].text());
  if (all > few) head += asker > 0 ? fmt::format(" of {}", all) : fmt::format(", {}", all);
  output.sentence(head + wanted_of(why), 2);
  std::int64_t told = 0;
  for (std::int64_t i = 0; i < listed; ++i) {
    const Json& each = line[static_cast<std::size_t>(i)];
    const std::int64_t place = each.has("place") ? each["place"].number() : i + 1;
    if (all > few && place > first && place != asker) continue;
    if (place > told + 1) output.line("    …");
    told = place;
    output.sentence(
        fmt::format("  {:>3}. {}{}  {}{}{}",
                    place,
                    board::runner_in_words(each, "holder"),
                    each.has("label") ? fmt::format(" ({})", printable(each["label"].text())) : "",
                    each.has("weight") ? fmt::format("wants {}, ", each["weight"].text()) : "",
                    since(output, each["since"]),
                    each["away"].truth() ? ", away" : ""),
        7);
  }
  if (all > told) output.line("    …");
}

void tell(Context& context, const Json& why) {
  Output& output = context.output;
  const auto& chain = why["waiting_on"].items();
  const std::string name = printable(why["id"].text());
  std::string how;
  if (why.has("state")) {
    how = fmt::format(": {}", why["state"].text());
    if (why.has("phase")) {
      how +=
          fmt::format(" in {}, attempt {}", printable(why["phase"].text()), why["attempt"].text());
    }
    if (why.has("error")) {
      how += fmt::format(": {}", Output::brief(printable(why["error"].text()), 2));
    }
  } else if (chain.empty()) {
    how = ": nothing is in the way";
  }
  output.sentence(
      fmt::format("{} {}{}", why["kind"].text(), output.styled(Style::Bold, name), how));
  tell_links(output, chain, why["id"].text());
  tell_in_line(output, why);
  const Json& next = why["next"];
  if (next.is_object()) {
    output.sentence(
        fmt::format("next: {}{}",
                    Output::brief(printable(next["what"].text()), 6),
                    next.has("at") ? fmt::format(", {}", output.moment(next["at"])) : ""),
        6);
  }
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
    }
  }
  if (!answer) return context.fail(clearer(answer.error(), name));
  Json why = with_processes(context, *answer);
  const bool has_words = why["kind"].text() == "cron" && add_last_words(context, why);
  if (context.json()) return context.output.succeed(why);
  tell(context, why);
  if (has_words) tell_last_words(context.output, why);
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
