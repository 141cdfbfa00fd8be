#pragma once

#include "base/time.h"
#include "core/definition.h"
#include "runbook/document.h"
#include "runbook/load.h"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What the readers of the single sections share: the work in progress, and a table that is read
// key by key and afterwards knows which of its keys nobody asked for.
namespace reeve::runbook {

// A name that has to be defined somewhere.
struct Reference {
  Name to;
  Where where;
};

// A placeholder and where it stands.
struct Asked {
  std::string name;
  Where where;
};

// A variable of `env` that has a placeholder in its value.
struct Carrier {
  std::string name;
  Where where;
};

// Where the phases of a pipeline are written, in their order, and what their environment carries.
struct PipelineNotes {
  std::string name;
  std::string label;
  std::vector<Where> phases;
  std::vector<std::vector<Carrier>> carriers;
};

struct Loading {
  const Outside* outside = nullptr;
  Runbook runbook = {};
  Mistakes mistakes = {};
  std::vector<Reference> references = {};
  std::map<Name, std::vector<Asked>> asked = {};   // by guards, strategies and agents
  std::map<Name, Where> dead_letters = {};         // where a queue names its own
  std::map<std::string, Where> prompt_files = {};  // of agents
  std::vector<PipelineNotes> pipelines = {};
  std::vector<std::pair<definition::SlotUse, Where>> slots = {};  // with a weight
  std::vector<File> unread = {};  // what is not TOML: nobody knows what it defines

  void mistake(const Where& where, std::string message) {
    mistakes.push_back({where.file, where.place, std::move(message)});
  }
};

using Keys = std::initializer_list<std::string_view>;  // the key, then its aliases

class Section {
 public:
  // `label` is how messages call it: [queue.bugs].
  Section(Loading& loading, const Document& document, const Value& table, std::string label);

  Loading& loading() const { return loading_; }
  const std::string& label() const { return label_; }
  Where where() const { return where_of(table_.place); }
  Where where_of(Place place) const { return {document_.file, place}; }
  Where where_of(const Value& value) const { return where_of(value.place); }
  Where where_in(const Value& text, std::size_t offset) const {
    return where_of(document_.place_in(text, offset));
  }
  void mistake(const Where& where, std::string message) const;

  // The value of a key. Two names of one key are a mistake.
  const Value* find(Keys keys);
  bool has(std::string_view key) const;
  const std::vector<Member>& members() const { return table_.members; }

  std::optional<std::string> text(Keys keys);
  std::optional<Duration> duration(Keys keys, Duration least = Duration{1});
  std::optional<std::uint32_t> number(Keys keys, std::uint32_t least = 0);
  std::optional<bool> yes_or_no(Keys keys);

  // A text, or a list of texts.
  std::vector<const Value*> texts(Keys keys);

  // A table of texts, in the order of the file. Numbers and truth values are taken as texts.
  std::vector<std::pair<const Member*, std::string>> map(Keys keys);

  // A table within, to be read in turn.
  std::optional<Section> section(Keys keys);
  std::vector<Section> sections(std::string_view key);  // [[...]]
  Section within(const Value& table, std::string_view key) const;

  // One of these words.
  std::optional<std::size_t> choice(Keys keys, std::initializer_list<std::string_view> words);

  // A program for the shell; its placeholders are added to `asked`. Empty: there is none, or a
  // mistake has been told.
  std::string shell(Keys keys, std::vector<Asked>& asked);
  std::string shell_of(const Value& value, std::string_view key, std::vector<Asked>& asked);

  // What the programs that are read from now on find in their environment.
  void carry(std::vector<Carrier> carriers) { carriers_ = std::move(carriers); }

  // A text with placeholders, which are added to `asked`.
  std::string filled(Keys keys, std::vector<Asked>& asked);
  std::vector<std::string> patterns(Keys keys, std::vector<Asked>& asked);
  void ask(const Value& text, std::vector<Asked>& asked) const;

  // A name of that kind, to be defined somewhere.
  std::string reference(Keys keys, std::string_view kind);
  void refer(const Value& text, std::string_view kind, const std::string& name) const;

  bool expect(const Value& value, Value::Kind kind, std::string_view key) const;
  void expected(const Value& value, std::string_view key, std::string_view what) const;
  void missing(std::string_view key, std::string_view what) const;

  // Says which keys are unknown. The last thing asked of a section.
  void finish() const;

 private:
  Loading& loading_;
  const Document& document_;
  const Value& table_;
  std::string label_;
  std::vector<std::string> known_;  // in the order they were asked for
  std::vector<Carrier> carriers_;
};

// "unknown name {bgu} in [pipeline.fix]; did you mean `{bug}`?"
std::string unknown_name(const Asked& asked,
                         const std::vector<std::string>& known,
                         std::string_view where);

// Whether {a.b} is among the known names or a member of one.
bool is_known(std::string_view name, const std::vector<std::string>& known);

// A letter or _, then letters, digits and _: what a shell can name.
bool is_variable_name(std::string_view name);

// The table `env`; its placeholders are added to `asked`. The section carries from now on what it
// says.
struct Environment {
  definition::Map variables;
  std::vector<Carrier> carriers;
};
Environment environment_in(Section& section, std::vector<Asked>& asked);

// ── The readers, a file each; `kind` and `name` are registered already ──

void read_queue(Section& section, const std::string& name);
void read_worker(Section& section, const std::string& name);
void read_cron(Section& section, const std::string& name);
void read_lock(Section& section, const std::string& name);
void read_semaphore(Section& section, const std::string& name);
void read_pipeline(Section& section, const std::string& name);
void read_agent(Section& section, const std::string& name);
void read_guard(Section& section, const std::string& name);
void read_strategy(Section& section, const std::string& name);
void read_command(Section& section, const std::string& name);
void read_monitor(Section& section, const std::string& name);
void read_action(Section& section, const std::string& name);
void read_events(Section& section);
void read_notify(Section& section);

// The names that the texts of its phases, guards, agents and strategies may use; `x.*` stands for
// every {x.y}.
std::vector<std::string> names_in(const definition::Pipeline& pipeline);

// `escalate`, `fail` or a phase.
definition::OnFail on_fail_of(const std::string& text);

// ── What can be said only when everything was read ──

void check_references(Loading& loading);
void check_reachable(Loading& loading);
void check_dead_letters(Loading& loading);
void check_circles(Loading& loading);
void check_names(Loading& loading);
void check_inputs(Loading& loading);
void check_environment(Loading& loading);
void check_prompt_files(Loading& loading, const std::string& root);

}  // namespace reeve::runbook
