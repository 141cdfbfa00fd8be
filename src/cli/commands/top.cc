#include "cli/commands/agents.h"
#include "cli/commands/groups.h"
#include "cli/commands/pipeline_verbs.h"
#include "cli/commands/snapshot.h"
#include "cli/context.h"
#include "cli/signals.h"
#include "cli/text.h"

#include <fmt/format.h>
#include <termios.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <sys/ioctl.h>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

namespace reeve::cli {

namespace {

constexpr std::int64_t look_every = 1000;
constexpr std::size_t events_kept = 200;
constexpr double least_rate = 0.05;  // a second; less is nothing

// The terminal, taken over and given back on every way out (the signals that end us come as data).
class FullScreen {
 public:
  explicit FullScreen(Output& output) : output_(output) {
    ::tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
    // Without wrapping: what is too wide is cut, and nothing scrolls away.
    output_.err("\x1b[?1049h\x1b[?25l\x1b[?7l");
  }
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;
  ~FullScreen() {
    output_.err("\x1b[?7h\x1b[?25h\x1b[?1049l");
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }

 private:
  Output& output_;
  termios before_{};
};

struct Size {
  std::size_t rows = 24;
  std::size_t columns = 80;
};

Size terminal_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    return {};
  }
  return {size.ws_row, size.ws_col};
}

// Pushed and done a second, from the events of the last looks.
struct Rate {
  double in = 0;
  double out = 0;
  std::int64_t pushed = 0;
  std::int64_t done = 0;
};

// What is waited for first, then what may need somebody: a few of the stale ones, those that were
// taken last, and then the rest of the stale ones.
Json::Array locks_in_order(const Json::Array& all) {
  Json::Array locks;
  for (const Json& lock : all) {
    if (lock["state"].text() != "free" || lock["waiting"].number() > 0) locks.push_back(lock);
  }
  std::ranges::stable_sort(locks, std::greater{}, [](const Json& lock) {
    return std::tuple(lock["waiting"].number(), lock["acquired_at"].text());
  });
  constexpr std::size_t stale_first = 2;
  std::size_t stale = 0;
  std::vector<std::pair<int, Json>> ranked;
  for (Json& lock : locks) {
    const bool is_held = lock["state"].text() == "held";
    const int rank = lock["waiting"].number() > 0 ? 0 : is_held ? 2 : stale++ < stale_first ? 1 : 3;
    ranked.emplace_back(rank, std::move(lock));
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& lock) { return lock.first; });
  locks.clear();
  for (auto& [rank, lock] : ranked) locks.push_back(std::move(lock));
  return locks;
}

Json::Array semaphores_in_order(Json::Array semaphores) {
  std::ranges::stable_sort(semaphores, std::greater{}, [](const Json& sem) {
    const auto capacity = static_cast<double>(std::max<std::int64_t>(1, sem["capacity"].number()));
    return std::tuple(sem["waiting"].number(),
                      static_cast<double>(sem["in_use"].number()) / capacity);
  });
  return semaphores;
}

class Top {
 public:
  explicit Top(Context& context) : context_(context), client_(context.client()) {}

