// Deadlines: limits of attempts and of containers, and the next look for missed heartbeats.
// Part of Job, and as pure. The attempt or container of a limit has its time as well.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <utility>

#include "am/core/containers.h"
#include "am/core/tasks.h"
#include "runtime/base/time.h"

namespace tony::am {

// An executor that was told to leave, or whose grace is over, gets this long before its container is ended. Its own
// KILL, the reaping and one report fit in well under a second; the rest is for a busy machine.
inline constexpr Duration kLeaveLimit{5000};
// How long the scheduler's confirmation that a container is gone is waited for, after it was ordered killed or told to
// leave.
inline constexpr Duration kConfirmLimit{15'000};

// Limits of an attempt: for its container; for the registration of its executor; for the values that others wait for;
// and for the end of its container after its heartbeats were missed.
enum class Limit { kAllocate, kRegister, kPublish, kGiveUp };
// Limits of a container: for the end of the attempt in it that was told to stop; for its executor to leave.
enum class ContainerLimit { kStop, kLeave };

class Deadlines {
 public:
  template <class Key>
  using Queue = std::set<std::pair<Instant, Key>>;

  const Queue<AttemptId>& all(Limit limit) const { return attempts_[static_cast<size_t>(limit)]; }
  const Queue<ContainerId>& all(ContainerLimit limit) const { return containers_[static_cast<size_t>(limit)]; }
  // The one whose limit was over first, if any is over.
  std::optional<AttemptId> Expired(Limit limit, Instant now) const { return Expired(all(limit), now); }
  std::optional<ContainerId> Expired(ContainerLimit limit, Instant now) const { return Expired(all(limit), now); }
  bool IsSet(Limit limit, const Attempt& attempt) const;
  bool IsLeaving(const ContainerId& id, const Container& container) const;
  // The first limit of all. `give_up`: those of silent attempts count.
  std::optional<Instant> Next(bool give_up) const;

  // Each takes the place of the limit of that kind before.
  void Set(Limit limit, Attempt& attempt, Instant due);
  void SetStop(Attempt& attempt, const Container& container, Instant due);
  void SetLeave(const ContainerId& id, Container& container, Instant due);
  void Clear(Limit limit, const Attempt& attempt);
  // The attempt has ended.
  void Clear(const Attempt& attempt);
  // Neither is the end of its attempt waited for, nor that its executor leaves.
  void Clear(const ContainerId& id, const Container& container, const Attempt& attempt);

  // ---- heartbeats are missed only while executors can see that this AM is the leader
  Instant renewed_at() const { return renewed_at_; }
  void LeaseRenewed(Instant now) { renewed_at_ = now; }
  // No heartbeat is missed before; nothing: look again after a renewal of the lease.
  const std::optional<Instant>& silence_check() const { return silence_check_; }
  void CheckSilenceAt(std::optional<Instant> at) { silence_check_ = at; }
  void CheckSilenceBy(Instant by) { silence_check_ = silence_check_ ? std::min(*silence_check_, by) : by; }

  // Ends the process if a limit is set that cannot be met any more, or is not the one of its attempt or container.
  void CheckInvariants(const Tasks& tasks, const Containers& containers) const;

 private:
  static Instant TimeOf(Limit limit, const Attempt& attempt);
  template <class Key>
  static std::optional<Key> Expired(const Queue<Key>& queue, Instant now) {
    if (queue.empty() || now < queue.begin()->first) return std::nullopt;
    return queue.begin()->second;
  }

  std::array<Queue<AttemptId>, 4> attempts_;
  std::array<Queue<ContainerId>, 2> containers_;
  Instant renewed_at_{};
  std::optional<Instant> silence_check_;
};

}  // namespace tony::am
