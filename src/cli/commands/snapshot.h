#pragma once

#include "cli/client.h"
#include "cli/json.h"

#include <expected>
#include <string>
#include <string_view>

// Everything that `status` and `top` look at, asked for in one go.
namespace reeve::cli {

struct Snapshot {
  std::string project;
  Json status;
  Json::Array locks;
  Json::Array semaphores;
  Json::Array queues;
  Json::Array pipelines;  // those that are not over
  Json::Array agents;     // likewise
  bool is_whole = false;  // nothing was left out of these lists
  bool has_more_locks = false;
  bool has_more_semaphores = false;
};

// Of long lists the beginning, or all of them: for who looks once.
std::expected<Snapshot, Failure> take_snapshot(Client& client, bool whole = false);

// The fields of an event's data in a row: `queue=mail item=item-4f7kq2`.
std::string data_line(const Json& data);

// "board: 12 open, 3 in progress"; empty if nothing is open there.
std::string board_line(const Json& board);

// `████░░░░`.
std::string usage_bar(double part, std::size_t width);

}  // namespace reeve::cli
