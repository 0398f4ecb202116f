#include "runtime/cli/spec_input.h"

#include <fcntl.h>

#include <climits>
#include <filesystem>
#include <system_error>

#include "runtime/base/strings.h"
#include "runtime/cli/output.h"
#include "runtime/client/checked_spec.h"
#include "runtime/client/choose_backend.h"
#include "runtime/config/properties.h"

namespace tony {
namespace {

// A word that is no spec file is most often the rest of a command whose quotes are missing.
Status CheckSpecWord(const std::string& word) {
  if (word == "-") return Ok();
  const std::string suffix = std::filesystem::path(word).extension();
  for (const char* known : {".xml", ".properties", ".job", ".yaml", ".yml", ".json"}) {
    if (suffix == known) return Ok();
  }
  return Error{ErrorCode::kUsage,
               StrCat("stray word \"", word,
                      "\"; a spec file ends in .xml, .properties, .job, .json or .yaml (- is standard input), and "
                      "a value of several words belongs in quotes")};
}

SubmitOptions ToSubmitOptions(const CommandLine& line) {
  return {
      .spec_file = line.words().empty() ? "" : line.words().front(),
      .conf_file = line.Value("conf_file"),
      .conf = line.Values("conf"),
      .executes = line.Value("executes"),
      .src_dir = line.Value("src_dir"),
      .task_params = line.Value("task_params"),
      .python_binary_path = line.Value("python_binary_path"),
      .python_venv = line.Value("python_venv"),
      .hdfs_classpath = line.Value("hdfs_classpath"),
      .sidecar_tensorboard_log_dir = line.Value("sidecar_tensorboard_log_dir"),
      .shell_env = line.Values("shell_env"),
      .container_env = line.Values("container_env"),
  };
}

Result<int> SecretsDescriptor(const CommandLine& line) {
  if (!line.Has("secrets-fd")) return -1;
  const std::string word = line.Value("secrets-fd");
  const auto number = ParseInt(word);
  if (number && *number >= 0 && *number <= INT_MAX && fcntl(static_cast<int>(*number), F_GETFD) >= 0)
    return static_cast<int>(*number);
  return Error{ErrorCode::kUsage, StrCat("--secrets-fd ", word, ": expected the number of an open file descriptor")};
}

// A relative source is one of the current folder, as with TonY; if it is not there, of the job file's. Where both have
// one a person is told which it is.
void LookBesideJobFile(const std::string& spec_file, const std::filesystem::path& directory, Properties& properties) {
  namespace fs = std::filesystem;
  const fs::path beside = (directory / spec_file).parent_path();
  std::error_code error;
  if (spec_file.empty() || spec_file == "-" || fs::equivalent(beside, directory, error)) return;
  for (const std::string key : {"tony.src-dir", "tony.python-venv"}) {
    const Property* property = properties.Find(key);
    if (!property || property->value.empty() || property->value.find("://") != std::string::npos) continue;
    const fs::path source = property->value;
    if (source.is_absolute() || !fs::exists(beside / source, error)) continue;
    const bool is_here = fs::exists(directory / source, error);
    Say(StrCat("tony: ", key, " ", source.string(), " is the one ", is_here ? "of this folder, not that " : "",
               "beside ", spec_file));
    if (is_here) continue;
    Property found = *property;
    found.value = (beside / source).lexically_normal().string();
    properties.Set(key, std::move(found));
  }
}

}  // namespace

std::vector<OptionSpec> SpecOptions() {
  constexpr auto kValue = OptionSpec::Kind::kValue;
  constexpr auto kFirst = OptionSpec::Kind::kFirst;
  constexpr auto kRepeated = OptionSpec::Kind::kRepeated;
  return {
      {"executes", kFirst, "COMMAND",
       "what each task runs; a Python file of -src_dir by itself: the job's Python runs it"},
      {"src_dir", kFirst, "PATH",
       "the program, a folder or an archive: its content is in each task's working folder; on YARN also hdfs://..."},
      {"task_params", kFirst, "WORDS", "added to the command"},
      {"python_binary_path", kFirst, "PATH", "the interpreter before the command; relative: within -python_venv"},
      {"python_venv", kFirst, "PATH",
       "a virtual environment, archive or folder, or a lock file that uv or conda makes one from: venv in each task's "
       "folder; on YARN also an archive at hdfs://..."},
      {"shell_env", kRepeated, "NAME=VALUE[,...]", "environment of the tasks' processes"},
      {"container_env", kRepeated, "NAME=VALUE[,...]", "environment of executors and tasks"},
      {"secrets-fd", kValue, "FD", "variables of the tasks that are told nobody, a JSON object on this descriptor"},
      {"conf", kRepeated, "KEY=VALUE", "one property; wins over every file"},
      {"conf_file", kFirst, "FILE", "properties: tony.xml or job.properties; hdfs://... is read from the cluster"},
      {"hdfs_classpath", kFirst, "PATHS", "Hadoop's jars, as TonY took them; our tasks need none"},
      {"sidecar_tensorboard_log_dir", kFirst, "PATH", "run TensorBoard beside a job with roles on this folder"},
      {"debug", OptionSpec::Kind::kFlag, "", "TonY kept its temporary files by it; there are none here"},
      {"strict", OptionSpec::Kind::kFlag, "", "warnings of keys and values are errors"},
  };
}

Result<ParsedJobSpec> ReadJobSpec(const CommandLine& line) {
  if (!line.words().empty()) TRY(CheckSpecWord(line.words().front()));
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::current_path(error);
  if (error) return Error{ErrorCode::kInvalid, StrCat("the current folder cannot be found: ", error.message())};
  SubmitOptions options = ToSubmitOptions(line);
  TRY_ASSIGN(options.secrets_fd, SecretsDescriptor(line));
  TRY_ASSIGN(Properties properties, LoadProperties(options, directory, ReadFromCluster));
  LookBesideJobFile(options.spec_file, directory, properties);
  TRY_ASSIGN(ParsedJobSpec parsed, CheckedJobSpec(properties, directory));
  for (const std::string& option : line.given_again())
    parsed.warnings.push_back(StrCat("-", option, ": given more than once; the first counts, as in TonY"));
  if (line.Has("strict")) TRY(NoWarnings(parsed.warnings));
  return parsed;
}

Status NoWarnings(const std::vector<std::string>& warnings) {
  if (warnings.empty()) return Ok();
  return Error{ErrorCode::kInvalid, StrCat(Join(warnings, "\n"), "\nwarnings are errors with --strict")};
}

}  // namespace tony
