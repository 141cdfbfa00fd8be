#include "cli/commands/queue_work.h"

#include "cli/child.h"
#include "cli/held_run.h"
#include "cli/signals.h"
#include "cli/text.h"
#include "codec/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fcntl.h>
#include <list>
#include <sys/mman.h>
#include <unistd.h>

namespace reeve::cli {

namespace {

constexpr std::size_t tail_bytes = 4000;
constexpr int kill_grace = 5000;

// One place of --concurrency: a command that stands ready, the taker in its name, then the item it
// runs for.
struct Slot {
  std::optional<Child> child;
  int data = -1;    // a file in memory, its stdin
  int errors = -1;  // our end of its stderr
  std::optional<Client::Ticket> taking;
  std::string holder;
  bool busy = false;
  Json item;
  std::int64_t extend_every = 0;
  std::int64_t extend_due = 0;
  std::optional<Client::Ticket> extending;
  bool lost = false;                     // the claim: whatever it does now does not count
  std::optional<std::int64_t> kill_due;  // it was told to end
  std::string tail;
  std::int64_t began = 0;
};

class Workshop {
 public:
  Workshop(Context& context, const Parsed& parsed)
      : context_(context),
        client_(context.client()),
        parsed_(parsed),
        queues_(parsed.words),
        slots_(static_cast<std::size_t>(parsed.number("concurrency").value_or(1))),
        drains_(parsed.has("drain")),
        once_(parsed.has("once")) {}

  int run() {
    std::signal(SIGPIPE, SIG_IGN);
    const Signals signals{SIGINT, SIGTERM, SIGHUP};
    while (!failure_) {
      fill();
      if (is_over()) break;
      std::vector<pollfd> others{signals.readable()};
      for (const Slot& slot : slots_) {
        if (slot.child)
          others.push_back({.fd = slot.child->news(), .events = POLLIN, .revents = 0});
        if (slot.errors >= 0) others.push_back({.fd = slot.errors, .events = POLLIN, .revents = 0});
      }
      client_.pump(next_extension(), others);
      for (std::size_t i = 1; i < others.size(); ++i) {
        if (others[i].revents != 0) read_errors(others[i].fd);
      }
      while (const auto signal = signals.next()) {
        stop(*signal);
      }
      hear_takes();
      extend();
      reap();
    }
    for (Slot& slot : slots_) abandon(slot);
    if (failure_) return context_.fail(*failure_);
    if (context_.json()) {
      context_.output.succeed(json_of({{"completed", completed_}, {"failed", failed_}}));
    }
    if (stopped_by_ == SIGINT) return context_.output.done(Exit::Interrupted);
    const bool bad = (once_ || drains_) && failed_ > 0;
    return context_.output.done(bad ? Exit::Failed : Exit::Ok);
  }

 private:
  // Every free slot asks for an item, unless no more are wanted.
  void fill() {
    if (stopped_by_ != 0) return;
    for (Slot& slot : slots_) {
      if (slot.busy || slot.taking || failure_) continue;
      if (once_ && begun_ > 0) return;
      if (drained_) return;
      prepare(slot);
    }
  }

  void prepare(Slot& slot) {
    if (!slot.child) {
      slot.data = ::memfd_create("reeve-item", MFD_CLOEXEC);
      int ends[2];  // NOLINT(modernize-avoid-c-arrays)
      if (slot.data < 0 || ::pipe2(ends, O_CLOEXEC) != 0) return broken("out of descriptors");
      slot.errors = ends[0];
      ::fcntl(slot.errors, F_SETFL, O_NONBLOCK);
      const Child::Plan plan{.words = {"/bin/sh", "-c", std::string(*parsed_.text("exec"))},
                             .in = slot.data,
                             .err = ends[1],
                             .home = client_.where().home.path};
      Result<Child> child = Child::prepare(plan);
      ::close(ends[1]);
      if (!child) return broken(child.error().message);
      slot.child = std::move(*child);
    }
    slot.holder = fresh_holder("work");
    Json meta = json_of({{"pid", static_cast<std::int64_t>(slot.child->pid())}, {"group", true}});
    meta.set("label", "queue work");
    set_within(meta);
    Json names = Json::array();
    for (const std::string& name : queues_) names.push(name);
    slot.taking = client_.begin("queue.take",
                                json_of({{"queues", names},
                                         {"holder", slot.holder},
                                         {"max", 1},
                                         {"wait_ms", drains_ ? Json() : Json(-1)},
                                         {"meta", meta}}),
                                Client::Kind::Change);
    if (once_) ++begun_;
  }

  void broken(std::string message) { failure_ = Failure{"FAILED", std::move(message)}; }

