#pragma once

#include <string>
#include <string_view>

// Where in `logs/` of the home what a cron's programs say is kept: `cron nightly@shop`. The hands
// write there, and whoever is asked about the cron says where to look.
namespace reeve::codec {

std::string cron_log_folder(std::string_view cron, std::string_view project);

}  // namespace reeve::codec
