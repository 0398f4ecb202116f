// Deadlines: the limits of attempts and containers, and the time of the next check for missed heartbeats. The time of a
// limit is also stored in its attempt or container. Part of Job: no I/O, no threads, no clock.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <utility>

#include "am/core/containers.h"
#include "am/core/tasks.h"
#include "runtime/base/time.h"

namespace tony::am {

// An executor that was released, or whose grace is over, gets this long before its container is ended. Its own KILL,
// the reaping and one report need well under a second; the rest is a reserve for a busy machine.
inline constexpr Duration kLeaveLimit{5000};
// The time that the scheduler gets to confirm the end of a container, after the container was ordered killed or its
// executor was released.
inline constexpr Duration kConfirmLimit{15'000};

// Limits of an attempt. kAllocate: for its container. kRegister: for the registration of its executor. kPublish: for
// the values that others wait for. kGiveUp: for the end of its container after the order to kill it.
enum class Limit { kAllocate, kRegister, kPublish, kGiveUp };
// Limits of a container. kStop: for the end of the attempt that was stopped. kLeave: for the exit of the executor.
enum class ContainerLimit { kStop, kLeave };

class Deadlines {
 public:
  template <class Key>
  using Queue = std::set<std::pair<Instant, Key>>;

  const Queue<AttemptId>& all(Limit limit) const { return attempts_[static_cast<size_t>(limit)]; }
  const Queue<ContainerId>& all(ContainerLimit limit) const { return containers_[static_cast<size_t>(limit)]; }
  // Returns the attempt or container whose limit expired first; nullopt if no limit of this kind has expired.
  std::optional<AttemptId> Expired(Limit limit, Instant now) const { return Expired(all(limit), now); }
  std::optional<ContainerId> Expired(ContainerLimit limit, Instant now) const { return Expired(all(limit), now); }
  bool IsSet(Limit limit, const Attempt& attempt) const;
  bool IsLeaving(const ContainerId& id, const Container& container) const;
  // Returns the earliest limit of all kinds. `give_up`: includes the limits of kind kGiveUp.
  std::optional<Instant> Next(bool give_up) const;

  // Each function replaces the previous limit of its kind.
  void Set(Limit limit, Attempt& attempt, Instant due);
  void SetStop(Attempt& attempt, const Container& container, Instant due);
  void SetLeave(const ContainerId& id, Container& container, Instant due);
  void Clear(Limit limit, const Attempt& attempt);
  // Clears all limits of an attempt that has ended.
  void Clear(const Attempt& attempt);
  // Clears the limits for the end of the container's attempt and for the exit of its executor.
  void Clear(const ContainerId& id, const Container& container, const Attempt& attempt);

  // ---- heartbeats count as missed only while executors can see that this AM is the leader
  Instant renewed_at() const { return renewed_at_; }
  void LeaseRenewed(Instant now) { renewed_at_ = now; }
  // The time before which no heartbeat is missed; nullopt: check again after the lease is renewed.
  const std::optional<Instant>& silence_check() const { return silence_check_; }
  void CheckSilenceAt(std::optional<Instant> at) { silence_check_ = at; }
  void CheckSilenceBy(Instant by) { silence_check_ = silence_check_ ? std::min(*silence_check_, by) : by; }

  // Ends the process if a limit is set that cannot be met any more, or that differs from the time in its attempt or
  // container.
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
