#include "runtime/config/submit_flags.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"
#include "runtime/config/keys.h"
#include "runtime/os/users.h"

namespace tony {
namespace {

const std::string kCommand = "tony.containers.command", kSrcDir = "tony.src-dir", kPythonVenv = "tony.python-venv";
constexpr std::string_view kExecutionEnv = "tony.execution.env.", kContainerEnv = "tony.containers.env.";

// Keys for which a flag's value is added to the file's value.
constexpr std::string_view kListKeys[] = {"tony.containers.envs", "tony.containers.resources", "tony.execution.envs"};

struct Pair {
  std::string name, value;
};

// Splits NAME=VALUE. A text without a name is not quoted in the message, because it may be the rest of a password.
Result<Pair> ParsePair(std::string_view flag, size_t number, const std::string& text, std::string_view form) {
  const size_t equals = text.find('=');
  const std::string name(Trim(std::string_view(text).substr(0, equals)));
  if (equals == std::string::npos || name.empty()) {
    return Error{ErrorCode::kUsage, StrCat(flag, " number ", number, ": expected ", form, ", but the value has no ",
                                           equals == std::string::npos ? "=" : "name before =")};
  }
  if (!IsUtf8(text)) return Error{ErrorCode::kUsage, StrCat(flag, " ", name, ": not valid UTF-8")};
  return Pair{name, text.substr(equals + 1)};
}

// TonY cut the text at every comma. This function cuts only if all pieces are pairs; otherwise the comma belongs to a
// value.
std::vector<std::string> CutAtCommas(const std::string& text) {
  std::vector<std::string> pieces = Split(text, ',');
  const auto is_pair = [](const std::string& piece) {
    const size_t equals = piece.find('=');
    return equals != piece.npos && IsVariableName(piece.substr(0, equals));
  };
  return std::ranges::all_of(pieces, is_pair) ? pieces : std::vector<std::string>{text};
}

Result<SubmitFlags::Variables> ParseVariables(const std::string& flag, const std::vector<std::string>& texts,
                                              std::vector<std::string>& warnings) {
  SubmitFlags::Variables variables;
  for (size_t i = 0; i < texts.size(); ++i) {
    for (const std::string& text : CutAtCommas(texts[i])) {
      TRY_ASSIGN(Pair pair, ParsePair(flag, i + 1, text, "NAME=VALUE"));
      if (pair.value.find(',') != pair.value.npos)
        warnings.push_back(StrCat(flag, " ", pair.name,
                                  ": the commas are part of the value; LinkedIn's TonY would have cut the value at a "
                                  "comma"));
      else if (const auto second = NameAfterBlank(pair.value); !second.empty())
        warnings.push_back(StrCat(flag, " ", pair.name, ": the blanks are part of the value; to set ", second,
                                  " as another variable, put it after a comma or into a ", flag, " of its own"));
      variables[pair.name] = {std::move(pair.value), flag};
    }
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

void SetEnvironment(const SubmitFlags::Variables& variables, std::string_view prefix, Properties& properties) {
  for (const auto& [name, property] : variables) properties.Set(StrCat(prefix, name), property);
}

std::string JoinedOrigin(const Property* present, const std::string& more) {
  if (!present || present->value.empty()) return more;
  const bool named = present->origin == more || present->origin.ends_with(StrCat(" and ", more));
  return named ? present->origin : StrCat(present->origin, " and ", more);
}

void AddToList(const std::string& key, Property more, Properties& properties) {
  const Property* present = properties.Find(key);
  if (present && more.value.empty()) return;
  more.origin = JoinedOrigin(present, more.origin);
  if (present && !present->value.empty()) more.value = StrCat(present->value, ",", more.value);
  properties.Set(key, std::move(more));
}

void SetConf(const SubmitFlags::Setting& setting, Properties& properties) {
  const bool adds = std::ranges::find(kListKeys, setting.key) != std::end(kListKeys);
  if (adds) {
    AddToList(setting.key, setting.property, properties);
  } else {
    properties.Set(setting.key, setting.property);
  }
}

// Returns the roles in a list. If the key is not set, returns those roles of its default that the job has.
std::vector<std::string> ListedRoles(const std::string& key, const Properties& properties) {
  const Property* present = properties.Find(key);
  const Key* row = FindKey(key);
  std::vector<std::string> roles;
  for (const std::string& word : Split(present ? std::string_view(present->value) : row->default_value, ',')) {
    std::string role(Trim(word));
    if (present || properties.Find(StrCat("tony.", role, ".instances"))) roles.push_back(std::move(role));
  }
  return roles;
}

void ApplyListing(const SubmitFlags::Listing& listing, Properties& properties) {
  std::vector<std::string> roles = ListedRoles(listing.key, properties);
  const std::string& role = listing.role.value;
  const bool is_there = std::ranges::find(roles, role) != roles.end();
  if (is_there == listing.is_listed) return;
  if (is_there) {
    std::erase(roles, role);
  } else {
    roles.push_back(role);
  }
  properties.Set(listing.key, Join(roles, ","), JoinedOrigin(properties.Find(listing.key), listing.role.origin));
}

// Returns the path of the Python interpreter. If a flag or a key gives the job a Python environment, a relative path is
// inside that environment, as in TonY.
std::string Interpreter(const SubmitFlags& flags, const Properties& properties) {
  const std::string path = ExpandTilde(flags.python_binary_path.value);
  const bool of_venv = properties.Has(kPythonVenv) && !path.starts_with('/');
  return of_venv ? StrCat("venv/", path) : path;
}

// Sets the command of the job. As in TonY, the interpreter, the command and its parameters form one command line.
Status SetCommand(const SubmitFlags& flags, Properties& properties) {
  if (flags.executes.value.empty()) {
    if (flags.task_params.value.empty()) return Ok();
    const bool from_flag = flags.task_params.origin.starts_with('-');
    return Error{from_flag ? ErrorCode::kUsage : ErrorCode::kInvalid,
                 StrCat("task_params (from ", flags.task_params.origin,
                        ") needs executes: the job has no command to which the parameters could be added")};
  }
  Property command = flags.executes;
  if (!flags.python_binary_path.value.empty()) {
    command.value = StrCat(Interpreter(flags, properties), " ", command.value);
  }
  if (!flags.task_params.value.empty()) command.value = StrCat(command.value, " ", flags.task_params.value);
  properties.Set(kCommand, std::move(command));
  return Ok();
}

// The longest word that counts as an option. A longer word may be a secret, so messages do not show it.
constexpr size_t kLongestOption = 40;

// An option and the place for its value: the member `single`, or the end of the list `pairs`. An option that has
// neither takes no value and has no effect.
struct Option {
  std::string_view name;
  std::string SubmitOptions::*single = nullptr;
  std::vector<std::string> SubmitOptions::*pairs = nullptr;
};
constexpr Option kOptions[] = {
    {"conf", nullptr, &SubmitOptions::conf},
    {"conf_file", &SubmitOptions::conf_file},
    {"container_env", nullptr, &SubmitOptions::container_env},
    {"debug"},
    {"executes", &SubmitOptions::executes},
    {"hdfs_classpath", &SubmitOptions::hdfs_classpath},
    {"python_binary_path", &SubmitOptions::python_binary_path},
    {"python_venv", &SubmitOptions::python_venv},
    {"shell_env", nullptr, &SubmitOptions::shell_env},
    {"sidecar_tensorboard_log_dir", &SubmitOptions::sidecar_tensorboard_log_dir},
    {"src_dir", &SubmitOptions::src_dir},
    {"task_params", &SubmitOptions::task_params},
};

// A word of main.args, read as an option.
struct OptionWord {
  std::string_view name;  // the option's name without dashes
  std::string_view value;
  bool has_value = false;          // the word is NAME=VALUE
  const Option* option = nullptr;  // null: not a known option
};

std::optional<OptionWord> ReadOption(std::string_view word) {
  if (!word.starts_with('-')) return std::nullopt;
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  const size_t sign = word.find('=');
  OptionWord read{.name = word.substr(0, sign), .has_value = sign != word.npos};
  if (read.has_value) read.value = word.substr(sign + 1);
  const auto found = std::ranges::find(kOptions, read.name, &Option::name);
  if (found != std::end(kOptions)) read.option = &*found;
  return read;
}

bool LooksLikeName(std::string_view text) {
  return !text.empty() && text.size() <= kLongestOption &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || c == '_' || c == '-'; });
}

std::string AllOptions() {
  std::string names;
  for (const Option& option : kOptions) names += StrCat(names.empty() ? "-" : ", -", option.name);
  return names;
}

class Reader {
 public:
  explicit Reader(const Property& main_args) : main_args_(main_args), words_(SplitCommandLine(main_args.value)) {}

