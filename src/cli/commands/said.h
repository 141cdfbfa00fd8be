#pragma once

#include "cli/context.h"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What the programs of a run say, read from their files as these grow: for `logs`, and for
// `run --follow` between its events.
namespace reeve::cli {

// How often to look whether there is more, in ms.
inline constexpr std::int64_t look_for_more = 200;

// A file of a run is called by its label: `merge#2`, the second attempt of phase merge; when
// that is entered once more, `merge#1, visit 2`; of a run within it `c1/merge#2`.
struct Label {
  std::string text;
  std::string phase = {};  // with the run that it is within; of what has no number, all of it
  std::optional<std::int64_t> attempt = {};
  bool is_guard = false;

  bool operator==(const Label&) const = default;
};

struct Wanted {
  std::optional<std::string> phase = {};
  std::optional<std::int64_t> attempt = {};
  bool guards = false;

  bool fits(const Label& label) const;
};

class Said {
 public:
  // Of the run or agent with this whole id.
  Said(Context& context, const std::string& home, const std::string& id, Wanted wanted);

  // As it is shown now: which agents work for it, and which attempts there were. The same of a run
  // within it, by the name that has here.
  void know(const Json& shown, const std::string& within = {});

  // Prints all that is new; whether there was anything.
  bool read();
  // The same of what was begun before this change, and by this run alone.
  bool read(std::uint64_t before, const std::string& run);
  // Something else is about to be printed: on a line of its own, and whose what follows is will be
  // told again.
  void interrupt();

  // Which there are, whatever is wanted; in the order in which they were begun, each once.
  std::vector<Label> labels() const;

  // A folder of logs; `label`: what all of them are called, if not by their names.
  struct Place {
    std::string folder;
    std::optional<Label> label = {};
    std::string within = {};               // which run within
    std::vector<std::string> phases = {};  // that it has
    bool is_over = false;                  // nobody writes there any more
  };

 private:
  // What of a file was told.
  struct Told {
    std::uint64_t bytes = 0;
    std::uint64_t file = 0;  // its number: a guard's last check takes the place of the one before
  };

  static bool has_more(const std::string& path, Told& told);
  void tell_tails(const std::string& path, const std::string& label);
  bool read_from_places(const std::vector<Place>& places, std::uint64_t before);
  void tell(const std::string& path, const std::string& label, std::string_view bytes);

  Context& context_;
  std::string logs_;
  std::string id_;
  std::vector<Place> all_places() const;

  std::map<std::string, std::vector<Place>> places_;  // by run
  Wanted wanted_;
  std::map<std::string, Told> told_;
  std::string last_;
  bool in_line_ = false;
};

// The runs within one, as it is shown: their ids, and what they are called there: `c1`, and of
// several of one name the second `c1 (2)`. `within`: what it is called itself.
std::vector<std::pair<std::string, std::string>> runs_within(const Json& shown,
                                                             const std::string& within);

// Tells `said` of a run, and of all within it; of one that was seen to be over only once.
class Family {
 public:
  Family(Client& client, Said& said) : client_(client), said_(said) {}
  void know(const Json& shown, const std::string& within = {});

 private:
  Client& client_;
  Said& said_;
  std::set<std::string> over_;
};

// The end of the last of the logs in a folder, from the beginning of a line; empty: there is none.
std::string end_of_logs(const std::string& folder, std::size_t most);

// What a cron's program said last goes with what is told of the cron (`log` says where to look), as
// `output`. False: it has said nothing.
bool add_last_words(Context& context, Json& cron);
// The lines of `output`.
void tell_last_words(Output& output, const Json& thing);

}  // namespace reeve::cli
