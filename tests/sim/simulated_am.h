// An incarnation of the AM: the real Job in a simulated shell, which may crash between any two of its steps. The shell
// does what am/application_master*.cc and am/journal.cc do.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "am/core/job.h"
#include "tests/sim/network.h"
#include "tests/sim/plan.h"
#include "tests/sim/simulated_scheduler.h"
#include "tests/sim/stage.h"

namespace tony::sim {

Address AddressOf(Epoch epoch);
Epoch EpochAt(const Address& am);

class SimulatedAm : public AnsweringEnd {
 public:
  SimulatedAm(Stage& stage, Network& network, SimulatedKeeper& keeper, CrashPlan& crashes, Epoch epoch, Flaw flaw);

  void Begin();
  // Ends the process, by a crash or by a clean exit.
  void Die();
  void Freeze(Duration length);
  // The AM does not reach the store of its job for this time.
  void CutStore(Duration length);
  bool alive() const { return alive_; }
  Epoch epoch() const { return epoch_; }

  // ---- requests of engines; an AM that is not leader does not answer
  void Attach(const Claim& claim, std::function<void()> answered);
  void Look(const WatcherToken& watcher, std::function<void()> answered);

  // ---- calls of its scheduler
  void OnScheduler(const SchedulerEvent& event);
  std::optional<AttemptId> AttemptIn(const ContainerId& container) const { return job_.AttemptIn(container); }
  void OnFinished() { Die(); }
  Instant Now() const { return clock_.At(stage_.time.now()); }
  // Runs `what` after `delay`, and not before the freeze ends, if this AM still lives.
  void Later(Duration delay, std::function<void()> what);

  void Asked(const CallId& call, const Question& question) override;
  void Abandoned(int64_t connection) override;

 private:
  using Done = std::function<void(const std::optional<Refusal>&)>;
  struct Turn {
    am::Actions actions;
    std::optional<Refusal> refusal;
    Done done;
    std::string bytes;  // the encoded decisions
  };
  struct Parked {
    CallId call;
    int64_t since;
  };

  bool Survives();

  // ---- simulated_am_journal.cc
  bool OpenJournal();
  std::optional<Refusal> Observe(const am::Observation& observation, Done done = nullptr);
  void WriteQueue();
  void WriteBatch(size_t turns, Duration pause);
  bool DiskTakes(const std::string& bytes);
  bool DoesWithoutDisk();
  bool Write(const std::string& bytes);
  void Finish(const Turn& turn);
  void OnTrouble(bool trouble);
  bool IsUrgent(const am::Action& action) const;
  void PerformUrgentActions(const Turn& turn);
  template <class Match>
  bool Waits(Match match) const;

  void Perform(const am::Action& action);
  void Tell(const am::SendCommand& order);
  void List();
  void Look(int restart);
  bool LookFails();
  bool MayResumeFrom(const Checkpoint& there) const;
  void End();
  void Ask(const CallId& call, const Question& question);
  void AskInTrouble(const CallId& call, const AwaitQuestion& question);
  Done AnswerWith(const CallId& call, const Reply& success);
  void Park(const CallId& call, const AttemptId& attempt, int64_t since);
  void Answer(const CallId& call, const AttemptId& attempt, const Command& command);
  bool WriteLease();
  void Renew();
  void SetClock(std::optional<Instant> newest_decision);
  void RenewLease();
  void RenewLater(Duration delay);
  void LookForKillRequest();
  void LookForSeal();
  bool LeavesBecauseSealed();
  void ReadKillRequest();
  void ReadConditionalKills();
  void ArmTimer();
  void OnDeadline(int64_t timer);
  bool Rules() const { return (ruling_ && scheduler_.LeaseHolds()) || flaw_ == Flaw::kAnswersWithoutRule; }
  bool ReachesStore() const { return stage_.time.now() >= store_back_; }

  Stage& stage_;
  Network& network_;
  CrashPlan& crashes_;
  Random random_;
  const Epoch epoch_;
  const Flaw flaw_;
  OwnClock clock_;
  SimulatedScheduler scheduler_;
  am::Job job_;
  bool alive_ = true;
  bool ruling_ = true;
  // The AM runs degraded because the journal cannot be written.
  bool trouble_ = false;
  // The lease record has been written once.
  bool published_ = false;
  Instant thaws_at_{}, store_back_{};
  // The intact length of the journal; bytes behind it must be cut off.
  size_t whole_ = 0;
  // A sync of the journal file has failed.
  bool spoiled_ = false;
  // The store has completed the write that is waiting, and has answered with an error.
  bool unanswered_ = false;
  bool writing_ = false;
  std::optional<Instant> ends_in_trouble_since_;
  std::deque<Turn> waiting_;  // waiting for the journal
  std::map<AttemptId, Parked> awaits_;
  int64_t renewal_ = 0;
  int64_t renewals_asked_ = 0;
  int64_t timer_ = 0;
  // Conditional kill requests that are being decided.
  std::set<int> reading_kills_;
};

}  // namespace tony::sim