  Result<SubmitOptions> Run() {
    while (next_ < words_.size()) {
      const auto word = ReadOption(words_[next_++]);
      if (!word) {
        return Failure(
            "", StrCat("expected an option; put a value of several words in quotes. Options: ", AllOptions()));
      }
      if (!word->option) {
        return Failure(LooksLikeName(word->name) ? word->name : "", StrCat("this option is unknown; expected ", AllOptions()));
      }
      TRY(Take(*word));
    }
    return std::move(options_);
  }

 private:
  // A word that is a known option is never the value of the option before it. TonY's parser has the same rule.
  Status Take(const OptionWord& word) {
    const Option& option = *word.option;
    if (!option.single && !option.pairs) return word.has_value ? Status(Failure(option.name, "takes no value")) : Ok();
    std::string value(word.value);
    const size_t at = next_;
    const auto next = next_ < words_.size() ? ReadOption(words_[next_]) : std::nullopt;
    const bool is_option = next && next->option;
    if (!word.has_value && next_ < words_.size() && !is_option) value = words_[next_++];
    if (value.empty()) return FailureAt(at, option.name, "expected a value");
    if (option.single) {
      if ((options_.*option.single).empty()) options_.*option.single = std::move(value);
      return Ok();
    }
    if (Trim(std::string_view(value).substr(0, value.find('='))).empty() || value.find('=') == value.npos) {
      return FailureAt(at, option.name, "expected NAME=VALUE");
    }
    (options_.*option.pairs).push_back(std::move(value));
    return Ok();
  }

