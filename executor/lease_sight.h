// Judges whether an AM is alive by the lease record, which a living AM renews. An executor that has lost its AM uses
// this. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/base/endpoint.h"
#include "runtime/base/time.h"
#include "runtime/job/ids.h"

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
class LeaseSight {
 public:
  explicit LeaseSight(Duration record_fresh) : record_fresh_(record_fresh) {}

  void Read(const std::optional<SeenLease>& record, Instant now);  // nullopt: no AM has started yet
  void Unreadable(Instant now);
  // Records that the AM in the record has answered that it is not the leader. That AM counts as dead from now on.
  void MarkNotLeader(Instant now);
  // Records that the link to an AM is lost now. `when` is the sending time of the newest call that the AM answered.
  void Heard(Instant when, Instant now);

  const std::optional<SeenLease>& record() const { return record_; }  // the record as last read

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
  std::optional<SeenLease> record_;
  std::optional<Alive> alive_;
};

}  // namespace tony::executor
