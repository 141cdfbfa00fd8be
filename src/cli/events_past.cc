#include "cli/events_past.h"

#include <fmt/format.h>

#include <algorithm>

namespace reeve::cli {

std::pair<std::string, std::vector<SqlValue>> sql_of_pattern(const std::string& pattern,
                                                             int first) {
  std::vector<std::string> segments;
  for (std::string_view rest = pattern;;) {
    const std::size_t colon = rest.find(':');
    segments.emplace_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  std::string sql = "true";
  std::vector<SqlValue> parameters;
  const auto equals = [&](std::string_view what, const std::string& segment) {
    if (segment == "*" || segment == "**") return;
    parameters.emplace_back(segment);
    sql += fmt::format(" AND {} = ?{}", what, first + static_cast<int>(parameters.size()) - 1);
  };
  constexpr std::string_view noun = "substr(kind, 1, instr(kind || ':', ':') - 1)";
  constexpr std::string_view verb = "substr(kind, instr(kind || ':', ':') + 1)";
  if (segments[0] == "**") return {sql, parameters};
  equals(noun, segments[0]);
  if (segments.size() == 1) return {sql + " AND instr(kind, ':') = 0", parameters};
  if (segments.size() == 3) equals("subject", segments[1]);
  // `phase(merge)`: the verb, and one detail of it.
  const std::string& last = segments.back();
  const std::size_t bracket = last.find('(');
  if (bracket != std::string::npos && last.ends_with(')')) {
    equals(verb, last.substr(0, bracket));
    equals("coalesce(json_extract(data, '$.phase'), '')",
           last.substr(bracket + 1, last.size() - bracket - 2));
  } else {
    equals(verb, last);
  }
  return {sql, parameters};
}

std::expected<PastEvents::Part, Failure> PastEvents::ask(const std::string& which,
                                                         std::optional<std::int64_t> most) {
  const Answer synced = context_.client().ask("history.sync");
  if (!synced) return std::unexpected(synced.error());
  const auto project = project_name(context_);
  if (!project) return std::unexpected(project.error());
  std::string condition = "true";
  std::vector<SqlValue> parameters{*project};
  if (pattern_) {
    auto [sql, more] = sql_of_pattern(*pattern_, 2);
    condition = sql;
    parameters.insert(parameters.end(), more.begin(), more.end());
  }
  const std::uint64_t reached = (*synced)["history_seq"].natural();
  auto rows = ask_history(
      context_,
      (*synced)["path"].text(),
      fmt::format("SELECT seq, idx, at, project, kind, subject, data FROM events WHERE project IN "
                  "(?1, '//') AND {} AND {} AND seq <= {} ORDER BY seq DESC, idx DESC LIMIT {}",
                  condition,
                  which,
                  reached,
                  most.value_or(-1)),
      std::move(parameters));
  if (!rows) return std::unexpected(rows.error());
  Part part{{}, reached};
  std::ranges::reverse(*rows);
  for (const Json& row : *rows) part.events.push_back(event_of_row(row));
  return part;
}

std::expected<PastEvents::Part, Failure> PastEvents::latest(std::int64_t oldest,
                                                            std::optional<std::int64_t> most) {
  return ask(fmt::format("at_ms >= {}", oldest), most);
}

std::expected<PastEvents::Part, Failure> PastEvents::between(std::uint64_t from,
                                                             std::optional<std::uint64_t> to) {
  std::string which = fmt::format("seq >= {}", from);
  if (to) which += fmt::format(" AND seq <= {}", *to);
  return ask(which, std::nullopt);
}

}  // namespace reeve::cli
