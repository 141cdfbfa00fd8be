#include "daemon/beanstalk.h"

#include "api/beanstalk/connection.h"
#include "api/beanstalk/options.h"
#include "core/limits.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>

namespace reeve::daemon {

using namespace api::beanstalk;

bool is_beanstalk_word(std::string_view word) {
  return word == "--beanstalk" || word == "--project" || word == "--beanstalk-job-bytes";
}

Result<void> read_beanstalk_word(BeanstalkWords& words,
                                 std::string_view word,
                                 std::string_view value) {
  if (word == "--project") {
    words.project = value;
    return {};
  }
  if (word == "--beanstalk") {
    Result<Address> address = parse_address(value);
    if (!address) return fail(address.error());
    words.addresses.push_back(*std::move(address));
    return {};
  }
  const auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), words.job_bytes);
  const bool whole = error == std::errc{} && end == value.data() + value.size();
  if (!whole || words.job_bytes > limits::item_bytes) {
    return fail(Error::Code::BadRequest,
                fmt::format("{} needs a number from 0 to {}", word, limits::item_bytes));
  }
  return {};
}

BeanstalkDoor::BeanstalkDoor(api::beanstalk::Settings settings, const api::About& about)
    : ledger_(std::make_unique<Ledger>(settings)),
      machine_(std::make_unique<Machine>(this_machine(about))) {}

Result<BeanstalkDoor> BeanstalkDoor::open(const BeanstalkWords& words,
                                          const State& state,
                                          const api::About& about) {
  for (const Address& address : words.addresses) {
    const TcpAddress* tcp = std::get_if<TcpAddress>(&address);
    if (!tcp || words.is_public || is_loopback(tcp->host)) continue;
    return fail(Error::Code::BadRequest,
                fmt::format("--beanstalk {}: others could reach your queues there, and nobody is "
                            "asked who they are; add --beanstalk-public if that is meant",
                            to_text(address)));
  }
  api::beanstalk::Settings settings;
  settings.job_bytes = words.job_bytes;
  if (words.project) {
    const bool is_folder = words.project->starts_with('/');
    const ProjectNo* project = is_folder ? state.projects.by_path.find(*words.project)
                                         : state.projects.by_name.find(*words.project);
    if (!project) {
      return fail(Error::Code::NotFound,
                  fmt::format("--project {}: there is no such project; `reeve project list` has "
                              "those that are known",
                              *words.project));
    }
    settings.project = *project;
  }
  return BeanstalkDoor(settings, about);
}

Listen BeanstalkDoor::listen(const Address& address) {
  const auto make = [ledger = ledger_.get(), machine = machine_.get()](
                        SessionId session, api::Desk& desk) -> std::unique_ptr<api::Connection> {
    return std::make_unique<Connection>(session, desk, *ledger, *machine);
  };
  return {address, make, "OUT_OF_MEMORY\r\n"};
}

}  // namespace reeve::daemon