  int run() {
    auto seen = take_snapshot(client_);
    if (!seen) return context_.fail(seen.error());
    snapshot_ = std::move(*seen);
    client_.only_look();
    const auto recent = client_.ask("events.list", json_of({{"limit", 20}}));
    if (recent) {
      for (const Json& event : (*recent)["events"].items()) keep(event);
    }
    const Signals signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
    std::optional<Failure> failure;
    {
      const FullScreen screen(context_.output);
      const auto follow = client_.begin("events.follow", Json::object(), Client::Kind::Follow);
      std::int64_t due = steady_now() + look_every;
      looked_ = steady_now();
      draw();
      for (bool over = false; !over;) {
        std::array<pollfd, 2> others{signals.readable(),
                                     pollfd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}};
        client_.pump(std::max<std::int64_t>(0, due - steady_now()), others);
        if (const auto answer = client_.take(follow); answer && !*answer) failure = answer->error();
        while (const auto event = client_.next_event()) hear(*event);
        while (const auto signal = signals.next()) {
          if (*signal != SIGWINCH) over = true;
          draw();
        }
        if (others[1].revents != 0) over = over || pressed_quit();
        if (steady_now() >= due) {
          auto next = take_snapshot(client_);
          // Somebody stopped the daemon: what was seen last stays, until there is one again.
          if (!next && next.error().code != "UNAVAILABLE") failure = next.error();
          is_alone_ = !next;
          if (next) snapshot_ = std::move(*next);
          reckon();
          due = steady_now() + look_every;
          draw();
        }
        if (failure) break;
      }
    }
    return failure ? context_.fail(*failure) : context_.output.done();
  }

 private:
  static bool pressed_quit() {
    std::array<char, 64> keys{};
    const ssize_t got = ::read(STDIN_FILENO, keys.data(), keys.size());
    if (got <= 0) return true;  // the terminal is gone
    const std::string_view typed(keys.data(), static_cast<std::size_t>(got));
    return typed.find_first_of("qQ\x03") != std::string_view::npos || typed == "\x1b";
  }

  void keep(const Json& event) {
    events_.push_front(event);
    if (events_.size() > events_kept) events_.pop_back();
  }

  void hear(const Json& event) {
    if (event.has("lagged")) return;
    keep(event);
    const std::string name = event["name"].text();
    const std::string queue = event["data"]["queue"].text();
    if (name == "queue:push") ++rates_[queue].pushed;
    if (name == "queue:complete") ++rates_[queue].done;
  }

  void reckon() {
    const std::int64_t now = steady_now();
    const double seconds = static_cast<double>(std::max<std::int64_t>(1, now - looked_)) / 1000;
    looked_ = now;
    for (auto& [queue, rate] : rates_) {
      rate.in = static_cast<double>(std::exchange(rate.pushed, 0)) / seconds;
      rate.out = static_cast<double>(std::exchange(rate.done, 0)) / seconds;
    }
  }

  static std::string per_second(double rate) {
    if (rate < least_rate) return "-";
    return rate < 10 ? fmt::format("{:.1f}/s", rate) : fmt::format("{:.0f}/s", rate);
  }

  using Lines = std::vector<std::string>;
  using Parts = std::array<Lines, 5>;  // runs, agents, locks, semaphores, queues

  static Lines split(const std::string& text) {
    Lines lines;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return lines;
  }

  Lines locks(std::size_t width) const {
    using enum Table::Align;
    Table table({{"LOCK", Left, true},
                 {"STATE"},
                 {"HOLDER", Left, true},
                 {"SINCE", Right},
                 {"WAITING", Left, true}});
    for (const Json& lock : locks_in_order(snapshot_.locks)) {
      const std::string state = lock["state"].text();
      std::string waiting = lock["waiting"].number() == 0 ? "-" : lock["waiting"].text();
      for (const Json& waiter : lock["waiters"].items()) {
        waiting += " " + printable(waiter["holder"].text());
      }
      table.add({printable(lock["name"].text()),
                 {state, state == "held" ? Style::Good : Style::Bad},
                 printable(lock.has("label") ? lock["holder"].text() + " " + lock["label"].text()
                                             : lock["holder"].text()),
                 context_.output.moment(lock["acquired_at"]),
                 waiting});
    }
    return table.empty() ? Lines{context_.output.styled(Style::Dim, "no lock is held")}
                         : split(table.write(width, context_.output));
  }

  Lines semaphores(std::size_t width) const {
    using enum Table::Align;
    Table table({{"SEMAPHORE", Left, true}, {"USE"}, {"", Right}, {"WAITING", Right}});
    for (const Json& sem : semaphores_in_order(snapshot_.semaphores)) {
      const double capacity =
          static_cast<double>(std::max<std::int64_t>(1, sem["capacity"].number()));
      const double part = static_cast<double>(sem["in_use"].number()) / capacity;
      table.add({printable(sem["name"].text()),
                 {usage_bar(part, std::min<std::size_t>(24, width / (width > 40 ? 3 : 5))),
                  part >= 1 ? Style::Warn : Style::Good},
                 fmt::format("{} of {}", sem["in_use"].text(), sem["capacity"].text()),
                 sem["waiting"].text()});
    }
    return table.empty() ? Lines{} : split(table.write(width, context_.output));
  }

  // Those that move first, the busiest above; then those where something waits or is dead.
  Json::Array queues_in_order() const {
    Json::Array queues = snapshot_.queues;
    std::ranges::stable_sort(queues, std::greater{}, [&](const Json& queue) {
      const auto rate = rates_.find(queue["name"].text());
      const double moves = rate == rates_.end() ? 0 : rate->second.in + rate->second.out;
      return std::tuple(moves >= least_rate,
                        moves >= least_rate ? moves : 0,
                        queue["processing"].number(),
                        queue["pending"].number() + queue["delayed"].number(),
                        queue["dead"].number());
    });
    return queues;
  }

  // None: no line for them.
  Lines runs(std::size_t width) const {
    return split(pipeline_verbs::table(context_.output, snapshot_.pipelines, width));
  }

  Lines agents(std::size_t width) const {
    return split(agents_table(context_.output, snapshot_.agents, width));
  }

  // On a narrow screen only what says most.
  Lines queues(std::size_t width) const {
    using enum Table::Align;
    const bool wide = width >= 76;
    std::vector<Table::Column> columns{{"QUEUE", Left, true}, {"PENDING", Right}};
    if (wide) columns.push_back({"DELAYED", Right});
    columns.insert(columns.end(), {{"RUNNING", Right}, {"DEAD", Right}});
    if (wide) columns.push_back({"OLDEST", Right});
    columns.insert(columns.end(), {{"IN", Right}, {"OUT", Right}});
    Table table(std::move(columns));
    for (const Json& queue : queues_in_order()) {
      const std::string name = queue["name"].text();
      const auto rate = rates_.find(name);
      const bool dead = queue["dead"].number() > 0;
      std::vector<Table::Cell> cells{printable(queue["paused"].truth() ? name + " (paused)" : name),
                                     with_commas(queue["pending"].number())};
      if (wide) cells.emplace_back(with_commas(queue["delayed"].number()));
      cells.emplace_back(with_commas(queue["processing"].number()));
      cells.emplace_back(with_commas(queue["dead"].number()), dead ? Style::Bad : Style::Plain);
      if (wide) {
        cells.emplace_back(queue.has("oldest_pending_age_ms")
                               ? rough_duration(queue["oldest_pending_age_ms"].number())
                               : "-");
      }
      cells.emplace_back(rate == rates_.end() ? "-" : per_second(rate->second.in));
      cells.emplace_back(rate == rates_.end() ? "-" : per_second(rate->second.out));
      table.add(std::move(cells));
    }
    return table.empty() ? Lines{context_.output.styled(Style::Dim, "no queues")}
                         : split(table.write(width, context_.output));
  }

  Lines recent(std::size_t width, std::size_t rows) const {
    Lines lines{context_.output.styled(Style::Dim, "EVENTS")};
    for (const Json& event : events_) {
      if (lines.size() >= rows) break;
      const auto moment = parse_moment(event["at"].text());
      const std::string line = fmt::format("{:>9} {} {}",
                                           moment ? relative(*moment, wall_now()) : "",
                                           printable(event["name"].text()),
                                           data_line(event["data"]));
      lines.push_back(fitted(line, width));
    }
    return lines;
  }

  // None gets more than it has lines, and what one does not need the others have. What is cut says
  // how much is missing. A part without room for a heading and a line is left out.
  void share(Parts& parts, std::size_t room) const {
    std::array<Lines*, std::tuple_size_v<Parts>> by_size{};
    std::ranges::transform(parts, by_size.begin(), [](Lines& part) { return &part; });
    std::ranges::stable_sort(by_size, {}, [](const Lines* part) { return part->size(); });
    for (std::size_t i = 0; i < by_size.size(); ++i) {
      Lines& part = *by_size.at(i);
      const std::size_t mine = room / (by_size.size() - i);
      if (part.size() > mine && mine < 2) {
        part.clear();
      } else if (part.size() > mine && mine == 2) {
        part.resize(mine);  // the first says more than how many there are
      } else if (part.size() > mine) {
        const std::size_t missing = part.size() - mine + 1;
        part.resize(mine - 1);
        part.push_back(context_.output.styled(Style::Dim, fmt::format("… and {} more", missing)));
      }
      room -= std::min(room, part.size());
    }
  }

  void draw() {
    const Size size = terminal_size();
    const std::string left = fmt::format(" reeve top  {}{}",
                                         printable(snapshot_.project),
                                         is_alone_ ? "  no daemon runs; this was seen last" : "");
    const std::string right = fmt::format("{}  q quits ", format_moment(wall_now()).substr(11, 8));
    const std::size_t used = display_width(left) + display_width(right);
    std::string title =
        left + std::string(size.columns > used ? size.columns - used : 1, ' ') + right;
    Parts parts{runs(size.columns),
                agents(size.columns),
                locks(size.columns),
                semaphores(size.columns),
                queues(size.columns)};
    // A title, the parts with a line after each, and a few events if there is room for more.
    const std::size_t for_events = size.rows >= 20 ? 4 : size.rows >= 14 ? 2 : 0;
    const auto some = std::ranges::count_if(parts, [](const Lines& part) { return !part.empty(); });
    const std::string board = board_line(snapshot_.status["board"]);
    const std::size_t of_board = board.empty() ? 0 : 2;
    const std::size_t other = 1 + static_cast<std::size_t>(some) + for_events + of_board;
    share(parts, size.rows > other ? size.rows - other : 0);
    Lines lines{fmt::format("\x1b[7m{}\x1b[0m", fitted(title, size.columns))};
    for (const Lines& part : parts) {
      if (part.empty()) continue;
      lines.insert(lines.end(), part.begin(), part.end());
      lines.emplace_back("");
    }
    if (!board.empty()) lines.insert(lines.end(), {fitted(board, size.columns), ""});
    if (lines.size() < size.rows) {
      const Lines events = recent(size.columns, size.rows - lines.size());
      lines.insert(lines.end(), events.begin(), events.end());
    }
    lines.resize(std::min(lines.size(), size.rows));
    // What was there goes before each line: behind one as wide as the screen it would take its last
    // letter along.
    std::string frame = "\x1b[H";
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool last = i + 1 == lines.size();
      frame += (last ? "\x1b[J" : "\x1b[K") + lines[i] + (last ? "" : "\r\n");
    }
    context_.output.out(frame);
    context_.output.flush();
  }

  Context& context_;
  Client& client_;
  Snapshot snapshot_;
  bool is_alone_ = false;  // nobody answers, and what is shown is old
  std::deque<Json> events_;
  std::map<std::string, Rate> rates_;
  std::int64_t looked_ = 0;
};

}  // namespace

int top_command(Context& context, const Parsed&) {
  if (context.json()) return context.misuse("top is for people; scripts use `reeve status --json`");
  if (::isatty(STDIN_FILENO) == 0 || !Output::out_is_terminal()) {
    return context.misuse("top needs a terminal; `reeve status` does not");
  }
  return Top(context).run();
}

}  // namespace reeve::cli