  Error Failure(std::string_view name, std::string_view what) const { return FailureAt(next_, name, what); }

  // Returns an error about one word. `number` is the position of the word, from 1.
  Error FailureAt(size_t number, std::string_view name, std::string_view what) const {
    return {ErrorCode::kInvalid,
            StrCat(MainArgsOrigin(main_args_), ", word ", number, name.empty() ? "" : ", -", name, ": ", what)};
  }

  const Property& main_args_;
  const std::vector<std::string> words_;
  size_t next_ = 0;
  SubmitOptions options_;
};

const std::string kLogDir = "tony.application.tensorboard-log-dir";
const std::string kSidecars = "tony.application.sidecar.jobtypes";
const std::string kBoardInstances = "tony.tensorboard.instances";
const std::string kVenv = "tony.python-venv";
constexpr std::string_view kRole = "tensorboard";

// Returns the roles that are not switched off.
std::vector<std::string> RolesIn(const Properties& properties) {
  std::vector<std::string> roles;
  for (const auto& [key, property] : properties.all()) {
    const Key* row = FindKey(key);
    if (!row || row->name != "tony.<role>.instances" || Trim(property.value) == "0") continue;
    const size_t begin = key.find('.') + 1;
    roles.push_back(key.substr(begin, key.rfind('.') - begin));
  }
  return roles;
}

// Returns the command of TensorBoard. On YARN TensorBoard listens at all addresses. On one machine it listens at its
// default, which is the loopback address only.
std::string Command(const std::string& python, const Properties& properties) {
  const Property* scheduler = properties.Find("tony.scheduler");
  const bool on_yarn = scheduler && ToLower(Trim(scheduler->value)) == "yarn";
  return StrCat("exec ", python, R"( -m tensorboard.main --logdir "$TB_LOG_DIR" --port "$TB_PORT")",
                on_yarn ? " --bind_all" : "");
}

void SetUnlessSet(const std::string& key, Property property, Properties& properties) {
  if (!properties.Has(key)) properties.Set(key, std::move(property));
}

// Adds a role to a list of roles that lacks it.
void AddRole(std::string_view role, const std::string& list, const std::string& origin, Properties& properties) {
  const Property* present = properties.Find(list);
  const std::string names(Trim(present ? present->value : ""));
  const auto listed = Split(names, ',');
  if (std::ranges::any_of(listed, [role](const auto& name) { return Trim(name) == role; })) return;
  properties.Set(list, {StrCat(names, names.empty() ? "" : ",", role), origin});
}

const std::string kUntracked = "tony.application.untracked.jobtypes";
const std::string kDriverCommand = "tony.driver.command";

bool IsTrue(const std::string& key, const Properties& properties) {
  const Property* flag = properties.Find(key);
  return flag && ToLower(Trim(flag->value)) == "true";
}

// Adds the role driver, as LinkedIn's TonY did. In debug mode the user's own keys describe it.
Status AddHorovodDriver(const std::string& origin, Properties& properties) {
  AddRole("driver", kUntracked, origin, properties);
  if (IsTrue("tony.horovod.driver.mode.debug", properties)) return Ok();
  if (const Property* command = properties.Find(kDriverCommand)) {
    return Error{ErrorCode::kInvalid,
                 StrCat(kDriverCommand, " (from ", command->origin, "): framework horovod runs a driver of TonY's; ",
                        "set tony.horovod.driver.mode.debug=true to run your own driver, or remove this key")};
  }
  const bool fails = IsTrue("tony.horovod.mode.test.fast.fail", properties);
  const bool is_test = IsTrue("tony.horovod.mode.test", properties);
  properties.Set(kDriverCommand, {fails ? "exit 1" : StrCat("exec \"$TONY_EXECUTOR\" --horovod-driver",
                                                            is_test ? " --test" : ""),
                                  origin});
  SetUnlessSet("tony.driver.instances", {"1", origin}, properties);
  SetUnlessSet("tony.driver.memory", {"64m", origin}, properties);
  return Ok();
}

// Returns the roles of the job except head, which decides the end of a Ray job.
std::string NamesOfRayNodes(const Properties& properties) {
  std::vector<std::string> names = RolesIn(properties);
  std::erase_if(names, [](const std::string& name) { return name == "head" || name == kRole; });
  return Join(names, ",");
}

}  // namespace

Result<SubmitFlags> FlagsOfCommandLine(const SubmitOptions& options, const std::string& where) {
  SubmitFlags flags;
  const std::string conf = StrCat(where, "-conf");
  for (size_t i = 0; i < options.conf.size(); ++i) {
    TRY_ASSIGN(Pair pair, ParsePair(conf, i + 1, options.conf[i], "KEY=VALUE"));
    flags.conf.push_back({std::move(pair.name), {std::move(pair.value), conf}});
  }
  const auto parse = [&where](std::string_view flag, const std::string& value) {
    return ParseFlag(StrCat(where, flag), value);
  };
  TRY_ASSIGN(flags.executes, parse("-executes", options.executes));
  TRY_ASSIGN(flags.src_dir, parse("-src_dir", options.src_dir));
  TRY_ASSIGN(flags.task_params, parse("-task_params", options.task_params));
  TRY_ASSIGN(flags.python_binary_path, parse("-python_binary_path", options.python_binary_path));
  TRY_ASSIGN(flags.python_venv, parse("-python_venv", options.python_venv));
  TRY(AddSetting("tony.hdfs-classpath", where + "-hdfs_classpath", options.hdfs_classpath, flags));
  TRY(AddSetting("tony.application.tensorboard-log-dir", where + "-sidecar_tensorboard_log_dir",
                 options.sidecar_tensorboard_log_dir, flags));
  TRY_ASSIGN(flags.shell_env, ParseVariables(where + "-shell_env", options.shell_env, flags.warnings));
  TRY_ASSIGN(flags.container_env, ParseVariables(where + "-container_env", options.container_env, flags.warnings));
  return flags;
}

SubmitFlags WithDefaults(SubmitFlags flags, const SubmitFlags& defaults) {
  for (const auto member :
       {&SubmitFlags::executes, &SubmitFlags::src_dir, &SubmitFlags::task_params, &SubmitFlags::python_binary_path,
        &SubmitFlags::python_venv, &SubmitFlags::default_src_dir, &SubmitFlags::conf_file, &SubmitFlags::tags}) {
    if ((flags.*member).value.empty()) flags.*member = defaults.*member;
  }
  flags.warnings.insert(flags.warnings.end(), defaults.warnings.begin(), defaults.warnings.end());
  flags.conf.insert(flags.conf.begin(), defaults.conf.begin(), defaults.conf.end());
  flags.listings.insert(flags.listings.begin(), defaults.listings.begin(), defaults.listings.end());
  flags.shell_env.insert(defaults.shell_env.begin(), defaults.shell_env.end());
  flags.container_env.insert(defaults.container_env.begin(), defaults.container_env.end());
  return flags;
}

void DropOverridden(const std::string& key, SubmitFlags& lower) {
  if (key == kCommand && !lower.executes.value.empty())
    lower.executes = lower.task_params = lower.python_binary_path = {};
  if (key == kSrcDir) lower.src_dir = lower.default_src_dir = {};
  if (key == kPythonVenv) lower.python_venv = {};
  std::erase_if(lower.listings, [&](const SubmitFlags::Listing& listing) { return listing.key == key; });
  if (key.starts_with(kExecutionEnv)) lower.shell_env.erase(key.substr(kExecutionEnv.size()));
  if (key.starts_with(kContainerEnv)) lower.container_env.erase(key.substr(kContainerEnv.size()));
}

void ApplySettings(const SubmitFlags& flags, Properties& properties) {
  for (const auto& setting : flags.conf) SetConf(setting, properties);
  if (!flags.tags.value.empty()) AddToList("tony.application.tags", flags.tags, properties);
  SetEnvironment(flags.shell_env, kExecutionEnv, properties);
  SetEnvironment(flags.container_env, kContainerEnv, properties);
}

Status ApplyFlags(const SubmitFlags& flags, Properties& properties) {
  for (const std::string& warning : flags.warnings) properties.Warn(warning);
  ApplySettings(flags, properties);
  for (const auto& listing : flags.listings) ApplyListing(listing, properties);
  const Property& src_dir = flags.src_dir.value.empty() ? flags.default_src_dir : flags.src_dir;
  if (!src_dir.value.empty()) properties.Set(kSrcDir, src_dir);
  if (!flags.python_venv.value.empty()) properties.Set(kPythonVenv, flags.python_venv);
  AddTensorBoard(flags.python_binary_path.value.empty() ? "" : Interpreter(flags, properties), properties);
  TRY(SetCommand(flags, properties));
  return AddFrameworkRoles(properties);
}

std::vector<std::string> SplitCommandLine(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  char open = 0;  // the open quote; 0: none
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::exchange(word, {}));
  };
  for (const char c : line) {
    if (c == open) {
      open = 0;
    } else if (open == 0 && (c == '\'' || c == '"')) {
      open = c;
    } else if (open == 0 && c == ' ') {
      end_word();
    } else {
      word.push_back(c);
    }
  }
  end_word();
  return words;
}

