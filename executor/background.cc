#include "executor/background.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"

namespace tony::executor {
namespace {

constexpr Duration kShortestGap{5};
constexpr Duration kLongestGap{250};
// The gap between two samples is the time since the last new process appeared, divided by this number.
constexpr int kGapsInTime = 50;
constexpr int kDeepest = 8;
constexpr int64_t kAlways = std::numeric_limits<int64_t>::max();
// A helper, e.g. `tee` at the end of the program's pipe, is not named in the outcome if it ends by itself within this
// time after its program.
constexpr Duration kMoment{100};
// A process that a shell left in the background is not named in the outcome if it ends within this time after the
// shell.
constexpr Duration kAtOnce{20};
constexpr size_t kMostNamed = 3;
constexpr size_t kLongestName = 60;

// Shells, and programs that only run another program and wait for it.
constexpr std::array<std::string_view, 12> kShells = {"bash", "sh",   "dash", "ash",     "zsh",  "ksh",
                                                      "mksh", "fish", "tcsh", "timeout", "sudo", "busybox"};
// Programs that do no work of their own. Scripts use them to prepare the work, or to wait while the work runs in the
// background.
constexpr std::array<std::string_view, 42> kIdle = {
    "awk",   "basename", "cat",   "chmod",      "cp",    "curl",     "cut",  "date",  "df",     "dirname", "echo",
    "env",   "find",     "free",  "grep",       "head",  "hostname", "id",   "kill",  "ln",     "ls",      "mkdir",
    "mv",    "nice",     "nohup", "nvidia-smi", "pgrep", "printf",   "ps",   "rm",    "screen", "sed",     "setsid",
    "sleep", "tail",     "tar",   "tee",        "tmux",  "touch",    "true", "unzip", "wget"};
constexpr std::array<std::string_view, 24> kServices = {
    "tensorboard", "wandb",        "jupyter",    "mlflow", "visdom",  "aim",   "ssh-agent",     "gpg-agent",
    "dbus-daemon", "dbus-launch",  "nvidia-smi", "dcgmi",  "gpustat", "nvtop", "node_exporter", "dcgm-exporter",
    "prometheus",  "redis-server", "memcached",  "vmstat", "iostat",  "dstat", "top",           "tail"};

bool IsOneOf(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

// If the path has no slash, npos + 1 is 0, and the whole path is returned.
std::string_view Base(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool IsInterpreter(std::string_view name) {
  return name.starts_with("python") || name.starts_with("perl") || name.starts_with("ruby") || name == "node" ||
         IsOneOf(kShells, name);
}

std::vector<std::string> WordsOf(pid_t pid) {
  const auto text = ReadFile(StrCat("/proc/", pid, "/cmdline"));
  if (!text.ok() || text->empty()) return {};
  auto words = Split(*text, '\0');
  if (words.back().empty()) words.pop_back();
  return words;
}

struct ProcessLook {
  bool is_there = false;  // exists, and is not a zombie
  std::string name;       // name of its program
  bool ignores = false;   // ignores SIGINT and SIGQUIT
};

std::string_view FieldIn(std::string_view status, std::string_view name) {
  const size_t at = status.find(StrCat("\n", name, ":"));
  if (at == std::string_view::npos) return {};
  const size_t begin = at + name.size() + 2;
  return Trim(status.substr(begin, status.find('\n', begin) - begin));
}

ProcessLook LookAt(pid_t pid) {
  const auto status = ReadFile(StrCat("/proc/", pid, "/status"));
  if (!status.ok()) return {};
  const std::string_view state = FieldIn(*status, "State"), ignored = FieldIn(*status, "SigIgn");
  if (state.starts_with('Z') || state.starts_with('X') || ignored.empty()) return {};
  ProcessLook look{.is_there = true, .name = std::string(FieldIn("\n" + *status, "Name"))};
  char path[4096];
  const ssize_t size = readlink(StrCat("/proc/", pid, "/exe").c_str(), path, sizeof path);
  if (size > 0) look.name = Base({path, static_cast<size_t>(size)});
  constexpr unsigned kBoth = 1U << (SIGINT - 1) | 1U << (SIGQUIT - 1);
  look.ignores = (std::strtoull(std::string(ignored).c_str(), nullptr, 16) & kBoth) == kBoth;
  return look;
}

// Returns a short name for a command line: the program and, for an interpreter, its script, e.g. "python3 train.py".
// Options are left out, because they may hold secrets.
std::string NameOf(const std::vector<std::string>& words) {
  if (words.empty()) return "";
  std::string name(Base(words[0]));
  const bool of_module = words.size() > 2 && words[1] == "-m";
  const size_t second = of_module ? 2 : 1;
  if (IsInterpreter(name) && words.size() > second && !words[second].starts_with('-'))
    name += StrCat(" ", of_module ? "-m " : "", Base(words[second]));
  if (name.size() > kLongestName) name.resize(kLongestName);
  std::ranges::replace_if(
      name, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
  return name;
}

// Returns whether the process is a tracker of Python's multiprocessing. A tracker ends by itself when it notices the
// end of its program.
bool IsTracker(const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [](const auto& word) { return word.starts_with("from multiprocessing."); });
}

std::string Described(pid_t pid, const std::string& name) { return StrCat(name, " (process ", pid, ")"); }

std::string Listed(const std::map<pid_t, std::string>& processes) {
  std::vector<std::string> names;
  for (const auto& process : processes) names.push_back(process.second);
  if (names.size() <= kMostNamed) return Join(names, ", ");
  return StrCat(Join({names.begin(), names.begin() + kMostNamed}, ", "), " and ", names.size() - kMostNamed, " more");
}

}  // namespace

bool IsService(const std::vector<std::string>& words) {
  const auto is_one = [](std::string_view word) {
    const std::string_view name = Base(word);
    return std::ranges::any_of(kServices, [&](std::string_view service) {
      if (!name.starts_with(service)) return false;
      const char next = name.size() > service.size() ? name[service.size()] : ' ';
      return !((next >= 'a' && next <= 'z') || (next >= '0' && next <= '9') || next == '_');
    });
  };
  if (words.empty()) return false;
  if (is_one(words[0])) return true;
  if (!IsInterpreter(Base(words[0])) || words.size() < 2) return false;
  return is_one(words[1]) || (words[1] == "-m" && words.size() > 2 && is_one(words[2]));
}

std::vector<LeftProcess> ProcessesToWaitFor(const std::vector<LeftProcess>& left, Background rule, bool program_ran) {
  if (rule == Background::kWait) return left;
  if (rule != Background::kAuto) return {};
  std::vector<LeftProcess> work, services;
  for (const LeftProcess& process : left) {
    const bool is_work = process.by_shell ? !process.beside_program : !program_ran;
    if (is_work) (process.is_service ? services : work).push_back(process);
  }
  // A service (IsService()) counts as the task's work only if no other process does, e.g. in a role that shows
  // TensorBoard.
  if (!work.empty() || program_ran) return work;
  std::erase_if(services, [](const LeftProcess& process) { return !process.by_shell; });
  return services;
}

BackgroundWatch::BackgroundWatch(EventLoop& loop, ProcessRunner& processes, Background rule)
    : loop_(loop), processes_(processes), rule_(rule) {}

void BackgroundWatch::Add(pid_t main) {
  mains_.push_back(main);
  roots_.insert(main);
  quick_since_ = loop_.Now();
  Sample();
}

bool BackgroundWatch::Ended(int index) {
  roots_.erase(mains_.at(static_cast<size_t>(index)));
  return roots_.empty();
}

void BackgroundWatch::Sample() {
  ++sample_;
  before_ = std::exchange(seen_, {});
  bool has_shell = false;
  for (const pid_t root : roots_) {
    const ProcessLook look = LookAt(root);
    if (look.is_there && !IsOneOf(kShells, look.name) && !IsOneOf(kIdle, look.name)) program_seen_ = kAlways;
    if (look.is_there) roots_ignore_ = look.ignores;
    if (const auto work = work_.find(root); work != work_.end() && look.is_there)
      if (const std::string name = NameOf(WordsOf(root)); !name.empty()) work->second = Described(root, name);
    if (look.is_there && program_seen_ == kAlways) continue;
    has_shell = true;
    SampleBelow(root, look.ignores, 0);
  }
  for (const pid_t orphan : OwnChildren().value_or(std::vector<pid_t>()))
    if (!roots_.contains(orphan) && !helpers_.contains(orphan)) See(orphan, !roots_ignore_ && LookAt(orphan).ignores);
  if (!has_shell) return;
  const Duration since = loop_.Now() - quick_since_;
  timer_ = loop_.After(std::clamp(since / kGapsInTime, kShortestGap, kLongestGap), [this] { Sample(); });
}

void BackgroundWatch::SampleBelow(pid_t shell, bool shell_ignores, int depth) {
  for (const pid_t child : ChildrenOf(shell)) {
    const ProcessLook look = LookAt(child);
    if (!look.is_there) continue;
    if (look.ignores && !shell_ignores) {
      See(child, true);
    } else if (IsOneOf(kShells, look.name)) {
      if (depth < kDeepest) SampleBelow(child, look.ignores, depth + 1);
    } else if (!IsOneOf(kIdle, look.name)) {
      program_seen_ = std::max(program_seen_, sample_);
    }
  }
}

void BackgroundWatch::See(pid_t pid, bool by_shell) {
  const auto earlier = before_.find(pid);
  const bool is_new = earlier == before_.end();
  if (is_new) quick_since_ = loop_.Now();
  seen_[pid] = {is_new ? sample_ : earlier->second.since, by_shell || (!is_new && earlier->second.by_shell)};
}

// Adopts new orphans, so that this process receives their exit codes.
void BackgroundWatch::AdoptOrphans() {
  for (const pid_t pid : OwnChildren().value_or(std::vector<pid_t>())) {
    const ProcessLook look = LookAt(pid);
    const auto words = WordsOf(pid);
    if (!look.is_there || roots_.contains(pid) || helpers_.contains(pid) || IsTracker(words)) continue;
    const auto on_exit = [this, pid](ExitStatus exit) { OnEnd(pid, exit); };
    if (!orphans_.contains(pid) && !processes_.Adopt(pid, on_exit).ok()) continue;
    const auto seen = seen_.find(pid);
    const Seen known = seen == seen_.end() ? Seen{kAlways, false} : seen->second;
    const std::string name = NameOf(words);
    orphans_[pid] = {.left = {.pid = pid,
                              .name = name.empty() ? look.name : name,
                              .by_shell = known.by_shell || (look.ignores && !roots_ignore_),
                              .beside_program = program_seen_ >= known.since,
                              .is_service = IsService(words)},
                     .is_fresh = IsOneOf(kShells, look.name) || words.empty()};
  }
}

void BackgroundWatch::Settle(std::function<void(const BackgroundEnd&)> done) {
  done_ = std::move(done);
  end_ = {.exit = {ExitStatus::Kind::kExited, 0}};
  sorts_since_ = loop_.Now();
  Sort();
}

// Waits a moment before orphans are classified. A process that a shell forked just before the shell's exit still
// appears as a shell at first, and does not ignore signals yet.
void BackgroundWatch::Sort() {
  timer_ = nullptr;
  AdoptOrphans();
  const bool has_fresh =
      std::ranges::any_of(orphans_, [](const auto& orphan) { return orphan.second.is_fresh && !orphan.second.exit; });
  if (!has_fresh || loop_.Now() - sorts_since_ >= kMoment) return Wait();
  timer_ = loop_.After(kShortestGap, [this] { Sort(); });
}

// A script in the background may leave its own program in the background. Therefore the remaining processes are
// classified again when the work has ended.
void BackgroundWatch::Wait() {
  std::vector<LeftProcess> left;
  for (const auto& [pid, orphan] : orphans_) left.push_back(orphan.left);
  const auto work = ProcessesToWaitFor(left, rule_, program_seen_ > 0);
  program_seen_ = 0;
  for (const LeftProcess& process : work) {
    if (!orphans_[process.pid].ended_at_once) work_[process.pid] = Described(process.pid, process.name);
    roots_.insert(process.pid);
  }
  const auto orphans = std::exchange(orphans_, {});
  for (const auto& [pid, orphan] : orphans)
    if (!roots_.contains(pid) && !orphan.exit) helpers_[pid] = Described(pid, orphan.left.name);
  if (!work.empty()) {
    seen_.clear();
    quick_since_ = loop_.Now();
    Sample();
    for (const auto& [pid, orphan] : orphans)
      if (orphan.exit) OnEnd(pid, *orphan.exit);
  } else if (helpers_.empty()) {
    Finish();
  } else {
    timer_ = loop_.After(kMoment, [this] { Finish(); });
  }
}

void BackgroundWatch::OnEnd(pid_t pid, ExitStatus exit) {
  if (!done_) return;
  if (const auto orphan = orphans_.find(pid); orphan != orphans_.end()) {
    orphan->second.exit = exit;
    orphan->second.ended_at_once = loop_.Now() - sorts_since_ < kAtOnce;
  }
  if (helpers_.erase(pid) > 0 && helpers_.empty() && roots_.empty()) return Finish();
  if (roots_.erase(pid) == 0) return;
  if (end_.exit.Succeeded()) end_.exit = exit;
  if (!roots_.empty()) return;
  if (!end_.exit.Succeeded()) return Finish();
  sorts_since_ = loop_.Now();
  Sort();
}

void BackgroundWatch::Finish() {
  timer_ = nullptr;
  std::vector<std::string> notes;
  if (!work_.empty())
    notes.push_back(
        StrCat("the task's command left ", Listed(work_), " in the background, and the task waited for it"));
  if (!helpers_.empty())
    notes.push_back(
        StrCat("the task's command left ", Listed(helpers_), " running in the background, and the executor ended it"));
  end_.is_refused = rule_ == Background::kFail && !helpers_.empty();
  end_.note = Join(notes, "; ");
  std::exchange(done_, nullptr)(end_);
}

}  // namespace tony::executor
