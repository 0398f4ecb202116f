// What a job asks for, and whether it can ever have it.
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/job/dependencies.h"
#include "runtime/scheduler/local/ledger.h"

namespace tony {
namespace {

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

}  // namespace

// Of roles that run one after the other, what those that run together need at most.
LedgerAsk AskOf(const JobSpec& spec) {
  const auto most = [&](auto amount) {
    return MostAtOnce(spec, [amount](const RoleSpec& role) { return int64_t{role.instances} * amount(role); });
  };
  LedgerAsk ask;
  ask.memory_mb =
      most([](const RoleSpec& role) { return std::clamp<int64_t>(role.resources.memory_mb, 0, kMostAsked / 10'000); });
  ask.vcores = most([](const RoleSpec& role) { return int64_t{role.resources.vcores}; });
  ask.gpus = most(GpusOf);
  return ask;
}

bool EverFits(const LedgerAsk& ask, const Machine& machine, int64_t user) {
  const UserLimits limits = machine.LimitsOf(user);
  return ask.memory_mb <= std::min(machine.memory_mb, limits.memory_mb.value_or(machine.memory_mb)) &&
         ask.gpus <= std::min(static_cast<int64_t>(machine.gpus.size()), limits.gpus.value_or(kMostAsked));
}

Status CheckEverFits(const JobSpec& spec, const Machine& machine, int64_t user) {
  const LedgerAsk ask = AskOf(spec);
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
  if (limits.gpus && ask.gpus > *limits.gpus)
    return gpus_refused(
        StrCat("by machine.json its user may have ", *limits.gpus == 0 ? "none" : StrCat(*limits.gpus, " at a time")));
  return Ok();
}

}  // namespace tony
