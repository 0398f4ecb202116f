#include "tests/sim/history.h"

#include <ostream>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "tests/sim/timeline.h"

namespace tony::sim {
namespace {

std::string Am(Epoch epoch) { return StrCat("am ", epoch.value, ": "); }

std::string_view NameOf(Ordered::What what) {
  static constexpr std::string_view kNames[] = {"launch", "term", "kill", "finish"};
  return kNames[static_cast<size_t>(what)];
}

std::string_view NameOf(Command::Kind kind) {
  static constexpr std::string_view kNames[] = {"nothing new", "start", "stop", "release", "next"};
  return kNames[static_cast<size_t>(kind)];
}

std::string TextOf(const Outcome& outcome) {
  std::string text(ToString(outcome.cls));
  if (outcome.exit) text += StrCat(", ", ToString(*outcome.exit));
  if (!outcome.message.empty()) text += StrCat(", ", outcome.message);
  return text;
}

std::string Process(const AttemptId& attempt, int64_t pid) { return StrCat(ToString(attempt), " process ", pid, " "); }

}  // namespace

std::string ToString(const Event& event) {
  return std::visit(
      Overloaded{
          [](const AmBegan& e) { return Am(e.epoch) + "began"; },
          [](const AmGone& e) { return Am(e.epoch) + "gone"; },
          [](const AmStalled& e) { return StrCat(Am(e.epoch), "stands still for ", e.length.count(), " ms"); },
          [](const JournalOpened& e) { return StrCat(Am(e.epoch), "journal opened with ", e.size, " bytes"); },
          [](const JournalWritten& e) { return StrCat(Am(e.epoch), "journal + ", e.bytes.size(), " bytes"); },
          [](const JournalStuck& e) {
            return StrCat(Am(e.epoch), e.stuck ? "journal cannot be written" : "journal can be written again");
          },
          [](const JournalCutBack& e) { return StrCat(Am(e.epoch), "journal cut back to ", e.size, " bytes"); },
          [](const LeaseWritten& e) { return Am(e.epoch) + "lease written"; },
          [](const StatusWritten& e) {
            return StrCat(Am(e.epoch), "status ", ToString(e.verdict.state), ": ", e.verdict.message);
          },
          [](const LookFailed& e) { return Am(e.epoch) + "cannot read the checkpoints"; },
          [](const KeeperListens& e) { return StrCat("keeper listens to ", Am(e.epoch)); },
          [](const ArbiterHeard& e) { return Am(e.epoch) + "hears the keeper"; },
          [](const Ordered& e) { return StrCat(Am(e.epoch), "order to ", NameOf(e.what), " ", e.container.value); },
          [](const Told& e) {
            const int64_t which = e.kind == Command::Kind::kNext ? e.next : e.generation.value;
            return StrCat(Am(e.epoch), "tells ", ToString(e.attempt), ": ", NameOf(e.kind), " ", which);
          },
          [](const AmHeard& e) { return StrCat(Am(e.epoch), "hears ", ToString(e.attempt)); },
          [](const ContainerOffered& e) { return StrCat(Am(e.epoch), "is granted container ", e.container.value); },
          [](const OutcomeAcknowledged& e) {
            return StrCat(Am(e.epoch), "acknowledges ", ToString(e.attempt), ": ", TextOf(e.outcome));
          },
          [](const KillAcknowledged& e) { return Am(e.epoch) + "acknowledges the kill"; },
          [](const KillWritten&) { return std::string("kill request written"); },
          [](const ConditionalKillWritten& e) {
            return StrCat("kill request written: if owner '", e.request.if_owner.value, "', if watcher '",
                          e.request.if_watcher.value, "'", e.request.due == Instant{} ? "" : ", later");
          },
          [](const AttachAnswered& e) {
            return StrCat(Am(e.epoch), e.attached ? "attaches " : "refuses to attach ", e.claim.owner.value);
          },
          [](const LookAnswered& e) { return StrCat(Am(e.epoch), "shows the job to '", e.watcher.value, "'"); },
          [](const KeeperBegan&) { return std::string("keeper began"); },
          [](const KeeperGone&) { return std::string("keeper gone"); },
          [](const KeeperGaveUp& e) { return "keeper gave up: " + e.verdict.message; },
          [](const ContainerBegan& e) { return StrCat(ToString(e.attempt), " in ", e.container.value, " began"); },
          [](const ContainerGone& e) { return StrCat("container ", e.container.value, " gone"); },
          [](const ContainerToldGone& e) { return StrCat("container ", e.container.value, " is said to be gone"); },
          [](const PreemptionTold& e) { return StrCat("container ", e.container.value, " is to be taken away"); },
          [](const ExecutorTermed& e) { return ToString(e.attempt) + " executor gets SIGTERM"; },
          [](const ExecutorDied& e) { return ToString(e.attempt) + " executor gets SIGKILL"; },
          [](const JobClosed&) { return std::string("job closed"); },
          [](const AttemptBegun& e) { return StrCat(ToString(e.attempt), " goes on in ", e.container.value); },
          [](const ExecutorHeard& e) { return StrCat(ToString(e.attempt), " hears am ", e.epoch.value); },
          [](const ExecutorPutOff& e) { return ToString(e.attempt) + " is put off"; },
          [](const ExecutorBound& e) { return StrCat(ToString(e.attempt), " registered with am ", e.epoch.value); },
          [](const ExecutorObeyed& e) { return StrCat(ToString(e.attempt), " obeys am ", e.epoch.value); },
          [](const ExecutorStalled& e) {
            return StrCat(ToString(e.attempt), " stands still for ", e.length.count(), " ms");
          },
          [](const StoreCut& e) { return StrCat(ToString(e.attempt), " no store for ", e.length.count(), " ms"); },
          [](const ProcessStarted& e) {
            return StrCat(Process(e.attempt, e.pid), "started in ", e.container.value, ", generation ",
                          e.generation.value, e.resume_from.empty() ? "" : " from ", e.resume_from);
          },
          [](const ProcessSignalled& e) { return StrCat(Process(e.attempt, e.pid), "gets signal ", e.signal); },
          [](const ProcessEnded& e) { return StrCat(Process(e.attempt, e.pid), "ended: ", ToString(e.exit)); },
          [](const ValuesAcknowledged& e) {
            return StrCat(Am(e.epoch), "acknowledges values of ", ToString(e.attempt));
          },
          [](const ValuesWritten& e) { return StrCat(ToString(e.attempt), " publishes"); },
          [](const CheckpointThere& e) { return e.checkpoint.path + " is there, of others"; },
          [](const CheckpointWritten& e) { return StrCat(ToString(e.attempt), " writes ", e.checkpoint.path); },
      },
      event);
}

void History::Add(Instant time, Event event) {
  if (with_trace_) Note(time, ToString(event));
  events_.push_back({time, std::move(event)});
}

void History::Note(Instant time, const std::string& text) {
  if (!with_trace_) return;
  const int64_t age = (time - Timeline::kStart).count();
  const std::string millis = std::to_string(1000 + age % 1000).substr(1);
  const std::string line = StrCat(age / 1000, ".", millis, " ", text, "\n");
  if (echo_) *echo_ << line << std::flush;
  trace_ += line;
}

}  // namespace tony::sim
