// What an executor that lost its AM makes of the lease record: does some AM look alive? Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/base/endpoint.h"
#include "runtime/base/time.h"
#include "runtime/job/ids.h"

namespace tony::executor {

// The lease record as read.
struct SeenLease {
  Epoch epoch;
  Address am;
  int64_t renewal = 0;  // grows with each renewal
  bool operator==(const SeenLease&) const = default;
};

// Freshness is judged by our own clock: a record is fresh if it was seen to change within `record_fresh`. A store that
// cannot be read proves nothing about the AM; it counts as a fresh record, because we may be the one cut off.
class LeaseSight {
 public:
  explicit LeaseSight(Duration record_fresh) : record_fresh_(record_fresh) {}

  void Read(const std::optional<SeenLease>& record, Instant now);  // nothing: no AM has ruled yet
  void Unreadable(Instant now);
  void NotRuling(Instant now);  // the AM that the record names says that it does not rule: it is as good as dead
  void Heard(Instant when, Instant now);  // an AM was there at `when`; the link to it is lost now

  const std::optional<SeenLease>& record() const { return record_; }  // as last read

  // The AM looked alive without a break from `since`, and does so until `until` if nothing more is seen.
  struct Alive {
    Instant since;
    Instant until;
  };
  const std::optional<Alive>& alive() const { return alive_; }  // nothing: it never did

 private:
  void Sign(Instant now);

  Duration record_fresh_;
  Instant looked_{};  // when the last sign was looked for: while nobody looked, nothing says that it did not live
  std::optional<SeenLease> record_;
  std::optional<Alive> alive_;
};

}  // namespace tony::executor
