#include "cli/waiting.h"

#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace reeve::cli {

namespace {

constexpr std::int64_t look_every = 1000;
constexpr std::int64_t draw_every = 100;
// Who gets it at once should see nothing flicker.
constexpr std::int64_t silence_first = 150;

std::string how_long(const Json& since, std::int64_t now) {
  const auto moment = parse_moment(since.text());
  if (!moment || now - *moment < 1000) return "";
  return fmt::format(" for {}", rough_duration(now - *moment));
}

// How many stand before this holder; none: it is not in the line (yet).
std::optional<std::size_t> ahead(const Json& thing, const std::string& holder) {
  const Json::Array& waiters = thing["waiters"].items();
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    if (waiters[i]["holder"].text() == holder) return i;
  }
  return std::nullopt;
}

// "ana for 3m, bo for 4s and 2 more", or in short "ana for 3m (+3)": those first who have it
// longest.
std::string holders_of(const Json& sem, std::int64_t now, bool at_length) {
  Json::Array holders = sem["holders"].items();
  std::ranges::stable_sort(
      holders, {}, [](const Json& holder) { return holder["acquired_at"].text(); });
  const std::size_t most = at_length ? 3 : 1;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, holders.size()); ++i) {
    text += fmt::format("{}{}{}",
                        i == 0 ? "" : ", ",
                        printable(holders[i]["holder"].text()),
                        how_long(holders[i]["acquired_at"], now));
  }
  if (holders.size() <= most) return text;
  const std::size_t others = holders.size() - most;
  return text + (at_length ? fmt::format(" and {} more", others) : fmt::format(" (+{})", others));
}

// Takes so many cells away from the holder that is shown, then from the thing's own name: since
// when, and the place in line, are what a waiting person looks for.
Json with_shorter_names(Json thing, std::size_t cells) {
  constexpr std::size_t readable = 8;
  const auto shorten = [&](const std::string& text) {
    const std::size_t width = display_width(text);
    const std::size_t less = std::min(cells, width > readable ? width - readable : 0);
    cells -= less;
    return fitted(text, width - less);
  };
  if (thing.has("holder")) thing.set("holder", shorten(printable(thing["holder"].text())));
  if (thing.has("holders") && !thing["holders"].items().empty()) {
    Json::Array holders = thing["holders"].items();
    const auto first = std::ranges::min_element(
        holders, {}, [](const Json& holder) { return holder["acquired_at"].text(); });
    first->set("holder", shorten(printable((*first)["holder"].text())));
    thing.set("holders", Json(std::move(holders)));
  }
  if (cells > 0) thing.set("name", shorten(printable(thing["name"].text())));
  return thing;
}

class View {
 public:
  View(Context& context, Client& client, const WaitFor& what)
      : context_(context),
        client_(client),
        what_(what),
        terminal_(Output::err_is_terminal() && !context.json()),
        began_(steady_now()) {}

  // Ms until something wants to be done.
  std::int64_t next() const {
    const std::int64_t now = steady_now();
    if (now < began_ + silence_first) return began_ + silence_first - now;
    return terminal_ ? draw_every : look_every;
  }

  void turn() {
    const std::int64_t now = steady_now();
    if (now < began_ + silence_first) return;
    if (!looking_ && now >= looked_ + look_every) {
      looked_ = now;
      const bool queue = what_.kind == "queue";
      looking_ = client_.begin(queue ? "queue.stats" : fmt::format("{}.show", what_.kind),
                               json_of({{queue ? "queue" : "name", what_.names[name_]}}),
                               Client::Kind::Question);
    }
    if (looking_) {
      if (const auto thing = client_.take(*looking_)) {
        looking_.reset();
        if (*thing) looked_at(what_.kind == "queue" ? (**thing)["queues"].items()[0] : **thing);
      }
    }
    show(now);
  }

  void clear() {
    if (terminal_ && drawn_) context_.output.err("\r\x1b[K");
  }

 private:
  void looked_at(const Json& thing) {
    // Of several names, one that is in the way; of queues, one that is not paused.
    const bool free = what_.kind == "lock" && thing["state"].text() == "free";
    const bool paused = thing["paused"].truth();
    if ((free || paused) && what_.names.size() > 1) {
      name_ = (name_ + 1) % what_.names.size();
      if (++free_ < what_.names.size()) {
        looked_ = 0;
        return;
      }
    }
    free_ = 0;
    thing_ = thing;
    if (what_.kind == "queue") thing_.set("name", fmt::format("{}", fmt::join(what_.names, ", ")));
    key_ = fmt::format("{}{}{} {} {}",
                       paused ? "paused " : "",
                       thing["holder"].text(),
                       thing["available"].text(),
                       thing["name"].text(),
                       ahead(thing, what_.holder).value_or(0));
  }

