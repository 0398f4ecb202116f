// Restarts of a job that declares checkpoints: look first, resume from the newest, and give up where none is new.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kResuming[] = {
    {"ItLooksBeforeTheRestartBegins",
     {{"running, report worker:0 fails 1", "attempt_ended restart_decided checkpoint_sought; orders look 1"},
      {"see 1 5", "checkpoint_noted restart_began gang_allocated"}}},
    {"ARestartedTaskIsToldWhereToResume",
     {{"running", "worker:0 resumes"}, {"resume worker:0 5", "worker:0#2 resumes /ckpt/step-5"}}},
    {"OnlyRestartedTasksResume",
     {{"job worker*2 standalone task=1 checkpoints=3: running, report worker:0 fails 1, see 1 5, register worker:0#2",
       "worker:0#2 resumes /ckpt/step-5; worker:1 resumes"}}},
    {"WithoutAnyCheckpointTheTaskBeginsAnew",
     {{"running, resume worker:0 none", "worker:0#2 told start 2; worker:0#2 resumes"}}},
    {"WhatIsSeenForNobodyOrTwiceChangesNothing",
     {{"running, see 1 1", "nothing"}, {"report worker:0 fails 1, see 1 1, see 1 2", "nothing"}}},
    // Its restart was due by the clock of the AM before, which is ahead.
    {"WhereTheClockIsBehindTheEndIsNotWaitedForButTheRestartIs",
     {{"+checkpoints=1: running, resume worker:0 1, report worker:0#2 fails 1, standstill -500ms, see 2 {5|none}",
       "checkpoint_noted{| job_stopping}"}}},
    {"ADirectoryThatCannotBeReadLeavesTheLastCheckpointInForce",
     {{"running, resume worker:0 5, resume worker:0#2 unreadable", "worker:0#3 resumes /ckpt/step-5"}}},
    {"ALookThatIsNotAnsweredIsNotWaitedForForEver",
     {{"running, resume worker:0 5, report worker:0#2 fails 1, wait 59999ms, pass 0", "nothing; deadline +1ms"},
      {"pass 1ms", "checkpoint_noted restart_began gang_allocated"},
      {"all-up", "worker:0#3 resumes /ckpt/step-5"}}},
    // What it would be told before is not the same any more, though its number is, and is told with the turn that notes it.
    {"WhoHasStillToStartIsToldOfANewerCheckpointThatAnotherRestartHasFound",
     {{"job worker*2 standalone task=9 backoff=0/0 checkpoints=3: running, report worker:0 fails 1, see 1 5, register "
       "worker:0#2, note worker:0#2",
       "worker:0#2 resumes /ckpt/step-5"},
      {"report worker:1 fails 1, see 2 7",
       "also tell worker:0#2; worker:0#2 numbered noted; worker:0#2 resumes /ckpt/step-7"}}},
    {"ItLooksOnlyWhenAllHasEnded",
     {{"job worker*2 pytorch gang=1 checkpoints=3: running, report worker:0 fails 1", "attempt_ended restart_decided"},
      {"report worker:1 killed", "attempt_ended checkpoint_sought"}}},
    // ---- giving up
    {"AfterThreeRestartsWithoutANewerCheckpointTheJobFailsWithThatReason",
     {{"running, resume worker:0 worker:0#2 worker:0#3 5, report worker:0#4 fails 1, see 4 5",
       "checkpoint_noted job_stopping; verdict FAILED of worker:0#4 says `worker:0 failed on node-worker-0: exit code "
       "1 (user_error); 3 restarts without a newer checkpoint than /ckpt/step-5`; worker:0#4 told release"}}},
    {"AJobThatNeverLeavesACheckpointIsGivenUpToo",
     {{"running, resume worker:0 worker:0#2 worker:0#3 none, report worker:0#4 fails 1, see 4 none",
       "verdict says `~3 restarts without a newer checkpoint in /ckpt`"}}},
    {"ANewerCheckpointBeginsTheCountAnew",
     {{"running, resume worker:0 worker:0#2 worker:0#3 5, resume worker:0#4 worker:0#5 worker:0#6 6", "verdict none"},
      {"report worker:0#7 fails 1, see 7 6", "verdict any"}}},
    {"WhatIsNotKnownIsNotHeldAgainstTheProgram",
     {{"running, resume worker:0 5, resume worker:0#2 worker:0#3 worker:0#4 worker:0#5 worker:0#6 unreadable",
       "verdict none"},
      {"resume worker:0#7 worker:0#8 5", "verdict none"},
      {"report worker:0#9 fails 1, see 9 5", "verdict any"}}},
    {"TheSameOrAnOlderOneIsNoProgressNorIsNoneAtAll",
     {{"+checkpoints=1: running, resume worker:0 5, report worker:0#2 fails 1, see 2 {5|50 4|none}", "verdict any"}}},
    // A program that names its checkpoints by a metric that falls.
    {"OneThatWasWrittenLaterIsProgressWhateverItsNumber",
     {{"+checkpoints=1: running, resume worker:0 5, resume worker:0#2 4 3600004", "verdict none"}}},
    {"AnotherNumberOfFruitlessRestartsMayBeDeclared",
     {{"+checkpoints=1: running, resume worker:0 5, report worker:0#2 fails 1, see 2 5",
       "verdict says `~1 restart without a newer checkpoint`"}}},
    {"FreeRestartsCountToo",
     {{"+lost=9: running, exit worker:0, see 1 5, all-up, exit worker:0#2, see 2 5, all-up, exit worker:0#3, see 3 5, "
       "all-up",
       "verdict none"},
      {"exit worker:0#4, see 4 5", "verdict any"}}},
    // ---- sidecars
    {"ASidecarsRestartDoesNotCount",
     {{"+board*1:sidecar task=20 checkpoints=1: running, end board:0 fails 1, see 1 5, all-up, end board:0#2 fails 1, "
       "see 2 5, all-up",
       "verdict none"},
      {"end board:0#3 fails 1, see 3 5, all-up, end board:0#4 fails 1, see 4 5", "verdict none"}}},
    {"ASidecarsLookDoesNotHideProgress",
     {{"+board*1:sidecar task=20 checkpoints=1: running, report worker:0 fails 1, report board:0 killed, see 1 1, "
       "all-up",
       "verdict none"},
      {"end board:0#2 fails 1, see 2 5, all-up, report worker:0#2 fails 1, report board:0#3 killed, see 3 5",
       "verdict none"}}},
    // ---- another master
    {"ANewMasterLooksAgain",
     {{"running, report worker:0 fails 1, master 2", "orders look 1"},
      {"see 1 5", "checkpoint_noted restart_began gang_allocated"}}},
    {"ANewMasterGivesTheLookItsFullTimeAgain",
     {{"running, report worker:0 fails 1, standstill 120s, master 2", "epoch_began"}}},
    {"ANewMasterKnowsHowOftenItWasInVain",
     {{"running, resume worker:0 worker:0#2 worker:0#3 5, master 2", "worker:0#4 resumes /ckpt/step-5"},
      {"report worker:0#4 fails 1, see 4 5", "verdict any"}}},
};
TABLE_TEST(JobCheckpointTest, kResuming, Script("worker*1 pytorch gang=20 backoff=0/0 registration=1h checkpoints=3"));

}  // namespace
}  // namespace tony::am
