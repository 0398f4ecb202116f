// Completion in shells. `tony completion SHELL` prints a script that makes the shell call `tony complete` when Tab is
// pressed. `tony complete` prints one candidate per line, "WORD<Tab>TEXT". The line ":files" makes the shell add its
// own file names.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/output.h"
#include "runtime/cli/terminal.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/config/keys.h"
#include "runtime/job/outcome.h"

namespace tony {
namespace {

// A word that the shell offers. For all shells, the candidates come from the table of verbs, from the jobs of this
// machine and from the table of keys.

struct Candidate {
  std::string word;
  std::string text = {};  // one-line description, may be empty
};

struct Candidates {
  std::vector<Candidate> words;
  // True if the shell should add its own file names.
  bool files = false;
};

constexpr size_t kMostEndedJobs = 50;

// The options whose value is one word of a fixed list.
const std::pair<std::string_view, std::vector<std::string_view>> kFewWords[] = {
    {"on-existing", {"adopt", "attach", "never"}},
    {"color", {"auto", "always", "never"}},
    {"state", {"SUCCEEDED", "FAILED", "KILLED"}},
    {"framework", {"pytorch", "jax", "tensorflow", "lightgbm", "xgboost", "horovod", "mxnet", "ray", "standalone"}},
    {"nproc-per-node", {"gpu"}},
};

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
    // Job names with spaces or quotes are left out, because the shell would have to quote them.
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

// Adds the keys in the form that -conf accepts. Keys of a role are offered for the role "worker".
void AddKeys(std::string_view behind, Candidates& found) {
  for (const Key& key : AllKeys()) {
    if (key.effect == KeyEffect::kNone) continue;
    std::string name(key.name);
    if (const size_t role = name.find('<'); role != std::string::npos)
      name.replace(role, name.find('>') - role + 1, "worker");
    if (name.find('<') != std::string::npos) continue;  // other placeholders cannot be completed
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
  for (const auto& [name, words] : kFewWords)
    if (name == option.name)
      for (const std::string_view word : words) found.words.push_back({std::string(word)});
  if (option.name == "class")
    for (const OutcomeClass cls : AllOutcomeClasses()) found.words.push_back({std::string(ToString(cls))});
  if (option.value == "JOB") AddJobs(found);
  if (option.value == "KEY=VALUE") AddKeys("=", found);
  if (option.value == "PATH" || option.value == "FILE") found.files = true;
}

// Adds candidates for the positional word after the words `before`.
void AddWords(const VerbSpec& verb, const std::vector<std::string>& before, Candidates& found) {
  const size_t place = before.size();
  if (place >= verb.max_words) return;
  if (verb.name == "logs" && place > 0) return AddTasks(before.front(), found);
  if (verb.words.starts_with("push") && place == 0) return found.words.push_back({"push", std::string(verb.text)});
  if (verb.words.find("JOB") != std::string_view::npos) return AddJobs(found);
  if (verb.name == "help" && place == 0) {
    AddVerbs(found);
    found.words.push_back({"keys", "the keys of a job's properties"});
  }
  if (verb.name == "help" && place == 1) AddKeys("", found);
  if (verb.name == "init")
    for (const std::string& kind : JobKinds()) found.words.push_back({kind});
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

void CompleteVerb(const VerbSpec& verb, const std::vector<std::string>& words, Candidates& found) {
  const std::string& typed = words.back();
  // The positional words before the cursor, without options and their values.
  std::vector<std::string> before;
  const OptionSpec* waits = nullptr;
  bool options_ended = false;
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    const OptionSpec* option = waits || options_ended ? nullptr : OptionOf(verb, words[i]);
    options_ended = options_ended || (!waits && words[i] == "--");
    if (!waits && !option && words[i] != "--" && words[i].find('=') == std::string::npos) before.push_back(words[i]);
    waits = option && option->kind != OptionSpec::Kind::kFlag ? option : nullptr;
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

// Returns the candidates for the last word in `words`. The user is typing this word, and it may be empty. The first
// word in `words` is the word after "tony". Only this machine's disk is read. A job on a cluster is offered only if
// this machine has a note about the job.
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

// The script for bash. Bash splits words at : and =, and candidates contain these characters. The script therefore
// splits the line itself, and completes only the part of a word after the word's last : or =.
constexpr std::string_view kBash = R"(# tony's completion for bash; to load it, run: source <(tony completion bash)
_tony() {
  local line=${COMP_LINE:0:COMP_POINT} words word candidate files=
  read -r -a words <<<"$line"
  case $line in *[[:blank:]]) words+=('') ;; esac
  word=${words[${#words[@]} - 1]}
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    if [ "$candidate" = :files ]; then files=1; else COMPREPLY+=("${candidate:${#word}}"); fi
  done < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
  local part=${word##*[:=]} i
  for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=$part${COMPREPLY[i]}; done
  if [ -n "$files" ]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -f -- "$part")
  fi
  case ${COMPREPLY[0]-} in *=) compopt -o nospace 2>/dev/null ;; esac
}
complete -F _tony tony
)";

constexpr std::string_view kZsh = R"(#compdef tony
# tony's completion for zsh: save this file as _tony in a folder of $fpath, or run: source <(tony completion zsh)
_tony() {
  local line word text files=
  local -a described open
  while IFS=$'\t' read -r word text; do
    if [[ $word == :files ]]; then
      files=1
    elif [[ $word == *= ]]; then
      open+=("${word//:/\\:}${text:+:$text}")
    else
      described+=("${word//:/\\:}${text:+:$text}")
    fi
  done < <("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  (( ${#described} )) && _describe -V tony described
  (( ${#open} )) && _describe -V tony open -S ''
  [[ -n $files ]] && _files
  return 0
}
if [[ ${funcstack[1]-} == _tony ]]; then _tony "$@"; else compdef _tony tony; fi
)";

constexpr std::string_view kFish = R"(# tony's completion for fish; to load it, run: tony completion fish | source
function __tony_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l word (commandline -ct)
  for line in ($words[1] complete -- $words[2..-1] 2>/dev/null)
    if test "$line" = :files
      __fish_complete_path "$word"
    else
      echo $line
    end
  end
end
complete -c tony -f -k -a '(__tony_complete)'
)";

}  // namespace

Result<int> RunCompletion(const CommandLine& line) {
  const std::string& shell = line.words().front();
  if (shell != "bash" && shell != "zsh" && shell != "fish")
    return Error{ErrorCode::kUsage, StrCat("completion: unknown shell \"", shell, "\"; expected bash, zsh or fish")};
  PrintAsIs(shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish);
  return 0;
}

Result<int> RunComplete(const CommandLine& line) {
  std::string text;
  const Candidates found = Complete(line.words());
  for (const Candidate& candidate : found.words)
    text += StrCat(candidate.word, candidate.text.empty() ? "" : "\t", candidate.text, "\n");
  if (found.files) text += ":files\n";
  PrintAsIs(text);
  return 0;
}

}  // namespace tony