  std::string sentence(bool with_label) const {
    return describe_wait(what_.kind, thing_, what_.holder, wall_now(), with_label);
  }

  void show(std::int64_t now) {
    if (thing_.is_null()) return;
    if (!terminal_) {
      // Once when it begins, and again when the holder or the place has changed.
      if (key_ == told_ && drawn_) return;
      told_ = key_;
      drawn_ = true;
      context_.output.note(fmt::format("waiting: {}", sentence(true)));
      return;
    }
    drawn_ = true;
    const std::int64_t waited = now - began_;
    const double part =
        what_.limit > 0 ? static_cast<double>(waited) / static_cast<double>(what_.limit) : -1.0;
    const std::string time =
        what_.limit > 0
            ? fmt::format("{} of {}", rough_duration(waited), rough_duration(what_.limit))
            : rough_duration(waited);
    const std::string tail = fmt::format(" {} {}", bar(part, waited / draw_every, 12), time);
    const std::size_t width = std::max<std::size_t>(Output::err_width(), 40);
    // Room is left for the ^C that the terminal shows.
    const std::size_t room = width - std::min(width, display_width(tail) + 3);
    std::string words = sentence(true);
    if (display_width(words) > room) words = sentence(false);
    if (const std::size_t cells = display_width(words); cells > room) {
      words = describe_wait(
          what_.kind, with_shorter_names(thing_, cells - room), what_.holder, wall_now(), false);
    }
    context_.output.err(fmt::format("\r\x1b[K{}{}", fitted(words, room), tail));
  }

  Context& context_;
  Client& client_;
  const WaitFor& what_;
  bool terminal_;
  bool drawn_ = false;
  std::int64_t began_;
  std::int64_t looked_ = 0;
  std::size_t name_ = 0;
  std::size_t free_ = 0;
  std::optional<Client::Ticket> looking_;
  Json thing_;
  std::string key_;
  std::string told_;
};

}  // namespace

std::string bar(double part, std::int64_t tick, std::size_t width) {
  std::string cells = "[";
  if (part >= 0) {
    const auto full = static_cast<std::size_t>(std::min(1.0, part) * static_cast<double>(width));
    for (std::size_t i = 0; i < width; ++i) cells += i < full ? '#' : '.';
  } else {
    constexpr std::int64_t block = 3;
    const auto way = static_cast<std::int64_t>(width) - block;
    const std::int64_t step = tick % (2 * way);
    const std::int64_t at = step < way ? step : 2 * way - step;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(width); ++i) {
      cells += i >= at && i < at + block ? '#' : '.';
    }
  }
  return cells + "]";
}

std::string describe_wait(std::string_view kind,
                          const Json& thing,
                          const std::string& holder,
                          std::int64_t now,
                          bool with_label) {
  const std::string name = printable(thing["name"].text());
  if (kind == "queue") return thing["paused"].truth() ? name + " is paused" : "nothing in " + name;
  const auto before = ahead(thing, holder);
  const std::string place = !before        ? ""
                            : *before == 0 ? "; you are next"
                                           : fmt::format("; {} before you", *before);
  if (kind == "sem") {
    const std::string holders = holders_of(thing, now, with_label);
    if (!with_label && !holders.empty()) {
      return fmt::format("{} is held by {}{}", name, holders, place);
    }
    return fmt::format("{} has {} of {} free{}{}{}",
                       name,
                       thing["available"].number(),
                       thing["capacity"].number(),
                       holders.empty() ? "" : "; held by ",
                       holders,
                       place);
  }
  if (!thing.has("holder")) return fmt::format("{} is free{}", name, place);
  std::string who = printable(thing["holder"].text());
  if (with_label && thing.has("label"))
    who += fmt::format(" ({})", printable(thing["label"].text()));
  return fmt::format("{} is {} by {}{}{}",
                     name,
                     thing["state"].text() == "ending" ? "being taken back, held" : "held",
                     who,
                     how_long(thing["acquired_at"], now),
                     place);
}

Waited wait_in_sight(Context& context, Client& client, Client::Ticket ticket, const WaitFor& what) {
  const Signals signals{SIGINT, SIGTERM, SIGHUP};
  View view(context, client, what);
  Waited waited;
  for (;;) {
    if (auto answer = client.take(ticket)) {
      view.clear();
      waited.answer = std::move(*answer);
      return waited;
    }
    std::array<pollfd, 1> others{signals.readable()};
    client.pump(view.next(), others);
    if (signals.next()) {
      if (waited.interrupted) {
        // Asked twice: the connection's end takes us out of the line.
        view.clear();
        waited.answer = std::unexpected(Failure{"CANCELLED", "interrupted"});
        return waited;
      }
      waited.interrupted = true;
      client.cancel(ticket);
    }
    if (!waited.interrupted) view.turn();
  }
}

}  // namespace reeve::cli
