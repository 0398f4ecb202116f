#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/spec/parser_parts.h"

namespace tony {
namespace {

constexpr std::string_view kHeartbeat = "tony.task.heartbeat-interval-ms";
constexpr std::string_view kSuspect = "tony.task.suspect-after-ms";
constexpr std::string_view kCutoff = "tony.task.cutoff-after-ms";
constexpr std::string_view kGrace = "tony.task.stop-grace-ms";
constexpr std::string_view kLost = "tony.task.lost-after-ms";
constexpr std::string_view kFresh = "tony.task.record-fresh-ms";
constexpr std::string_view kMissed = "tony.task.max-missed-heartbeats";

constexpr int kSuspectHeartbeats = 5;
constexpr int64_t kLeastMissed = 3;  // TonY's floor: fewer would call a late heartbeat a death
constexpr Duration kLook{1000};      // until a lease record that has changed is seen to have
constexpr Duration kMargin{5000};    // between a cut-off task's last instant and its successor's first

// max-missed-heartbeats is TonY's word for lost_after; ours goes before it. A value that worked with TonY, which knew
// no cut-off, still does: it counts from the shortest time that is safe here.
Result<Duration> ParseLostAfter(const PropertyValues& values, const Timers& timers, Warnings& warnings) {
  const Duration least = timers.cutoff_after + timers.grace + kMargin + Duration(1);
  if (!values.Has(kMissed)) {
    TRY_ASSIGN(const Duration lost_after, values.Millis(kLost, 1));
    return values.Has(kLost) ? lost_after : std::max({lost_after, least, timers.heartbeat * kLeastMissed});
  }
  TRY_ASSIGN(const int64_t missed, values.Number(kMissed, 0, 1'000'000));
  if (values.Has(kLost)) {
    warnings.push_back(values.Bad(kMissed, StrCat("no effect, as ", kLost, " is set")).message);
    return values.Millis(kLost, 1);
  }
  const Duration asked = timers.heartbeat * std::max(kLeastMissed, missed);
  if (asked >= least) return asked;
  warnings.push_back(
      values
          .Bad(kMissed, StrCat("taken as ", least.count(), " ms: a lost task has had ", kCutoff, " (",
                               timers.cutoff_after.count(), ") + ", kGrace, " (", timers.grace.count(), ") to stop"))
          .message);
  return least;
}

// A heartbeat that is not answered, and a record that does not change for long enough to be stale: only then an AM is
// seen to be dead, and until then its executor may think itself cut off.
Duration LeastCutoff(const Timers& timers) {
  return timers.heartbeat + CallLimit(timers) + timers.record_fresh + kLook;
}

// A task that nobody hears must be dead before its successor starts, and the death of an AM must be told from being
// cut off from it.
Status CheckOrder(const Timers& timers) {
  if (timers.cutoff_after + timers.grace + kMargin >= timers.lost_after) {
    return Error{ErrorCode::kInvalid,
                 StrCat(kCutoff, " (", timers.cutoff_after.count(), ") + ", kGrace, " (", timers.grace.count(), ") + ",
                        kMargin.count(), " must be less than ", kLost, " (", timers.lost_after.count(),
                        "): a lost task must have stopped before it is started again")};
  }
  if (timers.heartbeat * kLeastMissed > timers.lost_after) {
    return Error{ErrorCode::kInvalid, StrCat(kLost, " (", timers.lost_after.count(), ") must be at least three times ",
                                             kHeartbeat, " (", timers.heartbeat.count(), ")")};
  }
  if (LeastCutoff(timers) > timers.cutoff_after) {
    return Error{
        ErrorCode::kInvalid,
        StrCat(kCutoff, " (", timers.cutoff_after.count(), ") must be at least ", LeastCutoff(timers).count(), ": ",
               kHeartbeat, " (", timers.heartbeat.count(), ") + ", kFresh, " (", timers.record_fresh.count(), ") + ",
               (CallLimit(timers) + kLook).count(), ": a dead application master must be told from a lost connection")};
  }
  return Ok();
}

}  // namespace

Result<Timers> ParseTimers(const PropertyValues& values, Warnings& warnings) {
  Timers timers;
  const size_t problems_before = values.problems().count();
  TRY_ASSIGN(timers.heartbeat, values.Millis(kHeartbeat, 10));
  timers.suspect_after = timers.heartbeat * kSuspectHeartbeats;
  if (values.Has(kSuspect)) {
    TRY_ASSIGN(timers.suspect_after, values.Millis(kSuspect, 1));
  }
  TRY_ASSIGN(timers.record_fresh, values.Millis(kFresh, 1));
  TRY_ASSIGN(timers.cutoff_after, values.Millis(kCutoff, 1));
  TRY_ASSIGN(timers.grace, values.Millis(kGrace, 0));
  // Defaults make room for what is set, as for TonY's jobs with slow heartbeats.
  if (!values.Has(kCutoff)) timers.cutoff_after = std::max(timers.cutoff_after, LeastCutoff(timers));
  TRY_ASSIGN(timers.lost_after, ParseLostAfter(values, timers, warnings));
  TRY_ASSIGN(timers.am_lease, values.Millis("tony.am.lease-ms", 1));
  TRY_ASSIGN(timers.orphan_timeout, values.Millis("tony.task.orphan-timeout-ms", 1));
  const bool all_good = values.problems().count() == problems_before;  // else it is not their order that is wrong
  if (all_good) TRY(CheckOrder(timers));
  return timers;
}

}  // namespace tony
