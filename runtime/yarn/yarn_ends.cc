#include "runtime/yarn/yarn_ends.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>

#include "runtime/base/strings.h"
#include "runtime/hadoop/rpc_connection.h"
#include "runtime/job/job_spec.h"

namespace tony {
namespace {

constexpr std::string_view kPages = "/node/containerlogs/";

}  // namespace

std::string LinkToLogs(bool has_https, const std::string& node_web, const std::string& container,
                       const std::string& user) {
  return node_web.empty() ? "" : StrCat(has_https ? "https://" : "http://", node_web, kPages, container, "/", user);
}

LogLink ParseLogLink(const std::string& link) {
  const size_t pages = link.find(kPages);
  if (pages == std::string::npos) return {};
  const size_t begin = pages + kPages.size();
  return {link.substr(0, pages), link.substr(begin, link.find('/', begin) - begin)};
}

namespace {

// A shell adds 128 to the number of a signal. 31 is the last standard signal.
constexpr int kSignalBase = 128, kLastSignal = 31;
// Exit codes of a shell for a program that it may not run, and for a missing program. An executor never exits with
// these.
constexpr int kCannotRun = 126, kNoProgram = 127;
// ExitCode.LOST, from a NodeManager that has restarted and found no file with the exit code.
constexpr int kLostExit = 154;

struct Meaning {
  int code;  // ContainerExitStatus
  OutcomeClass cls;
  const char* text;
};
constexpr int kNeverRan = -1000;  // INVALID: the container never ran
constexpr int kNotLaunched = -1;  // ContainerLaunch failed before a process existed
constexpr int kNodeLost = -100, kDisksFailed = -101;
constexpr Meaning kMeanings[] = {
    {kNotLaunched, OutcomeClass::kInfra, "the node could not launch the container"},
    {kNeverRan, OutcomeClass::kInfra, "the node did not start the container"},
    {kNodeLost, OutcomeClass::kNodeLost, "the node was lost"},
    {kDisksFailed, OutcomeClass::kInfra, "the disks of the node failed"},
    {-102, OutcomeClass::kPreempted, "the ResourceManager preempted the container"},
    {-103, OutcomeClass::kOom, "the container used more virtual memory than its limit"},
    {-104, OutcomeClass::kOom, "the container used more memory than its limit"},
    {-105, OutcomeClass::kKilled, "the application master stopped the container"},
    {-106, OutcomeClass::kInfra, "the ResourceManager killed the container"},
    {-107, OutcomeClass::kKilled, "YARN killed the container, because the application has ended"},
    {-108, OutcomeClass::kPreempted, "the node preempted the container"},
    {-109, OutcomeClass::kUserConfig, "the logs of the container are too large"},
};
// Texts in the diagnostics of a container whose node could not fetch a file. FSDownload, the NameNode and the check of
// tokens write them in Hadoop 3.4.3, each followed by a stack trace. Failures of a node's own disks have other texts:
// "File /local/x does not exist", "Permission denied" without a user.
constexpr std::string_view kResource = "Resource ", kChanged = " changed on src filesystem";
constexpr std::string_view kMissing = "File does not exist: ", kBadToken = "SecretManager$InvalidToken";
struct NodesRefusal {
  std::string_view said;
  OutcomeClass cls;
};
constexpr NodesRefusal kRefusals[] = {
    {kChanged, OutcomeClass::kUserConfig},
    {kMissing, OutcomeClass::kUserConfig},
    {"is not publicly accessible and as such cannot be part of the public cache", OutcomeClass::kUserConfig},
    {"Permission denied: user=", OutcomeClass::kAuth},
    {"Client cannot authenticate via:", OutcomeClass::kAuth},
    {kBadToken, OutcomeClass::kAuth},
};

std::string WhyRefused(std::string_view diagnostics, std::string_view said, size_t at) {
  const auto line_from = [diagnostics](size_t begin) {
    return diagnostics.substr(begin, diagnostics.find('\n', begin) - begin);
  };
  const size_t resource = said == kChanged ? diagnostics.rfind(kResource, at) : std::string_view::npos;
  if (resource != std::string_view::npos) {
    const size_t path = resource + kResource.size();
    return StrCat(diagnostics.substr(path, at - path),
                  " has changed since the job was submitted; submit the job again");
  }
  if (said == kMissing) return StrCat(line_from(at + said.size()), " no longer exists");
  if (said == kBadToken) {
    // The name ends with "): " in a RemoteException.
    const std::string_view reason = line_from(at + said.size());
    return StrCat("the job's token for HDFS has ended or was cancelled: ",
                  reason.substr(std::min(reason.find_first_not_of("): "), reason.size())));
  }
  return std::string(line_from(at));
}

// Returns the status of the process; nullopt if the status is not known.
std::optional<ExitStatus> StatusOf(int exit) {
  if (exit == kLostExit) return std::nullopt;
  if (exit > kSignalBase && exit <= kSignalBase + kLastSignal)
    return ExitStatus{ExitStatus::Kind::kSignaled, exit - kSignalBase};
  return ExitStatus{ExitStatus::Kind::kExited, exit};
}

// Returns what to do if a node may not execute a program of ours, given the node's words.
std::string NoExecAdvice(int exit, std::string_view said) {
  if (exit != kCannotRun || said.find("Permission denied") == std::string_view::npos) return "";
  return "; if the node's disks for containers (yarn.nodemanager.local-dirs) are mounted noexec, remount them with "
         "exec";
}

// Returns the node's reason. Only the AM receives the diagnostics of a container and writes them to its own log, so the
// command for the whole text shows the AM's log.
std::string Reason(const hadoop::ContainerStatus& status) {
  const std::string all = StrCat("yarn logs -applicationId ", ToString(status.id.attempt.application), " -am ALL");
  const std::string reason = hadoop::ReasonIn(status.diagnostics, all);
  return reason.empty() && status.exit_status > 0 ? StrCat("exit code ", status.exit_status) : reason;
}

}  // namespace

bool IsNodeLost(const hadoop::ContainerStatus& status) { return status.exit_status == kNodeLost; }

ContainerExited ExitedOf(const hadoop::ContainerStatus& status, bool stopped) {
  ContainerExited exited{.container = {ToString(status.id)}};
  if (status.exit_status >= 0) {
    exited.status = StatusOf(status.exit_status);
    if (stopped) exited.cls = OutcomeClass::kKilled;
    if (!stopped && (status.exit_status == kCannotRun || status.exit_status == kNoProgram))
      exited.error = StrCat("the node cannot start the executor: ", Reason(status),
                            NoExecAdvice(status.exit_status, status.diagnostics));
    return exited;
  }
  const auto known = std::ranges::find(kMeanings, status.exit_status, &Meaning::code);
  const bool unknown = known == std::end(kMeanings);
  exited.cls = unknown ? OutcomeClass::kInfra : known->cls;
  // YARN reports a released container as if its node were lost. If a node is really lost, its containers may still
  // run, so their end is not certain.
  if (stopped && IsNodeLost(status)) exited.cls = OutcomeClass::kKilled;
  exited.certain = stopped || !IsNodeLost(status);
  exited.error = unknown ? StrCat("YARN reported the exit status ", status.exit_status) : known->text;
  if (const auto lasting = status.exit_status == kNeverRan ? LastingCauseIn(status.diagnostics) : std::nullopt) {
    exited.cls = lasting->cls;
    exited.error += StrCat(": ", lasting->why);
    return exited;
  }
  if (const std::string said = Reason(status); !said.empty()) exited.error += StrCat(": ", said);
  return exited;
}

bool IsNodeFailure(const hadoop::ContainerStatus& status) {
  if (status.exit_status == kNeverRan) return !LastingCauseIn(status.diagnostics);
  constexpr int kOthers[] = {kNotLaunched, kNodeLost, kDisksFailed, kCannotRun, kNoProgram};
  return std::ranges::count(kOthers, status.exit_status) > 0;
}

std::optional<LastingCause> LastingCauseIn(std::string_view diagnostics) {
  for (const NodesRefusal& refusal : kRefusals)
    if (const size_t at = diagnostics.find(refusal.said); at != std::string_view::npos)
      return LastingCause{refusal.cls, WhyRefused(diagnostics, refusal.said, at)};
  return std::nullopt;
}

hadoop::FinalStatus FinalStatusOf(const Verdict& verdict) {
  if (verdict.state == FinalState::kSucceeded) return hadoop::FinalStatus::kSucceeded;
  return verdict.state == FinalState::kFailed ? hadoop::FinalStatus::kFailed : hadoop::FinalStatus::kKilled;
}

std::string DiagnosticsOf(const Verdict& verdict) {
  // The tail must be short, because a ResourceManager keeps only 64 KB of diagnostics
  // (yarn.app.attempt.diagnostics.limit.kc), and shows them in one cell of a page.
  constexpr size_t kLongestTail = 16 << 10;
  std::string text = verdict.message;
  if (verdict.attempt) {
    text += StrCat("\n", ToString(*verdict.attempt), verdict.host.empty() ? "" : " on ", verdict.host);
    if (verdict.exit) text += StrCat(": ", ToString(*verdict.exit));
  }
  const std::string& tail = verdict.stderr_tail.empty() ? verdict.stdout_tail : verdict.stderr_tail;
  if (tail.empty()) return text;
  return StrCat(text, "\n", std::string_view(tail).substr(tail.size() - std::min(tail.size(), kLongestTail)));
}

namespace {

using hadoop::ApplicationState;

bool Has(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

// Returns the text behind "NAME = ", up to the next semicolon.
std::string Detail(const std::string& text, std::string_view name) {
  const size_t at = text.find(StrCat(name, " = "));
  if (at == std::string::npos) return "?";
  const std::string rest = text.substr(at + name.size() + 3);
  return std::string(Trim(rest.substr(0, rest.find(';'))));
}

// Formats "<memory:8192, vCores:32>" for users.
std::string AmountOf(const std::string& detail) {
  constexpr std::string_view kMemory = "<memory:", kVcores = ", vCores:";
  const size_t comma = detail.find(kVcores);
  if (!detail.starts_with(kMemory) || comma == std::string::npos) return detail;
  const std::string memory = detail.substr(kMemory.size(), comma - kMemory.size());
  const std::string cores = detail.substr(comma + kVcores.size());
  return StrCat(memory, " MB and ", cores.substr(0, cores.find_first_of(",>")), " vcores");
}

std::string NoRoomForMasters(const std::string& text, const std::string& whose, std::string_view limit) {
  return StrCat(whose, " may have ", AmountOf(Detail(text, limit)),
                " for application masters (maximum-am-resource-percent), of which ",
                AmountOf(Detail(text, "Queue AM Resource Usage")),
                " are in use in the queue; the job's application master requests ",
                AmountOf(Detail(text, "AM Resource Request")));
}

// Explains why an application that its queue has admitted has no container. The queue counts as full only if the
// ResourceManager's own numbers say so.
std::string WhyNoContainer(const std::string& text, const std::string& queue, const WhyAmNotGranted& why) {
  constexpr std::string_view kDefaultPartition = "<DEFAULT_PARTITION>";
  const std::string label = Detail(text, "AM Partition");
  if (Detail(text, "Partition Resource").starts_with("<memory:0, vCores:0"))
    return label == kDefaultPartition ? "every running node has a label, and the application master requests none"
                                      : StrCat("no running node has the label ", label);
  const std::string used = Detail(text, "Queue's Absolute used capacity");
  const std::string most = Detail(text, "Queue's Absolute max capacity");
  const std::string numbers = StrCat(": the queue uses ", used, " of the cluster, and its limit is ", most);
  const auto known = why ? why() : std::nullopt;
  if (std::atof(used.c_str()) > 0 && std::atof(used.c_str()) >= std::atof(most.c_str()))
    return StrCat(queue, " has no room for the application master", numbers, known ? StrCat("; ", *known) : "");
  if (known) return *known;
  return StrCat(queue,
                " has admitted the application, and the application master has no container yet; the ResourceManager "
                "does not report why",
                numbers);
}

// Translates the texts of CSAMContainerLaunchDiagnosticsConstants and AMState into our terms.
std::string WordsOf(const std::string& text, const hadoop::ApplicationReport& report, const WhyAmNotGranted& why) {
  const std::string queue = StrCat("queue ", report.queue);
  if (Has(text, "Queue's AM resource limit exceeded"))
    return NoRoomForMasters(text, queue, "Queue Resource Limit for AM");
  if (Has(text, "User's AM resource limit exceeded"))
    return NoRoomForMasters(text, StrCat("user ", report.user, " in ", queue), "User AM Resource Limit of the queue");
  if (Has(text, "cluster resource is empty")) return "the cluster has no running node";
  if (Has(text, "is Activated, waiting for resources")) return WhyNoContainer(text, queue, why);
  if (Has(text, "has assigned a container for AM")) return "the container of the application master is being started";
  if (Has(text, "AM container is launched"))
    return "the container of the application master is started, and the application master has not registered yet";
  const std::string reason = ReasonOf(report);
  if (Has(text, "Failing this attempt")) return StrCat("the last container of the application master failed: ", reason);
  return reason.empty() ? StrCat(queue, " has not accepted the application yet") : reason;
}

}  // namespace

std::string ReasonOf(const hadoop::ApplicationReport& report) {
  return hadoop::ReasonIn(report.diagnostics, StrCat("yarn application -status ", ToString(report.id)));
}

std::string AmWaitReason(const hadoop::ApplicationReport& report, const WhyAmNotGranted& why_not_granted) {
  if (report.state >= ApplicationState::kRunning) return "";
  const std::string waits = report.attempt > 1
                                ? StrCat("has no application master; YARN is starting attempt ", report.attempt)
                                : "waits for its application master";
  return StrCat(waits, ": ", WordsOf(hadoop::OneLine(report.diagnostics), report, why_not_granted));
}

namespace {

// Beginnings of lines in a container's diagnostics that contain nothing except the exit status or fixed text.
constexpr std::string_view kSaysNothing[] = {"Exception from container-launch",
                                             "Container id:",
                                             "Exit code:",
                                             "Container exited with a non-zero exit code",
                                             "Container killed on request",
                                             "Killed by external",
                                             "Shell output",
                                             "For more detailed output",
                                             "Failing this attempt",
                                             ". Failing the appli",
                                             "at ",
                                             "Then click on links"};
constexpr std::string_view kEndOfFile = "Last ", kDump = "Dump of the process-tree";

// Returns the line without the node's time in brackets, and without the words that begin the diagnostics of an attempt.
std::string_view WithoutTime(std::string_view line) {
  constexpr std::string_view kBegin = "Failing this attempt.Diagnostics:";
  line = Trim(line);
  if (line.starts_with(kBegin)) line = Trim(line.substr(kBegin.size()));
  const size_t end = line.starts_with('[') ? line.find(']') : std::string_view::npos;
  return end == std::string_view::npos ? line : Trim(line.substr(end + 1));
}

// Returns the line of a container's diagnostics that explains the end best: the last line that its process wrote, or
// else the first line that the node wrote.
std::string NodesWords(const std::string& diagnostics) {
  constexpr size_t kLongest = 300;
  std::string of_node, of_process;
  bool in_file = false;
  for (const std::string& text : Split(diagnostics, '\n')) {
    const std::string_view line = WithoutTime(text);
    if (line.starts_with(kDump)) break;
    if (line.starts_with(kEndOfFile) && line.ends_with(':')) in_file = true;
    if (line.empty() || (line.starts_with(kEndOfFile) && line.ends_with(':'))) continue;
    if (std::ranges::any_of(kSaysNothing, [&](std::string_view begin) { return line.starts_with(begin); })) {
      in_file = false;
    } else if (in_file) {
      of_process = line;
    } else if (of_node.empty()) {
      of_node = line;
    }
  }
  const std::string words = FirstLine(of_process.empty() ? of_node : of_process);
  return words.size() > kLongest ? FirstLine(words.substr(0, kLongest)) + "..." : words;
}

std::string TextBehind(const std::string& text, std::string_view words) {
  const size_t at = text.find(words);
  return at == std::string::npos ? "" : text.substr(at + words.size());
}

}  // namespace

std::string MasterFailure(const std::string& diagnostics) {
  constexpr std::string_view kEnd = ". Failing the application.";
  const std::string failed = TextBehind(diagnostics, " failed ");
  const auto times = ParseInt(failed.substr(0, failed.find(' ')));
  const std::string died =
      StrCat("the application master died", times && *times > 1 ? StrCat(" ", *times, " times") : "");
  const std::string behind_exit = TextBehind(diagnostics, "exitCode: ");
  if (const auto code = ParseInt(Trim(behind_exit.substr(0, behind_exit.find('\n'))))) {
    const size_t line = behind_exit.find('\n');
    const std::string said = NodesWords(line == std::string::npos ? "" : behind_exit.substr(line + 1));
    const ContainerExited exited = ExitedOf({.exit_status = static_cast<int>(*code), .diagnostics = ""}, false);
    const std::string how = exited.status ? ToString(*exited.status) : exited.error;
    return StrCat(died, how.empty() ? "" : StrCat(": ", how), said.empty() ? "" : ": ", said,
                  NoExecAdvice(static_cast<int>(*code), said));
  }
  std::string due = TextBehind(diagnostics, " due to ");
  due = due.substr(0, due.find(kEnd));
  if (const std::string said = NodesWords(due); times && !said.empty()) return StrCat(died, ": ", said);
  const std::string said = NodesWords(diagnostics);
  return StrCat("the application master ended without a verdict", said.empty() ? "" : ": ", said);
}

// Reads the text of ClientRMService: "Application ID was killed by user NAME at ADDRESS with diagnostic message: TEXT".
std::string KillInYarn(const hadoop::ApplicationReport& report) {
  constexpr std::string_view kReason = " with diagnostic message: ";
  const std::string why = hadoop::OneLine(report.diagnostics);
  const std::string by = TextBehind(why, " was killed by user ");
  if (by.empty()) return StrCat("killed in YARN", why.empty() ? "" : ": ", why);
  const std::string reason = TextBehind(by, kReason), who = by.substr(0, by.find(kReason));
  if (!reason.empty() && who.substr(0, who.find(' ')) == report.user) return reason;
  return StrCat("killed in YARN by user ", who, reason.empty() ? "" : ": ", reason);
}

namespace {

// YARN's names of the resource types memory and vcores.
constexpr const char* kMemoryType = "memory-mb";
constexpr const char* kVcoresType = "vcores";
// A queue counts as full from this part of its limit on, because the last containers rarely fill a queue exactly.
constexpr double kFull = 0.995;
// A queue below this part of its limit has room. If a job waits there nevertheless, the limit of the job's user is the
// reason.
constexpr double kHasRoom = 0.9;

using Amounts = std::vector<std::pair<std::string, Amount>>;

// Returns all amounts of a request. The vcores are the last, because a ResourceManager may ignore them
// (DefaultResourceCalculator), so another missing resource is the likelier cause.
Amounts AmountsOf(const hadoop::Resource& size) {
  Amounts amounts = {{kMemoryType, size.memory_mib}};
  amounts.insert(amounts.end(), size.others.begin(), size.others.end());
  amounts.emplace_back(kVcoresType, size.vcores);
  return amounts;
}

std::optional<Amount> AmountIn(const hadoop::Resource& resource, const std::string& type) {
  if (type == kMemoryType) return Amount(resource.memory_mib);
  if (type == kVcoresType) return Amount(resource.vcores);
  const auto found = resource.others.find(type);
  return found == resource.others.end() ? std::nullopt : std::optional(found->second);
}

// Returns whether `there` has less than `wanted`. A type that `there` does not name counts as 0.
bool Lacks(const hadoop::Resource& there, const std::string& type, const Amount& wanted) {
  const auto amount = AmountIn(there, type).value_or(Amount());
  return InUnit(wanted, amount.unit).value_or(std::numeric_limits<int64_t>::max()) > amount.value;
}

hadoop::Resource FreeOn(const hadoop::NodeReport& node) {
  hadoop::Resource free = node.capability;
  free.memory_mib -= node.used.memory_mib;
  free.vcores -= node.used.vcores;
  for (auto& [type, amount] : free.others) amount.value -= node.used.Other(type);
  return free;
}

std::string ListText(const Amounts& amounts) {
  std::vector<std::string> texts;
  for (const auto& [type, amount] : amounts) texts.push_back(AmountText(type, amount));
  const std::string last = texts.back();
  texts.pop_back();
  return texts.empty() ? last : StrCat(Join(texts, ", "), " and ", last);
}

// Returns a text that names an amount that no node of `rooms` has. If each amount is on some node, and no node has all
// amounts at the same time, the text names all amounts. Returns "" if a node has all amounts. `free` is " free" if
// `rooms` has free amounts, else "".
std::string WhyOnNoNode(const Amounts& wanted, const std::vector<std::pair<std::string, hadoop::Resource>>& rooms,
                        const std::string& free) {
  for (const auto& [type, amount] : wanted) {
    Amount most;
    bool is_there = false;
    for (const auto& [host, room] : rooms) {
      is_there = is_there || !Lacks(room, type, amount);
      const Amount here = AmountIn(room, type).value_or(Amount());
      if (here.value > most.value) most = here;
    }
    if (!is_there)
      return StrCat("no node has ", AmountText(type, amount), free, ": the most on one node is ", ToString(most));
  }
  const auto has_all = [&](const auto& room) {
    return std::ranges::none_of(wanted, [&](const auto& one) { return Lacks(room.second, one.first, one.second); });
  };
  return std::ranges::any_of(rooms, has_all) ? "" : StrCat("no node has ", ListText(wanted), free, " at the same time");
}

std::string WhyOnNodes(const PendingRequest& request, const ClusterRoom& room) {
  const Amounts wanted = AmountsOf(request.size);
  std::vector<std::pair<std::string, hadoop::Resource>> whole, allowed, free;
  for (const hadoop::NodeReport& node : room.nodes) {
    const bool has_label =
        request.label.empty() ? node.labels.empty() : std::ranges::count(node.labels, request.label) > 0;
    if (!has_label) continue;
    whole.emplace_back(node.id.host, node.capability);
    if (room.avoided.contains(node.id.host)) continue;
    allowed.push_back(whole.back());
    free.emplace_back(node.id.host, FreeOn(node));
  }
  if (whole.empty())
    return request.label.empty() ? "every running node has a label, and the container requests none"
                                 : StrCat("no running node has the label ", request.label);
  if (std::string why = WhyOnNoNode(wanted, whole, ""); !why.empty()) return why;
  if (!WhyOnNoNode(wanted, allowed, "").empty())
    return StrCat("the nodes with ", ListText(wanted), " are avoided, because containers failed there");
  return WhyOnNoNode(wanted, free, " free");
}

bool IsAtLimit(const hadoop::QueueReport& queue, double part) {
  return !queue.is_fair && queue.most > 0 && queue.used >= queue.most * part;
}

std::string LimitText(const ClusterRoom& room) {
  if (room.nodes.empty()) return "";
  const std::string user = room.user.empty() ? "the job's user" : StrCat("user ", room.user);
  if (!room.report) return StrCat(": the limit of the queue, or the limit of ", user, " in the queue");
  if (room.report->is_fair) return ": the FairScheduler limits the job's share";
  if (IsAtLimit(*room.report, kHasRoom))
    return StrCat(": the limit of the queue (maximum-capacity), or the limit of ", user,
                  " in the queue (user-limit-factor)");
  return StrCat(": the limit of ", user, " in the queue (user-limit-factor, minimum-user-limit-percent)");
}

}  // namespace

std::string AmountText(const std::string& type, const Amount& amount) {
  if (type == kMemoryType) return StrCat(amount.value, " MB of memory");
  if (type == kVcoresType) return Counted(amount.value, "vcore");
  if (type == kGpuType) return Counted(amount.value, "GPU");
  return StrCat(ToString(amount), " of ", type);
}

std::string UsedUp(const std::vector<hadoop::NodeReport>& nodes) {
  std::map<std::string, Amount> all, left;
  for (const hadoop::NodeReport& node : nodes) {
    for (const auto& [type, amount] : AmountsOf(node.capability)) {
      all[type].value += amount.value;
      all[type].unit = amount.unit;
    }
    for (const auto& [type, amount] : AmountsOf(FreeOn(node))) left[type].value += std::max<int64_t>(0, amount.value);
  }
  Amounts used_up;
  for (const auto& [type, amount] : all)
    if (amount.value > 0 && left[type].value == 0) used_up.emplace_back(type, amount);
  return used_up.empty() ? "" : ListText(used_up);
}

std::optional<std::string> WhyNotGranted(const PendingRequest& request, const ClusterRoom& room) {
  const std::string of_nodes = room.nodes.empty() ? "" : WhyOnNodes(request, room);
  const std::string queue = room.queue.empty() ? "the queue" : StrCat("queue ", room.queue);
  // The headroom is that of nodes without a label.
  const Amounts wanted = room.headroom && request.label.empty() ? AmountsOf(request.size) : Amounts();
  for (const auto& [type, amount] : wanted) {
    const auto left = AmountIn(*room.headroom, type);
    if (!left || !Lacks(*room.headroom, type, amount)) continue;
    const bool is_full = room.report && IsAtLimit(*room.report, kFull);
    if (!is_full && !of_nodes.empty()) return of_nodes;
    return StrCat(queue, " has ", AmountText(type, {std::max<int64_t>(0, left->value), left->unit}),
                  " left for the job, and a container requests ", AmountText(type, amount),
                  is_full ? ": the queue is at its limit (maximum-capacity)" : LimitText(room));
  }
  if (!of_nodes.empty()) return of_nodes;
  if (!request.label.empty() || !room.report || !IsAtLimit(*room.report, kFull)) return std::nullopt;
  const std::string used_up = UsedUp(room.nodes);
  return StrCat(queue, " is at its limit (maximum-capacity)",
                used_up.empty() ? "" : StrCat(": jobs use all ", used_up, " of the nodes"));
}

}  // namespace tony
