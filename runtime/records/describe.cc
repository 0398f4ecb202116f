#include "runtime/records/describe.h"

#include <cstdio>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"

namespace tony {
namespace {

// A decision may name every task of a job of thousands.
constexpr size_t kNamed = 8;

template <class List, class ToText>
std::string Names(const List& list, ToText to_text) {
  std::vector<std::string> names;
  for (const auto& item : list) {
    if (names.size() == kNamed) break;
    names.push_back(to_text(item));
  }
  std::string text = Join(names, " ");
  if (list.size() > kNamed) text += StrCat(" and ", list.size() - kNamed, " more");
  return text;
}

std::string Attempts(const std::vector<AttemptId>& attempts) {
  return Names(attempts, [](const AttemptId& id) { return ToString(id); });
}

std::string Seconds(Duration d) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(d.count()) / 1000);
  return text;
}

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

std::string Restart(const RestartDecided& d) {
  const std::string tasks = Names(d.tasks, [](const TaskId& id) { return ToString(id); });
  return StrCat("restart ", d.number, " of ", ToString(d.scope), d.charged ? "" : ", not charged", ": ", tasks,
                "; because ", d.reason);
}

std::string Began(const RestartBegan& d) {
  std::string text = StrCat("restart ", d.number);
  if (!d.renewed.empty())
    text += "; renewed " + Names(d.renewed, [](const RenewedAttempt& r) { return ToString(r.attempt); });
  if (!d.requested.empty()) text += "; requested " + Attempts(d.requested);
  return text;
}

std::string Newest(const std::optional<Checkpoint>& newest) {
  if (!newest) return "none";
  const std::string step = newest->step < 0 ? "" : StrCat(", step ", newest->step);
  return StrCat(newest->path, step, " (", ToString(newest->writer), ")");
}

std::string Noted(const CheckpointNoted& d) {
  return StrCat("restart ", d.restart, ": ", d.known ? Newest(d.newest) : "not known");
}

std::string Listed(const CheckpointListing& listing) {
  if (!listing.unknown.empty())
    return StrCat(listing.folder, ": whose checkpoints are there is not known: ", listing.unknown);
  std::string text = StrCat(listing.folder, ": ", listing.there.size(), " there before");
  if (listing.earlier_job) text += StrCat("; goes on where ", listing.earlier_job->value, " was");
  return StrCat(text, "; begins with ", Newest(listing.newest));
}

std::string Planned(const KillPlanned& d) {
  const KillRequest& kill = d.request;
  std::string text = StrCat("kill ", d.number, " at ", ToIso8601(kill.due));
  if (!kill.if_owner.value.empty()) text += StrCat(", if the owner is ", kill.if_owner.value);
  if (!kill.if_watcher.value.empty()) text += StrCat(", if the newest watcher is ", kill.if_watcher.value);
  return StrCat(text, ": ", kill.reason);
}

}  // namespace

std::string Describe(const Outcome& outcome) {
  std::string text = DescribeExit(outcome);
  text += StrCat(text.empty() ? "" : ", ", ToString(outcome.cls));
  if (!outcome.message.empty()) text += StrCat(", ", OneLine(outcome.message));
  return text;
}

std::string Describe(const Decision& decision) {
  return OneLine(std::visit(
      Overloaded{
          [](const EpochBegan& d) { return StrCat("epoch ", d.epoch.value); },
          [](const JobAccepted&) { return std::string(); },
          [](const ContainersRequested& d) { return Attempts(d.attempts); },
          [](const ContainerAssigned& d) {
            return StrCat(ToString(d.attempt), " in ", d.container.value, " on ", d.host);
          },
          [](const GangAllocated&) { return std::string(); },
          [](const AttemptLaunched& d) { return ToString(d.attempt); },
          [](const AttemptRegistered& d) { return StrCat(ToString(d.attempt), " at ", ToString(d.endpoint)); },
          [](const GenerationFormed& d) { return StrCat("generation ", d.generation.value); },
          [](const AttemptRan& d) { return StrCat(ToString(d.attempt), " as process ", d.pid); },
          [](const AttemptSuspected& d) { return ToString(d.attempt); },
          [](const AttemptHeard& d) { return ToString(d.attempt); },
          [](const AttemptEnded& d) { return StrCat(ToString(d.attempt), ": ", Describe(d.outcome)); },
          [](const ContainerKillOrdered& d) { return d.container.value; },
          [](const ContainerEnded& d) { return d.container.value; },
          [](const JobStopping& d) {
            return StrCat(ToString(d.verdict.state), ": ", d.verdict.message, "; grace ", Seconds(d.grace));
          },
          [](const StopHurried& d) { return StrCat("grace ", Seconds(d.grace)); },
          [](const JobEnded&) { return std::string(); },
          [](const RestartDecided& d) { return Restart(d); },
          [](const CheckpointSought& d) { return StrCat("restart ", d.restart); },
          [](const CheckpointNoted& d) { return Noted(d); },
          [](const RestartBegan& d) { return Began(d); },
          [](const AttemptStopping& d) {
            return StrCat(ToString(d.attempt), ": ", Describe(d.because), "; grace ", Seconds(d.grace));
          },
          [](const OwnerChanged& d) {
            const Duration timeout = d.claim.watch_timeout;
            return StrCat("owner ", d.claim.owner.value,
                          timeout > Duration(0) ? StrCat("; watch timeout ", Seconds(timeout)) : "");
          },
          [](const WatcherChanged& d) { return StrCat("watcher ", d.watcher.value); },
          [](const KillPlanned& d) { return Planned(d); },
          [](const KillVoided& d) { return StrCat("kill ", d.number, ": ", d.reason); },
          [](const ListingSought&) { return std::string(); },
          [](const CheckpointsListed& d) { return Listed(d.listing); },
          [](const ValuesPublished& d) {
            return StrCat(ToString(d.attempt), ": ",
                          Names(d.values, [](const auto& value) { return StrCat(value.first, "=", value.second); }));
          },
          [](const RoleLeft& d) { return StrCat("role ", d.role, " has outlived group ", d.group); },
          [](const StageOpened& d) { return d.role.empty() ? StrCat("stage ", d.stage) : StrCat("role ", d.role); },
          [](const FailureTolerated& d) { return StrCat(ToString(d.attempt), "; the job goes on: ", d.reason); },
          [](const RoleFinished& d) { return StrCat(d.reason, "; grace ", Seconds(d.grace)); },
      },
      decision.body));
}

std::string EventLine(const Decision& decision, Instant start) {
  const double since = static_cast<double>((decision.time - start).count()) / 1000;
  char head[80];
  std::snprintf(head, sizeof head, "%10.3f  %s  ", since, ToIso8601(decision.time).c_str());
  std::string name(Name(decision));
  const std::string what = Describe(decision);
  if (!what.empty()) name.resize(std::max<size_t>(name.size(), 22), ' ');
  return StrCat(head, name, what.empty() ? "" : "  ", what);
}

}  // namespace tony
