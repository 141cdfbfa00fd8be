#include "cli/commands/board.h"

#include "cli/home.h"
#include "cli/locking.h"
#include "cli/signals.h"
#include "cli/text.h"
#include "codec/shell_word.h"

#include <fmt/format.h>

#include <algorithm>

namespace reeve::cli::board {

namespace {

constexpr std::int64_t draw_every = 250;
constexpr std::int64_t look_every = 5000;
constexpr std::int64_t second = 1000;

// What is locked, as people call it: `Task "Fix bug"`. The seed's envelope has no title, so it is
// asked for.
std::string thing_of(Context& context, const Failure& failure) {
  if (failure.details.has("sectionId")) {
    return fmt::format("Section \"{}\"", printable(failure.details["sectionId"].text()));
  }
  const std::string& id = failure.details["taskId"].text();
  const Answer task = context.client().ask("task.show", json_of({{"id", id}}));
  return fmt::format("Task \"{}\"", printable(task ? (*task)["title"].text() : id));
}

// The line of the bar, on a terminal only. Who holds it may change while one waits, and so may the
// end of the lock: both are asked for again and again, on the connection that waits.
class Bar {
 public:
  Bar(Context& context, const Json& in_the_way)
      : context_(context),
        shown_(Output::err_is_terminal() && !context.json()),
        holder_(runner_in_words(in_the_way, "lockedBy")),
        expires_(in_the_way["expiresAt"]) {
    const bool is_section = in_the_way.has("sectionId");
    const Json& id = in_the_way[is_section ? "sectionId" : "taskId"];
    if (!id.is_null()) which_ = json_of({{"id", id}, {"type", is_section ? "section" : "task"}});
  }

  std::int64_t next() const { return shown_ ? draw_every : -1; }

  void draw() {
    if (!shown_) return;
    look();
    const std::size_t width = Output::err_width();
    const std::string text = waiting_line(steady_now() - began_,
                                          holder_,
                                          context_.output.moment(expires_),
                                          width > 1 ? width - 1 : width);
    if (text == drawn_) return;
    drawn_ = text;
    context_.output.err("\r\x1b[K" + text);
  }

  // It stays where it is, and what follows is below it.
  void end() const {
    if (!drawn_.empty()) context_.output.err("\n");
  }

 private:
  void look() {
    if (which_.is_null()) return;
    if (asked_) {
      const auto answer = context_.client().take(*asked_);
      if (!answer) return;
      asked_.reset();
      if (!*answer || !(*answer)->has("runner")) return;
      holder_ = runner_in_words(**answer);
      expires_ = (**answer)["expires_at"];
    } else if (steady_now() - looked_at_ >= look_every) {
      looked_at_ = steady_now();
      asked_ = context_.client().begin("locks.show", which_, Client::Kind::Question);
    }
  }

