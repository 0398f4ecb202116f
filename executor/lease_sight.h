// Judges by the lease record whether an AM looks alive, for an executor that lost its AM. Pure.
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

// Judges freshness by the executor's own clock: a record is fresh if it was seen to change within `record_fresh`. A
// store that cannot be read proves nothing about the AM. It counts as a fresh record, because this executor may be
// the one that is cut off.
class LeaseSight {
 public:
  explicit LeaseSight(Duration record_fresh) : record_fresh_(record_fresh) {}

  void Read(const std::optional<SeenLease>& record, Instant now);  // nullopt: no AM has started yet
  void Unreadable(Instant now);
  // The AM in the record has answered that it is not the leader. It counts as dead.
  void MarkNotLeader(Instant now);
  // An AM answered a call that was sent at `when`. The link to it is lost now.
  void Heard(Instant when, Instant now);

  const std::optional<SeenLease>& record() const { return record_; }  // the record as last read

  // The AM has looked alive without a break since `since`. Without further signs of life it counts as alive until
  // `until`.
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
