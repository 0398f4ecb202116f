#include "runtime/ledger/ledger.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "runtime/base/strings.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/job/environment.h"

namespace tony {

namespace {

// Returns how much is free, e.g. "4096 of 24000 MB are free" or "1 of 4 is free".
std::string FreeOf(int64_t free, int64_t all, std::string_view unit) {
  return StrCat(free, " of ", all, unit, free == 1 && unit.empty() ? " is free" : " are free");
}

// Orders the jobs of one user: by priority, the highest first, then by number.
bool GoesBefore(const LedgerEntry& a, const LedgerEntry& b) {
  return a.priority != b.priority ? a.priority > b.priority : IsBefore(a, b);
}

// Returns the numbers of the GPUs that a request allows, e.g. "2,3".
std::string AllowedNumbers(const LedgerRequest& ask) {
  std::vector<std::string> numbers;
  for (const int gpu : ask.gpus_among) numbers.push_back(std::to_string(gpu));
  return Join(numbers, ",");
}

// Returns the GPUs in `gpus` that the request allows.
std::vector<int> AllowedGpus(std::vector<int> gpus, const LedgerRequest& ask) {
  const auto is_allowed = [&](int gpu) { return std::ranges::count(ask.gpus_among, gpu) > 0; };
  if (!ask.gpus_among.empty()) std::erase_if(gpus, [&](int gpu) { return !is_allowed(gpu); });
  return gpus;
}

}  // namespace

UserLimits Machine::LimitsOf(int64_t user) const {
  UserLimits limits = user_limits;
  const auto own = users.find(user);
  if (own == users.end()) return limits;
  if (own->second.memory_mb) limits.memory_mb = own->second.memory_mb;
  if (own->second.gpus) limits.gpus = own->second.gpus;
  if (own->second.run_minutes) limits.run_minutes = own->second.run_minutes;
  return limits;
}

bool IsBefore(const LedgerEntry& a, const LedgerEntry& b) {
  return std::tie(a.number, a.job, a.user) < std::tie(b.number, b.job, b.user);
}

Ledger::Ledger(Machine machine, std::vector<LedgerEntry> entries)
    : machine_(std::move(machine)), entries_(std::move(entries)) {
  std::ranges::sort(entries_, [](const LedgerEntry& a, const LedgerEntry& b) { return IsBefore(a, b); });
}

int64_t Ledger::NextNumber() const { return entries_.empty() ? 1 : std::min(entries_.back().number + 1, kMostNumber); }

const LedgerEntry* Ledger::Find(const JobId& job, int64_t user) const {
  const auto found =
      std::ranges::find_if(entries_, [&](const LedgerEntry& entry) { return entry.job == job && entry.user == user; });
  return found == entries_.end() ? nullptr : &*found;
}

LedgerRequest Ledger::HeldBy(int64_t user) const {
  LedgerRequest held;
  for (const LedgerEntry& entry : entries_) {
    if (!entry.admitted() || entry.user != user) continue;
    held.memory_mb += entry.ask.memory_mb;
    held.vcores += entry.ask.vcores;
    held.gpus += entry.ask.gpus;
  }
  return held;
}

int64_t Ledger::FreeMemory() const {
  std::map<int64_t, int64_t> held;
  for (const LedgerEntry& entry : entries_)
    if (entry.admitted()) held[entry.user] += entry.ask.memory_mb;
  int64_t free = machine_.memory_mb;
  for (const auto& [user, memory] : held)
    free -= std::min({memory, machine_.memory_mb, machine_.LimitsOf(user).memory_mb.value_or(memory)});
  return std::max<int64_t>(free, 0);
}

std::vector<int> Ledger::FreeGpus() const {
  std::vector<int> free = machine_.gpus;
  std::map<int64_t, int64_t> counted;
  for (const LedgerEntry& entry : entries_) {
    if (!entry.admitted()) continue;
    const auto most = machine_.LimitsOf(entry.user).gpus;
    for (const int gpu : entry.gpus) {
      if (!most || counted[entry.user] < *most) counted[entry.user] += static_cast<int64_t>(std::erase(free, gpu));
    }
  }
  return free;
}

std::vector<int> Ledger::FreeGpus(const LedgerRequest& ask) const { return AllowedGpus(FreeGpus(), ask); }
bool Ledger::IsFree(const LedgerRequest& ask) const {
  return ask.memory_mb <= FreeMemory() && ask.gpus <= static_cast<int64_t>(FreeGpus(ask).size());
}

bool Ledger::IsOverLimit(const LedgerEntry& entry) const {
  const UserLimits limits = machine_.LimitsOf(entry.user);
  if (!limits.memory_mb && !limits.gpus) return false;
  const LedgerRequest held = HeldBy(entry.user);
  return (limits.memory_mb && held.memory_mb + entry.ask.memory_mb > *limits.memory_mb) ||
         (limits.gpus && held.gpus + entry.ask.gpus > *limits.gpus);
}

bool Ledger::CanBlockOthers(const LedgerEntry& entry) const {
  return entry.place == Place::kQueued && EverFits(entry.ask, machine_, entry.user) && !IsOverLimit(entry);
}

std::vector<LedgerEntry> Ledger::Before(const LedgerEntry& entry) const {
  std::vector<LedgerEntry> before;
  std::set<int64_t> seen;  // users whose first entry was found
  for (const LedgerEntry& other : entries_) {
    if (!CanBlockOthers(other)) continue;
    if (other.user == entry.user) {
      if (other.job != entry.job && GoesBefore(other, entry)) before.push_back(other);
    } else if (IsBefore(other, entry) && seen.insert(other.user).second) {
      before.push_back(other);
    }
  }
  return before;
}

std::vector<int> Ledger::GpusFor(const LedgerEntry& entry) const {
  std::vector<int> gpus = FreeGpus(entry.ask);
  gpus.resize(std::min<size_t>(gpus.size(), std::max<int64_t>(entry.ask.gpus, 0)));
  return gpus;
}

std::string Ledger::WhyOverLimit(const LedgerEntry& entry) const {
  const UserLimits limits = machine_.LimitsOf(entry.user);
  const LedgerRequest held = HeldBy(entry.user);
  if (limits.memory_mb && held.memory_mb + entry.ask.memory_mb > *limits.memory_mb)
    return StrCat("waits for ", entry.ask.memory_mb, " MB of memory: machine.json allows the job's user ",
                  *limits.memory_mb, " MB at a time, and the user's other jobs hold ", held.memory_mb);
  return StrCat("waits for ", Counted(entry.ask.gpus, "GPU"), ": machine.json allows the job's user ",
                limits.gpus.value_or(0), " at a time, and the user's other jobs hold ", held.gpus);
}

std::string Ledger::WhyItWaits(const LedgerEntry& entry, size_t others) const {
  const LedgerRequest& ask = entry.ask;
  const auto gpus = static_cast<int64_t>(AllowedGpus(machine_.gpus, ask).size());
  const auto free_gpus = static_cast<int64_t>(FreeGpus(ask).size());
  const std::string among = ask.gpus_among.empty() ? "" : StrCat(" of those with the numbers ", AllowedNumbers(ask));
  if (!EverFits(ask, machine_, entry.user)) {
    const UserLimits limits = machine_.LimitsOf(entry.user);
    const int64_t memory = std::min(machine_.memory_mb, limits.memory_mb.value_or(machine_.memory_mb));
    return StrCat("requests ", ask.memory_mb, " MB of memory and ", Counted(ask.gpus, "GPU"),
                  ", and this machine has only ", memory, " MB and ",
                  Counted(std::min(gpus, limits.gpus.value_or(gpus)), "GPU"),
                  limits == UserLimits() ? "" : " for the job's user");
  }
  if (IsOverLimit(entry)) return WhyOverLimit(entry);
  std::vector<std::string> lacks;
  if (ask.memory_mb > FreeMemory())
    lacks.push_back(StrCat(ask.memory_mb, " MB of memory: ", FreeOf(FreeMemory(), machine_.memory_mb, " MB")));
  if (ask.gpus > free_gpus) lacks.push_back(StrCat(Counted(ask.gpus, "GPU"), among, ": ", FreeOf(free_gpus, gpus, "")));
  if (lacks.empty()) lacks.push_back("its turn");
  const auto before = static_cast<int64_t>(others);
  const std::string queue =
      before == 0 ? "" : StrCat("; ", Counted(before, "job"), before == 1 ? " is" : " are", " before it");
  return StrCat("waits for ", Join(lacks, " and "), queue);
}

// Functions that compute the resources that a job requests, and that decide whether such a request can ever be
// admitted.

namespace {

constexpr int64_t kHighestGpu = 1023;

// Explains a sum over all tasks for people, e.g. "5 tasks: ps 1 x 2048 MB, worker 4 x 2048 MB".
std::string Sum(const JobSpec& spec, int64_t (*amount)(const RoleSpec&), std::string_view unit) {
  std::vector<std::string> roles;
  int64_t tasks = 0;
  for (const RoleSpec& role : spec.roles) {
    if (amount(role) == 0) continue;
    roles.push_back(StrCat(role.name, " ", role.AtOnce(), " x ", amount(role), unit));
    tasks += role.AtOnce();
  }
  return StrCat(Counted(tasks, "task"), ": ", Join(roles, ", "));
}

// Returns the keys with which a user can make the largest request of the job smaller: "tony.worker.memory or
// tony.worker.instances".
std::string KeysToSet(const JobSpec& spec, int64_t (*amount)(const RoleSpec&), std::string_view key) {
  const auto all = [&](const RoleSpec& role) { return role.AtOnce() * amount(role); };
  const RoleSpec& most = *std::ranges::max_element(spec.roles, {}, all);
  return most.AtOnce() > 1 ? StrCat(most.Key(key), " or ", most.Key("instances")) : most.Key(key);
}

int64_t MemoryOf(const RoleSpec& role) { return role.resources.memory_mb; }
int64_t GpusOf(const RoleSpec& role) { return role.resources.gpus; }

std::vector<int> AllowedBy(const std::vector<std::string>& environment, const Machine& machine) {
  const std::optional<std::string> text = VariableOf(environment, kVisibleGpus);
  if (!text || VariableOf(environment, kJobMark)) return {};
  std::vector<int> gpus;
  for (const std::string& word : Split(*text, ',')) {
    const auto gpu = machine.GpuNumber(Trim(word));
    if (!gpu) return {};
    gpus.push_back(*gpu);
  }
  return gpus;
}

// A name that is unknown is an error when the job is submitted. Later the GPU may have left the machine.
std::vector<int> AllowedBy(const std::vector<std::string>& devices, const Machine& machine, std::string* unknown) {
  std::vector<int> gpus;
  for (const std::string& device : devices) {
    const auto gpu = machine.GpuNumber(device);
    const bool is_there = gpu && std::ranges::count(machine.gpus, *gpu) > 0;
    if (!is_there && unknown) *unknown = device;
    gpus.push_back(is_there ? *gpu : kNoSuchGpu);
  }
  return gpus;
}

std::string Describe(const Machine& machine) {
  std::vector<std::string> gpus;
  for (const int gpu : machine.gpus) {
    const auto name = machine.gpu_names.find(gpu);
    gpus.push_back(name == machine.gpu_names.end() ? StrCat(gpu) : StrCat(gpu, " ", name->second));
  }
  return gpus.empty() ? "none" : Join(gpus, ", ");
}

}  // namespace

std::optional<int> Machine::GpuNumber(std::string_view text) const {
  if (const auto number = ParseInt(text)) {
    if (*number < 0 || *number > kHighestGpu) return std::nullopt;
    return static_cast<int>(*number);
  }
  // CUDA reads the beginning of a name; shorter ones than this are mistakes.
  constexpr size_t kPrefix = 4;  // "GPU-" and "MIG-"
  std::optional<int> found;
  for (const auto& [number, name] : gpu_names) {
    if (text.size() <= kPrefix || !name.starts_with(text)) continue;
    if (found && name != text) return std::nullopt;
    found = number;
  }
  return found;
}

// Roles of different stages do not run at the same time, so only the largest sum of roles that run together counts.
LedgerRequest AskOf(const JobSpec& spec, const std::vector<std::string>& environment, const Machine& machine) {
  const auto most = [&](auto amount) {
    return LargestConcurrentSum(spec, [amount](const RoleSpec& role) { return int64_t{role.AtOnce()} * amount(role); });
  };
  LedgerRequest ask;
  ask.memory_mb =
      most([](const RoleSpec& role) { return std::clamp<int64_t>(role.resources.memory_mb, 0, kMostAsked / 10'000); });
  ask.vcores = most([](const RoleSpec& role) { return int64_t{role.resources.vcores}; });
  ask.gpus = most(GpusOf);
  if (ask.gpus > 0)
    ask.gpus_among =
        spec.gpu_devices.empty() ? AllowedBy(environment, machine) : AllowedBy(spec.gpu_devices, machine, nullptr);
  return ask;
}

std::string WhyNestedCannotWait(const JobId& above, const std::string& why) {
  return StrCat("a task of job ", above.value, " submits this job, which ", why,
                "; such a job is not queued, because the task may hold resources that the job waits for. Request less, "
                "or submit the job from outside of job ",
                above.value);
}

bool EverFits(const LedgerRequest& ask, const Machine& machine, int64_t user) {
  const UserLimits limits = machine.LimitsOf(user);
  return ask.memory_mb <= std::min(machine.memory_mb, limits.memory_mb.value_or(machine.memory_mb)) &&
         ask.gpus <=
             std::min(static_cast<int64_t>(AllowedGpus(machine.gpus, ask).size()), limits.gpus.value_or(kMostAsked));
}

void LimitToMachine(JobSpec& spec, const Machine& machine, int64_t user, const std::vector<std::string>& environment) {
  std::map<std::string, int> most;
  for (RoleSpec& role : spec.roles) {
    if (role.max_parallel == 0) continue;
    const int64_t by_cores = std::max<int64_t>(1, machine.cores / std::max(1, role.resources.vcores));
    most[role.name] = role.max_parallel == kAutoParallel ? static_cast<int>(std::min<int64_t>(role.instances, by_cores))
                                                         : role.AtOnce();
    role.max_parallel = 1;
  }
  for (RoleSpec& role : spec.roles) {
    if (role.max_parallel == 0) continue;
    int fits = 1;
    for (int too_many = most[role.name] + 1; too_many - fits > 1;) {
      role.max_parallel = std::midpoint(fits, too_many);
      (EverFits(AskOf(spec, environment, machine), machine, user) ? fits : too_many) = role.max_parallel;
    }
    role.max_parallel = fits;
  }
}

Status CheckEverFits(const JobSpec& spec, const Machine& machine, int64_t user,
                     const std::vector<std::string>& environment) {
  std::string unknown;
  (void)AllowedBy(spec.gpu_devices, machine, &unknown);
  if (!unknown.empty())
    return InvalidError(kGpuDevicesKey, ": \"", unknown,
                        "\" is not a GPU that jobs may have here: ", Describe(machine));
  const LedgerRequest ask = AskOf(spec, environment, machine);
  if (!spec.gpu_devices.empty() && ask.gpus == 0)
    return InvalidError(kGpuDevicesKey, ": no task requests a GPU; set ", spec.roles.front().Key("gpus"));
  const auto gpus = static_cast<int64_t>(machine.gpus.size());
  const UserLimits limits = machine.LimitsOf(user);
  const auto memory_refused = [&](const std::string& bound) {
    return InvalidError("the job requests ", ask.memory_mb, " MB of memory (", Sum(spec, MemoryOf, " MB"), "), and ",
                        bound, "; lower ", KeysToSet(spec, MemoryOf, "memory"));
  };
  const auto gpus_refused = [&](const std::string& bound) {
    return InvalidError("the job requests ", Counted(ask.gpus, "GPU"), " (", Sum(spec, GpusOf, ""), "), and ", bound,
                        "; lower ", KeysToSet(spec, GpusOf, "gpus"));
  };
  if (ask.memory_mb > machine.memory_mb) return memory_refused(StrCat("this machine has ", machine.memory_mb, " MB"));
  if (limits.memory_mb && ask.memory_mb > *limits.memory_mb)
    return memory_refused(StrCat("machine.json allows the job's user ", *limits.memory_mb, " MB at a time"));
  if (ask.gpus > gpus) return gpus_refused(StrCat("this machine has ", gpus == 0 ? "none" : StrCat(gpus)));
  if (const size_t allowed = AllowedGpus(machine.gpus, ask).size(); ask.gpus > static_cast<int64_t>(allowed))
    return gpus_refused(StrCat(spec.gpu_devices.empty()
                                   ? StrCat(kVisibleGpus, "=", AllowedNumbers(ask), " of this shell")
                                   : std::string(kGpuDevicesKey),
                               " allows ", allowed == 0 ? "none of this machine's" : StrCat(allowed)));
  if (limits.gpus && ask.gpus > *limits.gpus)
    return gpus_refused(
        StrCat("machine.json allows the job's user ", *limits.gpus == 0 ? "none" : StrCat(*limits.gpus, " at a time")));
  return Ok();
}

namespace {

// Returns the other entries of the user of `mine` in the given state.
std::vector<LedgerEntry> OthersOfItsUser(const Ledger& ledger, const LedgerEntry& mine, Place place) {
  std::vector<LedgerEntry> others;
  for (const LedgerEntry& entry : ledger.entries())
    if (entry.user == mine.user && entry.job != mine.job && entry.place == place) others.push_back(entry);
  return others;
}

// Returns the entry that now has the queue position of `earlier`: the same job, or a job of the same user that took the
// position over. Returns null if no entry has this position.
const LedgerEntry* InItsPlace(const Ledger& ledger, const LedgerEntry& earlier) {
  const LedgerEntry* now = ledger.Find(earlier.job, earlier.user);
  if (!now || now->admitted()) return nullptr;
  if (now->place == Place::kQueued) return now->number == earlier.number ? now : nullptr;
  const auto given = std::ranges::find_if(ledger.entries(), [&](const LedgerEntry& entry) {
    return entry.user == earlier.user && entry.number == earlier.number && entry.place == Place::kQueued;
  });
  return given == ledger.entries().end() ? nullptr : &*given;
}

QueueAction Waits(std::string why, std::vector<LedgerEntry> waits_for) {
  return {.kind = QueueAction::Kind::kWait, .why = std::move(why), .waits_for = std::move(waits_for)};
}

}  // namespace

QueueAction LedgerQueueStep::NextAside(const Ledger& ledger, const LedgerEntry& mine) {
  if (!EverFits(mine.ask, ledger.machine(), mine.user)) return Waits(ledger.WhyItWaits(mine, 0), {});
  // `next` becomes the deferred entry of the same user that comes right before this entry. Until `next` changes, this
  // entry stays deferred.
  std::optional<LedgerEntry> next;
  for (const LedgerEntry& other : OthersOfItsUser(ledger, mine, Place::kDeferred)) {
    if (!GoesBefore(other, mine) || !EverFits(other.ask, ledger.machine(), other.user)) continue;
    if (!next || GoesBefore(*next, other)) next = other;
  }
  if (next) return Waits(StrCat("waits for its turn: job ", next->job.value, " of the same user goes first"), {*next});
  if (ledger.IsOverLimit(mine)) return Waits(ledger.WhyItWaits(mine, 0), {});
  QueueAction join{.kind = QueueAction::Kind::kJoin, .number = ledger.NextNumber()};
  for (const LedgerEntry& other : OthersOfItsUser(ledger, mine, Place::kQueued)) {
    if (!EverFits(other.ask, ledger.machine(), other.user)) continue;
    // A job whose keeper does not know priorities (an earlier release, pid 0) keeps its queue position.
    if (other.priority >= mine.priority || other.keeper.pid == 0 || join.displaced)
      return Waits(StrCat("waits for its turn: job ", other.job.value, " of the same user is queued before it"),
                   {other});
    join.displaced = other;
    join.number = other.number;
  }
  return join;
}

void LedgerQueueStep::LookAtEarlier(const Ledger& ledger, const LedgerEntry& mine, Instant now) {
  if (!earlier_) {
    earlier_.emplace();
    for (const LedgerEntry& entry : ledger.Before(mine))
      if (entry.user != mine.user) earlier_->push_back({.entry = entry});
  }
  std::erase_if(*earlier_, [&](const Earlier& earlier) { return !InItsPlace(ledger, earlier.entry); });
  Duration patience = kTurnPatience;
  for (Earlier& earlier : *earlier_) {
    earlier.entry = *InItsPlace(ledger, earlier.entry);
    if (!ledger.CanBlockOthers(earlier.entry) || !ledger.IsFree(earlier.entry.ask)) {
      earlier.could_since.reset();
    } else if (!earlier.could_since) {
      earlier.could_since = now;
    }
    earlier.passed = earlier.passed || (earlier.could_since && now - *earlier.could_since >= patience);
    patience += kTurnPatienceMore;
  }
}

std::vector<LedgerEntry> LedgerQueueStep::Blocking(const Ledger& ledger, QueueAction& step) const {
  std::vector<LedgerEntry> blocking;
  Duration patience = kTurnPatience;
  for (const Earlier& earlier : *earlier_) {
    if (!earlier.passed && ledger.CanBlockOthers(earlier.entry)) {
      blocking.push_back(earlier.entry);
      const auto due = earlier.could_since ? std::optional(*earlier.could_since + patience) : std::nullopt;
      if (due && (!step.look_again || *due < *step.look_again)) step.look_again = due;
    }
    patience += kTurnPatienceMore;
  }
  return blocking;
}

QueueAction LedgerQueueStep::Next(const Ledger& ledger, const LedgerEntry& mine, Instant now) {
  if (mine.place == Place::kDeferred) {
    earlier_.reset();
    return NextAside(ledger, mine);
  }
  LookAtEarlier(ledger, mine, now);
  QueueAction step;
  std::vector<LedgerEntry> blocking = Blocking(ledger, step);
  for (const LedgerEntry& other : OthersOfItsUser(ledger, mine, Place::kQueued)) {
    if (GoesBefore(other, mine) && EverFits(other.ask, ledger.machine(), other.user)) {
      step.kind = QueueAction::Kind::kDefer;
      return step;
    }
  }
  step.why = ledger.WhyItWaits(mine, blocking.size());
  if (EverFits(mine.ask, ledger.machine(), mine.user) && ledger.IsOverLimit(mine)) {
    step.kind = QueueAction::Kind::kDefer;
  } else if (blocking.empty() && ledger.Fits(mine) && EverFits(mine.ask, ledger.machine(), mine.user)) {
    step.kind = QueueAction::Kind::kAdmit;
    step.gpus = ledger.GpusFor(mine);
  }
  step.waits_for = std::move(blocking);
  return step;
}

std::vector<LedgerEntry> LedgerQueueStep::Passed() const {
  std::vector<LedgerEntry> passed;
  if (!earlier_) return passed;
  for (const Earlier& earlier : *earlier_)
    if (earlier.passed) passed.push_back(earlier.entry);
  return passed;
}

bool HasRoomFor(const LedgerEntry& mine, const Ledger& ledger) {
  std::vector<LedgerEntry> entries = ledger.entries();
  const auto is_mine = [&](const LedgerEntry& entry) { return entry.user == mine.user && entry.job == mine.job; };
  if (std::erase_if(entries, is_mine) == 0) return false;  // another process removed `mine`
  const Ledger others(ledger.machine(), std::move(entries));
  const std::vector<int> free = others.FreeGpus();
  return others.Fits(mine) &&
         std::ranges::all_of(mine.gpus, [&](int gpu) { return std::ranges::count(free, gpu) > 0; });
}

namespace {

std::string WhyDoubted(const UncheckedEntry& sighting, const Machine& machine, const Machine& detected) {
  const LedgerEntry& entry = sighting.entry;
  if (sighting.writable_by_others) return "users other than the entry's owner may write to the entry";
  if (!sighting.content_job.empty() && sighting.content_job != entry.job.value)
    return "the entry's name and the entry's content name different jobs";
  if (entry.number > kMostNumber) return StrCat("the entry's queue number is too high: ", entry.number);
  if (!entry.admitted()) return "";
  if (sighting.content_never_admitted)
    return "the entry's file has a second name (a hard link), and the entry's job was never admitted";
  const int64_t memory = std::max(machine.memory_mb, detected.memory_mb);
  if (entry.ask.memory_mb > memory)
    return StrCat("the entry holds ", entry.ask.memory_mb, " MB of memory, and this machine has only ", memory);
  if (static_cast<int64_t>(entry.gpus.size()) > entry.ask.gpus)
    return StrCat("the entry holds ", entry.gpus.size(), " GPUs and requested only ", entry.ask.gpus);
  return "";
}

// Orders the names of entries: admitted ones before queued ones. If one file has several names, only the first name in
// this order is accepted. Therefore an admitted job is never mistaken for a waiting one, and its resources are not
// given away twice.
bool HoldsMore(const UncheckedEntry& a, const UncheckedEntry& b) {
  if (a.entry.place != b.entry.place) return a.entry.place > b.entry.place;
  return IsBefore(b.entry, a.entry);
}

}  // namespace

bool IsPlausible(const UncheckedEntry& sighting, const Machine& machine, const Machine& detected) {
  return WhyDoubted(sighting, machine, detected).empty();
}

ValidatedEntries Judge(std::vector<UncheckedEntry> sightings, const Machine& machine, const Machine& detected) {
  std::ranges::sort(sightings, HoldsMore);
  ValidatedEntries belief;
  std::map<uint64_t, std::string> met;  // first name for each inode
  for (UncheckedEntry& sighting : sightings) {
    std::string why = WhyDoubted(sighting, machine, detected);
    if (why.empty() && sighting.witness == ProcessCheck::kNone) why = "no process of the entry's user runs this job";
    if (why.empty()) {
      const auto [first, is_new] = met.try_emplace(sighting.file, sighting.name);
      if (!is_new) why = StrCat("the entry is the same file as ", first->second);
    }
    if (why.empty()) {
      belief.entries.push_back(std::move(sighting.entry));
    } else {
      belief.doubts.push_back({sighting.name, sighting.entry.user, std::move(why)});
    }
  }
  return belief;
}

}  // namespace tony
