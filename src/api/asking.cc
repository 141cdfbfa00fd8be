#include "api/errors.h"
#include "api/limits.h"
#include "api/nearest.h"
#include "api/rpc.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

// What the fields of requests have in common.
namespace reeve::api {
namespace {

// Holders within which another runs: a name, or with its session one that is bound.
void read_within(Params& params, ProjectNo project, std::vector<Holder>& within) {
  params.each("within", reeve::limits::pipelines_within, [&](const Raw& raw, std::size_t index) {
    Holder holder{project, {}, {}};
    std::string scratch;
    if (raw.kind == JsonKind::Object) {
      Params inner = params.within(fmt::format("within[{}]", index));
      inner.read(raw);
      holder.name = inner.need_text("holder");
      const std::string_view session = inner.need_text("session");
      std::from_chars(session.data(), session.data() + session.size(), holder.session.value, 16);
      inner.finish();
    } else if (const std::optional<std::string_view> text = text_of(raw, scratch)) {
      holder.name = *text;
    } else {
      return params.refuse("within", "must be names of holders");
    }
    within.push_back(std::move(holder));
  });
}

}  // namespace

void Asking::common() {
  key_ = params.text("key").value_or(std::string_view());
  if (key_.size() > reeve::limits::name_bytes) params.refuse("key", "has more than 200 bytes");
  const std::optional<std::string_view> name = params.text("project");
  if (!name) {
    unknown_project_ = rpc_.lost_project_;
    return;
  }
  if (const ProjectNo* known = state().projects.by_name.find(std::string(*name))) {
    project_ = *known;
  } else {
    unknown_project_ = *name;
  }
}

void Asking::begin_hello() {
  if (!params.text("project")) unknown_project_ = {};
  rpc_.lost_project_ = std::string(unknown_project_);
}

// ── Holders ──

Holder Asking::need_holder() {
  const bool bind = params.flag("bind");
  return {project_, std::string(params.need_text("holder")), bind ? session() : SessionId{}};
}

Holder Asking::maybe_holder() {
  const bool bind = params.flag("bind");
  const std::optional<std::string_view> name = params.text("holder");
  if (!name && !bind) params.refuse("holder", "is missing; only with \"bind\" it may be left out");
  Holder holder{project_, std::string(name.value_or("")), bind ? session() : SessionId{}};
  if (!name) holder.name = fmt::format("session-{:x}", session().value);
  return holder;
}

Boxed<HolderMeta> Asking::meta() {
  const Raw* raw = params.raw("meta");
  if (!raw) return {};
  Params fields = params.within("meta");
  fields.read(*raw);
  HolderMeta meta;
  meta.host = fields.text("host").value_or("");
  meta.user = fields.text("user").value_or("");
  meta.label = fields.text("label").value_or("");
  // It is kept, and in every list.
  if (meta.label.size() > limits::label_bytes) fields.refuse("label", "has more than 1000 bytes");
  const std::optional<std::int64_t> pid = fields.integer("pid", 1);
  const std::optional<std::int64_t> start_time = fields.integer("start_time");
  const bool group = fields.flag("group");
  read_within(fields, project_, meta.within);
  if (!fields.finish()) return {};

  const About& about = desk().steward().about();
  const bool is_here = meta.host.empty() || meta.host == about.host;
  if (pid && is_here) {
    if (start_time && *pid != 1 && *pid != about.pid) {
      meta.process = Process{*pid, static_cast<std::uint64_t>(*start_time), about.boot_id, group};
    } else {
      meta.process = desk().steward().process(*pid, group);
    }
    if (!meta.process)
      fields.refuse("pid",
                    fmt::format("{} is no process that a lease can name: it is not here, not this "
                                "user's, or the daemon's own life hangs on it",
                                *pid));
  }
  return Boxed<HolderMeta>(std::move(meta));
}

std::optional<Duration> Asking::wait() {
  const std::optional<std::int64_t> wait = params.integer("wait_ms", -1);
  if (!wait || *wait == 0) return std::nullopt;
  may_wait_ = true;
  if (!may_wait_more()) {
    params.refuse("wait_ms", "cannot be had: this connection waits for too much already");
  }
  return *wait == -1 ? Duration::max() : Duration{*wait};
}

bool Asking::may_wait_more() const {
  return rpc_.may_wait_ + rpc_.follows_.size() < limits::waiting_requests;
}

Token Asking::need_token(std::string_view field) {
  return Token{static_cast<std::uint64_t>(params.need_integer(field))};
}

std::optional<Token> Asking::token(std::string_view field) {
  const std::optional<std::int64_t> found = params.integer(field);
  return found ? std::optional(Token{static_cast<std::uint64_t>(*found)}) : std::nullopt;
}

// ── Items ──

void Asking::no_item(std::string_view text, std::string_view field, std::string_view why) {
  if (params.is_good()) unknown_item_ = text;
  params.refuse(field, fmt::format("{} {}", quoted(text), why));
}

// A beginning is looked for among the items of the queue: for people, who have few or write more.
ItemId Asking::item(const QueueName& queue, std::string_view text, std::string_view field) {
  if (const std::optional<ItemId> id = parse_id<ItemId>(text)) {
    // What was given once may be forgotten by now, and its claim is over; a number that nobody was
    // given yet is known to be wrong.
    if (id->value > state().last_number) {
      no_item(text, field, "is no item's, and never was");
    }
    return *id;
  }
  if (!params.is_good()) return {};
  const queue::Table& table = state().queues;
  const queue::QueueNo* no = table.names.find(queue);
  ItemId found;
  std::size_t matches = 0;
  std::size_t looked_at = 0;
  constexpr std::string_view prefix = prefix_of(ItemId{});
  if (no && text.size() > prefix.size()) {
    for (const auto& [id, item] : table.items) {
      if (++looked_at > limits::prefix_search) break;
      if (item.queue != *no || !to_text(id).starts_with(text)) continue;
      found = id;
      if (++matches > 1) break;
    }
  }
  if (looked_at > limits::prefix_search) {
    params.refuse(field, "must be whole: there are too many items to look for its beginning");
  } else if (matches > 1) {
    params.refuse(field, fmt::format("{} is the beginning of more than one id", quoted(text)));
  } else if (text.size() <= prefix.size() || !text.starts_with(prefix)) {
    params.refuse(field, fmt::format("{} is no id of an item", quoted(text)));
  } else if (matches == 0) {
    no_item(text, field, "is the beginning of no item's id");
  }
  return found;
}

// ── Asking ──

bool Asking::is_good() {
  if (params.finish() && unknown_project_.empty()) return true;
  const Problem& problem = params.problem();
  const bool too_much = problem.field == "wait_ms" && may_wait_ && !may_wait_more();
  if (id_.empty()) return false;
  {
    Tell tell(rpc_.output_buffer(), id_, 0, now_, project_);
    if (params.is_good()) {
      std::vector<std::string_view> names;
      for (const auto& [known, number] : state().projects.by_name) names.push_back(known);
      tell_not_found(tell, "project", unknown_project_, nearest(unknown_project_, names));
    } else if (unknown_item_) {
      tell.error(code::not_found, problem.message)
          .field("kind", "item")
          .field("name", *unknown_item_);
    } else if (too_much) {
      tell.error(code::too_much, problem.message).field("limit", limits::waiting_requests);
    } else {
      tell.error(bad_params, "BAD_PARAMS", problem.message).field("field", problem.field);
    }
  }
  rpc_.touched();
  return false;
}

Rpc::Open Asking::opened(std::string_view kind, ShowReply show_reply, ShowState show_state) {
  Rpc::Open open;
  open.may_wait = may_wait_;
  open.is_quiet = id_.empty();
  open.id = id_;
  open.kind = kind;
  open.project = project_;
  open.key = key_;
  open.kept = std::move(kept);
  open.show_reply = show_reply;
  open.show_state = show_state;
  return open;
}

Request Asking::request(Command command) {
  Request request{.project = project_, .session = session()};
  request.key = key_;
  request.command = std::move(command);
  return request;
}

void Asking::submit(std::string_view kind, Command command, ShowReply show) {
  if (!is_good()) return;
  const Call call = rpc_.open(opened(kind, show, nullptr));
  desk().submit(rpc_, call, request(std::move(command)), now_);
}

void Asking::submit_and_look(std::string_view kind, Command command, ShowReply show) {
  if (!is_good()) return;
  const Call call = rpc_.open(opened(kind, show, nullptr));
  desk().submit_and_look(rpc_, call, request(std::move(command)), now_);
}

void Asking::submit_and_leave(std::string_view kind, Command command, ShowReply show) {
  if (!is_good()) return;
  const Call call = rpc_.open(opened(kind, show, nullptr));
  desk().submit_and_leave(rpc_, call, request(std::move(command)), now_);
}

void Asking::look(ShowState show) {
  if (!is_good()) return;
  desk().query(rpc_, rpc_.open(opened({}, nullptr, show)), now_);
}

void Asking::resume(SessionId session) {
  if (!is_good()) return;
  const auto show = [](Tell& tell, const Reply&) { tell.result(); };
  desk().resume(rpc_, rpc_.open(opened("session", show, nullptr)), session, now_);
}

}  // namespace reeve::api
