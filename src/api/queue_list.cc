#include "api/queue_list.h"

#include "api/limits.h"
#include "api/paging.h"
#include "api/rpc.h"
#include "api/show.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

namespace reeve::api {
namespace {

const queue::QueueNo* find(const Tell& tell, const State& state) {
  return state.queues.names.find(name_of<QueueName>(tell));
}

// A list walks through five parts, each in an order of its own, and may stop anywhere. Where it
// goes on is written `part:number:item`, and nobody else needs to understand it.
struct Place {
  std::uint64_t part = 0;
  std::uint64_t number = 0;  // the first part of the key in that order
  std::uint64_t item = 0;
};

constexpr std::string_view parts[] = {"pending", "delayed", "processing", "completed", "dead"};

std::optional<Place> parse_place(std::string_view text) {
  Place place;
  std::uint64_t* const numbers[] = {&place.part, &place.number, &place.item};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint64_t* number : numbers) {
    if (number != numbers[0]) {
      if (at == end || *at != ':') return std::nullopt;
      ++at;
    }
    const auto [stopped, error] = std::from_chars(at, end, *number);
    if (error != std::errc{}) return std::nullopt;
    at = stopped;
  }
  if (at != end || place.part >= std::size(parts)) return std::nullopt;
  return place;
}

class Lister {
 public:
  Lister(Tell& tell, const State& state, queue::QueueNo no, Place from)
      : tell_(tell),
        state_(state),
        table_(state.queues),
        no_(no),
        from_(from),
        left_(static_cast<std::size_t>(tell.kept().number)) {}

  void part(std::uint64_t number) {
    part_ = number;
    if (part_ < from_.part) return;
    switch (number) {
      case 0:
        return walk(table_.ready, queue::ReadyKey{no_, key32(), item()}, [](const auto& key) {
          return std::uint64_t{key.below_top};
        });
      case 1:
        return walk_due(queue::Wait::Delay);
      case 2:
        walk_due(queue::Wait::Claim);
        return walk_kept_claims();
      case 3:
        return walk_ended(table_.completed);
      default:
        return walk_ended(table_.dead);
    }
  }

  const std::string& next() const { return next_; }

 private:
  bool here() const { return part_ == from_.part; }
  std::uint32_t key32() const { return here() ? static_cast<std::uint32_t>(from_.number) : 0; }
  ItemId item() const { return here() ? ItemId{from_.item} : ItemId{}; }

  bool add(std::uint64_t number, ItemId id) {
    if (!next_.empty()) return false;
    if (left_ == 0 || tell_.size() > limits::list_bytes) {
      next_ = fmt::format("{}:{}:{}", part_, number, id.value);
      return false;
    }
    --left_;
    tell_.json.begin_object();
    show_item(tell_, state_, id, *table_.items.find(id), true);
    tell_.json.end_object();
    return true;
  }

  template <class Set, class Key, class NumberOf>
  void walk(const Set& set, const Key& first, NumberOf number_of) {
    for (auto at = set.lower_bound(first); at != set.end() && at->queue == no_; ++at) {
      if (!add(number_of(*at), at->item)) return;
    }
  }

  void walk_due(queue::Wait wait) {
    const Time from{Duration{here() ? static_cast<std::int64_t>(from_.number) : 0}};
    for (auto at = table_.due.lower_bound({no_, wait, here() ? from : Time::min(), item()});
         at != table_.due.end() && at->queue == no_ && at->wait == wait;
         ++at) {
      const auto when = at->due.time_since_epoch().count();
      if (!add(static_cast<std::uint64_t>(when), at->item)) return;
    }
  }

  // Claims that no time ends stand in no order; there are few, and then all items are looked at.
  void walk_kept_claims() {
    std::uint64_t due = 0;
    for (auto at = table_.due.lower_bound({no_, queue::Wait::Claim, Time::min(), {}});
         at != table_.due.end() && at->queue == no_ && at->wait == queue::Wait::Claim;
         ++at) {
      ++due;
    }
    if (table_.queues.find(no_)->counts.processing == due) return;
    for (const auto& [id, found] : table_.items) {
      const bool kept = found.queue == no_ && found.state == queue::ItemState::Processing &&
                        !found.rest->claim->due;
      if (kept && !add(static_cast<std::uint64_t>(Time::max().time_since_epoch().count()), id)) {
        return;
      }
    }
  }

  void walk_ended(const PersistentSet<queue::EndedKey>& set) {
    walk(set,
         queue::EndedKey{no_, here() ? from_.number : 0, item()},
         [](const queue::EndedKey& key) { return key.order; });
  }

