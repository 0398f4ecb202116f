// The report of a failed job: the first cause in full.
#include "tests/e2e/script.h"

namespace tony {
namespace {

const TestRow kFailures[] = {
    {"AnExitCodeIsReportedWithTheLastLinesOfStandardError",
     {{"one `echo context; echo cannot open the data >&2; exit 3`",
       "1 && out~FAILED && out~first cause: worker:0 failed on 127.0.0.1: exit code 3 && out~cannot open the data && "
       "out~tony logs %J worker:0#1"},
      {"left", ""}}},
    {"ATaskKilledByASignalIsReportedWithTheSignalAndNoExitCode",
     {{"one `kill -SEGV $$` --json", "1 && /verdict/state=FAILED && /verdict/signal=11 && /verdict/exit_code=null"},
      {"left", ""}}},
    {"ExitCode137IsReportedAsAnExitCodeAndNotAsASignal",
     {{"one `exit 137` --json", "1 && /verdict/state=FAILED && /verdict/exit_code=137 && /verdict/signal=null"}}},
    {"AFailureRuleForAnExitCodeSetsTheVerdictClass",
     {{"one `exit 17` `tony.failure.exit.17=user_config, no license for this user` --json",
       "1 && verdict=user_config && /verdict/message~exit code 17: no license for this user (user_config)"},
      {"explain-exit 17 --job %J", "out~\nno license for this user\n"}}},
    {"AnErrorFileOfTheTaskSetsClassAndMessageOfTheVerdict",
     {{"one `echo '{\"class\":\"oom\",\"message\":\"batch too large\"}' > $TONY_ERROR_FILE; exit 1` --json",
       "1 && verdict=oom && /verdict/message~exit code 1: batch too large (oom)"}}},
    // The failing task waits until the other tasks run, so that they have to be stopped.
    {"AFailedTrackedTaskFailsTheJobAndStopsTheOtherTasks",
     {{"workers 3 `if [ $TASK_INDEX = 1 ]; then until [ -e %B/running-worker-0 ] && [ -e %B/running-worker-2 ]; "
       "do sleep 0.02; done; echo gone wrong >&2; exit 4; fi; %H` --json",
       "1 && /verdict/state=FAILED && /verdict/task=worker:1 && /verdict/exit_code=4 && "
       "/verdict/stderr_tail~gone wrong"},
      {"left", ""}}},
    {"AJobWhoseProgramIsMissingFailsAsAConfigurationError",
     {{"one `/no/such/program --now` --json",
       "1 && verdict=user_config && /verdict/exit_code=127 && /verdict/stderr_tail~/no/such/program"}}},
    {"AJobWhoseProgramIsNotExecutableFailsAsAConfigurationError",
     {{"write plain.txt `no program`", ""},
      {"one %B/plain.txt --json",
       "1 && verdict=user_config && /verdict/exit_code=126 && /verdict/stderr_tail~%B/plain.txt"}}},
};
TABLE_TEST(FailureTest, kFailures, RunScript);

}  // namespace
}  // namespace tony