  void hear_takes() {
    for (Slot& slot : slots_) {
      if (!slot.taking) continue;
      std::optional<Answer> answer = client_.take(*slot.taking);
      if (!answer) continue;
      slot.taking.reset();
      if (!*answer) {
        const std::string& code = answer->error().code;
        if (code == "CANCELLED" && stopped_by_ != 0) continue;
        failure_ = answer->error();
        continue;
      }
      const auto& items = (**answer)["items"].items();
      if (items.empty()) {
        if (drains_) drained_ = true;
        continue;
      }
      slot.item = items[0];
      if (stopped_by_ != 0 || !slot.child) {
        give_back(slot);
      } else {
        begin(slot);
      }
    }
  }

  void begin(Slot& slot) {
    const std::string data = data_of(slot.item);
    std::size_t written = 0;
    while (written < data.size()) {
      const ssize_t some = ::pwrite(
          slot.data, data.data() + written, data.size() - written, static_cast<off_t>(written));
      if (some <= 0) return broken("cannot hand over the data: out of memory");
      written += static_cast<std::size_t>(some);
    }
    slot.busy = true;
    slot.lost = false;
    slot.kill_due.reset();
    slot.tail.clear();
    slot.began = steady_now();
    const auto visible = parse_moment(slot.item["visible_at"].text());
    slot.extend_every = visible ? std::max<std::int64_t>(100, (*visible - wall_now()) / 3) : 60'000;
    slot.extend_due = slot.began + slot.extend_every;
    slot.child->go({{"REEVE_QUEUE", slot.item["queue"].text()},
                    {"REEVE_ITEM", slot.item["id"].text()},
                    {"REEVE_ATTEMPT", slot.item["attempts"].text()},
                    {"REEVE_CLAIM", slot.item["claim"].text()},
                    {"REEVE_FENCE", slot.item["claim"].text()},
                    {"REEVE_HOLDER", slot.holder},
                    {"REEVE_WITHIN", around_with(slot.holder)}});
  }

  Json claim_of(const Slot& slot) const {
    return json_of(
        {{"queue", slot.item["queue"]}, {"id", slot.item["id"]}, {"claim", slot.item["claim"]}});
  }

  // If that fails, the item comes back by itself when its time is over.
  void give_back(Slot& slot) {
    static_cast<void>(client_.change("queue.release", claim_of(slot)));
    slot.busy = false;
  }

  std::int64_t next_extension() const {
    std::int64_t next = -1;
    const auto look_at = [&](std::int64_t due) {
      const std::int64_t left = std::max<std::int64_t>(0, due - steady_now());
      next = next < 0 ? left : std::min(next, left);
    };
    for (const Slot& slot : slots_) {
      if (!slot.busy) continue;
      if (slot.kill_due) look_at(*slot.kill_due);
      if (!slot.extending && !slot.lost) look_at(slot.extend_due);
    }
    return next;
  }

  // TERM; what is there 5 s later is killed.
  static void end(Slot& slot) {
    slot.child->signal(SIGTERM);
    if (!slot.kill_due) slot.kill_due = steady_now() + kill_grace;
  }

  void extend() {
    for (Slot& slot : slots_) {
      if (slot.extending) {
        const std::optional<Answer> answer = client_.take(*slot.extending);
        if (!answer) continue;
        slot.extending.reset();
        if (!*answer && answer->error().code != "UNAVAILABLE" && slot.busy) {
          slot.lost = true;
          context_.output.note(fmt::format("{} was lost: {}; its command is ended",
                                           slot.item["id"].text(),
                                           printable(answer->error().message)));
          end(slot);
        }
      }
      if (!slot.busy) continue;
      if (slot.kill_due && steady_now() >= *slot.kill_due) {
        slot.child->signal(SIGKILL);
        slot.kill_due = steady_now() + kill_grace;
      }
      if (slot.extending || slot.lost || steady_now() < slot.extend_due) continue;
      slot.extend_due = steady_now() + slot.extend_every;
      slot.extending = client_.begin("queue.extend", claim_of(slot), Client::Kind::Change);
    }
  }

  // Passes on what the commands complain about, and keeps its end.
  void read_errors(int descriptor) {
    for (Slot& slot : slots_) {
      if (slot.errors != descriptor) continue;
      std::array<char, 4096> buffer{};
      for (ssize_t got = 0; (got = ::read(descriptor, buffer.data(), buffer.size())) > 0;) {
        const std::string_view text(buffer.data(), static_cast<std::size_t>(got));
        context_.output.err(text);
        slot.tail += text;
        if (slot.tail.size() > 2 * tail_bytes) slot.tail.erase(0, slot.tail.size() - tail_bytes);
      }
    }
  }

