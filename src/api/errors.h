#pragma once

#include <string_view>

// The codes of docs/protocol.md, once.
namespace reeve::api {

inline constexpr int not_json = -32700;
inline constexpr int no_request = -32600;
inline constexpr int no_method = -32601;
inline constexpr int bad_params = -32602;
inline constexpr int refused_code = -32000;

// What `data.code` of a refusal can be.
namespace code {
inline constexpr std::string_view locked = "LOCKED";
inline constexpr std::string_view full = "FULL";
inline constexpr std::string_view would_deadlock = "WOULD_DEADLOCK";
inline constexpr std::string_view lost = "LOST";
inline constexpr std::string_view superseded = "SUPERSEDED";
inline constexpr std::string_view stale_claim = "STALE_CLAIM";
inline constexpr std::string_view not_owner = "NOT_OWNER";
inline constexpr std::string_view not_holder = "NOT_HOLDER";
inline constexpr std::string_view not_found = "NOT_FOUND";
inline constexpr std::string_view exists = "EXISTS";
inline constexpr std::string_view not_allowed = "NOT_ALLOWED";
inline constexpr std::string_view ambiguous = "AMBIGUOUS";
inline constexpr std::string_view loop = "LOOP";
inline constexpr std::string_view bad_name = "BAD_NAME";
inline constexpr std::string_view bad_value = "BAD_VALUE";
inline constexpr std::string_view over_limit = "OVER_LIMIT";
inline constexpr std::string_view key_reused = "KEY_REUSED";
inline constexpr std::string_view cancelled = "CANCELLED";
inline constexpr std::string_view gone = "GONE";
inline constexpr std::string_view disk_full = "DISK_FULL";
inline constexpr std::string_view unavailable = "UNAVAILABLE";
inline constexpr std::string_view too_much = "TOO_MUCH";
inline constexpr std::string_view timed_out = "TIMED_OUT";
inline constexpr std::string_view runbook_unknown = "RUNBOOK_UNKNOWN";
inline constexpr std::string_view answered = "ANSWERED";
inline constexpr std::string_view config_wrong = "CONFIG_WRONG";
inline constexpr std::string_view history_off = "HISTORY_OFF";
inline constexpr std::string_view task_locked = "TASK_LOCKED";
inline constexpr std::string_view section_locked = "SECTION_LOCKED";
inline constexpr std::string_view task_finished = "TASK_FINISHED";
}  // namespace code

}  // namespace reeve::api
