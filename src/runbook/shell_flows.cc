#include "runbook/shell_names.h"
#include "runbook/shell_scan.h"

#include <algorithm>

// The judgement. A value that comes to a variable which bash looks into is a mistake; to one that
// bash calculates with, it must be an integer, and so must the variable it came from. What comes
// there by way of a command, of `read` or of a loop cannot be looked at before the program begins:
// it is a mistake, unless it can only be a number.
namespace reeve::runbook::shell {
namespace {

constexpr std::string_view read_stream = "|";

std::string called(const std::string& name) {
  return name == read_stream ? "what is read" : "`" + name + "`";
}

bool mentions(std::string_view text, std::string_view name) {
  const auto is_part = [](char each) { return continues_name(each) || each == '-'; };
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !is_part(text[at - 1]);
    if (begins && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

}  // namespace

bool Scanner::is_integer(const std::string& name) const {
  return is_number(name) || integer_names_.contains(name);
}

bool Scanner::is_calculated(const std::string& name) const {
  return std::ranges::any_of(calculated_, [&](const Calculated& each) {
    const auto reference = references_.find(each.name);
    const bool is_meant = reference != references_.end() && reference->second == name;
    return (each.name == name || is_meant) && !map_names_.contains(each.array);
  });
}

// What a reference refers to.
std::string Scanner::meant_by(const std::string& name) const {
  const auto reference = references_.find(name);
  return reference == references_.end() || reference->second.empty() ? name : reference->second;
}

bool Scanner::is_looked_into(const Flow& flow) const {
  const auto reference = references_.find(flow.into);
  const std::string name = meant_by(flow.into);
  return runs_its_value(name) || looked_into_.contains(name) ||
         (reference != references_.end() && (reference->second.empty() || flow.loop)) ||
         (flow.declared && !flow.compound && array_names_.contains(name));
}

// ── What becomes of what ──

// The variables whose values are in a text, and the functions that it calls. (What ${#NAME} says is
// a number.)
std::set<std::string> Scanner::sources_in(std::string_view text) const {
  std::set<std::string> sources;
  if (!spend(text.size() * (functions_.size() + 1))) return sources;
  for (std::size_t i = text.find('$'); i != std::string_view::npos; i = text.find('$', i + 1)) {
    std::size_t begin = i + 1;
    if (text.substr(begin).starts_with('{')) ++begin;
    if (text.substr(begin).starts_with('!')) ++begin;
    std::size_t end = begin;
    while (end < text.size() && continues_name(text[end])) ++end;
    if (end == begin) continue;
    const std::string name(text.substr(begin, end - begin));
    sources.insert(meant_by(name));
    sources.insert(name);
  }
  // A command may say what it reads.
  const bool runs = text.find("$(") != std::string_view::npos ||
                    text.find("<(") != std::string_view::npos ||
                    text.find('`') != std::string_view::npos;
  if (runs) sources.emplace(read_stream);
  for (const std::string& name : functions_) {
    if (mentions(text, name)) sources.insert(name + "()");
  }
  return sources;
}

void Scanner::reach(std::string_view text, const Reached& where) {
  for (const std::string& source : sources_in(text)) reached_.emplace(source, where);
}

// Where b=$a, what becomes of b becomes of a.
void Scanner::follow(const Flow& flow) {
  const std::string name = meant_by(flow.into);
  if (is_looked_into(flow)) {
    looked_into_.merge(sources_in(flow.text));
    note_indices(flow.text);
    if (flow.reads) looked_into_.emplace(read_stream);
  }
  if (const auto reached = reached_.find(name); reached != reached_.end()) {
    const Reached where = reached->second;
    reach(flow.text, where);
    if (flow.reads) reached_.emplace(read_stream, where);
  }
  if (!is_integer(name) && !is_calculated(name)) return;
  if (flow.way.empty()) return note_calculated(flow.text, {}, name);
  reach(flow.text, {name, flow.way});
  if (flow.reads) reached_.emplace(read_stream, Reached{name, flow.way});
}

void Scanner::follow() {
  for (Stream& each : streams_) {
    if (is_read_by(each.by)) flows_.push_back(std::move(each.flow));
  }
  flows_.push_back(flow_between("_", 0, end_));  // the last word of the last command
  flows_.back().way = "`_`";
  if (everything_is_read_) flows_.push_back(flow_between(std::string(read_stream), 0, end_));
  for (const std::string& text : looked_into_texts_) looked_into_.merge(sources_in(text));
  std::size_t known = 0;
  const auto count = [&] {
    return calculated_.size() + through_.size() + looked_into_.size() + reached_.size();
  };
  do {
    known = count();
    for (const Flow& each : flows_) follow(each);
    for (const Through& each : through_) {
      if (!map_names_.contains(each.array)) reach(each.text, {each.into, "a command"});
    }
  } while (count() > known);
}

// ── What is said of it ──

void Scanner::judge_flows() {
  if (holes.empty() && carriers_.empty()) return;
  follow();
  if (effort_ > most_effort) {
    mistake(0, "too long to see where its values go: put a part of it in a file of its own");
  }
  for (const std::size_t each : doubtful_) {
    mistake(each,
            "whether bash calculates here or runs it cannot be told: write `( (` with a blank to "
            "run it, else put what makes it hard to read into a variable first");
  }
  for (const std::string& name : counting_) {
    if (!functions_.contains(name)) continue;
    mistake(0, "`" + name + "` is a function here, and may say anything: call it otherwise");
  }
  for (const Flow& each : flows_) need_integers(each);
  std::set<std::string> checked;
  for (const Hole& hole : holes) {
    if (hole.integer) checked.insert(hole.name);
  }
  for (const Flow& each : flows_) judge_flow(each, checked);
  for (const std::string& each : carriers_) judge_carrier(each);
  judge_fed();
}

void Scanner::need_integers(const Flow& flow) {
  const std::string name = meant_by(flow.into);
  const bool may_be_integer = name == "?" && !integer_names_.empty();
  const bool integer = is_integer(name) || may_be_integer;
  const bool calculated = is_calculated(name);
  for (const std::size_t hole : flow.holes) {
    const bool is_direct = depths_[hole] == flow.depth && flow.way.empty();
    const bool counts = only_integers_.contains(hole) && (calculated || reached_.contains(name));
    holes[hole].integer |= integer || counts || (calculated && is_direct);
  }
}

void Scanner::judge_flow(const Flow& flow, const std::set<std::string>& checked) {
  if (flow.holes.empty()) return;
  const std::string name = meant_by(flow.into);
  const Hole& first = holes[flow.holes.front()];
  const auto refuse_first = [&](const std::string& why) {
    mistake(first.offset, "{" + first.name + "} cannot stand here " + why);
  };
  if (runs_its_value(name)) refuse_first("as the value of " + name);
  if (const auto reference = references_.find(flow.into);
      reference != references_.end() && (flow.loop || reference->second.empty())) {
    refuse_first("as the name of a variable, which " + flow.into + " would refer to");
  }
  const bool is_run = name == read_stream && std::ranges::find(fed_, "", &Fed::name) != fed_.end();
  if (looked_into_.contains(name) && !is_run) {  // else that is told by itself
    refuse_first(continues_name(name.back())
                     ? "as the value of " + name + ": bash would look into it later, where $" +
                           name + " is evaluated or names a variable"
                     : "as a part of " + called(name) + ": bash would look into it later");
  }
  if (flow.declared && !flow.compound && array_names_.contains(name)) {
    refuse_first("as the value of an array: bash would look into it; leave `declare` away");
  }
  const auto reached = reached_.find(name);
  if (reached == reached_.end() && !is_calculated(name)) return;
  const Reached where = reached != reached_.end()
                            ? reached->second
                            : Reached{name, flow.way.empty() ? "a command" : flow.way};
  for (const std::size_t hole : flow.holes) {
    if (checked.contains(holes[hole].name)) continue;
    mistake(holes[hole].offset, "{" + holes[hole].name + "} comes to " + told(where));
  }
}

std::string Scanner::told(const Reached& where) {
  return (where.into.empty()
              ? "where bash calculates by way of " + where.way
              : "`" + where.into + "` by way of " + where.way + ", and bash calculates with that") +
         ": compare with [ ], or let only digits through, as with | tr -cd 0-9";
}

void Scanner::judge_carrier(const std::string& name) {
  if (is_integer(name) || is_calculated(name)) integers.insert(name);
  const auto reached = reached_.find(name);
  if (looked_into_.contains(name)) {
    mistakes.push_back({0, "bash would look into its value, or run it", name});
  } else if (reached != reached_.end() && !integers.contains(name)) {
    mistakes.push_back({0, "its value comes to " + told(reached->second), name});
  }
}

void Scanner::judge_fed() {
  if (holes.empty()) return;
  for (const Fed& each : fed_) {
    const auto reference = references_.find(each.name);
    if (each.name.empty()) {
      mistake(each.offset,
              "bash would run what it reads there: read commands from a file of yours");
    } else if (is_integer(each.name)) {
      mistake(each.offset,
              "bash would calculate what is read into " + each.name + ": declare it without -i");
    } else if (runs_its_value(each.name) ||
               (reference != references_.end() && reference->second.empty())) {
      mistake(each.offset, "bash would look into what is read into " + each.name);
    }
  }
}

}  // namespace reeve::runbook::shell
