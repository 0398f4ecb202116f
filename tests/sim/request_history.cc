#include "tests/sim/request_history.h"

#include "runtime/base/strings.h"
#include "tests/sim/timeline.h"

namespace tony::sim {
namespace {

constexpr std::string_view kKinds[] = {"submit began", "submit ended", "submit died", "read",       "recorded",
                                       "job made",     "attached",     "revoked",     "kill asked", "kill answered",
                                       "kill done",    "began",        "looked",      "stopping",   "ended",
                                       "gone",         "consumed"};
constexpr std::string_view kAnswers[] = {"taken", "planned", "fenced", "ended"};
constexpr std::string_view kCauses[] = {"itself", "kill", "abandoned"};

std::string Describe(const KillRequest& request) {
  std::string text;
  if (!request.if_owner.value.empty()) text += " if owner " + request.if_owner.value;
  if (!request.if_watcher.value.empty()) text += " if watcher " + request.if_watcher.value;
  if (request.due != Instant{}) text += StrCat(" due ", (request.due - Timeline::kStart).count());
  return text;
}

}  // namespace

std::string Describe(const RequestEvent& event) {
  using enum RequestEventKind;
  std::string text = StrCat((event.time - Timeline::kStart).count(), " ", kKinds[static_cast<size_t>(event.kind)]);
  if (event.actor >= kFirstKill) text += StrCat(" by kill ", event.actor - kFirstKill);
  if (event.actor >= 0 && event.actor < kFirstKill) text += StrCat(" by submit ", event.actor);
  if (!event.job.value.empty()) text += " " + event.job.value;
  text += Describe(event.request);
  if (event.kind == kSubmitEnded) text += StrCat(" ", ToString(event.end));
  if (event.kind == kRead || event.kind == kRecorded)
    text += StrCat(" ", event.record.newest_number, " ", event.record.job.value_or(JobId{"none"}).value);
  if (event.kind == kKillAnswered) text += StrCat(": ", kAnswers[static_cast<size_t>(event.answer)]);
  if (event.kind == kLooked) text += StrCat(" watcher ", event.watcher.value);
  if (event.kind == kStopping)
    text += StrCat(": ", kCauses[static_cast<size_t>(event.cause)], ", ", ToString(event.final_state));
  return text;
}

std::string RequestHistory::Trace() const {
  std::string text;
  for (const RequestEvent& event : events) text += Describe(event) + "\n";
  return text;
}

}  // namespace tony::sim
