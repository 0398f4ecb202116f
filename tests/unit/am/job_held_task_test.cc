// Tests that the container of a failed task is held for a person (JobSpec::hold), while nothing else waits for it.
#include "tests/unit/am/job_script.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

const TestRow kHeldTasks[] = {
    {"AFailedTaskIsHeldWhileItsGangRestarts",
     {{"+gang=1: running, report worker:1 fails 1, report worker:0 killed",
       "attempt_ended restart_began; also request worker:1#2; worker:0 told next 2; worker:1#1 told none"},
      {"all-granted, all-registered, all-run",
       "worker:0#2 worker:1#2 told start 2; state RUNNING; worker:1#1 told none"},
      {"await worker:1#1", "no orders"},
      {"wait 59s, tick", "lacks container_kill_ordered"},
      {"wait 1s, tick", "container_kill_ordered; orders kill c-worker-1"},
      {"exit worker:1#1", "container_ended; state RUNNING"}}},
    {"TheJobEndsAfterTheHoldWithItsVerdict",
     {{"running, report worker:1 fails 1", "verdict user_error; worker:1 told none; worker:0 told stop"},
      {"report worker:0 killed, exit worker:0", "container_ended; state STOPPING"},
      {"wait 60s, tick", "container_kill_ordered; orders kill c-worker-1"},
      {"exit worker:1", "container_ended job_ended; state FAILED"}}},
    {"AnApplicationMasterThatIsReplacedKeepsTheEndOfTheHold",
     {{"running, report worker:1 fails 1, report worker:0 killed, exit worker:0, wait 50s, master 2", "state STOPPING"},
      {"wait 9s, tick", "lacks container_kill_ordered"},
      {"wait 1s, tick", "container_kill_ordered"}}},
    {"AKillEndsTheHoldAtOnce",
     {{"running, report worker:1 fails 1, report worker:0 killed, exit worker:0, kill", "container_kill_ordered"},
      {"exit worker:1", "container_ended job_ended; state FAILED"}}},
    {"AKillOfARunningJobEndsTheHoldOfAnEarlierAttempt",
     {{"+gang=1: running, report worker:1 fails 1, report worker:0 killed, all-granted, all-registered, all-run, kill",
       "job_stopping container_kill_ordered; state STOPPING"}}},
    {"OnlyTheFirstFailedTaskIsHeldAtATime",
     {{"+gang=2 backoff=0s/0s: running, report worker:1 fails 1, report worker:0 killed, all-granted, all-registered, "
       "all-run, report "
       "worker:0#2 fails 1",
       "restart gang charged"},
      {"report worker:1#2 killed", "attempt_ended restart_began gang_allocated; worker:0#2 told next 3"}}},
    {"ATaskWhoseExecutorDiedIsNotHeld",
     {{"+lost=0: running, exit worker:1, report worker:0 killed", "state STOPPING"},
      {"exit worker:0", "container_ended job_ended"}}},
    {"ATaskWithGpusIsNotHeldIfItRestarts",
     {{"job worker*2:gpus=1 pytorch gang=1 keep-failed=60s: running, report worker:1 fails 1, report worker:0 killed",
       "attempt_ended restart_began gang_allocated; worker:0#1 worker:1#1 told next 2"}}},
};
TABLE_TEST(JobHeldTaskTest, kHeldTasks, Script("worker*2 pytorch keep-failed=60s"));

}  // namespace
}  // namespace tony::am
