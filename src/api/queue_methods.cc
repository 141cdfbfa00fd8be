#include "api/errors.h"
#include "api/methods.h"
#include "api/paging.h"
#include "api/queue_list.h"
#include "api/rpc.h"
#include "api/show.h"
#include "base/match.h"
#include "codec/json_text.h"
#include "codec/shell_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace reeve::api {
namespace {

constexpr std::int64_t least_priority = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t most_priority = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t most_32 = std::numeric_limits<std::uint32_t>::max();

// ── Push ──

// Of the request itself, or of one of its items.
queue::NewItem read_item(Params& fields) {
  queue::NewItem item;
  // Data is any JSON, so null too; unless there are bytes instead.
  const Raw* data = fields.raw("data");
  if (data && data->kind != JsonKind::Null && fields.has("base64")) {
    fields.refuse("base64", "stands beside data: an item has one of them");
  }
  if (data && (data->kind != JsonKind::Null || !fields.has("base64"))) {
    item.data = Bytes(data->text);
  } else if (const std::optional<std::string_view> text = fields.text("base64")) {
    const std::optional<std::string> bytes = codec::from_base64(*text);
    if (!bytes) fields.refuse("base64", "is not base64");
    item.data = Bytes(bytes.value_or(""));
    item.json = false;
  } else {
    fields.missing("data");
  }
  item.priority = static_cast<std::int32_t>(
      fields.integer("priority", least_priority, most_priority).value_or(0));
  item.delay = fields.duration("delay_ms").value_or(Duration{0});
  item.dedupe_key = fields.text("dedupe").value_or("");
  item.visibility = fields.duration("visibility_ms");
  return item;
}

void tell_pushed(Tell& tell, const Reply& reply) {
  const queue::Reply* of_queue = std::get_if<queue::Reply>(&reply.value);
  const queue::Pushed* pushed = of_queue ? std::get_if<queue::Pushed>(of_queue) : nullptr;
  if (!pushed) return;
  JsonWriter& json = tell.result();
  json.field("queue", tell.kept().name).key("ids").begin_array();
  for (const ItemId id : pushed->ids) json.plain(to_text(id));
  json.end_array();
  if (std::ranges::find(pushed->duplicate, true) == pushed->duplicate.end()) return;
  if (!tell.kept().flag) {
    json.key("duplicate_of").plain(to_text(pushed->ids.front()));
    return;
  }
  json.key("duplicate_of").begin_array();
  for (std::size_t i = 0; i < pushed->ids.size(); ++i) {
    if (pushed->duplicate[i]) {
      json.plain(to_text(pushed->ids[i]));
    } else {
      json.null();
    }
  }
  json.end_array();
}

void push(Asking& ask) {
  queue::Push command;
  command.queue = ask.need_name<QueueName>("queue");
  ask.kept.flag = ask.params.has("items");
  if (ask.kept.flag) {
    ask.params.each("items", reeve::limits::batch_items, [&](const Raw& raw, std::size_t index) {
      Params fields = ask.params.within(fmt::format("items[{}]", index));
      fields.read(raw);
      command.items.push_back(read_item(fields));
      fields.finish();
    });
    if (command.items.empty()) ask.params.refuse("items", "is empty");
  } else {
    command.items.push_back(read_item(ask.params));
  }
  ask.submit("queue", std::move(command), tell_pushed);
}

// ── Take ──

void tell_taken(Tell& tell, const Reply& reply) {
  const queue::Reply* of_queue = std::get_if<queue::Reply>(&reply.value);
  const queue::Taken* taken = of_queue ? std::get_if<queue::Taken>(of_queue) : nullptr;
  if (!taken) return;
  JsonWriter& json = tell.result().key("items").begin_array();
  for (const queue::TakenItem& item : taken->items) {
    json.begin_object().key("id").plain(to_text(item.id));
    json.field("queue", tell.name(item.queue));
    show_data(tell, item.data, item.json, true);
    json.field("priority", item.priority).field("attempts", item.attempts);
    json.field("claim", item.claim.value);
    tell.moment("visible_at", item.visible_at);
    json.end_object();
  }
  json.end_array().field("holder", tell.kept().second);
  if (taken->paused) json.field("paused", true);
}

void take(Asking& ask) {
  queue::Take command;
  command.queues = ask.need_names<QueueName>("queues");
  command.holder = ask.maybe_holder();
  ask.kept.second = command.holder.name;
  command.max = static_cast<std::uint32_t>(
      ask.params.integer("max", 1, reeve::limits::batch_items).value_or(1));
  command.wait = ask.wait();
  command.meta = ask.meta();
  ask.submit("queue", std::move(command), tell_taken);
}

// ── What a claim allows ──

void tell_stale(Tell& tell, const queue::StaleClaim& stale) {
  const std::string id = to_text(stale.item);
  const std::string who =
      stale.current ? fmt::format("is with {} now", stale.current->name) : "is not being processed";
  JsonWriter& json =
      tell.error(code::stale_claim,
                 fmt::format("this claim is over: {} {}; try `reeve queue show {} {}`",
                             id,
                             who,
                             codec::shell_word(tell.kept().name),
                             id));
  json.field("id", id);
  if (stale.current) json.field("holder", stale.current->name);
}

void tell_settled(Tell& tell, const queue::Settled& settled) {
  const auto* one = tell.kept().flag ? nullptr : &settled.items.front();
  if (one && std::holds_alternative<queue::StaleClaim>(*one)) {
    return tell_stale(tell, std::get<queue::StaleClaim>(*one));
  }
  JsonWriter& json = tell.result().field("queue", tell.kept().name);
  if (one) {
    json.key("id").plain(to_text(std::get<ItemId>(*one)));
    return;
  }
  json.key("items").begin_array();
  for (const std::variant<ItemId, queue::StaleClaim>& item : settled.items) {
    json.begin_object();
    match(
        item,
        [&](const ItemId& id) { json.key("id").plain(to_text(id)).field("ok", true); },
        [&](const queue::StaleClaim& stale) {
          json.key("id").plain(to_text(stale.item)).field("ok", false);
          if (stale.current) json.field("holder", stale.current->name);
        });
    json.end_object();
  }
  json.end_array();
}

// All answers but those to push and take. Ok: the queue, and the item if there was one.
void tell_queue(Tell& tell, const Reply& reply) {
  const queue::Reply* of_queue = std::get_if<queue::Reply>(&reply.value);
  const Kept& kept = tell.kept();
  if (!of_queue) {
    JsonWriter& json = tell.result().field("queue", kept.name);
    if (!kept.second.empty()) json.key("id").plain(kept.second);
    return;
  }
  match(
      *of_queue,
      [](const queue::Pushed&) {},
      [](const queue::Taken&) {},
      [&](const queue::Settled& settled) { tell_settled(tell, settled); },
      [&](const queue::StaleClaim& stale) { tell_stale(tell, stale); },
      [&](const queue::Extended& extended) {
        JsonWriter& json = tell.result().field("queue", kept.name);
        json.key("id").plain(to_text(extended.item));
        tell.moment("visible_at", extended.visible_at);
        if (extended.paused) json.field("paused", true);
      },
      [&](const queue::Counted& counted) {
        tell.result().field("queue", kept.name).field("count", counted.items);
      });
}

// It will be tried again, or it is dead, here or in the dead-letter queue.
void tell_failed(Tell& tell, const Reply& reply) {
  tell_queue(tell, reply);
  if (!std::holds_alternative<Ok>(reply.value)) return;
  const State& state = tell.state();
  const std::optional<ItemId> id = parse_id<ItemId>(tell.kept().second);
  const queue::Item* item = id ? state.queues.items.find(*id) : nullptr;
  const queue::QueueNo* no = state.queues.names.find(name_of<QueueName>(tell));
  const bool is_here = item && no && item->queue == *no;
  const bool alive = is_here && item->state != queue::ItemState::Dead;
  tell.json.field("state", alive ? "pending" : "dead");
  if (!item || is_here) return;
  const queue::Queue* moved_to = state.queues.queues.find(item->queue);
  if (moved_to) tell.json.field("dead_letter", tell.name(moved_to->name));
}

queue::ItemClaim read_claim(Asking& ask, const QueueName& queue) {
  queue::ItemClaim claim;
  claim.item = ask.item(queue, ask.params.need_text("id"));
  claim.claim = ask.need_token("claim");
  ask.kept.second = to_text(claim.item);
  return claim;
}

void complete(Asking& ask) {
  queue::Complete command;
  command.queue = ask.need_name<QueueName>("queue");
  ask.kept.flag = ask.params.has("items");
  if (!ask.kept.flag) {
    command.items.push_back(read_claim(ask, command.queue));
    return ask.submit("queue", std::move(command), tell_queue);
  }
  ask.params.each("items", reeve::limits::batch_items, [&](const Raw& raw, std::size_t index) {
    Params fields = ask.params.within(fmt::format("items[{}]", index));
    fields.read(raw);
    const std::optional<ItemId> id = parse_id<ItemId>(fields.need_text("id"));
    if (!id) fields.refuse("id", "is no id of an item");
    const std::int64_t claim = fields.need_integer("claim");
    fields.finish();
    command.items.push_back({id.value_or(ItemId{}), Token{static_cast<std::uint64_t>(claim)}});
  });
  if (command.items.empty()) ask.params.refuse("items", "is empty");
  ask.submit("queue", std::move(command), tell_queue);
}

void fail(Asking& ask) {
  queue::Fail command;
  command.queue = ask.need_name<QueueName>("queue");
  command.item = read_claim(ask, command.queue);
  command.error = ask.params.need_text("error");
  command.retry_after = ask.params.duration("retry_after_ms");
  ask.submit_and_look("queue", std::move(command), tell_failed);
}

void extend(Asking& ask) {
  queue::Extend command;
  command.queue = ask.need_name<QueueName>("queue");
  command.item = read_claim(ask, command.queue);
  command.by = ask.params.duration("by_ms");
  ask.submit("queue", std::move(command), tell_queue);
}

void release(Asking& ask) {
  queue::Release command;
  command.queue = ask.need_name<QueueName>("queue");
  command.item = read_claim(ask, command.queue);
  command.delay = ask.params.duration("delay_ms").value_or(Duration{0});
  if (const auto priority = ask.params.integer("priority", least_priority, most_priority)) {
    command.priority = static_cast<std::int32_t>(*priority);
  }
  ask.submit("queue", std::move(command), tell_queue);
}

// ── Without a claim ──

void drop(Asking& ask) {
  queue::Drop command;
  command.queue = ask.need_name<QueueName>("queue");
  command.item = ask.item(command.queue, ask.params.need_text("id"));
  ask.kept.second = to_text(command.item);
  ask.submit("queue", std::move(command), tell_queue);
}

void redrive(Asking& ask) {
  queue::Redrive command;
  command.queue = ask.need_name<QueueName>("queue");
  command.all = ask.params.flag("all");
  ask.params.each_text("ids", reeve::limits::batch_items, [&](std::string_view text) {
    command.items.push_back(ask.item(command.queue, text, "ids"));
  });
  if (!command.all && command.items.empty())
    ask.params.refuse("ids", "is missing, or \"all\": true");
  if (command.all && !command.items.empty()) ask.params.refuse("all", "cannot come with \"ids\"");
  ask.submit("queue", std::move(command), tell_queue);
}

void purge(Asking& ask) {
  queue::Purge command;
  command.queue = ask.need_name<QueueName>("queue");
  const std::string_view state = ask.params.need_text("state");
  if (state == "pending") {
    command.state = queue::ItemState::Pending;
  } else if (state == "completed") {
    command.state = queue::ItemState::Completed;
  } else if (state != "dead") {
    ask.params.refuse("state", "must be pending, completed or dead");
  }
  ask.submit("queue", std::move(command), tell_queue);
}

void pause(Asking& ask) {
  queue::Pause command{ask.need_name<QueueName>("queue"), ask.params.duration("for_ms")};
  ask.submit("queue", std::move(command), tell_queue);
}

void resume(Asking& ask) {
  ask.submit("queue", queue::Resume{ask.need_name<QueueName>("queue")}, tell_queue);
}

void remove(Asking& ask) {
  ask.submit("queue", queue::Remove{ask.need_name<QueueName>("queue")}, tell_queue);
}

// What is not said stays as it is, or has its default.
void create(Asking& ask) {
  queue::Create command;
  command.name = ask.need_name<QueueName>("queue");
  Params& params = ask.params;
  queue::Config& config = command.config;
  const queue::Table& table = ask.state().queues;
  if (const queue::QueueNo* no = table.names.find(command.name)) {
    config = table.queues.find(*no)->config;
  }
  const auto read = [&](std::string_view field, Duration& to) {
    if (const std::optional<Duration> found = params.duration(field)) to = *found;
  };
  const auto read_count = [&](std::string_view field, std::uint32_t& to) {
    const std::optional<std::int64_t> found = params.integer(field, 0, most_32);
    if (found) to = static_cast<std::uint32_t>(*found);
  };
  if (const auto visible = params.some_duration("visibility_ms")) {
    config.visibility_timeout = *visible;
  }
  read("backoff_first_ms", config.backoff_first);
  read("backoff_max_ms", config.backoff_max);
  if (config.backoff_max < config.backoff_first) {
    params.refuse("backoff_max_ms", "must not be less than backoff_first_ms");
  }
  read("keep_completed_ms", config.keep_completed_for);
  read_count("max_attempts", config.max_attempts);
  read_count("keep_completed", config.keep_completed);
  if (const auto keep = params.duration("keep_dead_ms")) config.keep_dead_for = *keep;
  if (const auto dead = params.text("dead_letter")) {
    config.dead_letter = ask.scoped<QueueName>(*dead);
  }
  if (const auto on_exhaust = params.text("on_exhaust")) {
    if (*on_exhaust == "dead") {
      config.on_exhaust = queue::OnExhaust::Dead;
    } else if (*on_exhaust == "escalate") {
      config.on_exhaust = queue::OnExhaust::Escalate;
    } else if (*on_exhaust == "pause") {
      config.on_exhaust = queue::OnExhaust::Pause;
    } else {
      params.refuse("on_exhaust", "must be dead, escalate or pause");
    }
  }
  ask.submit_and_look("queue", std::move(command), [](Tell& tell, const Reply&) {
    tell.result();
    show_one_queue(tell, tell.state());
  });
}

constexpr Named methods[] = {
    {"queue.create", create},
    {"queue.push", push},
    {"queue.take", take},
    {"queue.complete", complete},
    {"queue.fail", fail},
    {"queue.extend", extend},
    {"queue.release", release},
    {"queue.drop", drop},
    {"queue.redrive", redrive},
    {"queue.purge", purge},
    {"queue.pause", pause},
    {"queue.resume", resume},
    {"queue.remove", remove},
    {"queue.list", list_items},
    {"queue.show", show_one_item},
    {"queue.peek", peek_item},
    {"queue.stats", queue_stats},
};

}  // namespace

std::span<const Named> queue_methods() { return methods; }

}  // namespace reeve::api
