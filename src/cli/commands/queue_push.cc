#include "cli/commands/queue_push.h"

#include "cli/text.h"
#include "codec/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <unistd.h>

namespace reeve::cli {

namespace {

constexpr std::size_t batch_items = 1000;
constexpr std::size_t batch_bytes = std::size_t{2} << 20U;
constexpr std::size_t batches_under_way = 4;

// Some more of stdin; false at its end.
bool read_some(std::string& text) {
  std::array<char, 65536> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
  }
}

void set_options(Json& item, const Parsed& parsed) {
  for (const auto& [field, value] :
       {std::pair{"priority", number_of(parsed, "priority")},
        std::pair{"delay_ms", milliseconds_of(parsed, "delay")},
        std::pair{"visibility_ms", milliseconds_of(parsed, "visibility")},
        std::pair{"dedupe", text_of(parsed, "dedupe")}}) {
    if (!value.is_null()) item.set(field, value);
  }
}

// Deeper than that nobody looks whether it is JSON.
constexpr std::size_t deepest = 1000;

// How deep brackets stand in one another, those in strings apart.
std::size_t nesting(std::string_view text) {
  std::size_t depth = 0;
  std::size_t most = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '[' || c == '{')) {
      most = std::max(most, ++depth);
    } else if (!in_string && (c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return most;
}

Failure too_deep(const std::string& queue) {
  return {"USAGE",
          fmt::format("data for {} is nested more than {} deep and was not pushed",
                      printable(queue),
                      json_depth)};
}

// What is too long for a line is much too long for an item.
Failure with_limit(Failure failure) {
  if (failure.code == "TOO_LONG") failure.message += "; an item has at most 1 MiB";
  return failure;
}

// Lines to batches to the daemon, several under way; the answers are gathered in order.
class LinePusher {
 public:
  LinePusher(Context& context, const Parsed& parsed)
      : context_(context), client_(context.client()), parsed_(parsed) {}

  int run() {
    std::string text;
    std::size_t at = 0;
    bool more = true;
    while (more && !failure_) {
      more = read_some(text);
      for (std::size_t end = 0;
           (end = text.find('\n', at)) != std::string::npos || (!more && at < text.size());) {
        const std::size_t stop = std::min(end, text.size());
        add(std::string_view(text).substr(at, stop - at));
        at = std::min(stop + 1, text.size());
      }
      text.erase(0, at);
      at = 0;
    }
    send();
    while (!under_way_.empty()) settle();
    if (failure_) {
      if (pushed_ > 0) {
        context_.output.note(
            fmt::format("{} had been pushed before that", counted(pushed_, "line")));
      }
      return context_.fail(with_limit(*failure_));
    }
    if (context_.json()) {
      return context_.output.succeed(
          json_of({{"queue", parsed_.words[0]}, {"ids", ids_}, {"seq", seq_}}));
    }
    if (!context_.quiet()) {
      context_.output.line(
          fmt::format("pushed {} to {}", counted(pushed_, "item"), printable(parsed_.words[0])));
    }
    return context_.output.done();
  }

 private:
  void add(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || failure_) return;
    std::optional<Json> item = item_of(line);
    if (!item) {
      failure_ = too_deep(parsed_.words[0]);
      return;
    }
    set_options(*item, parsed_);
    bytes_ += line.size();
    batch_.push(std::move(*item));
    if (batch_.items().size() == batch_items || bytes_ >= batch_bytes) send();
  }

  void send() {
    if (batch_.items().empty() || failure_) return;
    while (under_way_.size() >= batches_under_way) settle();
    under_way_.push_back(client_.begin("queue.push",
                                       json_of({{"queue", parsed_.words[0]}, {"items", batch_}}),
                                       Client::Kind::Change));
    batch_ = Json::array();
    bytes_ = 0;
  }

  void settle() {
    const Answer answer = client_.wait(under_way_.front());
    under_way_.pop_front();
    if (!answer) {
      if (!failure_) failure_ = answer.error();
      return;
    }
    seq_ = (*answer)["seq"];
    for (const Json& id : (*answer)["ids"].items()) {
      ++pushed_;
      if (context_.json()) ids_.push(id);
      if (context_.quiet()) context_.output.line(id.text());
    }
  }

  Context& context_;
  Client& client_;
  const Parsed& parsed_;
  Json batch_ = Json::array();
  std::size_t bytes_ = 0;
  std::deque<Client::Ticket> under_way_;
  Json ids_ = Json::array();
  Json seq_;  // of the last batch
  std::int64_t pushed_ = 0;
  std::optional<Failure> failure_;
};

}  // namespace

std::optional<Json> item_of(std::string_view text) {
  codec::JsonCursor cursor(text);
  const bool json = codec::is_utf8(text) && cursor.skip_value(deepest) && cursor.is_at_end();
  const bool may_be = json || text.starts_with('[') || text.starts_with('{');
  const std::size_t depth = may_be ? nesting(text) : 0;
  if (depth > json_depth && (json || depth >= deepest)) return std::nullopt;
  if (json && text.find('\n') == std::string_view::npos) {
    return json_of({{"data", Json::raw(std::string(text))}});
  }
  if (json) {
    if (const auto parsed = parse_json(text, answer_depth)) {
      return Json(Json::Object{{"data", *parsed}});
    }
  }
  if (codec::is_utf8(text)) return json_of({{"data", text}});
  return json_of({{"base64", codec::to_base64(text)}});
}

int queue_push(Context& context, const Parsed& parsed) {
  const bool from_stdin = parsed.words.size() < 2 || parsed.words[1] == "-";
  if (parsed.has("lines")) {
    if (!from_stdin) return context.misuse("--lines reads stdin: say - instead of the data");
    if (parsed.has("dedupe")) {
      return context.misuse("--lines with --dedupe would keep the first line and lose the others");
    }
    return LinePusher(context, parsed).run();
  }
  if (from_stdin && parsed.words.size() < 2) {
    return context.misuse("queue push wants DATA, or - to read it from stdin");
  }
  std::string text;
  if (from_stdin) {
    while (read_some(text)) {
    }
    // One newline at the end is the shell's, not the data's.
    if (text.ends_with('\n')) text.pop_back();
  } else {
    text = parsed.words[1];
  }
  Json params = json_of({{"queue", parsed.words[0]}});
  const std::optional<Json> item = item_of(text);
  if (!item) return context.fail(too_deep(parsed.words[0]));
  params.set(item->members()[0].first, item->members()[0].second);
  set_options(params, parsed);
  const Answer answer = context.client().change("queue.push", params);
  if (!answer) return context.fail(with_limit(answer.error()));
  if (context.json()) return context.output.succeed(*answer);
  const bool duplicate = answer->has("duplicate_of");
  for (const Json& id : (*answer)["ids"].items()) {
    context.output.line(
        context.quiet() ? id.text()
                        : fmt::format("{}{}", id.text(), duplicate ? "  (was there already)" : ""));
  }
  return context.output.done();
}

}  // namespace reeve::cli
