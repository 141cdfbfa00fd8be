#include "cli/client.h"

#include "cli/start.h"
#include "cli/text.h"
#include "codec/shell_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <time.h>
#include <utility>
#include <vector>

namespace reeve::cli {

namespace {

constexpr std::int64_t start_patience = 10'000;
// A wait that the daemon should have ended by itself is ended by us so much later.
constexpr std::int64_t wait_slack = 1000;
// How often is looked whether there is a daemon again.
constexpr std::int64_t look_for_daemon = 200;
// For the last words of somebody who hung up, in ms: they are there, or never come.
constexpr int last_words = 1000;

void sleep_for(std::int64_t milliseconds) {
  const timespec time{.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1'000'000};
  ::nanosleep(&time, nullptr);
}

std::string real_path(const std::string& path) {
  std::array<char, PATH_MAX> real{};
  return ::realpath(path.c_str(), real.data()) == nullptr ? path : std::string(real.data());
}

// Who typed `--timeout 0` knows of no `timeout_ms`, and who typed an id of no `ids`.
std::string as_typed(const std::string& message, std::string_view field) {
  if (message.starts_with("ids \"")) return message.substr(4);
  if (!field.ends_with("_ms") || !message.starts_with(field)) return message;
  std::string option(field.substr(0, field.size() - 3));
  std::ranges::replace(option, '_', '-');
  std::string typed = "--" + option + message.substr(field.size());
  if (typed.find(" must be at ") != std::string::npos) typed += "ms";
  return typed;
}

Answer answer_in(const Json& message) {
  const Json& error = message["error"];
  if (!error.is_object()) return message["result"];
  const Json& data = error["data"];
  std::string code = data["code"].text();
  if (code.empty()) {
    switch (error["code"].number()) {
      case -32602:
      case -32600:
      case -32700:
        code = "BAD_PARAMS";
        break;
      default:
        code = "FAILED";
    }
  }
  const std::string& field = data["details"]["field"].text();
  return std::unexpected(Failure{code, as_typed(error["message"].text(), field), data["details"]});
}

}  // namespace

std::string Client::line_of(Ticket ticket, std::string_view method, const Json& params) {
  Json message = Json::object();
  message.set("id", static_cast<std::uint64_t>(ticket)).set("method", method);
  message.set("params", params);
  return message.write() + "\n";
}

Failure Client::no_daemon() const {
  return {"UNAVAILABLE",
          fmt::format("no daemon is running in {}; start one with `reeve daemon start`",
                      where_.home.path)};
}

// The daemon of the home, wherever it listens.
std::expected<Link, Failure> Client::reach() {
  Home& home = where_.home;
  // It may have been started with another $REEVE_SOCKET: it wrote down which.
  const auto use_marked = [&]() -> std::optional<Link> {
    const DaemonMark mark = daemon_of(home.path);
    if (mark.pid == 0 || mark.socket.empty() || mark.socket == home.socket) return std::nullopt;
    auto other = Link::connect(mark.socket);
    if (!other) return std::nullopt;
    home.socket = mark.socket;
    home.is_elsewhere = home.socket != home.path + "/reeve.sock";
    return std::move(*other);
  };
  std::expected<Link, Failure> link = std::unexpected(Failure{"NO_DAEMON", ""});
  // What was inherited in $REEVE_SOCKET may be of another home than the one that was named.
  if (home.is_elsewhere && home.is_named) {
    if (auto other = use_marked()) link = std::move(*other);
  }
  if (!link) link = Link::connect(home.socket);
  if (!link && link.error().code == "NO_DAEMON") {
    if (auto other = use_marked()) link = std::move(*other);
  }
  if (!link || !home.is_elsewhere) return link;
  if (const auto checked = check_home(*link); !checked) return std::unexpected(checked.error());
  return link;
}

// Whether it is the daemon of the home that was named; if none was, its home is ours from now on.
std::expected<void, Failure> Client::check_home(Link& link) {
  Home& home = where_.home;
  const DaemonMark mark = daemon_of(home.path);
  if (mark.pid != 0 && mark.pid == link.peer() && mark.socket == home.socket) return {};
  // Nobody has the home, or in another namespace of processes: who listens knows best.
  const std::int64_t until = steady_now() + start_patience;
  std::optional<std::string> line;
  bool open = link.send(line_of(++last_, "daemon.status", Json::object()));
  while (open && !(line = link.next_line()) && steady_now() < until) {
    pollfd ready{.fd = link.descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, look_for_daemon);
    open = link.receive();
  }
  if (!line) line = link.next_line();
  if (!line && !open) {
    return std::unexpected(Failure{"NO_DAEMON", "who listened there hung up"});
  }
  const auto message = line ? parse_json(*line, answer_depth) : std::nullopt;
  const std::string theirs = message ? (*message)["result"]["home"].text() : "";
  if (theirs.empty()) {
    return std::unexpected(
        Failure{"UNAVAILABLE",
                fmt::format("who listens on {} does not say which home it has; nothing was done",
                            home.socket)});
  }
  if (!home.is_named) {
    home.path = theirs;
    return {};
  }
  if (real_path(theirs) == real_path(home.path)) return {};
  return std::unexpected(Failure{
      "UNAVAILABLE",
      fmt::format("the daemon on {} of $REEVE_SOCKET has the home {} and not {}; nothing was done",
                  home.socket,
                  theirs,
                  home.path)});
}

std::expected<void, Failure> Client::connect(bool may_start) {
  if (link_.is_open()) return {};
  const std::int64_t until = steady_now() + start_patience;
  int deaths = 0;
  for (std::int64_t pause = 5;; pause = std::min<std::int64_t>(2 * pause, 100)) {
    auto link = reach();
    if (link) {
      link_ = std::move(*link);
      hello_ = 0;
      return {};
    }
    if (link.error().code != "NO_DAEMON") return std::unexpected(link.error());
    if (!may_start) {
      return std::unexpected(no_daemon());
    }
    if (steady_now() > until) {
      return std::unexpected(Failure{
          "UNAVAILABLE",
          fmt::format(
              "a daemon has {} but does not listen on {}", where_.home.path, where_.home.socket)});
    }
    const auto started = start_daemon(where_.home);
    if (!started) return std::unexpected(started.error());
    if (*started == Started::Died && ++deaths > most_repeats) {
      return std::unexpected(
          Failure{"UNAVAILABLE",
                  fmt::format("the daemon ended before it was ready; `reeve daemon run --home {}` "
                              "shows why",
                              codec::shell_word(where_.home.path))});
    }
    if (*started != Started::Ready) sleep_for(pause);
  }
}

Client::Ticket Client::begin(std::string_view method, Json params, Kind kind) {
  const Ticket ticket = ++last_;
  Request& request = requests_[ticket];
  request.method = method;
  request.needs_daemon = kind == Kind::Wait;
  if (kind == Kind::Wait) kind = Kind::Follow;
  request.kind = kind;
  const std::int64_t wait = params["wait_ms"].number();
  request.waits = wait != 0;
  if (wait > 0) request.until = steady_now() + wait;
  if (kind == Kind::Change) params.set("key", random_word(20));
  if (where_.project_name && !method.starts_with("session.")) {
    params.set("project", *where_.project_name);
  }
  if (kind == Kind::Follow) {
    request.params = params;
    request.last_seq = params["since_seq"].natural();
    request.last_index = last_of_all;
  }
  request.line = line_of(ticket, method, params);
  if (const auto connected = connect(where_.may_start); !connected) {
    request.answer = std::unexpected(connected.error());
    return ticket;
  }
  if (std::exchange(sleeps_, false)) {
    send_again();
    return ticket;
  }
  send(ticket, request);
  return ticket;
}

void Client::send(Ticket ticket, Request& request) {
  const bool needs_hello = where_.project_root || request.waits || request.kind == Kind::Follow;
  if (hello_ == 0 && needs_hello && request.method != "session.hello") greet_by_line();
  if (!link_.is_open() || !link_.send(request.line)) {
    hang_up();
    lost();
  }
  (void)ticket;
}

// Sends the hello ahead of what follows on the same connection; its answer is read with the others.
void Client::greet_by_line() {
  hello_ = ++last_;
  Json params = Json::object();
  if (where_.project_root) {
    params.set("path", where_.project_root->path).set("name", where_.project_root->name);
  } else if (where_.project_name) {
    params.set("project", *where_.project_name);
  }
  if (!link_.send(line_of(hello_, "session.hello", params))) link_.close();
}

std::expected<Json, Failure> Client::greet() {
  for (int tries = 0; !greeting_ || hello_ == 0; ++tries) {
    if (const auto connected = connect(where_.may_start); !connected) {
      return std::unexpected(connected.error());
    }
    if (tries > most_repeats) return std::unexpected(Failure{"UNAVAILABLE", "the daemon hung up"});
    if (hello_ == 0) greet_by_line();
    while (link_.is_open() && !greeting_ && !refused_) pump(-1);
    if (refused_) return std::unexpected(*refused_);
  }
  return *greeting_;
}

Answer Client::ask(std::string_view method, Json params) {
  return wait(begin(method, std::move(params), Kind::Question));
}

Answer Client::change(std::string_view method, Json params) {
  return wait(begin(method, std::move(params), Kind::Change));
}

std::optional<Answer> Client::take(Ticket ticket) {
  const auto found = requests_.find(ticket);
  if (found == requests_.end() || !found->second.answer) return std::nullopt;
  Answer answer = std::move(*found->second.answer);
  // A Follow goes on after its first answer.
  if (found->second.kind == Kind::Follow && answer) {
    found->second.answer.reset();
  } else {
    requests_.erase(found);
  }
  return answer;
}

Answer Client::wait(Ticket ticket) {
  for (;;) {
    if (auto answer = take(ticket)) return std::move(*answer);
    pump(-1);
  }
}

void Client::cancel(Ticket ticket) {
  const auto found = requests_.find(ticket);
  if (found == requests_.end() || found->second.answer || !link_.is_open()) return;
  found->second.cancelled = true;
  const Json params = json_of({{"id", static_cast<std::uint64_t>(ticket)}});
  if (!link_.send(line_of(++last_, "request.cancel", params))) {
    link_.close();
    lost();
  }
}

std::optional<Json> Client::next_event() {
  if (events_.empty()) return std::nullopt;
  Json event = std::move(events_.front());
  events_.pop_front();
  return event;
}

std::int64_t Client::soonest(std::int64_t milliseconds) const {
  const std::int64_t now = steady_now();
  for (const auto& [ticket, request] : requests_) {
    if (request.answer) return 0;
    if (request.until < 0 || request.cancelled) continue;
    const std::int64_t left = std::max<std::int64_t>(0, request.until + wait_slack - now);
    milliseconds = milliseconds < 0 ? left : std::min(milliseconds, left);
  }
  return milliseconds;
}

// After a reconnection the daemon may count a wait anew; for the user it began when it began.
void Client::end_waits() {
  const std::int64_t now = steady_now();
  std::vector<Ticket> late;
  for (auto& [ticket, request] : requests_) {
    if (request.answer || request.cancelled || request.until < 0) continue;
    if (now < request.until + wait_slack) continue;
    request.out_of_time = true;
    late.push_back(ticket);
  }
  for (const Ticket ticket : late) cancel(ticket);
}

void Client::pump(std::int64_t milliseconds, std::span<pollfd> others) {
  if (sleeps_) {
    if (connect(false)) {
      sleeps_ = false;
      send_again();
    } else {
      milliseconds = milliseconds < 0 ? look_for_daemon : std::min(milliseconds, look_for_daemon);
    }
  }
  std::vector<pollfd> all(others.begin(), others.end());
  if (link_.is_open()) {
    all.push_back(pollfd{.fd = link_.descriptor(), .events = POLLIN, .revents = 0});
  }
  const std::int64_t limit = std::min<std::int64_t>(soonest(milliseconds), 1'000'000'000);
  const int count = ::poll(all.data(), all.size(), static_cast<int>(limit));
  for (std::size_t i = 0; i < others.size(); ++i) {
    others[i].revents = count > 0 ? all[i].revents : short{0};
  }
  if (count > 0 && link_.is_open() && all.back().revents != 0) {
    const bool open = link_.receive();
    read_lines();
    if (!open) {
      link_.close();
      lost();
    }
  }
  end_waits();
}

void Client::read_lines() {
  while (const auto line = link_.next_line()) {
    if (const auto message = parse_json(*line, answer_depth)) {
      heard(*message);
    } else {
      heard_nothing(*line);
    }
    if (!link_.is_open()) return;
  }
}

// Whose answer it was cannot be known, and nobody shall wait for one that has come.
void Client::heard_nothing(std::string_view line) {
  constexpr std::size_t shown = 60;
  const Failure failure{
      "FAILED",
      fmt::format("what the daemon answered cannot be read: {}{}; `reeve daemon restart` helps if "
                  "it is of another version",
                  printable(line.substr(0, shown)),
                  line.size() > shown ? "…" : "")};
  if (!greeting_) refused_ = failure;
  fail_all(failure);
}

// What is too long has no id, for nobody read it to its end: it is the longest that is open. To
// send it again would be of no use.
bool Client::heard_too_long(const Json& message) {
  if (!message["id"].is_null()) return false;
  const Answer answer = answer_in(message);
  if (answer || answer.error().code != "TOO_LONG") return false;
  Request* longest = nullptr;
  for (auto& [ticket, request] : requests_) {
    if (request.answer) continue;
    if (longest == nullptr || request.line.size() > longest->line.size()) longest = &request;
  }
  if (longest != nullptr) {
    longest->answer = std::unexpected(
        Failure{"TOO_LONG", fmt::format("that is too much at once: {}", answer.error().message)});
  }
  return true;
}

void Client::hang_up() {
  if (!link_.is_open()) return;
  // It hung up first, and may have said why. All else that it said will be asked for again.
  while (link_.receive()) {
    pollfd more{.fd = link_.descriptor(), .events = POLLIN, .revents = 0};
    if (::poll(&more, 1, last_words) <= 0) break;
  }
  while (const auto line = link_.next_line()) {
    if (const auto message = parse_json(*line)) heard_too_long(*message);
  }
  link_.close();
}

void Client::heard(const Json& message) {
  if (message.has("method")) return heard_event(message);
  if (heard_too_long(message)) return;
  const Ticket ticket = message["id"].natural();
  if (ticket == hello_ && hello_ != 0) {
    Answer greeting = answer_in(message);
    if (!greeting) {
      refused_ = greeting.error();
      return fail_all(greeting.error());
    }
    session_ = (*greeting)["session"].text();
    greeting_ = std::move(*greeting);
    return;
  }
  const auto found = requests_.find(ticket);
  if (found == requests_.end() || found->second.answer) return;
  Request& request = found->second;
  Answer answer = answer_in(message);
  if (!answer && answer.error().code == "UNAVAILABLE" && request.repeats < most_repeats) {
    // Its journal failed and it is about to end. The next one will know.
    link_.close();
    lost();
    return;
  }
  if (!answer && request.out_of_time && answer.error().code == "CANCELLED") {
    answer = std::unexpected(Failure{"TIMED_OUT", "the wait ended at its limit"});
  }
  if (request.kind == Kind::Follow && heard_gone(ticket, request, answer)) return;
  request.answer = std::move(answer);
}

void Client::heard_event(const Json& message) {
  const Json& params = message["params"];
  const auto found = requests_.find(params["follow"].natural());
  if (message["method"].text() == "lagged") {
    events_.push_back(json_of({{"lagged", params}}));
    return;
  }
  if (found != requests_.end()) {
    Request& follow = found->second;
    const std::uint64_t seq = params["seq"].natural();
    const std::uint64_t index = params["index"].natural();
    // Seen before the connection was lost.
    if (seq < follow.last_seq || (seq == follow.last_seq && index <= follow.last_index)) return;
    follow.repeats = 0;
    follow.last_seq = seq;
    follow.last_index = index;
  }
  events_.push_back(params);
}

void Client::fail_all(const Failure& failure) {
  for (auto& [ticket, request] : requests_) {
    if (!request.answer) request.answer = std::unexpected(failure);
  }
}

}  // namespace reeve::cli
