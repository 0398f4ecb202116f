// Measures the cost of starting a job without supervision: N children, and each starts the user's command and waits for
// it. That makes two processes per task, as with an executor. scripts/bench builds and runs it.
//
//   spawn_floor N COMMAND...

#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

extern char** environ;

namespace {

pid_t Spawn(char* const argv[]) {
  pid_t pid = -1;
  if (const int error = posix_spawnp(&pid, argv[0], nullptr, nullptr, argv, environ); error != 0) {
    std::fprintf(stderr, "spawn_floor: %s: %s\n", argv[0], std::strerror(error));
    std::exit(70);
  }
  return pid;
}

bool Succeeded(pid_t pid) {
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  const int tasks = std::atoi(argv[1]);
  if (tasks == 0) return Succeeded(Spawn(argv + 2)) ? 0 : 1;  // this is a child

  char self[] = "/proc/self/exe";
  char child[] = "0";
  std::vector<char*> child_argv = {self, child};
  child_argv.insert(child_argv.end(), argv + 2, argv + argc + 1);  // including the final null
  std::vector<pid_t> children;
  for (int i = 0; i < tasks; ++i) children.push_back(Spawn(child_argv.data()));
  bool all_succeeded = true;
  for (pid_t pid : children) all_succeeded = Succeeded(pid) && all_succeeded;
  return all_succeeded ? 0 : 1;
}
