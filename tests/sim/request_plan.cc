#include "tests/sim/request_plan.h"

#include "runtime/base/strings.h"
#include "tests/sim/random.h"

namespace tony::sim {
namespace {

Duration Seconds(int64_t seconds) { return Duration(seconds * 1000); }

OwnerToken Owner(int64_t i) { return {StrCat("o", i)}; }
WatcherToken Watcher(int64_t i) { return {StrCat("w", i)}; }

// Returns the time of a client: mostly clients come all at once or soon after each other, sometimes much later.
Duration When(Random& random, Duration span) { return random.Between(Duration(0), span); }

PlannedSubmit Submit(Random& random, int i, Duration span, int64_t highest) {
  PlannedSubmit submit;
  submit.at = When(random, span);
  submit.ask.number = random.Between(0, highest);
  const int64_t policy = random.Between(0, 9);
  submit.ask.on_existing = policy < 6 ? OnExisting::kAdopt : policy < 8 ? OnExisting::kAttach : OnExisting::kNever;
  if (!random.Chance(50)) submit.claim.owner = Owner(i);
  if (random.Chance(200)) submit.claim.watch_timeout = random.Between(Seconds(20), Seconds(200));
  if (random.Chance(300)) submit.dies_after = static_cast<int>(random.Between(0, 16));
  const bool first = random.Chance(400);
  if (!submit.claim.owner.value.empty()) submit.ask.asker = first ? SubmitterKind::kFirstTry : SubmitterKind::kLaterTry;
  submit.program = random.Chance(700) ? "a" : "b";
  if (random.Chance(600)) submit.ask.run = {random.Chance(500) ? "r0" : "r1"};
  return submit;
}

PlannedKill Kill(Random& random, int64_t submits, Duration span) {
  PlannedKill kill;
  kill.at = When(random, span);
  kill.by_request = random.Chance(700);
  if (random.Chance(750)) kill.if_owner = Owner(random.Between(0, submits - 1));
  if (random.Chance(300)) kill.if_watcher = Watcher(random.Between(0, 2));
  if (random.Chance(300)) kill.delay = random.Between(Seconds(1), Seconds(150));
  if (random.Chance(200)) kill.dies_after = static_cast<int>(random.Between(0, 4));
  return kill;
}

}  // namespace

RequestPlan RequestPlanFor(uint64_t seed) {
  Random random(seed);
  RequestPlan plan;
  const int64_t kind = random.Between(0, 9);
  const Duration span = kind < 4 ? Seconds(1) : kind < 9 ? Seconds(200) : Seconds(1'500);
  const int64_t highest = random.Chance(500) ? 0 : random.Between(1, 3);
  const int64_t submits = random.Between(1, 6);
  for (int i = 0; i < submits; ++i) plan.submits.push_back(Submit(random, i, span, highest));
  const int64_t kills = random.Between(0, 4);
  for (int i = 0; i < kills; ++i) {
    plan.kills.push_back(Kill(random, submits, span));
    // An engine gives up an attempt mostly while that attempt submits.
    const size_t of = static_cast<size_t>(random.Between(0, submits - 1));
    if (random.Chance(500)) continue;
    plan.kills.back().at = plan.submits[of].at + When(random, Seconds(random.Chance(700) ? 3 : 25)) - Seconds(1);
    if (!plan.kills.back().if_owner.value.empty()) plan.kills.back().if_owner = plan.submits[of].claim.owner;
  }
  const int64_t looks = random.Between(0, 8);
  for (int i = 0; i < looks; ++i) {
    PlannedLook look{When(random, span + Seconds(100)), {}};
    if (!random.Chance(100)) look.watcher = Watcher(random.Between(0, 2));
    plan.looks.push_back(look);
  }
  const int64_t acks = random.Between(0, 3);
  for (int i = 0; i < acks; ++i) plan.acks.push_back({When(random, span + Seconds(400))});
  if (random.Chance(300)) plan.recoveries.push_back(When(random, span + Seconds(20)));
  plan.kill_shows_in_files = random.Chance(500);
  plan.seed = random.Next();
  plan.has_lock = random.Chance(500);
  return plan;
}

JobNature NatureFor(uint64_t seed) {
  Random random(seed);
  JobNature nature;
  nature.start = random.Between(Duration(5), Duration(1'500));
  nature.run = random.Chance(300) ? random.Between(Duration(1), Seconds(3)) : random.Between(Seconds(3), Seconds(400));
  nature.end = random.Chance(600) ? FinalState::kSucceeded : FinalState::kFailed;
  nature.stop = random.Between(Duration(1), random.Chance(700) ? Seconds(1) : Seconds(30));
  nature.stale = random.Chance(500) ? Duration(0) : random.Between(Duration(1), Seconds(2));
  nature.sweep = random.Chance(500) ? Duration(0) : random.Between(Duration(1), Seconds(3));
  if (random.Chance(350)) {
    nature.am_down_at = random.Between(Duration(1), Seconds(60));
    nature.am_down_for = random.Between(Duration(1), random.Chance(700) ? Seconds(5) : Seconds(90));
  }
  return nature;
}

}  // namespace tony::sim