  void reap() {
    for (Slot& slot : slots_) {
      if (!slot.child) continue;
      while (const auto news = slot.child->next_news()) {
        if (news->stopped) continue;
        // Its keeper was killed: the item is settled when its command is dead as well.
        if (news->orphaned) {
          slot.child->stand_in();
          kill_group(slot.child->pid(), slot.child->ours());
        }
        ended(slot, news->code);
        break;
      }
    }
  }

  // The keeper goes last: until the item is settled its group is there.
  void ended(Slot& slot, int code) {
    read_errors(slot.errors);
    if (slot.busy) settle(slot, code);
    slot.child->signal(SIGKILL);  // what its command may have left behind, too
    abandon(slot);
  }

  void settle(Slot& slot, int code) {
    slot.busy = false;
    if (slot.lost) return;
    const std::string id = slot.item["id"].text();
    const std::string took = rough_duration(steady_now() - slot.began);
    if (giving_back_) {
      give_back(slot);
      context_.output.note(fmt::format("{} given back", id));
      return;
    }
    Json params = claim_of(slot);
    Answer answer = Json();
    if (code == 0) {
      answer = client_.change("queue.complete", params);
      ++completed_;
    } else {
      std::string_view tail = slot.tail;
      if (tail.size() > tail_bytes) tail.remove_prefix(tail.size() - tail_bytes);
      while (tail.ends_with('\n')) tail.remove_suffix(1);
      params.set(
          "error",
          tail.empty() ? fmt::format("exit {}", code) : fmt::format("exit {}: {}", code, tail));
      answer = client_.change("queue.fail", params);
      ++failed_;
    }
    if (!answer) {
      context_.output.note(fmt::format("{}: {}", id, printable(answer.error().message)));
      if (answer.error().code == "UNAVAILABLE") failure_ = answer.error();
      return;
    }
    if (context_.json()) return;
    if (context_.quiet()) {
      context_.output.line(id);
    } else {
      const bool dead = (*answer)["state"].text() == "dead";
      const std::string ended = code == 0 ? "" : fmt::format(" (exit {})", code);
      const std::string_view then = code == 0 ? "" : dead ? ", for good" : "; it is tried again";
      context_.output.note(fmt::format(
          "{} {} after {}{}{}", id, code == 0 ? "completed" : "failed", took, ended, then));
    }
    context_.output.flush();
  }

  // First: no more items, what runs may finish. Again: what runs is ended and given back.
  void stop(int signal) {
    if (stopped_by_ == 0) {
      stopped_by_ = signal;
      for (Slot& slot : slots_) {
        if (slot.taking) client_.cancel(*slot.taking);
      }
      const auto running =
          std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.busy; });
      if (running > 0) {
        context_.output.note(fmt::format("finishing {}; once more to give back what runs",
                                         counted(running, "item")));
      }
      return;
    }
    giving_back_ = true;
    for (Slot& slot : slots_) {
      if (slot.busy) end(slot);
    }
  }

  bool is_over() const {
    if (stopped_by_ == 0 && !drained_ && !(once_ && begun_ > 0)) return false;
    return std::none_of(
        slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.busy || slot.taking; });
  }

  static void abandon(Slot& slot) {
    slot.child.reset();
    if (slot.data >= 0) ::close(std::exchange(slot.data, -1));
    if (slot.errors >= 0) ::close(std::exchange(slot.errors, -1));
  }

  Context& context_;
  Client& client_;
  const Parsed& parsed_;
  std::vector<std::string> queues_;
  std::vector<Slot> slots_;
  bool drains_;
  bool once_;
  bool drained_ = false;
  bool giving_back_ = false;
  int stopped_by_ = 0;
  int begun_ = 0;
  std::int64_t completed_ = 0;
  std::int64_t failed_ = 0;
  std::optional<Failure> failure_;
};

}  // namespace

std::string data_of(const Json& item) {
  const Json& data = item["data"];
  const Json& bytes = item["bytes"].text() == "base64" ? data["base64"] : item["base64"];
  if (!bytes.is_null()) return codec::from_base64(bytes.text()).value_or("");
  return data.is_string() ? data.text() : data.write();
}

int queue_work(Context& context, const Parsed& parsed) {
  const std::int64_t concurrency = parsed.number("concurrency").value_or(1);
  if (concurrency < 1 || concurrency > 1000) {
    return context.misuse("--concurrency is between 1 and 1000");
  }
  if (parsed.text("exec")->find_first_not_of(" \t\n") == std::string_view::npos) {
    return context.misuse("--exec wants a command, and was given none");
  }
  return Workshop(context, parsed).run();
}

}  // namespace reeve::cli
