#include <unistd.h>

#include <sstream>

#include "azkaban-plugin/doctor_parts.h"
#include "runtime/base/strings.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;

Check Process(const ExecutorServer& server) {
  if (server.pid == 0)
    return OkCheck("executor", StrCat("none named with --executor: judged for you, ", server.user.name));
  const std::string who = StrCat("process ", server.pid, " of ", server.user.name);
  if (!server.IsJava())
    return FailCheck("executor",
                     StrCat(who, " is ", server.command_line.empty() ? "no program" : server.command_line.front(),
                            ", not Java, so it is not Azkaban's executor server"),
                     "pgrep -f azkaban shows its process id");
  if (Join(server.command_line, " ").find("azkaban") == std::string::npos)
    return WarnCheck("executor", StrCat(who, " is Java, but its command line does not name azkaban"), "");
  return OkCheck("executor", StrCat(who, server.folder.empty() ? "" : StrCat(", in ", server.folder.string())));
}

Check Service(const ExecutorServer& server) {
  const std::string service = ServiceIn(server.cgroups);
  std::error_code error;
  if (service.empty() || !fs::exists("/run/systemd/system", error))
    return OkCheck("service", "jobs on this machine do not belong to a service");
  return WarnCheck("service",
                   StrCat("the executor server is part of ", service,
                          ": with it systemd ends the jobs that run on this machine, also when it is only restarted"),
                   "KillMode=process for that service, or start the server in a scope: systemd-run --scope");
}

Check KillProgram(const ExecutorServer& server) {
  for (const std::string& folder : Split(server.Variable("PATH"), ':')) {
    if (!folder.empty() && !Obstacle(fs::path(folder) / "kill", server.user, X_OK))
      return OkCheck("kill", StrCat(folder, "/kill"));
  }
  return WarnCheck("kill", "no such program in the executor server's PATH; Azkaban cancels a step by it",
                   "install procps, or add its folder to PATH");
}

}  // namespace

int64_t FreeMemoryMb(std::string_view meminfo) {
  int64_t kilobytes = 0;
  for (const std::string& line : Split(meminfo, '\n')) {
    std::istringstream words(line);
    std::string name;
    int64_t size = 0;
    words >> name >> size;
    if (name == "MemFree:" || name == "Buffers:" || name == "Cached:" || name == "SwapFree:") kilobytes += size;
  }
  return kilobytes / 1024;
}

Checks CheckServer(const ExecutorServer& server) {
  Checks checks = {Process(server), Service(server)};
  if (server.environment_known) {
    checks.push_back(KillProgram(server));
  } else {
    checks.push_back(WarnCheck("environment", StrCat("that of process ", server.pid, " is not to be seen by you"),
                               "run the doctor as root or as that user"));
  }
  return checks;
}

}  // namespace tony::azkaban
