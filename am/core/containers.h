// The containers of a job: requested, granted, being ended, gone. Part of Job, and as pure.
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
  // The newest attempt in it.
  AttemptId attempt;
  ContainerState state = ContainerState::kHeld;
  // Its executor should have left by then; set when its attempt has ended and it is not kept.
  Instant leave_by{};
};

class Containers {
 public:
  const std::map<ContainerId, Container>& all() const { return containers_; }
  // Null for a container that was never granted.
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
  // How many the scheduler has not confirmed to be gone.
  int left() const { return left_; }

  // ---- requests
  void Request(const AttemptId& attempt) { unplaced_.insert(attempt); }
  void Withdraw(const AttemptId& attempt) { withdrawn_.insert(attempt); }
  // The attempt has ended: nothing is requested for it any more.
  void Forget(const AttemptId& attempt) {
    unplaced_.erase(attempt);
    withdrawn_.erase(attempt);
  }
  bool IsUnplaced(const AttemptId& attempt) const { return unplaced_.contains(attempt); }
  // An attempt that was told to stop before it had a container, if there is any.
  std::optional<AttemptId> NextWithdrawn() const {
    return withdrawn_.empty() ? std::nullopt : std::optional(*withdrawn_.begin());
  }
  // Since when nothing was requested and nothing came.
  Instant unplaced_since() const { return unplaced_since_; }
  void RestartWait(Instant time) { unplaced_since_ = time; }

  // ---- grants and ends; false: the container is known already, or not in the state before
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

  // The scheduler is about to take the container away. Not journalled.
  void NotePreemption(const ContainerId& id) { preempted_.insert(id); }
  bool IsBeingPreempted(const ContainerId& id) const { return preempted_.contains(id); }

  // Ends the process if two of these members contradict each other, or the attempts.
  void CheckInvariants(const Tasks& tasks) const;

 private:
  std::map<ContainerId, Container> containers_;
  int left_ = 0;
  std::set<AttemptId> unplaced_, withdrawn_;
  Instant unplaced_since_{};
  std::set<ContainerId> preempted_;
};

}  // namespace tony::am
