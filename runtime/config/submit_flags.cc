#include "runtime/config/submit_flags.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/base/utf8.h"

namespace tony {
namespace {

constexpr std::string_view kWorkerEnv = "worker_env.";

// Keys whose flags add to the file's value.
constexpr std::string_view kListKeys[] = {"tony.containers.envs", "tony.containers.resources", "tony.execution.envs"};

// Azkaban's names of data sets, which TonY gave to the tasks. It put ; for , because its lists split there.
constexpr struct {
  std::string_view property, variable;
} kDatasets[] = {{"azkaban.input.dataset", "AZKABAN_INPUT_DATASET"},
                 {"azkaban.output.dataset", "AZKABAN_OUTPUT_DATASET"}};

struct Pair {
  std::string name, value;
};

Result<Pair> ParsePair(std::string_view flag, const std::string& text, std::string_view form) {
  const size_t equals = text.find('=');
  const std::string name(Trim(std::string_view(text).substr(0, equals)));
  if (equals == std::string::npos || name.empty()) {
    return Error{ErrorCode::kUsage, StrCat(flag, " ", ReplaceInvalidUtf8(text), ": expected ", form)};
  }
  if (!IsUtf8(text)) return Error{ErrorCode::kUsage, StrCat(flag, " ", name, ": not valid UTF-8")};
  return Pair{name, text.substr(equals + 1)};
}

Result<SubmitFlags::Variables> ParseVariables(const std::string& flag, const std::vector<std::string>& texts) {
  SubmitFlags::Variables variables;
  for (const auto& text : texts) {
    TRY_ASSIGN(Pair pair, ParsePair(flag, text, "NAME=VALUE"));
    variables[pair.name] = {std::move(pair.value), flag};
  }
  return variables;
}

Result<Property> ParseFlag(const std::string& flag, const std::string& value) {
  if (!IsUtf8(value)) return Error{ErrorCode::kUsage, StrCat(flag, ": not valid UTF-8")};
  return Property{value, flag};
}

Status AddSetting(const std::string& key, const std::string& flag, const std::string& value, SubmitFlags& flags) {
  TRY_ASSIGN(Property property, ParseFlag(flag, value));
  if (!value.empty()) flags.conf.push_back({key, std::move(property)});
  return Ok();
}

Property PropertyOr(const Properties& properties, std::string_view key, Property fallback = {}) {
  const Property* found = properties.Find(key);
  return found ? *found : std::move(fallback);
}

// What TonY's type did with them would change what runs.
Status CheckUnsupported(const Properties& file) {
  const Property* arguments = file.Find("main.args");
  if (!arguments || Trim(arguments->value).empty()) return Ok();
  return Error{ErrorCode::kInvalid,
               StrCat("main.args (from ", arguments->origin,
                      "): not supported yet; write what its -conf options say as lines of the job file")};
}

void SetEnvironment(const SubmitFlags::Variables& variables, std::string_view prefix, Properties& properties) {
  for (const auto& [name, property] : variables) properties.Set(StrCat(prefix, name), property);
}

void SetConf(const SubmitFlags::Setting& setting, Properties& properties) {
  const Property* present = properties.Find(setting.key);
  Property property = setting.property;
  const bool adds = std::ranges::find(kListKeys, setting.key) != std::end(kListKeys);
  if (adds && present && !present->value.empty()) {
    property.value = StrCat(present->value, ",", property.value);
    const bool named = present->origin.ends_with(property.origin);
    property.origin = named ? present->origin : StrCat(present->origin, " and ", property.origin);
  }
  properties.Set(setting.key, std::move(property));
}

// TonY's rule for a relative one; the environment may also be named by its key.
std::string Interpreter(const SubmitFlags& flags, const Properties& properties) {
  const std::string& path = flags.python_binary_path.value;
  const Property* venv = properties.Find("tony.python-venv");
  const bool of_venv = venv && !Trim(venv->value).empty() && !path.starts_with('/');
  return of_venv ? StrCat("venv/", path) : path;
}

// TonY built one command line of the three.
Status SetCommand(const SubmitFlags& flags, Properties& properties) {
  if (flags.executes.value.empty()) {
    if (flags.task_params.value.empty()) return Ok();
    const bool from_flag = flags.task_params.origin.starts_with('-');
    return Error{from_flag ? ErrorCode::kUsage : ErrorCode::kInvalid,
                 StrCat("task_params (from ", flags.task_params.origin,
                        ") without executes: there is no command to add them to")};
  }
  Property command = flags.executes;
  if (!flags.python_binary_path.value.empty()) {
    command.value = StrCat(Interpreter(flags, properties), " ", command.value);
  }
  if (!flags.task_params.value.empty()) command.value = StrCat(command.value, " ", flags.task_params.value);
  properties.Set("tony.containers.command", std::move(command));
  return Ok();
}

}  // namespace

Result<SubmitFlags> FlagsOfCommandLine(const SubmitOptions& options) {
  SubmitFlags flags;
  for (const auto& text : options.conf) {
    TRY_ASSIGN(Pair pair, ParsePair("-conf", text, "KEY=VALUE"));
    flags.conf.push_back({std::move(pair.name), {std::move(pair.value), "-conf"}});
  }
  TRY_ASSIGN(flags.executes, ParseFlag("-executes", options.executes));
  TRY_ASSIGN(flags.src_dir, ParseFlag("-src_dir", options.src_dir));
  TRY_ASSIGN(flags.task_params, ParseFlag("-task_params", options.task_params));
  TRY_ASSIGN(flags.python_binary_path, ParseFlag("-python_binary_path", options.python_binary_path));
  TRY_ASSIGN(flags.python_venv, ParseFlag("-python_venv", options.python_venv));
  TRY(AddSetting("tony.hdfs-classpath", "-hdfs_classpath", options.hdfs_classpath, flags));
  TRY(AddSetting("tony.application.tensorboard-log-dir", "-sidecar_tensorboard_log_dir",
                 options.sidecar_tensorboard_log_dir, flags));
  TRY_ASSIGN(flags.shell_env, ParseVariables("-shell_env", options.shell_env));
  TRY_ASSIGN(flags.container_env, ParseVariables("-container_env", options.container_env));
  return flags;
}

Result<SubmitFlags> FlagsOfJobFile(const Properties& file, const std::filesystem::path& directory) {
  TRY(CheckUnsupported(file));
  SubmitFlags flags;
  std::error_code ignored;
  const Property* type = file.Find("type");
  if (type && std::filesystem::is_directory(directory / "src", ignored)) flags.src_dir = {"src", type->origin};
  flags.executes = PropertyOr(file, "executes");
  flags.src_dir = PropertyOr(file, "src_dir", flags.src_dir);
  flags.task_params = PropertyOr(file, "task_params");
  flags.python_binary_path = PropertyOr(file, "python_binary_path");
  flags.python_venv = PropertyOr(file, "python_venv");
  for (const auto& [key, property] : file.all()) {
    if (key.starts_with(kWorkerEnv)) flags.shell_env[key.substr(kWorkerEnv.size())] = property;
  }
  for (const auto& dataset : kDatasets) {
    Property names = PropertyOr(file, dataset.property);
    std::ranges::replace(names.value, ',', ';');
    if (!names.value.empty()) flags.shell_env[std::string(dataset.variable)] = names;
  }
  if (const Property* jars = file.Find("hdfs_classpath")) flags.conf.push_back({"tony.hdfs-classpath", *jars});
  return flags;
}

SubmitFlags WithDefaults(SubmitFlags flags, const SubmitFlags& defaults) {
  for (const auto member : {&SubmitFlags::executes, &SubmitFlags::src_dir, &SubmitFlags::task_params,
                            &SubmitFlags::python_binary_path, &SubmitFlags::python_venv}) {
    if ((flags.*member).value.empty()) flags.*member = defaults.*member;
  }
  flags.conf.insert(flags.conf.begin(), defaults.conf.begin(), defaults.conf.end());
  flags.shell_env.insert(defaults.shell_env.begin(), defaults.shell_env.end());
  flags.container_env.insert(defaults.container_env.begin(), defaults.container_env.end());
  return flags;
}

Status ApplyFlags(const SubmitFlags& flags, Properties& properties) {
  for (const auto& setting : flags.conf) SetConf(setting, properties);
  SetEnvironment(flags.shell_env, "tony.execution.env.", properties);
  SetEnvironment(flags.container_env, "tony.containers.env.", properties);
  if (!flags.src_dir.value.empty()) properties.Set("tony.src-dir", flags.src_dir);
  if (!flags.python_venv.value.empty()) properties.Set("tony.python-venv", flags.python_venv);
  return SetCommand(flags, properties);
}

}  // namespace tony
