#include "runtime/cli/completion_words.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/init_templates.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/config/keys.h"
#include "runtime/job/outcome.h"

namespace tony {
namespace {

constexpr size_t kMostEndedJobs = 50;

// Values of options that are one of a few words.
struct FewWords {
  std::string_view option;
  std::vector<std::string_view> words;
};
const std::vector<FewWords>& OptionsOfFewWords() {
  static const std::vector<FewWords> options = {
      {"on-existing", {"adopt", "attach", "never"}},
      {"color", {"auto", "always", "never"}},
      {"state", {"SUCCEEDED", "FAILED", "KILLED"}},
      {"framework", {"pytorch", "jax", "tensorflow", "lightgbm", "xgboost", "standalone"}},
      {"nproc-per-node", {"gpu"}},
  };
  return options;
}

void AddJobs(Candidates& found) {
  const auto store = DefaultBackend().Jobs(JobId());
  if (!store.ok()) return;
  const auto newest = (*store)->ListNewest(kMostEndedJobs);
  if (!newest.ok() || newest->jobs.empty()) return;
  found.words.push_back({"last", "the job submitted last"});
  std::vector<std::string> names;
  for (const JobRecords& job : newest->jobs) {
    const auto status = StoredStatus(job);
    if (!status.ok()) continue;
    found.words.push_back({job.job().value, SafeLine(StrCat(status->state, ": ", status->name))});
    // A name of several words, or with quotes, is not worth the shell's trouble.
    const bool is_word = !status->name.empty() && status->name.find_first_of(" \t\n'\"\\$`") == std::string::npos;
    if (is_word && std::ranges::count(names, status->name) == 0) names.push_back(status->name);
  }
  for (const std::string& name : names) found.words.push_back({SafeLine(name), "the newest job of this name"});
}

std::optional<JobRecords> JobNamed(const std::string& word) {
  const auto store = DefaultBackend().Jobs(JobId());
  if (!store.ok()) return std::nullopt;
  const auto newest = (*store)->ListNewest(kMostEndedJobs);
  if (!newest.ok()) return std::nullopt;
  std::optional<std::pair<Instant, JobRecords>> best;
  for (const JobRecords& job : newest->jobs) {
    if (job.job().value == word) return job;
    const auto status = StoredStatus(job);
    if (!status.ok() || (word != "last" && status->name != word)) continue;
    if (!best || best->first < status->submitted) best.emplace(status->submitted, job);
  }
  return best ? std::optional(best->second) : std::nullopt;
}

void AddTasks(const std::string& job, Candidates& found) {
  constexpr int kMostTasks = 100;
  const auto records = JobNamed(job);
  const auto spec = records ? records->ReadSpec() : Result<JobSpec>(Error{});
  if (!spec.ok()) return;
  for (const RoleSpec& role : spec->roles) {
    found.words.push_back({role.name, Counted(role.instances, "task")});
    for (int i = 0; i < std::min(role.instances, kMostTasks); ++i)
      found.words.push_back({ToString(TaskId{role.name, i}), "a task"});
  }
}

// As -conf takes them: of the keys of roles those of a worker.
void AddKeys(std::string_view behind, Candidates& found) {
  for (const Key& key : AllKeys()) {
    if (key.effect == KeyEffect::kNone || key.effect == KeyEffect::kRefused) continue;
    std::string name(key.name);
    if (const size_t role = name.find('<'); role != std::string::npos)
      name.replace(role, name.find('>') - role + 1, "worker");
    if (name.find('<') != std::string::npos) continue;  // one of another role, or a group
    found.words.push_back({StrCat(name, behind), std::string(key.text)});
  }
}

void AddVerbs(Candidates& found) {
  for (const Verb& command : Verbs())
    if (command.verb.name != "complete")
      found.words.push_back({std::string(command.verb.name), std::string(command.verb.text)});
}

void AddOptions(const VerbSpec& verb, std::string_view typed, Candidates& found) {
  for (const OptionSpec& option : verb.options) {
    if (!option.letter.empty() && typed.size() <= 2)
      found.words.push_back({Dashed(option.letter), std::string(option.text)});
    found.words.push_back({Dashed(option.name), std::string(option.text)});
  }
}

void AddValues(const OptionSpec& option, Candidates& found) {
  for (const FewWords& few : OptionsOfFewWords())
    if (few.option == option.name)
      for (const std::string_view word : few.words) found.words.push_back({std::string(word)});
  if (option.name == "class")
    for (const OutcomeClass cls : AllOutcomeClasses()) found.words.push_back({std::string(ToString(cls))});
  if (option.value == "JOB") AddJobs(found);
  if (option.value == "KEY=VALUE") AddKeys("=", found);
  if (option.value == "PATH" || option.value == "FILE") found.files = true;
}

// The word at this place, counted from 0.
void AddWords(const VerbSpec& verb, const std::vector<std::string>& before, Candidates& found) {
  const size_t place = before.size();
  if (place >= verb.max_words) return;
  const bool of_job = verb.words.find("JOB") != std::string_view::npos;
  if (verb.name == "logs" && place > 0) return AddTasks(before.front(), found);
  if (of_job) return AddJobs(found);
  if (verb.name == "help" && place == 0) {
    AddVerbs(found);
    found.words.push_back({"keys", "the keys of a job's properties"});
  }
  if (verb.name == "help" && place == 1) AddKeys("", found);
  if (verb.name == "init")
    for (const JobTemplate& job : JobTemplates()) found.words.push_back({std::string(job.kind)});
  if (verb.name == "completion")
    for (const char* shell : {"bash", "zsh", "fish"}) found.words.push_back({shell});
  if (verb.words.find("SPEC_FILE") != std::string_view::npos || verb.name == "run") found.files = true;
}

const OptionSpec* OptionOf(const VerbSpec& verb, std::string_view word) {
  const size_t start = word.find_first_not_of('-');
  if (start == 0 || start > 2 || start == std::string_view::npos) return nullptr;
  const std::string_view name = word.substr(start);
  const auto found = std::ranges::find_if(verb.options, [&](const OptionSpec& one) {
    return one.name == name || (!one.letter.empty() && one.letter == name);
  });
  return found == verb.options.end() ? nullptr : &*found;
}

bool TakesValue(const OptionSpec& option) { return option.kind != OptionSpec::Kind::kFlag; }

void CompleteVerb(const VerbSpec& verb, const std::vector<std::string>& words, Candidates& found) {
  const std::string& typed = words.back();
  std::vector<std::string> before;  // without options and their values
  const OptionSpec* waits = nullptr;
  bool options_ended = false;
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    const OptionSpec* option = waits || options_ended ? nullptr : OptionOf(verb, words[i]);
    options_ended = options_ended || (!waits && words[i] == "--");
    if (!waits && !option && words[i] != "--" && words[i].find('=') == std::string::npos) before.push_back(words[i]);
    waits = option && TakesValue(*option) ? option : nullptr;
  }
  if (waits) return AddValues(*waits, found);
  const size_t equals = typed.find('=');
  if (!options_ended && typed.starts_with("-") && equals != std::string::npos) {
    const OptionSpec* option = OptionOf(verb, typed.substr(0, equals));
    if (option) AddValues(*option, found);
    for (Candidate& candidate : found.words) candidate.word.insert(0, typed.substr(0, equals + 1));
    return;
  }
  if (!options_ended && typed.starts_with("-")) return AddOptions(verb, typed, found);
  AddWords(verb, before, found);
}

}  // namespace

Candidates Complete(const std::vector<std::string>& words) {
  Candidates found;
  if (words.empty()) return found;
  if (words.size() == 1) {
    AddVerbs(found);
  } else {
    for (const Verb& command : Verbs())
      if (command.verb.name == words.front()) CompleteVerb(command.verb, words, found);
  }
  std::erase_if(found.words, [&](const Candidate& one) { return !one.word.starts_with(words.back()); });
  return found;
}

}  // namespace tony
