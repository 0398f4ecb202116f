// What a job asks for, and whether it can ever have it.
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/job/dependencies.h"
#include "runtime/job/environment.h"
#include "runtime/ledger/ledger.h"

namespace tony {
namespace {

constexpr int64_t kHighestGpu = 1023;

// "5 tasks: ps 1 x 2048 MB, worker 4 x 2048 MB"
std::string Sum(const JobSpec& spec, int64_t (*amount)(const RoleSpec&), std::string_view unit) {
  std::vector<std::string> roles;
  int64_t tasks = 0;
  for (const RoleSpec& role : spec.roles) {
    if (amount(role) == 0) continue;
    roles.push_back(StrCat(role.name, " ", role.instances, " x ", amount(role), unit));
    tasks += role.instances;
  }
  return StrCat(Counted(tasks, "task"), ": ", Join(roles, ", "));
}

// The keys of the role that asks for most.
std::string KeysToSet(const JobSpec& spec, int64_t (*amount)(const RoleSpec&), std::string_view key) {
  const auto all = [&](const RoleSpec& role) { return role.instances * amount(role); };
  const RoleSpec& most = *std::ranges::max_element(spec.roles, {}, all);
  return most.instances > 1 ? StrCat(most.Key(key), " or ", most.Key("instances")) : most.Key(key);
}

int64_t MemoryOf(const RoleSpec& role) { return role.resources.memory_mb; }
int64_t GpusOf(const RoleSpec& role) { return role.resources.gpus; }

std::vector<int> AllowedBy(const std::vector<std::string>& environment) {
  const std::optional<std::string> text = VariableOf(environment, kVisibleGpus);
  if (!text || VariableOf(environment, kJobMark)) return {};
  std::vector<int> gpus;
  for (const std::string& word : Split(*text, ',')) {
    const auto gpu = ParseInt(Trim(word));
    if (!gpu || *gpu < 0 || *gpu > kHighestGpu) return {};
    gpus.push_back(static_cast<int>(*gpu));
  }
  return gpus;
}

}  // namespace

std::string GpuPin(const LedgerAsk& ask) {
  std::vector<std::string> numbers;
  for (const int gpu : ask.gpus_among) numbers.push_back(std::to_string(gpu));
  return StrCat(kVisibleGpus, "=", Join(numbers, ","));
}

// Of roles that run one after the other, what those that run together need at most.
LedgerAsk AskOf(const JobSpec& spec, const std::vector<std::string>& environment) {
  const auto most = [&](auto amount) {
    return MostAtOnce(spec, [amount](const RoleSpec& role) { return int64_t{role.instances} * amount(role); });
  };
  LedgerAsk ask;
  ask.memory_mb =
      most([](const RoleSpec& role) { return std::clamp<int64_t>(role.resources.memory_mb, 0, kMostAsked / 10'000); });
  ask.vcores = most([](const RoleSpec& role) { return int64_t{role.resources.vcores}; });
  ask.gpus = most(GpusOf);
  if (ask.gpus > 0) ask.gpus_among = AllowedBy(environment);
  return ask;
}

std::string WhyNestedCannotWait(const JobId& above, const std::string& why) {
  return StrCat(
      "a task of job ", above.value, " submits this job, which ", why,
      "; such a job is not queued, because the task may keep what it waits for. Ask for less, or submit the job "
      "from outside of job ",
      above.value);
}

std::vector<int> AllowedGpus(const std::vector<int>& gpus, const LedgerAsk& ask) {
  if (ask.gpus_among.empty()) return gpus;
  std::vector<int> allowed;
  std::ranges::copy_if(gpus, std::back_inserter(allowed),
                       [&](int gpu) { return std::ranges::count(ask.gpus_among, gpu) > 0; });
  return allowed;
}

bool EverFits(const LedgerAsk& ask, const Machine& machine, int64_t user) {
  const UserLimits limits = machine.LimitsOf(user);
  return ask.memory_mb <= std::min(machine.memory_mb, limits.memory_mb.value_or(machine.memory_mb)) &&
         ask.gpus <=
             std::min(static_cast<int64_t>(AllowedGpus(machine.gpus, ask).size()), limits.gpus.value_or(kMostAsked));
}

Status CheckEverFits(const JobSpec& spec, const Machine& machine, int64_t user,
                     const std::vector<std::string>& environment) {
  const LedgerAsk ask = AskOf(spec, environment);
  const auto gpus = static_cast<int64_t>(machine.gpus.size());
  const UserLimits limits = machine.LimitsOf(user);
  const auto memory_refused = [&](const std::string& bound) {
    return Error{ErrorCode::kInvalid,
                 StrCat("the job asks for ", ask.memory_mb, " MB of memory (", Sum(spec, MemoryOf, " MB"), "), ", bound,
                        "; set ", KeysToSet(spec, MemoryOf, "memory"))};
  };
  const auto gpus_refused = [&](const std::string& bound) {
    return Error{ErrorCode::kInvalid, StrCat("the job asks for ", Counted(ask.gpus, "GPU"), " (", Sum(spec, GpusOf, ""),
                                             "), ", bound, "; set ", KeysToSet(spec, GpusOf, "gpus"))};
  };
  if (ask.memory_mb > machine.memory_mb) return memory_refused(StrCat("this machine has ", machine.memory_mb, " MB"));
  if (limits.memory_mb && ask.memory_mb > *limits.memory_mb)
    return memory_refused(StrCat("by machine.json its user may have ", *limits.memory_mb, " MB at a time"));
  if (ask.gpus > gpus) return gpus_refused(StrCat("this machine has ", gpus == 0 ? "none" : StrCat(gpus)));
  if (const size_t allowed = AllowedGpus(machine.gpus, ask).size(); ask.gpus > static_cast<int64_t>(allowed))
    return gpus_refused(
        StrCat(GpuPin(ask), " of this shell allows ", allowed == 0 ? "none of this machine's" : StrCat(allowed)));
  if (limits.gpus && ask.gpus > *limits.gpus)
    return gpus_refused(
        StrCat("by machine.json its user may have ", *limits.gpus == 0 ? "none" : StrCat(*limits.gpus, " at a time")));
  return Ok();
}

}  // namespace tony
