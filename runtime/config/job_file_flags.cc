// Finds the submit flags among a step's properties other than tony.*, by the rules of TonY's Azkaban job type.
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"
#include "runtime/config/submit_flags.h"

namespace tony {
namespace {

constexpr std::string_view kWorkerEnv = "worker_env.";

// Azkaban's properties with names of data sets, and the variables in which the tasks get these names. In these
// variables, ";" separates the names, as in LinkedIn's TonY. A "," is not possible, because TonY splits its lists of
// variables at commas.
constexpr struct {
  std::string_view property, variable;
} kDatasets[] = {{"azkaban.input.dataset", "AZKABAN_INPUT_DATASET"},
                 {"azkaban.output.dataset", "AZKABAN_OUTPUT_DATASET"}};

// Returns the property `key` for use under another key. If its origin is only a file and not a line ("train.job:3"),
// `key` is added to the origin, so that people see where the value was set.
Property Named(const Properties& file, const std::string& key) {
  const Property* found = file.Find(key);
  if (!found) return {};
  const bool has_line = found->origin.find(':') != std::string::npos;
  return {found->value, has_line ? found->origin : StrCat(key, " of ", found->origin)};
}

Property DefaultSource(const Properties& file, const std::filesystem::path& directory) {
  std::error_code ignored;
  const Property* type = file.Find("type");
  if (!type || !std::filesystem::is_directory(directory / "src", ignored)) return {};
  return {"src", type->origin};
}

SubmitFlags::Variables VariablesOf(const Properties& file) {
  SubmitFlags::Variables variables;
  for (const auto& [key, property] : file.all()) {
    if (key.starts_with(kWorkerEnv)) variables[key.substr(kWorkerEnv.size())] = property;
  }
  for (const auto& dataset : kDatasets) {
    Property names = Named(file, std::string(dataset.property));
    std::ranges::replace(names.value, ',', ';');
    if (!names.value.empty()) variables[std::string(dataset.variable)] = names;
  }
  return variables;
}

Property TagsOf(const Properties& file) {
  const auto any =
      std::ranges::find_if(file.all(), [](const auto& item) { return item.first.starts_with("azkaban."); });
  if (any == file.all().end()) return {};
  return {Join(AzkabanTags(file), ","), any->second.origin};
}

SubmitFlags FlagsOfStep(const Properties& file, const std::filesystem::path& directory) {
  SubmitFlags flags;
  flags.executes = Named(file, "executes");
  flags.src_dir = Named(file, "src_dir");
  flags.default_src_dir = DefaultSource(file, directory);
  flags.task_params = Named(file, "task_params");
  flags.python_binary_path = Named(file, "python_binary_path");
  flags.python_venv = Named(file, "python_venv");
  flags.shell_env = VariablesOf(file);
  if (file.Find("hdfs_classpath")) flags.conf.push_back({"tony.hdfs-classpath", Named(file, "hdfs_classpath")});
  flags.tags = TagsOf(file);
  return flags;
}

}  // namespace

// In TonY's command line, main.args stood before the other options of the step. If an option was given twice, TonY's
// parser took the first one, so main.args takes precedence. The parser took all variables, and the last one counted, so
// the step's own variables take precedence over those of main.args.
Result<SubmitFlags> FlagsOfJobFile(const Properties& file, const std::filesystem::path& directory) {
  SubmitFlags step = FlagsOfStep(file, directory);
  const Property* main_args = file.Find("main.args");
  if (!main_args) return step;
  TRY_ASSIGN(const SubmitOptions options, ParseMainArgs(*main_args));
  const std::string where = StrCat(MainArgsOrigin(*main_args), ", ");
  auto flags = FlagsOfCommandLine(options, where);
  if (!flags.ok()) return Error{ErrorCode::kInvalid, flags.error().message};
  for (const auto& [name, property] : step.shell_env) flags->shell_env[name] = property;
  flags->conf_file = {options.conf_file, StrCat(where, "-conf_file")};
  return WithDefaults(*std::move(flags), step);
}

}  // namespace tony
