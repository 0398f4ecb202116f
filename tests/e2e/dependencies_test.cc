// Roles that wait for each other, with real processes: TonY's stages, arbitrary orders, readiness, groups that other
// roles may not outlive, and the preprocessing task.
#include <regex>

#include "tests/e2e/script.h"

namespace tony {
namespace {

// %Rdata stands for the keys of a role "data" of one task with the least memory. Each task runs the script that the
// test's folder has; %S stands for the beginning of that submit.
const TestRow kDependencies[] = {
    {"TheTrainingStageStartsAfterThePrepareStageHasSucceeded",
     {{"write task.sh `case $JOB_NAME in dbloader) sleep 0.1; echo 42 > data ;; db) while :; do sleep 0.05; done ;; "
       "worker) "
       "echo \"read $(cat data), $CLUSTER_SPEC\" ;; esac`",
       ""},
      {"%S %Rdb %Rdbloader %Rworker tony.application.prepare-stage=dbloader,db tony.application.training-stage=worker "
       "tony.application.untracked.jobtypes=db",
       "err~worker waits for dbloader"},
      {"log worker-0 stdout", "~read 42 && ~\"db\":[\"127.0.0.1: && !dbloader"},
      {"left", ""}}},
    {"ADependentRoleStartsAfterItsDependencyEvenIfTheMasterIsRestarted",
     {{"write task.sh `%H`", ""},
      {"& %S %Rdata %Rworker tony.worker.depends-on=data", ""},
      {"until file running-data-0", "~\n"},
      {"status %J --json", "/tasks/1/waits_for=data && /tasks/1/state=waiting"},
      {"status %J", "out~waits for data"},
      {"signal KILL tony-am", ""},
      {"go", ""},
      {"end", ""},
      {"exists running-worker-0", ""},
      {"missing home/jobs/%J/logs/data-0/2", ""},
      {"left", ""}}},
    {"AFailedRoleFailsTheJobAndDependentRolesAreNotStarted",
     {{"write task.sh `[ $JOB_NAME = data ] && exit 3; touch trained`", ""},
      {"%S %Rdata %Rworker tony.worker.depends-on=data", "1 && err~data:0 failed"},
      {"missing trained", ""},
      {"left", ""}}},
    {"AGangRestartDoesNotRerunTheFinishedPrepareStage",
     {{"write task.sh `echo $JOB_NAME >> ran; [ $JOB_NAME$TONY_ATTEMPT != worker1 ] || exit 3`", ""},
      {"%S %Rdata %Rworker tony.application.prepare-stage=data tony.restart.gang.budget=1", ""},
      {"file ran", "out=data\nworker\nworker\n"}}},
    {"AJobKilledDuringItsFirstStageDoesNotStartTheNextStage",
     {{"write task.sh `%H`", ""},
      {"& %S %Rdata %Rworker tony.worker.depends-on=data", ""},
      {"until file running-data-0", "~\n"},
      {"kill %J", ""},
      {"end", "1"},
      {"missing running-worker-0", ""},
      {"left", ""}}},
    {"AJobWhoseRolesRunInSuccessionReservesOnlyTheMemoryOfTheLargestRole",
     {{"machine {\"memory_mb\":1000}", ""},
      {"submit -executes true tony.data.instances=1 tony.data.memory=800m tony.worker.instances=1 "
       "tony.worker.memory=900m "
       "tony.worker.depends-on=data",
       ""}}},
    {"ACycleOfRoleDependenciesIsRefusedAndNamed",
     {{"%S %Ra %Rb tony.a.depends-on=b tony.b.depends-on=a", "65 && err~roles wait for each other: a -> b -> a"},
      {"jobs 0", ""}}},
    {"ThePlanCommandShowsTheOrderInWhichRolesStart",
     {{"plan -executes true %Rdata %Rhead %Rworker tony.worker.depends-on=data,head:ready",
       "err~order: worker starts after data, head (ready)"}}},
    // The same order as in ray-on-tony: the head runs until the last worker is done, and its address is in
    // CLUSTER_SPEC.
    {"WorkersStartOnceTheHeadRoleHasPublishedReady",
     {{"write task.sh `case $JOB_NAME in head) sleep 0.2; touch listens; echo \"$CLUSTER_SPEC\" > head-spec; echo "
       "READY=here:1 >> \"$TONY_PUBLISH_FILE\"; until [ -e done ]; do sleep 0.02; done ;; worker) [ -e listens ] || "
       "exit 7; "
       "echo \"$TONY_READY_HEAD $CLUSTER_SPEC\" > seen; touch done ;; esac`",
       ""},
      {"%S %Rhead %Rworker tony.worker.depends-on=head:ready tony.application.distributed-mode=GANG", ""},
      {"file seen", "~here:1 && ~\"head\":[\"127.0.0.1:"},
      {"file head-spec", "~\"head\":[\"127.0.0.1:"},
      {"remove done", ""},
      {"remove listens", ""},
      {"remove seen", ""},
      {"%S %Rhead %Rworker tony.worker.depends-on=head:ready tony.application.distributed-mode=FCFS", ""},
      {"file seen", "~here:1 && ~\"head\":[\"127.0.0.1:"},
      {"file head-spec", "~\"head\":[\"127.0.0.1:"}}},
    {"ModelParametersPrintedByThePreprocessTaskReachEveryOtherTask",
     {{"write task.sh `if [ \"$PREPROCESSING_JOB\" = true ]; then echo once >> preprocessed; echo 'log: Model "
       "parameters: "
       "{\"depth\": 3, \"rate\": 0.1}'; echo 'Model parameters: never mind'; else echo \"[$MODEL_PARAMS] of "
       "$TASK_NUM\"; "
       "fi`",
       ""},
      {"%S %Rchief %Rworker tony.application.enable-preprocess=true tony.am.memory=150m", ""},
      {"file preprocessed", "out=once\n"},
      {"log chief-0 stdout", "out=[{\"depth\": 3, \"rate\": 0.1}] of 2\n"},
      {"log worker-0 stdout", "out=[{\"depth\": 3, \"rate\": 0.1}] of 2\n"},
      {"left", ""}}},
    {"AFailedPreprocessTaskFailsTheJob",
     {{"write task.sh `[ -z \"$PREPROCESSING_JOB\" ] || exit 5; touch trained`", ""},
      {"%S %Rworker tony.application.enable-preprocess=true tony.am.memory=150m",
       "1 && err~preprocess:0 failed && err~exit code 5"},
      {"write task.sh `[ -z \"$PREPROCESSING_JOB\" ] || printf 'Model parameters: %040000d\\n' 1`", ""},
      {"%S %Rworker tony.application.enable-preprocess=true tony.am.memory=150m",
       "1 && err~cannot be passed to other tasks in MODEL_PARAMS"},
      {"missing trained", ""}}},
};
TABLE_TEST(DependenciesTest, kDependencies, [](TestRow row) {
  const std::string memory = LittleMemory().substr(11);
  for (RowCase& step : row.cases) {
    step.given = std::regex_replace(step.given, std::regex("%R(\\w+)"), "tony.$1.instances=1 tony.$1" + memory);
  }
  RunScriptWith({{"%S", "submit -executes `cd %B; bash task.sh`"}}, row);
});

}  // namespace
}  // namespace tony
