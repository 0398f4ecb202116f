#include "azkaban-plugin/output_properties.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony::azkaban {
namespace {

// The reserved names are TonY's own names, and the names in the documentation of Azkaban and of its published job types
// (command, java, Hadoop, Pig, Hive, Spark). A name that ends in a dot or a dash stands for all names that begin with
// it. An output with a reserved name would become a setting of the next step, unless the next step sets this name
// itself.
constexpr std::string_view kReserved[] = {
    // Properties of every step.
    "type", "dependencies", "condition", "nodes", "config", "retries", "retry.", "working.dir", "user.to.proxy",
    "proxy.", "azkaban.", "flow.", "job.", "jobtype.", "plugin.", "env.", "fail.", "failure.", "success.", "notify.",
    "notification.", "root.node", "disabled", "execute.as.user", "memCheck.", "cache.", "log.", "log4j.",
    // Properties of commands and Java.
    "command", "command.", "class", "java.", "classpath", "global.", "jvm.", "main.", "method.", "Xms", "Xmx",
    // Properties of Hadoop, Pig, Hive, Spark and Kubernetes.
    "hadoop.", "hadoop-inject.", "hadoop-conf.", "mapred.", "mapreduce.", "yarn.", "dfs.", "fs.", "hdfs.", "obtain.",
    "input.", "output.", "pig.", "param.", "hive.", "hiveconf.", "hivevar.", "spark.", "spark-", "conf.", "conf",
    "master", "deploy-mode", "execution-jar", "params", "name", "queue", "jars", "files", "archives", "py-files",
    "packages", "properties-file", "driver-", "executor-", "num-executors", "total-executor-cores", "driver.",
    "executor.", "principal", "keytab", "udf.", "script", "k8s.",
    // Properties of TonY.
    "tony.", "executes", "src_dir", "task_params", "python_binary_path", "python_venv", "hdfs_classpath", "shell_env",
    "worker_env.", "worker_env"};

constexpr std::string_view kModelNames[] = {"tony.model.path", "model.path", "model_path", "model"};

bool IsEvaluated(std::string_view value) { return value.find("${") != value.npos || value.find("$(") != value.npos; }

class Collector {
 public:
  void Add(const std::string& name, const std::string& value) {
    if (!IsEvaluated(value)) made_.values[name] = value;
  }

  void AddOutput(const std::string& name, const std::string& value) {
    if (IsEvaluated(value)) {
      made_.notes.push_back(StrCat("output ", Shown(name), " is left out: Azkaban would evaluate the $ in its value"));
      return;
    }
    const std::string longer = StrCat("tony.output.", name);
    made_.values[longer] = value;
    if (!IsReservedName(name)) {
      made_.values[name] = value;
    } else if (std::ranges::find(kModelNames, name) == std::end(kModelNames)) {
      made_.notes.push_back(StrCat("output ", Shown(name), " is passed only as ", Shown(longer),
                                   " to the next steps, because the name itself is a setting of those steps"));
    }
  }

  OutputProperties Take() { return std::move(made_); }

 private:
  static std::string Shown(const std::string& name) { return JsonString(name); }

  OutputProperties made_;
};

}  // namespace

bool IsReservedName(std::string_view name) {
  return std::ranges::any_of(kReserved, [name](std::string_view reserved) {
    const bool prefix = reserved.ends_with('.') || reserved.ends_with('-');
    return prefix ? name.starts_with(reserved) : name == reserved;
  });
}

OutputProperties PropertiesForNextSteps(const JobId& job, const std::string& logs, const std::string& page,
                                        const std::vector<OutputMember>& outputs) {
  Collector collector;
  for (const OutputMember& output : outputs) {
    if (output.text && !output.name.empty()) collector.AddOutput(output.name, *output.text);
  }
  for (const std::string_view name : kModelNames) {
    const auto model = std::ranges::find(outputs, name, &OutputMember::name);
    if (model == outputs.end() || !model->text) continue;
    collector.Add("tony.model.path", *model->text);
    break;
  }
  collector.Add("tony.job.id", job.value);
  collector.Add("tony.job.logs", logs);
  collector.Add("tony.job.url", logs.starts_with('/') ? "file://" + logs : page);
  return collector.Take();
}

std::string ToJson(const std::map<std::string, std::string>& values) {
  std::map<std::string, std::string> fields;
  for (const auto& [name, value] : values) fields[name] = JsonString(value);
  return WithFields("{}", fields);
}

}  // namespace tony::azkaban
