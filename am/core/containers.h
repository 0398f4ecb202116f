// The containers of a job: requested, granted, being killed, ended. Part of Job: no I/O, no threads, no clock.
//
//   RequestContainers -> unplaced --Grant()--> kHeld --OrderKill()--> kKilling
//                            |                    \---------\------------+--Confirm()--> kGone
//                            \--Withdraw()--> withdrawn: the attempt ends without a container
#pragma once

#include <map>
#include <optional>
#include <set>

#include "am/core/tasks.h"
#include "runtime/base/time.h"
#include "runtime/job/ids.h"

namespace tony::am {

enum class ContainerState { kHeld, kKilling, kGone };

struct Container {
  // The newest attempt in the container.
  AttemptId attempt;
  ContainerState state = ContainerState::kHeld;
  // The time by which the executor has to exit. The time is set when the attempt has ended and the executor is not kept
  // for a next attempt.
  Instant leave_by{};
};

class Containers {
 public:
  const std::map<ContainerId, Container>& all() const { return containers_; }
  // Returns null for a container that was never granted.
  const Container* Find(const ContainerId& id) const {
    const auto found = containers_.find(id);
    return found == containers_.end() ? nullptr : &found->second;
  }
  const Container& at(const ContainerId& id) const { return containers_.at(id); }
  Container& at(const ContainerId& id) { return containers_.at(id); }
  bool IsHeld(const ContainerId& id) const {
    const Container* container = Find(id);
    return container && container->state == ContainerState::kHeld;
  }
  // The number of containers whose end the scheduler has not confirmed.
  int left() const { return left_; }

  // ---- requests for containers
  void Request(const AttemptId& attempt) { unplaced_.insert(attempt); }
  void Withdraw(const AttemptId& attempt) { withdrawn_.insert(attempt); }
  // Drops the request of the attempt, because the attempt has ended.
  void Forget(const AttemptId& attempt) {
    unplaced_.erase(attempt);
    withdrawn_.erase(attempt);
  }
  bool IsUnplaced(const AttemptId& attempt) const { return unplaced_.contains(attempt); }
  // Returns an attempt that was stopped before it had a container, and that has not ended yet; nullopt if no such
  // attempt exists.
  std::optional<AttemptId> NextWithdrawn() const {
    return withdrawn_.empty() ? std::nullopt : std::optional(*withdrawn_.begin());
  }
  // The time at which the current wait for containers began. Each grant and each RestartWait() starts the wait again.
  Instant unplaced_since() const { return unplaced_since_; }
  void RestartWait(Instant time) { unplaced_since_ = time; }

  // ---- grants and ends. Grant() returns false if the container is known already. OrderKill() and Confirm() return
  // false if the container is not in the state that the change requires.
  bool Grant(const ContainerId& id, const AttemptId& attempt, Instant time) {
    if (!containers_.emplace(id, Container{.attempt = attempt}).second) return false;
    unplaced_.erase(attempt);
    unplaced_since_ = time;
    ++left_;
    return true;
  }
  void PassOn(const ContainerId& id, const AttemptId& next) { containers_.at(id).attempt = next; }
  bool OrderKill(const ContainerId& id) {
    if (!IsHeld(id)) return false;
    containers_.at(id).state = ContainerState::kKilling;
    return true;
  }
  bool Confirm(const ContainerId& id) {
    const auto found = containers_.find(id);
    if (found == containers_.end() || found->second.state == ContainerState::kGone) return false;
    found->second.state = ContainerState::kGone;
    --left_;
    return true;
  }

  // Notes that the scheduler is about to take the container away. Not journalled.
  void NotePreemption(const ContainerId& id) { preempted_.insert(id); }
  bool IsBeingPreempted(const ContainerId& id) const { return preempted_.contains(id); }

  // Ends the process if the private members contradict each other or the attempts in `tasks`.
  void CheckInvariants(const Tasks& tasks) const;

 private:
  std::map<ContainerId, Container> containers_;
  int left_ = 0;
  std::set<AttemptId> unplaced_, withdrawn_;
  Instant unplaced_since_{};
  std::set<ContainerId> preempted_;
};

}  // namespace tony::am
