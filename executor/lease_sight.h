// LeaseSight judges by the lease record, which a living AM renews, whether the AM is alive. LeasePace decides when an
// executor that has lost its AM reads the record. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/base/endpoint.h"
#include "runtime/base/time.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"

namespace tony::executor {

// The contents of the lease record.
struct SeenLease {
  Epoch epoch;
  Address am;
  int64_t renewal = 0;  // grows with each renewal
  bool operator==(const SeenLease&) const = default;
};

// Judges freshness by the executor's own clock: a record is fresh if the executor saw it change within `record_fresh`.
// If the store cannot be read, the record counts as fresh, because the executor itself may be cut off from the store.
// The failure proves nothing about the AM.
//
// The first record after the loss of an AM proves nothing either, because the record may have been old when it was
// read. Only a later change of the record shows that an AM lives.
class LeaseSight {
 public:
  explicit LeaseSight(Duration record_fresh) : record_fresh_(record_fresh) {}

  void Read(const std::optional<SeenLease>& record, Instant now);  // nullopt: no AM has started yet
  void Unreadable(Instant now);
  // Records that the AM of this epoch has answered that it is not the leader. That AM counts as dead from now on. The
  // answer says nothing about a later AM, also if the record of that AM is read only after the answer. That AM may have
  // been the leader all the time, and counts the silence of this executor.
  void MarkNotLeader(Epoch epoch, Instant now);
  // Records that the link to an AM is lost now. `when` is the sending time of the newest call that the AM answered.
  void Heard(Instant when, Instant now);

  // The AM has appeared alive without a break since `since`. Without further signs of life, the AM counts as alive
  // until `until`.
  struct Alive {
    Instant since;
    Instant until;
  };
  const std::optional<Alive>& alive() const { return alive_; }  // nullopt: never looked alive

 private:
  void Sign(Instant now);

  Duration record_fresh_;
  // The time of the last check. A gap between checks does not prove that the AM was dead meanwhile.
  Instant looked_{};
  struct Refusal {
    Epoch epoch;
    Instant until;  // Alive::until before the refusal
  };
  // Set if an AM has answered since the last check that it is not the leader.
  std::optional<Refusal> refusal_;
  // The record as last read. Not set after Heard().
  std::optional<SeenLease> record_;
  std::optional<Alive> alive_;
};

// The times when an executor that has lost its AM reads the lease record. Pure.
//
// A store on this machine is read at once, and then every 250 ms. Such a store also reports changes.
//
// A store that the whole job shares (HDFS) is read at most 200 times a second. This limit holds for all executors
// together, even if all of them lose their AM at the same time. The time is divided into turns, which have 5 ms for
// each task. Each executor has its own moment in a turn, and reads only at that moment, in its first turn or in a
// later one. If the clocks of the nodes differ, the limit holds on average.
class LeasePace {
 public:
  LeasePace() = default;  // for a store on this machine
  // Returns the pace for a store that all executors of the job share. The longest delay is 10 s, or two thirds of
  // record_fresh if that is less. Therefore the executor sees a renewed record change before the record counts as
  // stale, even if a read takes long. The longest delay also limits the length of a turn, so with more than 2,000 tasks
  // a turn has less than 5 ms for each task. Otherwise an executor that is cut off would notice this too late.
  static LeasePace OfSharedStore(const JobSpec& spec, const TaskId& task);

  bool is_shared() const { return turn_ > Duration{0}; }
  // Returns the time limit of one read. The sum of this limit and the longest delay is shorter than record_fresh.
  // Therefore the first record after the loss of an AM is read before this AM counts as dead. Each later record is read
  // before the previous record counts as stale.
  static Duration ReadLimit(const Timers& timers);

  // Returns when to read for the first time after the AM was lost.
  Instant First(Instant lost) const { return is_shared() ? OwnMomentFrom(lost) : lost; }
  // Returns when to read again. For a shared store, the result is the executor's last moment within `delay` after
  // `now`. If no moment is within `delay`, the result is its next moment.
  Instant Next(Instant now, Duration delay) const;
  // The delays between two reads, which double from the shortest to the longest.
  Duration shortest() const { return shortest_; }
  Duration longest() const { return longest_; }

 private:
  Instant OwnMomentFrom(Instant when) const;

  // The length of a turn, and this executor's moment in it.
  Duration turn_{0}, moment_{0};
  Duration shortest_{250}, longest_{250};
};

}  // namespace tony::executor
