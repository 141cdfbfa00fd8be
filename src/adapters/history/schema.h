#pragma once

#include "adapters/history/sqlite.h"
#include "base/result.h"

#include <cstdint>
#include <string>

// The tables of history.db; docs/history.md is their manual, and a contract.
namespace reeve::history {

inline constexpr std::int64_t application_id = 0x52656576;  // "Reev"
inline constexpr std::int64_t schema_version = 1;

// Makes the tables in a file that is empty; leaves one that has them.
//
// Refuses (Corrupt) what is damaged or somebody else's, and (Conflict) what a newer version wrote,
// and changes neither.
Result<void> ensure_schema(Database& database);

// The same look, by somebody who only reads.
Result<void> check_schema(Database& database);

}  // namespace reeve::history
