#include "runtime/os/podman.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/os/files.h"
#include "runtime/os/start_program.h"

namespace tony {
namespace {

constexpr Duration kLongestCall{60'000};

// The settings of every call: crun is the runtime that can run containers without cgroups, and podman's log of events
// would only grow.
std::vector<std::string> PodmanWords(const std::string& podman) {
  return {podman, "--runtime=crun", "--cgroup-manager=cgroupfs", "--events-backend=none", "--log-level=error"};
}

std::string LastLine(const std::string& text) {
  const std::string trimmed(Trim(text));
  std::string line = trimmed.substr(trimmed.rfind('\n') + 1);
  return line.starts_with("Error: ") ? line.substr(7) : line;
}

// Runs podman; its standard error is part of the output.
Result<ProgramOutput> RunPodman(std::vector<std::string> words) {
  std::vector<std::string> with_errors = {"/bin/sh", "-c", "exec \"$@\" 2>&1", "sh"};
  std::ranges::move(words, std::back_inserter(with_errors));
  return RunProgram(with_errors, kLongestCall);
}

std::string LimitOption(const char* name, int resource, uint64_t most) {
  rlimit limit = {};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  return StrCat("--ulimit=", name, "=", std::min<uint64_t>(limit.rlim_cur, most), ":",
                std::min<uint64_t>(limit.rlim_max, most));
}

// Podman lowers its own limit of processes to the highest process id, and cannot raise it again for the container.
uint64_t HighestPid() {
  const auto text = ReadFile("/proc/sys/kernel/pid_max");
  return static_cast<uint64_t>(text.ok() ? ParseInt(Trim(*text)).value_or(32768) : 32768);
}

std::string FolderOption(const PodmanRun::Folder& folder) {
  return StrCat("--volume=", folder.source, ":", folder.target, folder.read_only ? ":ro" : "");
}

}  // namespace

Result<std::string> FindPodman() {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : Split(path ? path : "", ':')) {
    std::string file = folder + "/podman";
    if (folder.starts_with('/') && access(file.c_str(), X_OK) == 0) return file;
  }
  return NotFoundError("this machine has no podman; install podman and crun (Debian: apt install podman crun)");
}

std::vector<std::string> PodmanCommand(const std::string& podman, const PodmanRun& run) {
  std::vector<std::string> words = PodmanWords(podman);
  words.insert(words.end(), {"run", "--rm", "--pull=never", "--cgroups=disabled", "--pid=private", "--network=host",
                             "--ipc=host", "--uts=host", "--log-driver=passthrough", "--http-proxy=false",
                             "--security-opt=label=disable", "--entrypoint=/bin/sh"});
  if (run.keeps_descriptor_3) words.emplace_back("--preserve-fds=1");
  words.push_back(StrCat("--user=", geteuid(), ":", getegid()));
  if (geteuid() != 0) words.insert(words.end(), {"--userns=keep-id", "--group-add=keep-groups"});
  words.push_back(LimitOption("nofile", RLIMIT_NOFILE, 1 << 20));
  words.push_back(LimitOption("nproc", RLIMIT_NPROC, HighestPid()));
  if (!run.oom_score_adj.empty()) words.push_back("--oom-score-adj=" + run.oom_score_adj);
  if (!run.name.empty()) words.push_back("--name=" + run.name);
  if (!run.directory.empty()) words.push_back("--workdir=" + run.directory);
  for (const std::string& label : run.labels) words.push_back("--label=" + label);
  for (const std::string& variable : run.environment) words.push_back("--env=" + variable);
  for (const PodmanRun::Folder& folder : run.folders) words.push_back(FolderOption(folder));
  for (const std::string& device : run.devices) words.push_back("--device=" + device);
  words.push_back(run.image);
  words.insert(words.end(), run.script.begin(), run.script.end());
  return words;
}

Status TryContainer(PodmanRun run) {
  TRY_ASSIGN(const std::string podman, FindPodman());
  std::vector<std::string> words = PodmanWords(podman);
  words.insert(words.end(), {"image", "exists", run.image});
  TRY_ASSIGN(const ProgramOutput exists, RunPodman(words));
  if (exists.exit_code == 1)
    return NotFoundError("podman has no such image for this user; \"podman images\" lists the images, and \"podman ",
                         "pull\" or \"podman import\" adds one");
  if (exists.exit_code != 0) return UnavailableError("podman fails: ", LastLine(exists.output));
  run.script = {"-c", ":"};
  TRY_ASSIGN(const ProgramOutput ran, RunPodman(PodmanCommand(podman, run)));
  if (ran.exit_code == 0) return Ok();
  return UnavailableError("podman cannot run a container in it: ", LastLine(ran.output));
}

Result<std::vector<std::string>> ImageEnvironment(const std::string& image) {
  TRY_ASSIGN(const std::string podman, FindPodman());
  std::vector<std::string> words = PodmanWords(podman);
  words.insert(words.end(), {"image", "inspect", R"(--format={{range .Config.Env}}{{.}}{{"\x00"}}{{end}})", image});
  TRY_ASSIGN(const ProgramOutput answer, RunPodman(words));
  if (answer.exit_code != 0) return UnavailableError("image ", image, ": ", LastLine(answer.output));
  std::vector<std::string> variables = Split(answer.output, '\0');
  // Podman ends its output with a line end.
  variables.pop_back();
  return variables;
}

Status RemoveContainers(const std::string& label) {
  TRY_ASSIGN(const std::string podman, FindPodman());
  std::vector<std::string> words = PodmanWords(podman);
  words.insert(words.end(), {"rm", "--force", "--volumes", "--time=0", "--filter=label=" + label});
  TRY_ASSIGN(const ProgramOutput answer, RunPodman(words));
  if (answer.exit_code == 0) return Ok();
  return UnavailableError("podman cannot remove the containers with the label ", label, ": ",
                          LastLine(answer.output));
}

bool IsInInnerPidNamespace(pid_t pid) {
  const auto status = ReadFile(StrCat("/proc/", pid, "/status"));
  if (!status.ok()) return false;
  const size_t at = status->find("\nNSpid:");
  if (at == std::string::npos) return false;
  const size_t begin = at + 7;  // behind "NSpid:"
  return SplitAtAny(status->substr(begin, status->find('\n', begin) - begin), " \t").size() > 1;
}

}  // namespace tony