std::string MainArgsOrigin(const Property& main_args) { return StrCat("main.args (from ", main_args.origin, ")"); }

Result<SubmitOptions> ParseMainArgs(const Property& main_args) { return Reader(main_args).Run(); }

void AddTensorBoard(const std::string& python, Properties& properties) {
  if (!properties.Has(kLogDir)) return;
  Property folder = *properties.Find(kLogDir);
  folder.value = ExpandTilde(std::move(folder.value));
  SetUnlessSet("tony.execution.env.TB_LOG_DIR", folder, properties);
  if (properties.Has(kBoardInstances) || RolesIn(properties).empty()) return;
  properties.Set(kBoardInstances, {"1", folder.origin});
  const std::string of_venv = properties.Has(kVenv) ? "venv/bin/python3" : "python3";
  SetUnlessSet("tony.tensorboard.command", {Command(python.empty() ? of_venv : python, properties), folder.origin},
               properties);
  // The default list has the name already.
  if (const Property* sidecars = properties.Find(kSidecars)) AddRole(kRole, kSidecars, sidecars->origin, properties);
}

Status AddFrameworkRoles(Properties& properties) {
  const Property* set = properties.Find("tony.application.framework");
  const std::string framework = set ? ToLower(Trim(set->value)) : "";
  if (!set || RolesIn(properties).empty()) return Ok();
  const Property framework_set = *set;
  if (framework == "horovod") return AddHorovodDriver(framework_set.origin, properties);
  if (framework != "ray") return Ok();
  SetUnlessSet("tony.head.instances", {"1", framework_set.origin}, properties);
  SetUnlessSet(kUntracked, {NamesOfRayNodes(properties), framework_set.origin}, properties);
  return Ok();
}

}  // namespace tony
