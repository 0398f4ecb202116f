// `tony run` and `tony sweep`: submit a job of one role from a command line, without a spec file. The command line is
// turned into the options of `tony submit`.
#include <algorithm>
#include <filesystem>
#include <span>

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/options.h"
#include "runtime/cli/output.h"
#include "runtime/config/job_document.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// Maps an option of `tony run` to the key that the option sets, for the only role or for the application.
struct Meaning {
  std::string_view option;
  std::string_view key;
  std::string_view unless_given;
};
constexpr Meaning kMeanings[] = {
    {"n", "tony.worker.instances", "1"},    {"framework", "tony.application.framework", "pytorch"},
    {"memory", "tony.worker.memory", "2g"}, {"cpus", "tony.worker.vcores", ""},
    {"gpus", "tony.worker.gpus", ""},       {"name", "tony.application.name", ""},
    {"hold", "tony.task.hold", ""},         {"nproc-per-node", "tony.worker.nproc-per-node", ""},
};

// Returns the command for a shell. A single word is already a command line, such as 'echo $RANK'; several words are
// quoted.
std::string ShellCommand(const std::vector<std::string>& words) {
  if (words.size() == 1) return words.front();
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(ShellWord(word));
  return Join(quoted, " ");
}

// Returns whether the word is the relative path of a file in the current folder. If it is, the command is meant to run
// in a copy of that folder.
bool IsFileHere(const std::string& word) {
  std::error_code ignored;
  const fs::path path(word);
  return path.is_relative() && !path.lexically_normal().string().starts_with("..") &&
         fs::is_regular_file(path, ignored);
}

// Refuses the root folder and the user's home folder as sources, because no user wants a copy of them for each task.
Status CheckSource(const fs::path& folder) {
  const char* home = std::getenv("HOME");
  std::error_code ignored;
  if (folder != "/" && !(home && fs::equivalent(folder, home, ignored))) return Ok();
  return Error{ErrorCode::kUsage, StrCat("run: ", folder.string(),
                                         " cannot be the program's folder; change to your program's folder, or name it "
                                         "with --src_dir")};
}

// Returns the text after -p NAME= as JSON. It is a JSON list, or values separated by commas. A value that is a number,
// true or false in JSON is one; any other value is a text.
std::string ValuesAsJson(const std::string& text) {
  const auto as_json = [](const std::string& value) {
    const auto node = ParseDocumentJson(value, "-p");
    const bool is_value =
        node.ok() && (node->kind == DocumentNode::Kind::kNumber || node->kind == DocumentNode::Kind::kBool);
    return is_value ? node->text : JsonString(value);
  };
  if (text.starts_with('[')) {
    const auto node = ParseDocumentJson(text, "-p");
    if (node.ok() && node->kind == DocumentNode::Kind::kArray) return ToJson(*node);
  }
  if (text.find("..") != std::string::npos && text.find(',') == std::string::npos) return JsonString(text);
  std::vector<std::string> values;
  for (const std::string& value : Split(text, ',')) values.push_back(as_json(value));
  return StrCat("[", Join(values, ","), "]");
}

Result<std::string> ParametersOption(const CommandLine& line) {
  std::vector<std::string> members;
  for (const std::string& given : line.Values("p")) {
    const size_t equals = given.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error{ErrorCode::kUsage, StrCat("-p ", given, ": expected NAME=VALUE,..., such as -p lr=0.1,0.2")};
    members.push_back(StrCat(JsonString(given.substr(0, equals)), ":", ValuesAsJson(given.substr(equals + 1))));
  }
  return StrCat("{", Join(members, ","), "}");
}

constexpr Meaning kSweepMeanings[] = {
    {"memory", "tony.trial.memory", "2g"},
    {"cpus", "tony.trial.vcores", ""},
    {"gpus", "tony.trial.gpus", ""},
    {"name", "tony.application.name", "sweep"},
    {"parallel", "tony.trial.max-parallel", ""},
    {"random", "tony.sweep.random", ""},
    {"seed", "tony.sweep.seed", ""},
    {"metric", "tony.sweep.metric", ""},
    {"tolerate", "tony.sweep.tolerate", ""},
    {"trials", "tony.sweep.file", ""},
};

Result<std::vector<std::string>> SubmitArguments(const CommandLine& line, std::span<const Meaning> meanings) {
  std::vector<std::string> arguments = {"-executes", ShellCommand(line.words())};
  if (!line.Has("src_dir") && std::ranges::any_of(line.words(), IsFileHere)) {
    TRY(CheckSource(fs::current_path()));
    arguments.insert(arguments.end(), {"-src_dir", "."});
  }
  for (const Meaning& meaning : meanings) {
    const std::string value = line.Has(meaning.option) ? line.Value(meaning.option) : std::string(meaning.unless_given);
    if (!value.empty()) arguments.insert(arguments.end(), {"-conf", StrCat(meaning.key, "=", value)});
  }
  for (const char* same : {"src_dir", "python_venv", "conf", "shell_env", "secrets-fd"})
    for (const std::string& value : line.Values(same)) arguments.insert(arguments.end(), {StrCat("-", same), value});
  for (const char* same : {"detach", "logs", "strict", "quiet", "json"})
    if (line.Has(same)) arguments.push_back(StrCat("--", same));
  return arguments;
}

Result<int> Submit(const std::vector<std::string>& arguments) {
  const std::vector<Verb> verbs = Verbs();
  const auto submit = std::ranges::find(verbs, "submit", [](const Verb& command) { return command.verb.name; });
  TRY_ASSIGN(const CommandLine submitted, CommandLine::Parse(submit->verb, arguments));
  return submit->run(submitted);
}

}  // namespace

Result<int> RunRun(const CommandLine& line) {
  TRY_ASSIGN(const auto arguments, SubmitArguments(line, kMeanings));
  return Submit(arguments);
}

Result<int> RunSweep(const CommandLine& line) {
  if (line.Has("resume")) return ResumeSweep(line);
  if (line.words().empty()) return Error{ErrorCode::kUsage, "sweep: expected -- COMMAND [ARGUMENT...]"};
  if (line.Has("p") == line.Has("trials"))
    return Error{ErrorCode::kUsage, "sweep: expected the parameters, either -p NAME=VALUE,... or --trials FILE"};
  TRY_ASSIGN(auto arguments, SubmitArguments(line, kSweepMeanings));
  if (line.Has("p")) {
    TRY_ASSIGN(const std::string parameters, ParametersOption(line));
    arguments.insert(arguments.end(), {"-conf", StrCat("tony.sweep.parameters=", parameters)});
  }
  return Submit(arguments);
}

}  // namespace tony
