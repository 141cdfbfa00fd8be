#pragma once

#include "adapters/descriptor.h"
#include "base/time.h"
#include "core/id.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

// Hears from the kernel (inotify) when runbooks of projects change, appear and go. No file is
// opened. Of a project three folders are watched, as far as they are there:
//
//     ROOT                     .reeve appears, goes, or becomes another
//     ROOT/.reeve              the same of runbooks
//     ROOT/.reeve/runbooks     *.toml, which is where runbooks are discovered (runbook/load.h)
//
// What a symbolic link leads to is watched if it is a folder; of a file behind one only the link is
// seen. Folders may be shared: a change is told of everyone who has it.
namespace reeve::daemon {

class RunbookFolders {
 public:
  RunbookFolders();

  // False: this machine has none to spare, and nothing is ever heard.
  explicit operator bool() const { return static_cast<bool>(inotify_); }
  // Readable when there is something to take().
  int fd() const { return inotify_.get(); }

  enum class Watched : std::uint8_t {
    Yes,
    Lost,    // the root is not there, or not ours to look at
    NoRoom,  // the kernel has no more watches for us
  };
  // Again is fine: then by what is there now.
  Watched watch(ProjectNo project, const std::string& root);
  void forget(ProjectNo project);

  // Those of which something changed since the last time, without waiting. Folders that came are
  // watched from here on.
  std::set<ProjectNo> take();

 private:
  enum class Level : std::uint8_t { Root, Reeve, Runbooks };
  struct Use {
    ProjectNo project;
    Level level = Level::Root;
  };

  struct Place {
    std::string root;
    std::vector<int> watches;  // by their numbers; the kernel gives none twice
  };

  bool add(const std::string& path, Use use, std::uint32_t events);
  static bool matters(Level level, std::uint32_t events, const char* name);

  adapters::Descriptor inotify_;
  std::map<int, std::vector<Use>> uses_;
  std::map<ProjectNo, Place> places_;
};

// Whether a runbook below this root, or which there are, changed at that moment or later, by what
// the file system says of them: for what was changed while nobody watched. When a folder went that
// is not there nobody can tell.
bool changed_since(const std::string& root, Wall moment);

}  // namespace reeve::daemon
