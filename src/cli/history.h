#pragma once

#include "cli/context.h"
#include "tools/history_query.h"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Questions of the command line to history.db.
namespace reeve::cli {

// Where it is, when all that was durable has been written there. The failure says why it is off.
std::expected<std::string, Failure> synced_history(Context& context);

using SqlValue = tools::SqlValue;

// Its rows, each an object in the order of its columns; what is NULL is left out.
std::expected<std::vector<Json>, Failure> ask_history(Context& context,
                                                      const std::string& path,
                                                      std::string sql,
                                                      std::vector<SqlValue> parameters = {});

// As a program wants to see it: a number, a text, null; bytes as hexadecimal digits.
Json json_of_value(const SqlValue& value);

Failure failure_of_history(const Error& error);

// What the events of a row of the table look like to those who follow.
Json event_of_row(const Json& row);

// What history knows of a thing that is no longer in the state, as `state.show` would tell it; none
// if it has never heard of it.
std::optional<Json> show_from_history(Context& context, const std::string& id);

// What history misses of the time since then (ms since 1970): [{"from_seq","to_seq","at"}].
std::expected<Json, Failure> gaps_of_history(Context& context,
                                             const std::string& path,
                                             std::int64_t since);

// Said to whoever reads: what has holes is not the whole story.
void note_gaps(const Context& context, const Json& gaps);

// The name of the project that is asked about.
std::expected<std::string, Failure> project_name(Context& context);

}  // namespace reeve::cli
