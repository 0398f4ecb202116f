// `tony-azkaban doctor`: what stands in the way of steps of type=tony on this executor server, and what to do about it.
// The checks only look.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "azkaban-plugin/executor_server.h"
#include "runtime/base/result.h"
#include "runtime/cli/command_line.h"
#include "runtime/cli/doctor.h"
#include "runtime/config/properties.h"

namespace tony::azkaban {

VerbSpec DoctorVerb();

// `arguments`: those after the verb. Prints the checks; 0: healthy, 1: not.
Result<int> RunAzkabanDoctor(const std::vector<std::string>& arguments);

// An installation and who reads it.
struct Installation {
  ExecutorServer server;
  std::filesystem::path jobtypes;
  std::filesystem::path folder() const;  // of `tony`
};

// The property files of the job type, as far as they could be read.
struct PluginFiles {
  Properties server;  // private.properties over commonprivate.properties
  Properties plugin;
  // Both files of the job type were read.
  bool complete = false;

  std::string ServerValue(std::string_view key, std::string_view usual) const;
  bool ExecutesAsUser() const;  // Azkaban's default is true
};

Check OkCheck(std::string name, std::string text);
Check WarnCheck(std::string name, std::string text, std::string advice);
Check FailCheck(std::string name, std::string text, std::string advice);

// The check of a path that this process cannot read. It fails if `judged` cannot read the path either. It is a warning
// if only this process cannot, because this process is another user's.
Check HiddenCheck(std::string name, const std::filesystem::path& path, const Sight& sight, const User& judged);

// doctor_plugin.cc: readable for the server, well-formed.
Checks CheckPluginFiles(const Installation& installation, PluginFiles& files);

// doctor_plugin.cc: what they say.
Checks CheckServerProperties(const PluginFiles& files, int64_t free_memory_mb);
Checks CheckPluginProperties(const PluginFiles& files);
// Checks tony.* with the mapper that reads the properties of a step.
Checks CheckSiteDefaults(const PluginFiles& files);

// doctor.cc: what `command` names, what lies beside it, the setuid program, and a cluster's configuration.
Checks CheckCommand(const Installation& installation, const PluginFiles& files);
Checks CheckExecuteAsUser(const Installation& installation, const PluginFiles& files);
// Where a step with tony.scheduler=yarn finds its cluster; nothing where no step has to.
Checks CheckHadoop(const Installation& installation, const PluginFiles& files);

// doctor_plugin.cc: what else is in the folder of job types and beside it.
Checks CheckJobtypes(const Installation& installation);

// doctor.cc: one home for the jobs of every user that a step may run as.
Checks CheckHomeOfAll(const std::filesystem::path& home);

// doctor.cc: a user that steps run as under execute-as-user, and the home of that user's jobs, in `home_of_all`
// or, where there is none, in the user's own folder.
Checks CheckStepUser(const std::string& name, const PluginFiles& files, const std::filesystem::path& home_of_all);

// doctor_plugin.cc: the executor server's process.
Checks CheckServer(const ExecutorServer& server);
// Memory, that of Azkaban's own check, by the text of /proc/meminfo.
int64_t FreeMemoryMb(std::string_view meminfo);

}  // namespace tony::azkaban