  Tell& tell_;
  const State& state_;
  const queue::Table& table_;
  queue::QueueNo no_;
  Place from_;
  std::size_t left_;
  std::uint64_t part_ = 0;
  std::string next_;
};

// kept: name the queue, second `state` and `after` with a blank between them, number the limit.
void show_list(Tell& tell, const State& state) {
  const queue::QueueNo* no = find(tell, state);
  if (!no) return tell_not_found(tell, "queue", tell.kept().name);
  const std::string_view second = tell.kept().second;
  const std::size_t blank = second.find(' ');
  const std::string_view wanted = second.substr(0, blank);
  const Place from = parse_place(second.substr(blank + 1)).value_or(Place{});
  tell.result().field("queue", tell.kept().name).key("items").begin_array();
  Lister lister(tell, state, *no, from);
  for (std::uint64_t part = 0; part < std::size(parts); ++part) {
    if (wanted.empty() || wanted == parts[part]) lister.part(part);
  }
  tell.json.end_array();
  if (!lister.next().empty()) tell.json.field("next", lister.next());
}

void show_found(Tell& tell, const State& state) {
  const queue::QueueNo* no = find(tell, state);
  if (!no) return tell_not_found(tell, "queue", tell.kept().name);
  const std::optional<ItemId> id = parse_id<ItemId>(tell.kept().second);
  const queue::Item* item = id ? state.queues.items.find(*id) : nullptr;
  if (!item || item->queue != *no) return tell_not_found(tell, "item", tell.kept().second);
  tell.result();
  show_item(tell, state, *id, *item, false);
}

void show_first(Tell& tell, const State& state) {
  const queue::QueueNo* no = find(tell, state);
  if (!no) return tell_not_found(tell, "queue", tell.kept().name);
  const ItemId id = first_ready(state, *no);
  JsonWriter& json = tell.result().key("item");
  if (!id) {
    json.null();
    return;
  }
  json.begin_object();
  show_item(tell, state, id, *state.queues.items.find(id), false);
  json.end_object();
}

void show_stats(Tell& tell, const State& state) {
  tell.result();
  page_of_names(
      tell, state.queues.names, "queues", [&](const QueueName&, const queue::QueueNo& no) {
        show_queue(tell, state, no, *state.queues.queues.find(no));
      });
}

void show_stats_of_one(Tell& tell, const State& state) {
  const queue::QueueNo* no = find(tell, state);
  if (!no) return tell_not_found(tell, "queue", tell.kept().name);
  JsonWriter& json = tell.result().key("queues").begin_array().begin_object();
  show_queue(tell, state, *no, *state.queues.queues.find(*no));
  json.end_object().end_array();
}

}  // namespace

ItemId first_ready(const State& state, queue::QueueNo no) {
  const auto at = state.queues.ready.lower_bound({no, 0, {}});
  return at != state.queues.ready.end() && at->queue == no ? at->item : ItemId{};
}

void show_one_queue(Tell& tell, const State& state) {
  const queue::QueueNo* no = find(tell, state);
  if (no) show_queue(tell, state, *no, *state.queues.queues.find(*no));
}

void list_items(Asking& ask) {
  ask.need_name<QueueName>("queue");
  const std::string_view state = ask.params.text("state").value_or("");
  if (!state.empty() && std::ranges::find(parts, state) == std::end(parts)) {
    ask.params.refuse("state", "must be pending, delayed, processing, completed or dead");
  }
  const std::string_view after = ask.params.text("after").value_or("");
  if (!after.empty() && !parse_place(after)) {
    ask.params.refuse("after", "must be what `next` of the page before was");
  }
  ask.kept.second = fmt::format("{} {}", state, after);
  ask.kept.number = ask.params.integer("limit", 1, limits::list_entries)
                        .value_or(static_cast<std::int64_t>(limits::list_default));
  ask.look(show_list);
}

void show_one_item(Asking& ask) {
  const QueueName queue = ask.need_name<QueueName>("queue");
  ask.kept.second = to_text(ask.item(queue, ask.params.need_text("id")));
  ask.look(show_found);
}

void peek_item(Asking& ask) {
  ask.need_name<QueueName>("queue");
  ask.look(show_first);
}

void queue_stats(Asking& ask) {
  const std::optional<std::string_view> one = ask.params.text("queue");
  keep_page(ask);
  if (!one) return ask.look(show_stats);
  ask.kept.name = *one;
  ask.look(show_stats_of_one);
}

}  // namespace reeve::api
