// First come, first served: tasks that need not know each other start as they register.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kServed[] = {
    {"ATaskStartsAsSoonAsItHasRegistered",
     {{"start", "state RUNNING"},
      {"grant worker:1, register worker:1", "orders tell worker:1#1; worker:1 told start 1"},
      {"heartbeat worker:1", "attempt_ran; worker:0 is requested"}}},
    {"ATaskIsToldOfNobody",
     {{"start, grant worker:1, register worker:1", "worker:1 told start 1; worker:1 knows nobody"}}},
    {"OneMayEndBeforeAnotherHasAContainerAndAllHaveToSucceed",
     {{"start", "state RUNNING"},
      {"grant worker:0, register worker:0, heartbeat worker:0, report worker:0 success", "state RUNNING"},
      {"grant worker:1, register worker:1, heartbeat worker:1, report worker:1 success", "state RUNNING"},
      {"grant worker:2, register worker:2, heartbeat worker:2, report worker:2 success", "verdict SUCCEEDED"}}},
    {"AFailedTaskComesBackAloneAndStartsAtOnce",
     {{"job worker*3 fcfs tensorflow task=1: running, report worker:0 fails 1", "worker:0 told next 2"},
      {"register worker:0#2", "worker:0#2 worker:1 told start 1; generation 1"}}},
    {"ARestartOfTheWholeGangLetsEachStartAsItRegisters",
     {{"+gang=1: running, report worker:0 fails 1", "state RESTARTING"},
      {"report worker:1 worker:2 killed", "state RUNNING"},
      {"register worker:2#2", "worker:2#2 told start 2"}}},
    {"ANewMasterKnowsWhoWasToldToStart",
     {{"start, grant worker:0, register worker:0, grant worker:1, register worker:1, heartbeat worker:1, master 2",
       "worker:0 told start 1; worker:1 is running"},
      {"grant worker:2, register worker:2", "worker:2 told start 1"}}},
    {"ATaskThatHasNotRegisteredInTimeFailsTheJob",
     {{"+registration=10s: start, grant worker:0, pass 10s", "has job_stopping"}}},
};
TABLE_TEST(JobFcfsTest, kServed, Script("worker*3 tensorflow fcfs"));

}  // namespace
}  // namespace tony::am
