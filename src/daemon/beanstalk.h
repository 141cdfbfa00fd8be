#pragma once

#include "api/beanstalk/ledger.h"
#include "api/beanstalk/yaml.h"
#include "base/result.h"
#include "core/state.h"
#include "daemon/listening.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The doors for beanstalkd's clients, all of one kind: the same project, the same limit, one count.
// Addresses of the network are refused unless that was asked for.
namespace reeve::daemon {

struct BeanstalkWords {
  std::vector<Address> addresses;
  bool is_public = false;
  std::optional<std::string> project;  // by its name, or the path of its folder
  std::uint32_t job_bytes = api::beanstalk::default_job_bytes;
};

// Whether `word` (`--beanstalk`, `--project`, `--beanstalk-job-bytes`) is one of these,
// and takes a value; `--beanstalk-public` takes none.
bool is_beanstalk_word(std::string_view word);
Result<void> read_beanstalk_word(BeanstalkWords& words,
                                 std::string_view word,
                                 std::string_view value);

// Outlives the loop it listens for.
class BeanstalkDoor {
 public:
  static Result<BeanstalkDoor> open(const BeanstalkWords& words,
                                    const State& state,
                                    const api::About& about);

  // How each of the addresses is listened on.
  Listen listen(const Address& address);
  // No more jobs are taken, until the end of the daemon.
  void drain() { ledger_->draining = true; }

 private:
  BeanstalkDoor(api::beanstalk::Settings settings, const api::About& about);

  std::unique_ptr<api::beanstalk::Ledger> ledger_;
  std::unique_ptr<api::beanstalk::Machine> machine_;
};

}  // namespace reeve::daemon
