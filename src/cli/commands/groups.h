#pragma once

#include "cli/args.h"
#include "cli/output.h"

#include <span>
#include <string>

// Every command group, one file each in this folder. Help, completions and the man page walk this.
namespace reeve::cli {

extern const Group everyday_group;  // the commands of one word
extern const Group lock_group;
extern const Group sem_group;
extern const Group queue_group;
extern const Group daemon_group;
extern const Group journal_group;
extern const Group project_group;
extern const Group config_group;
extern const Group runbook_group;
extern const Group pipeline_group;
extern const Group worker_group;
extern const Group cron_group;
extern const Group decision_group;
extern const Group agent_group;
extern const Group monitor_group;
extern const Group workspace_group;
extern const Group task_group;
extern const Group section_group;
extern const Group runner_group;
extern const Group locks_group;

std::span<const Group> all_groups();

// Of one word each, gathered in everyday_group.
int status_command(Context& context, const Parsed& parsed);
int why_command(Context& context, const Parsed& parsed);
int events_command(Context& context, const Parsed& parsed);
int emit_command(Context& context, const Parsed& parsed);
int top_command(Context& context, const Parsed& parsed);
int doctor_command(Context& context, const Parsed& parsed);
int completion_command(Context& context, const Parsed& parsed);
int complete_command(Context& context, const Parsed& parsed);
int man_command(Context& context, const Parsed& parsed);
int help_command(Context& context, const Parsed& parsed);
int show_command(Context& context, const Parsed& parsed);
int backup_command(Context& context, const Parsed& parsed);
int restore_command(Context& context, const Parsed& parsed);
int beanstalkd_command(Context& context, const Parsed& parsed);
int run_command(Context& context, const Parsed& parsed);
int init_command(Context& context, const Parsed& parsed);
int wait_command(Context& context, const Parsed& parsed);
int logs_command(Context& context, const Parsed& parsed);
int cancel_command(Context& context, const Parsed& parsed);
int resume_command(Context& context, const Parsed& parsed);
int pause_command(Context& context, const Parsed& parsed);
int done_command(Context& context, const Parsed& parsed);
int checkpoint_command(Context& context, const Parsed& parsed);
int heartbeat_command(Context& context, const Parsed& parsed);
int ask_command(Context& context, const Parsed& parsed);
int sql_command(Context& context, const Parsed& parsed);
int history_command(Context& context, const Parsed& parsed);
int stats_command(Context& context, const Parsed& parsed);

// That the words call no command, and which one may have been meant.
std::string no_such_command(const Found& found, std::span<const std::string_view> words);

// What bare `reeve` shows.
int overview(Context& context);

// Texts of --help: of a group, of a command.
std::string help_of_group(const Output& output, const Group& group);
std::string help_of_command(const Output& output, const Command& command);

// Prints it, as text or with --json as data: of the command, else of the group, else of everything.
// The exit code.
int tell_help(Context& context, const Group* group, const Command* command);
int tell_version(Context& context);

}  // namespace reeve::cli
