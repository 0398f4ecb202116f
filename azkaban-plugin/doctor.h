// `tony-azkaban doctor`: finds what prevents steps of type=tony on this executor server, with advice for each problem.
// The checks change nothing.
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

// `arguments` are the words after the verb. Prints the checks. Returns 0 if no check fails, otherwise 1.
Result<int> RunAzkabanDoctor(const std::vector<std::string>& arguments);

// An installation of the job type, and the executor server that reads it.
struct Installation {
  ExecutorServer server;
  std::filesystem::path jobtypes;
  std::filesystem::path folder() const;  // folder of the job type `tony`
};

// The properties of the job type. A file that could not be read adds no properties.
struct PluginFiles {
  Properties server;  // private.properties overrides commonprivate.properties
  Properties plugin;
  // True if both files of the job type were read.
  bool complete = false;

  std::string ServerValue(std::string_view key, std::string_view usual) const;
  bool ExecutesAsUser() const;  // true if the property is missing
};

Check OkCheck(std::string name, std::string text);
Check WarnCheck(std::string name, std::string text, std::string advice);
Check FailCheck(std::string name, std::string text, std::string advice);

// Returns the check of a path that this process cannot read. If `judged` is the user of this process, the check fails.
// Otherwise the check is a warning, because `judged` may be able to read the path.
Check HiddenCheck(std::string name, const std::filesystem::path& path, const PathVisibility& sight, const User& judged);

// In doctor_plugin.cc: checks that the files are readable for the server and well-formed.
Checks CheckPluginFiles(const Installation& installation, PluginFiles& files);

// In doctor_plugin.cc: checks the properties in `files.server`.
Checks CheckServerProperties(const PluginFiles& files, int64_t free_memory_mb);
// Checks the properties in `files.plugin`.
Checks CheckPluginProperties(const PluginFiles& files);
// Checks the properties tony.* with the parser that also reads the properties of a step.
Checks CheckSiteDefaults(const PluginFiles& files);

// In doctor.cc: checks the program that `command` names, the programs next to it, the setuid program, and the
// configuration of a cluster.
Checks CheckCommand(const Installation& installation, const PluginFiles& files);
Checks CheckExecuteAsUser(const Installation& installation, const PluginFiles& files);
// Checks where a step with tony.scheduler=yarn finds the configuration of its cluster. Returns no check if no step
// needs a cluster.
Checks CheckHadoop(const Installation& installation, const PluginFiles& files);

// In doctor_plugin.cc: checks everything else in the folder of job types and next to it.
Checks CheckJobtypes(const Installation& installation);

// In doctor.cc: checks a folder that holds the jobs of all users that a step may run as.
Checks CheckHomeOfAll(const std::filesystem::path& home);

// In doctor.cc: checks a user of Azkaban's setting execute-as-user, and the home of this user's jobs. The home is in
// `home_of_all`, or in the user's own folder if `home_of_all` is empty.
Checks CheckStepUser(const std::string& name, const PluginFiles& files, const std::filesystem::path& home_of_all);

// In doctor_plugin.cc: checks the executor server's process.
Checks CheckServer(const ExecutorServer& server);
// Returns the free memory as Azkaban's own check counts it, from the text of /proc/meminfo.
int64_t FreeMemoryMb(std::string_view meminfo);

}  // namespace tony::azkaban
