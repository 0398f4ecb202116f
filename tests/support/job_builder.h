// Specs of small jobs, and a driver that plays scheduler, executors and clock for the AM's core. For tests.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "am/core/job.h"
#include "runtime/base/check.h"
#include "runtime/job/job_spec.h"

namespace tony::am {

// Builds a job with the defaults of JobSpec and the added roles.
class JobBuilder {
 public:
  JobBuilder& Role(const std::string& name, int instances, Completion completion = Completion::kTracked);
  // The role waits until `other` has succeeded, or until `other` is ready. Both roles exist.
  JobBuilder& Waits(const std::string& name, const std::string& other,
                    Dependency::Until until = Dependency::Until::kSucceeded);
  JobBuilder& OutlivesRestarts(const std::string& role);  // the gang's restarts
  JobBuilder& Timeout(Duration timeout);
  JobBuilder& RegistrationTimeout(Duration timeout);
  JobBuilder& RegistryTimeout(Duration timeout);
  JobBuilder& AllocationTimeout(Duration timeout);
  JobBuilder& Fcfs();  // tasks start as they register
  JobBuilder& With(const Timers& timers);
  JobBuilder& Framework(FrameworkKind framework);
  // Sets the numbers of the role that was added last; 0 means not set.
  JobBuilder& Completes(int min_succeeded, int min_failed = 0);
  JobBuilder& TonysRule();  // for roles that were added before
  JobBuilder& Restarts(RestartScope level, int most, Duration window = Duration(0));  // limits the user's budget
  // Limits restarts for failures that are not charged to the program.
  JobBuilder& LostRestarts(int most, Duration window = Duration(3'600'000));
  // Every failure fails the job, as in releases without restarts.
  JobBuilder& NoRestarts();
  JobBuilder& Backoff(Duration first, Duration longest);
  // Sets how long a failure that ends the job waits for its judgement; 0 by default here.
  JobBuilder& Settle(Duration time);
  JobBuilder& Checkpoints(const std::string& directory, int most_fruitless = 3);
  // roles sorted by name, like the parser
  JobSpec Build() const;

 private:
  JobSpec spec_ = {.restart = {.settle = Duration(0)}};
};

// The decisions and orders of a step, in words that a test can compare: "attempt_ended"; "launch worker:0#1 in
// c-worker-0", "term c-worker-0", "kill c-worker-0", "tell worker:0#1", "request worker:0#1 worker:1#1", "list" of the
// checkpoint directory, "look 1" for a checkpoint, "end job".
std::vector<std::string> Decisions(const CoreStepResult& turn);
std::vector<std::string> Orders(const Actions& actions);
inline std::vector<std::string> Orders(const CoreStepResult& turn) { return Orders(turn.actions); }

// Returns the first decision of a kind, or null.
template <class Body>
const Body* Find(const std::vector<Decision>& decisions) {
  for (const Decision& decision : decisions) {
    if (const auto* body = std::get_if<Body>(&decision.body)) return body;
  }
  return nullptr;
}
template <class Body>
const Body* Find(const CoreStepResult& turn) {
  return Find<Body>(turn.decisions);
}

Outcome Success();
Outcome Failure(int exit_code);
Outcome Killed();

// The fixed names of an attempt and of its container: "worker:0" is the first attempt -> worker:0#1, c-worker-0,
// node-worker-0, port 4000 + index; "worker:0#2" -> worker:0#2, c-worker-0-2, node-worker-0-2, the same port.
AttemptId AttemptOf(std::string_view task);
ContainerId ContainerOf(std::string_view task);
std::string HostOf(std::string_view task);
Endpoint EndpointOf(std::string_view task);
NamedPorts PortsOf(const JobSpec& spec, std::string_view task);  // from 5000 on, ordered by name

// Passes one observation per call to a Job, at the driver's own time, and keeps the decisions as a journal would. A
// task is named "worker:0", its later attempts "worker:0#2"; later attempts have the container that the journal gave
// them.
class JobDriver {
 public:
  static constexpr Instant kStart = Instant(Duration(1'700'000'000'000));

  explicit JobDriver(JobSpec spec);

