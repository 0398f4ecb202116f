// One incarnation of the AM: the real Job in a simulated shell, which may crash between any two of its steps. The shell
// does what am/application_master.cc and am/journal.cc do.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "am/job.h"
#include "tests/sim/crash_plan.h"
#include "tests/sim/network.h"

namespace tony::sim {

class SimulatedKeeper;

// Ways to get the shell wrong: the checker must find every one.
enum class Flaw {
  kNone,
  kActsBeforeJournal,   // answers and acts, then writes
  kForgetsJournal,      // a new AM begins from nothing
  kKeepsTornTail,       // appends behind half a record
  kTellsAhead,          // answers an Await from a state that is not in the journal yet
  kForgetsKill,         // a new AM does not read the kill request
  kRenewsWithoutRule,   // renews the lease record while its arbiter cannot be reached
  kSkipsPendingOrders,  // a new AM does not order again what its predecessor may not have got done
};

Endpoint AddressOf(Epoch epoch);
Epoch EpochAt(const Endpoint& am);

class SimulatedAm : public AnsweringEnd {
 public:
  SimulatedAm(Stage& stage, Network& network, SimulatedKeeper& keeper, CrashPlan& crashes, Epoch epoch, Flaw flaw);

  void Begin();
  void Die();  // also the end of a clean exit
  void Freeze(Duration length);
  void LoseKeeper(Duration length);
  void FolderChanged();
  void OnScheduler(SchedulerEvent event);
  bool alive() const { return alive_; }
  Epoch epoch() const { return epoch_; }

  void Asked(const CallId& call, const Question& question) override;
  void Abandoned(int64_t connection) override;

 private:
  using Done = std::function<void(const std::optional<Refusal>&, const Command&)>;
  // A turn's place in the queue for the journal. The command is the attempt's as this turn left it.
  struct Pending {
    std::string bytes;
    am::Actions actions;
    std::vector<Command> commands;  // one for each action; that of a TellExecutor
    std::optional<Refusal> refusal;
    Command command;  // of the attempt that called
    Done done;
  };
  struct Parked {
    CallId call;
    int64_t since;
  };

  void Later(Duration delay, std::function<void()> what);  // if still alive, when no longer frozen
  bool Survives();
  bool OpenJournal();
  bool Write(const std::string& bytes);
  void Observe(const am::Observation& observation, const AttemptId& caller = {}, Done done = nullptr);
  void WriteQueue();
  void Written(const std::vector<Pending>& batch);
  void Finish(const Pending& turn);
  void Perform(const am::Action& action, const Command& command);
  void Answer(const CallId& call, const AttemptId& attempt, const Command& command);
  void Park(const CallId& call, int64_t since, const AttemptId& attempt, const Command& command);
  void AnswerAwait(const AttemptId& attempt, const Command& command);
  void AskJob(const CallId& call, const Question& question);
  void WriteLease();
  void Renew();
  void RenewLease();
  void ReadKillRequest();
  void ArmTimer();

  Stage& stage_;
  Network& network_;
  SimulatedKeeper& keeper_;
  CrashPlan& crashes_;
  Random random_;
  const Epoch epoch_;
  const Flaw flaw_;
  am::Job job_;
  bool alive_ = true;
  bool ruling_ = true;
  int64_t losses_ = 0;  // of the keeper
  Instant thaws_at_;
  bool writing_ = false;
  std::vector<Pending> queue_;
  std::map<AttemptId, Parked> awaits_;
  int64_t renewal_ = 0;
  int64_t timer_ = 0;
};

}  // namespace tony::sim
