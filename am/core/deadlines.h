// Deadlines: the limits of attempts and containers, and the time of the next check for missed heartbeats. The due
// time of a limit is also stored in the attempt or container that it limits. Part of Job: no I/O, no threads, no clock.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <utility>

#include "am/core/containers.h"
#include "am/core/tasks.h"
#include "runtime/base/time.h"

namespace tony::am {

// An executor gets this long to exit after it was released, or after the grace of its attempt is over. Then its
// container is ended. An executor needs well under a second to kill its processes, to reap them and to send a report.
// The rest is a reserve for a busy machine.
inline constexpr Duration kLeaveLimit{5000};
// The scheduler gets this long to confirm the end of a container, after the order to kill it or after the release of
// its executor.
inline constexpr Duration kConfirmLimit{15'000};

// The limits of an attempt. kAllocate limits the time until the attempt's container is granted, and kRegister the time
// until its executor registers. kPublish limits the time until the attempt has published the values that others wait
// for. kGiveUp limits the time from the order to kill the container until the container's end.
enum class Limit { kAllocate, kRegister, kPublish, kGiveUp };
// The limits of a container. kStop limits the time until the stopped attempt in the container ends, and kLeave the time
// until its executor exits.
enum class ContainerLimit { kStop, kLeave };

class Deadlines {
 public:
  template <class Key>
  using Queue = std::set<std::pair<Instant, Key>>;

  const Queue<AttemptId>& all(Limit limit) const { return attempts_[static_cast<size_t>(limit)]; }
  const Queue<ContainerId>& all(ContainerLimit limit) const { return containers_[static_cast<size_t>(limit)]; }
  // Each function returns the attempt or container whose limit of this kind expired first; nullopt if no such limit has
  // expired at `now`.
  std::optional<AttemptId> Expired(Limit limit, Instant now) const { return Expired(all(limit), now); }
  std::optional<ContainerId> Expired(ContainerLimit limit, Instant now) const { return Expired(all(limit), now); }
  bool IsSet(Limit limit, const Attempt& attempt) const;
  bool IsLeaving(const ContainerId& id, const Container& container) const;
  // Returns the time of the earliest limit. The limits of kind kGiveUp count only if `give_up` is true.
  std::optional<Instant> Next(bool give_up) const;

  // Each of these Set functions replaces the previous limit of its kind.
  void Set(Limit limit, Attempt& attempt, Instant due);
  void SetStop(Attempt& attempt, const Container& container, Instant due);
  void SetLeave(const ContainerId& id, Container& container, Instant due);
  void Clear(Limit limit, const Attempt& attempt);
  // Clears all limits of an attempt that has ended.
  void Clear(const Attempt& attempt);
  // Clears both limits of the container: for the end of its attempt, and for the exit of its executor.
  void Clear(const ContainerId& id, const Container& container, const Attempt& attempt);

  // ---- missed heartbeats, which count only while executors can see that this AM is the leader
  Instant renewed_at() const { return renewed_at_; }
  void LeaseRenewed(Instant now) { renewed_at_ = now; }
  // The time of the next check for missed heartbeats; nullopt if this time is set by the next renewal of the lease.
  const std::optional<Instant>& silence_check() const { return silence_check_; }
  void CheckSilenceAt(std::optional<Instant> at) { silence_check_ = at; }
  void CheckSilenceBy(Instant by) { silence_check_ = silence_check_ ? std::min(*silence_check_, by) : by; }

  // Ends the process if a limit is set that can no longer be met. Also ends the process if a limit's time differs from
  // the time in the attempt or container.
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
