#include "core/holder_rules.h"

#include "core/names.h"

#include <string_view>

namespace reeve {
namespace {

bool is_too_long(std::string_view text) { return text.size() > limits::text_bytes; }

}  // namespace

std::optional<Refused> mistake_in(const Holder& holder,
                                  const Boxed<HolderMeta>& meta,
                                  SessionId asking) {
  if (!is_good_name(holder.name)) return Refused{Why::BadName, "holder"};
  if (holder.session && holder.session != asking) return Refused{Why::BadValue, "session"};
  if (!meta) return std::nullopt;
  if (meta->within.size() > limits::pipelines_within) return Refused{Why::OverLimit, "within"};
  for (const Holder& outer : meta->within) {
    if (!is_good_name(outer.name)) return Refused{Why::BadName, "within"};
  }
  const Process* process = process_of(meta);
  if (process && process->boot_id.size() > limits::name_bytes) {
    return Refused{Why::BadValue, "process"};
  }
  return std::nullopt;
}

Boxed<HolderMeta> tidied(Boxed<HolderMeta> meta) {
  if (!meta) return meta;
  if (!is_too_long(meta->host) && !is_too_long(meta->user) && !is_too_long(meta->label))
    return meta;
  HolderMeta& changed = meta.edit();
  for (std::string* text : {&changed.host, &changed.user, &changed.label}) {
    text->resize(cut(*text).size());
  }
  return meta;
}

}  // namespace reeve
