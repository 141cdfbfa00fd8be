#pragma once

#include "base/result.h"
#include "config/settings.h"

#include <expected>
#include <functional>
#include <string>
#include <string_view>

// Where the settings are kept, and how a file of them is changed.
namespace reeve::config {

// $XDG_CONFIG_HOME/reeve/config.toml if that is absolute, else ~/.config/reeve/config.toml. Empty:
// nothing says where (no $HOME either).
std::string user_file();
// Of a project with this folder.
std::string project_file(std::string_view root);

// Of a file that is not there, or of no name, nothing: that is no mistake.
std::expected<Layer, Mistakes> read_layer_file(Origin origin, const std::string& path);

// An empty path: there is no such file. The mistakes of both files at once.
std::expected<Settings, Mistakes> read_settings(const std::string& user,
                                                const std::string& project);

// Puts another text in the place of the file's, as `edit` says, in one step: whoever reads it finds
// the one or the other. Two who change it at a time do so one after the other (they lock its
// folder). What is not there is made, with its folders; a mode is kept, and a link is followed.
Result<void> change_file(const std::string& path,
                         const std::function<Result<std::string>(std::string_view)>& edit);

}  // namespace reeve::config