  Context& context_;
  bool shown_;
  Json which_;
  std::string holder_;
  Json expires_;
  std::optional<Client::Ticket> asked_;
  std::int64_t began_ = steady_now();
  std::int64_t looked_at_ = began_;
  std::string drawn_;
};

// A signal came too late: what was started is put back, and a section that came with it let go.
void give_back(Client& client, const Json& started) {
  if (!started.has("runner")) return;
  // Nobody is left to be told.
  static_cast<void>(client.change("task.update",
                                  json_of({{"id", started["id"]},
                                           {"status", "pending"},
                                           {"runner", started["runner"]},
                                           {"token", started["token"]}})));
  if (!started["took_section"].truth()) return;
  static_cast<void>(client.change(
      "section.release", json_of({{"name", started["section"]}, {"runner", started["runner"]}})));
}

// Somebody else has it, or all that is open.
bool is_in_the_way(const Answer& answer) {
  if (!answer) return is_locked(answer.error());
  return !answer->has("id") && (*answer)["open"].truth();
}

Answer interrupted() {
  return std::unexpected(Failure{"INTERRUPTED", "interrupted; left the line"});
}

// `in_the_way`: what the refusal said of who has it.
Answer wait_for_it(Context& context,
                   std::string_view method,
                   const Json& params,
                   const Json& in_the_way) {
  Client& client = context.client();
  const Signals signals{SIGINT, SIGTERM, SIGHUP};
  const auto ticket = client.begin(method, params, Client::Kind::Change);
  Bar bar(context, in_the_way);
  bool cancelled = false;
  for (;;) {
    if (auto answer = client.take(ticket)) {
      bar.end();
      if (!cancelled) return std::move(*answer);
      if (*answer) give_back(client, **answer);
      return interrupted();
    }
    std::array<pollfd, 1> others{signals.readable()};
    client.pump(cancelled ? -1 : bar.next(), others);
    if (signals.next()) {
      if (cancelled) {
        // Asked twice: the connection's end takes us out of the line.
        bar.end();
        return interrupted();
      }
      cancelled = true;
      client.cancel(ticket);
    }
    if (!cancelled) bar.draw();
  }
}

}  // namespace

std::expected<void, Failure> send_locking(Context& context) {
  return send_locking_settings(context);
}

void try_send_locking(Context& context) {
  if (const auto sent = send_locking(context); !sent) context.output.note(sent.error().message);
}

std::optional<std::string> runner_of(const Parsed& parsed) {
  if (const auto runner = parsed.text("runner")) return std::string(*runner);
  return environment("REEVE_RUNNER");
}

Who runner_or_fresh(const Parsed& parsed) {
  if (const auto runner = runner_of(parsed)) return {*runner, false};
  return {fresh_holder("runner"), true};
}

void tell_fresh(Context& context, const Who& who) {
  if (!who.is_fresh || context.json()) return;
  context.output.note(
      fmt::format("you are {0}; say --runner {0} from now on, or set REEVE_RUNNER", who.runner));
}

std::string runner_in_words(const Json& thing, std::string_view field) {
  std::string name = printable(thing[field].text());
  const std::string project =
      fmt::format("{}{}", field, field == "lockedBy" ? "Project" : "_project");
  if (!thing.has(project)) return name;
  return fmt::format("{} of {}", name, printable(thing[project].text()));
}

bool is_locked(const Failure& failure) {
  return failure.code == "TASK_LOCKED" || failure.code == "SECTION_LOCKED";
}

std::string to_the_second(const std::string& moment) {
  const auto milliseconds = parse_moment(moment);
  if (!milliseconds) return moment;
  return format_moment(*milliseconds).substr(0, std::string_view("2024-01-15T11:30:00").size()) +
         "Z";
}

int fail(Context& context, const Failure& failure) {
  if (!is_locked(failure) || context.json()) return context.fail(failure);
  Output& output = context.output;
  output.err(fmt::format("{} {} is locked by runner {}\n",
                         output.styled_err(Style::Bad, "Error:"),
                         thing_of(context, failure),
                         runner_in_words(failure.details, "lockedBy")));
  if (failure.details.has("expiresAt")) {
    output.err(
        fmt::format("Lock expires at: {}\n", to_the_second(failure.details["expiresAt"].text())));
  }
  return output.done(exit_of(failure.code));
}

std::string elapsed_bar(std::int64_t milliseconds) {
  constexpr std::size_t width = 26;
  constexpr std::int64_t seconds_a_cell = 9;
  const std::int64_t seconds = milliseconds / second;
  const auto at = static_cast<std::size_t>(seconds / seconds_a_cell) % width;
  return fmt::format(
      "[{}>{}] {}s elapsed", std::string(at, '='), std::string(width - 1 - at, ' '), seconds);
}

std::string waiting_line(std::int64_t milliseconds,
                         const std::string& holder,
                         const std::string& expires,
                         std::size_t width) {
  constexpr std::size_t least_name = 8;
  const std::string bar = elapsed_bar(milliseconds);
  if (holder.empty()) return width == 0 ? bar : fitted(bar, width);
  const std::string before = bar + "  held by ";
  const std::string after = ", expires " + expires;
  if (width == 0) return before + holder + after;
  const std::size_t taken = before.size() + display_width(after);
  const std::size_t room = std::max(least_name, width - std::min(width, taken));
  return fitted(before + fitted(holder, room) + after, width);
}

Json wait_of(const Parsed& parsed, const Json& otherwise) {
  if (parsed.has("no-wait")) return {};
  return parsed.has("wait") ? cli::wait_of(parsed) : otherwise;
}

Answer start(Context& context, std::string_view method, Json params, const Json& wait) {
  Answer answer = context.client().change(method, params);
  const bool tells = !context.json() && !context.quiet();
  const auto is_claimed = [&] { return tells && answer && answer->has("claimed_from"); };
  const auto tell_claimed = [&] {
    context.output.err(fmt::format("Lock expired: claimed from runner {}.\n",
                                   runner_in_words(*answer, "claimed_from")));
  };
  if (wait.is_null() || wait.number() == 0 || !is_in_the_way(answer)) {
    if (is_claimed()) tell_claimed();
    return answer;
  }
  if (tells) {
    const std::string thing = answer ? "Every open task" : thing_of(context, answer.error());
    context.output.err(fmt::format(
        "{} is locked by another runner.\nWaiting for lock... (Ctrl+C to cancel)\n", thing));
  }
  params.set("wait_ms", wait);
  const Json in_the_way = answer ? Json::object() : answer.error().details;
  answer = wait_for_it(context, method, params, in_the_way);
  if (is_claimed()) {
    tell_claimed();
  } else if (tells && answer && answer->has("id")) {
    context.output.err("Lock released!\n");
  }
  return answer;
}

Table locks_table(const Output& output, const Json::Array& locks) {
  Table table({{"TYPE"},
               {"ID", Table::Align::Left, true},
               {"TITLE", Table::Align::Left, true},
               {"RUNNER", Table::Align::Left, true},
               {"STATE"},
               {"SINCE"},
               {"EXPIRES"}});
  for (const Json& lock : locks) {
    const std::string state = lock["state"].text();
    table.add({lock["type"].text(),
               printable(lock["id"].text()),
               lock.has("title") ? printable(lock["title"].text()) : "-",
               runner_in_words(lock),
               {state, state == "held" ? Style::Good : Style::Bad},
               output.moment(lock["acquired_at"]),
               output.moment(lock["expires_at"])});
  }
  return table;
}

}  // namespace reeve::cli::board