  const Job& job() const { return *job_; }
  Job& job() { return *job_; }
  Instant now() const { return now_; }
  const std::vector<Decision>& journal() const { return journal_; }
  JobStatus Status() const { return job_->Snapshot("alice", kStart); }
  TaskStatus StatusOf(std::string_view task) const;
  AttemptState StateOf(std::string_view task) const { return job_->StateOf(AttemptOf(task)); }
  Command CommandFor(std::string_view task) const { return job_->CommandFor(AttemptOf(task)); }
  Caller CallerOf(std::string_view task) const;  // as its executor would sign now
  // Renewed attempts have the container of the attempt before.
  ContainerId ContainerFor(std::string_view task) const;
  // Returns the newest command to its executor: "start 1", "stop", "next 2", "release" or "none".
  std::string Told(std::string_view task) const;

  CoreStepResult Observe(const Observation& observation);
  CoreStepResult Start(Epoch epoch = {1}) { return Observe(AmStarted{epoch, {}, /*turns_may_be_torn=*/true}); }
  CoreStepResult Grant(std::string_view task);
  CoreStepResult ConfirmLaunch(std::string_view task);
  CoreStepResult Register(std::string_view task, Phase phase = Phase::kWaiting, int64_t pid = 0);
  CoreStepResult Await(std::string_view task) { return Observe(AwaitCall{CallerOf(task)}); }
  CoreStepResult Heartbeat(std::string_view task, Phase phase = Phase::kRunning, int64_t pid = 100);
  CoreStepResult Publish(std::string_view task, const PublishedValues& values = {{"ADDRESS", "here:1"}}) {
    return Observe(PublishCall{CallerOf(task), values});
  }
  CoreStepResult Report(std::string_view task, const Outcome& outcome);
  CoreStepResult Exit(std::string_view task, std::optional<Outcome> kept = std::nullopt);  // its container has exited
  CoreStepResult Preempt(std::string_view task, Duration notice);
  CoreStepResult ListCheckpoints(CheckpointListing listing = {}) {
    return Observe(CheckpointsFound{std::move(listing), std::nullopt});
  }
  CoreStepResult SeeCheckpoint(int restart, std::optional<Checkpoint> newest, bool readable = true);
  CoreStepResult Kill(const std::string& reason = "asked", Duration grace = Duration(-1));
  CoreStepResult Reach(const std::vector<ContainerId>& running = {});
  // Advances the clock while the AM renews its lease; the job gets no observation.
  void Wait(Duration time);
  void WaitWithoutRenewal(Duration time) { now_ += time; }
  // Advances the clock, then fires the job's timer.
  CoreStepResult Pass(Duration time);
  // Advances to the job's next deadline, which must exist.
  CoreStepResult PassToDeadline();

  // Moves the newest attempt of every task forward by the shortest way, one step each. Attempts that are further
  // already stay.
  JobDriver& GrantAll();
  JobDriver& RegisterAll();  // also confirms their launches
  JobDriver& RunAll();
  JobDriver& Accepted();   // after AmStarted
  JobDriver& Gathering();  // after all containers were granted
  JobDriver& Running();    // after all tasks run

  // Does what a new AM does before AmStarted: makes a new Job from the first `decisions` of the journal. Later
  // decisions are lost.
  void Replay(size_t decisions);
  void Replay() { Replay(journal_.size()); }

  // Returns each pair of values that `look(driver)` had before and after some decision of the journal.
  template <class Look>
  auto Changes(Look look) const {
    std::set<std::pair<decltype(look(*this)), decltype(look(*this))>> changes;
    JobDriver replayed(spec_);
    for (const Decision& decision : journal_) {
      const auto before = look(replayed);
      CHECK(replayed.job().Evolve(decision).ok());
      changes.emplace(before, look(replayed));
    }
    return changes;
  }

 private:
  void Keep(const Decision& decision);
  std::vector<std::string> Newest() const;  // newest attempts

  const JobSpec spec_;
  std::unique_ptr<Job> job_;
  Instant now_ = kStart;
  std::vector<Decision> journal_;
  Generation generation_;                        // newest one in the journal
  std::map<AttemptId, ContainerId> containers_;  // from the journal
};

}  // namespace tony::am
