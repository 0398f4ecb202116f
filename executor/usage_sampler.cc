#include "executor/usage_sampler.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/base/unique_fd.h"
#include "runtime/os/process_tree.h"

namespace tony::executor {
namespace {

// Of a fork storm, no more than these are looked at: a quarter of a second of the loop.
constexpr size_t kMostProcesses = 10'000;

int64_t NumberAt(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

// A file of /proc that is no longer than one page. "" if its process has gone.
class SmallFile {
 public:
  SmallFile(const char* format, pid_t pid, pid_t thread = 0) {
    char path[64];
    std::snprintf(path, sizeof path, format, pid, thread);
    const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
    const ssize_t got = fd.valid() ? read(fd.get(), text_, sizeof text_) : 0;
    size_ = got > 0 ? static_cast<size_t>(got) : 0;
  }
  std::string_view text() const { return {text_, size_}; }

 private:
  char text_[4096];
  size_t size_;
};

struct ProcessTimes {
  int64_t ticks = 0;  // its own and those of children that it has reaped
  int64_t threads = 1;
};

ProcessTimes ReadTimes(pid_t pid) {
  const SmallFile file("/proc/%d/stat", pid);
  std::string_view rest = file.text();
  const size_t end_of_name = rest.rfind(')');  // the name may hold anything
  if (end_of_name == std::string_view::npos) return {};
  rest.remove_prefix(std::min(end_of_name + 4, rest.size()));  // ") S "
  for (int field = 4; field < 14; ++field) NumberAt(rest);     // numbers of proc(5); the parent is field 4
  ProcessTimes times;
  for (int field = 14; field <= 17; ++field) times.ticks += NumberAt(rest);
  for (int field = 18; field < 20; ++field) NumberAt(rest);
  times.threads = NumberAt(rest);
  return times;
}

struct ProcessPages {
  int64_t own = 0;
  int64_t shared = 0;
};

ProcessPages ReadPages(pid_t pid) {
  const SmallFile file("/proc/%d/statm", pid);
  std::string_view rest = file.text();
  NumberAt(rest);
  const int64_t resident = NumberAt(rest);
  const int64_t shared = NumberAt(rest);
  return {std::max<int64_t>(0, resident - shared), shared};
}

// Adds the children of one thread. False: this kernel does not tell them.
bool AddChildrenOf(pid_t pid, pid_t thread, std::vector<pid_t>& found) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, thread);
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return false;
  char text[4096];
  pid_t number = 0;  // that a read may end within
  for (ssize_t got; (got = read(fd.get(), text, sizeof text)) > 0;) {
    for (const char c : std::string_view(text, static_cast<size_t>(got))) {
      if (c != ' ') {
        number = number * 10 + (c - '0');
      } else if (found.size() < kMostProcesses) {
        found.push_back(std::exchange(number, 0));
      }
    }
  }
  return true;
}

void AddChildren(pid_t pid, int64_t threads, std::vector<pid_t>& found) {
  if (threads <= 1) {
    AddChildrenOf(pid, pid, found);
    return;
  }
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task", pid);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    if (entry->d_name[0] == '.') continue;
    std::string_view name(entry->d_name);
    AddChildrenOf(pid, static_cast<pid_t>(NumberAt(name)), found);
  }
}

bool KernelTellsChildren() {
  static const bool tells = access("/proc/thread-self/children", R_OK) == 0;
  return tells;
}

rusage OfReapedChildren() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return usage;
}

Duration CpuOf(const rusage& usage) {
  const auto of = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return std::chrono::duration_cast<Duration>(of(usage.ru_utime) + of(usage.ru_stime));
}

int64_t MostResident(const rusage& usage) { return int64_t{usage.ru_maxrss} << 10; }

}  // namespace

UsageSampler::UsageSampler()
    : cpu_before_(CpuOf(OfReapedChildren())), most_before_bytes_(MostResident(OfReapedChildren())) {}

// Who was reaped first, then parents before their children: one that ends meanwhile is missed once, never counted
// twice.
TreeSample UsageSampler::Sample() const {
  static const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  static const int64_t ticks_a_second = sysconf(_SC_CLK_TCK);
  const rusage reaped = OfReapedChildren();
  std::vector<pid_t> tree;
  if (KernelTellsChildren()) {
    AddChildren(getpid(), ReadTimes(getpid()).threads, tree);
  } else {
    tree = Descendants(getpid());
  }
  int64_t ticks = 0, own = 0, most_shared = 0;
  for (size_t i = 0; i < tree.size(); ++i) {
    const pid_t pid = tree[i];
    const ProcessTimes times = ReadTimes(pid);
    const ProcessPages pages = ReadPages(pid);
    ticks += times.ticks;
    own += pages.own;
    most_shared = std::max(most_shared, pages.shared);
    if (KernelTellsChildren()) AddChildren(pid, times.threads, tree);
  }
  const int64_t most_ended = MostResident(reaped);
  return {.processes = static_cast<int>(tree.size()),
          .memory_bytes = (own + most_shared) * page_bytes,
          .cpu = CpuOf(reaped) - cpu_before_ + Duration(ticks * 1000 / ticks_a_second),
          .most_ended_bytes = most_ended > most_before_bytes_ ? most_ended : 0};
}

}  // namespace tony::executor
