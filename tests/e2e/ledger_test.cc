// Jobs that share the ledger (the queue) of one machine.
#include "tests/e2e/script.h"

namespace tony {
namespace {

const TestRow kLedger[] = {
    {"TheErrorForATooLargeMemoryRequestShowsTheRequestedMemoryAndTheMachinesMemory",
     {{"workers 3 true tony.worker.memory=500m",
       "65 && refused && err=tony: the job requests 1500 MB of memory (3 tasks: worker 3 x 500 MB), and this machine "
       "has 1000 "
       "MB; lower tony.worker.memory or tony.worker.instances\n"}}},
    {"AJobThatRequestsMoreGpusThanTheMachineHasIsRefused",
     {{"one true tony.worker.memory=1m tony.worker.gpus=3",
       "65 && err~requests 3 GPUs (1 task: worker 1 x 3), and this machine has 2; lower tony.worker.gpus"}}},
    {"ThePlanCommandWarnsAboutAMemoryRequestThatASubmitWouldRefuse",
     {{"plan -executes true tony.worker.instances=3 tony.worker.memory=500m",
       "err~tony: warning: the job requests 1500 MB of memory"}}},
    {"TheQueueListsRunningAndWaitingJobsAndTheReasonForWaiting",
     {{"& one `%H` tony.worker.memory=600m", ""},
      {"running 1", ""},
      {"& one true tony.worker.memory=600m", ""},
      {"until list --queue --json", "/jobs/1/state=waiting"},
      {"list --queue --json",
       "/ledger=%B/ledger && /private=false && /machine/memory_mb=1000 && /free/memory_mb=400 && /jobs/0/state=running "
       "&& "
       "/jobs/1/position=2 && /jobs/1/memory_mb=600 && "
       "/jobs/1/why=waits for 600 MB of memory: 400 of 1000 MB are free && /jobs/2=null"},
      {"list --queue", "out~400 of 1000 MB of memory && out~running && out~waits for 600 MB"},
      {"list", "out~  QUEUE   && out~ 1 of 1  "},
      {"go", ""},
      {"end 0", ""},
      {"end 1", ""}}},
    {"TheListOfAnEmptyQueueShowsTheFreeMemoryAndGpus",
     {{"list --queue", "out=1000 of 1000 MB of memory and 2 of 2 GPUs are free\nno jobs\n"}}},
    {"ARelativeLedgerPathIsRefused",
     {{"TONY_LEDGER=here one true", "65 && err~TONY_LEDGER=here: expected an absolute path"}}},
    {"TheSubmitErrorNamesALedgerFolderThatCannotBeCreated",
     {{"TONY_LEDGER=/proc/no/ledger one true", "73 && err~/proc/no"}, {"jobs 0", ""}}},
    {"AMalformedMachineFileIsReportedAndIgnored",
     {{"machine {", ""}, {"one true %M", "err~machine.json is ignored: "}}},
    {"TheErrorForARefusedMemoryRequestMentionsTheIgnoredMachineFile",
     {{"machine {", ""}, {"one true tony.worker.memory=100000g", "65 && err~machine.json is ignored: "}}},
    // The doctor changes nothing: home/jobs stays missing.
    {"TheDoctorCommandReportsAUsableMachineAsHealthy",
     {{"doctor --json",
       "/healthy=true && !\"health\":\"fail\" && /checks/0/name=home && /checks/1/name=old jobs && "
       "/checks/2/name=ledger && "
       "/checks/3/name=machine && /checks/4/name=queue && /checks/5/name=defaults && /checks/6/name=memory limits && "
       "/checks/7/name=open files && /checks/8/name=processes && /checks/9/name=inotify && /checks/10/name=programs && "
       "/checks/11/name=service && /checks/12=null"},
      {"missing home/jobs", ""}}},
    {"TheDoctorCommandWarnsIfATaskWithDefaultMemoryDoesNotFitTheMachine",
     {{"doctor",
       "out~warn  defaults: a task requests 2048 MB by default; 0 fit here && "
       "out~-> state what a task needs: -conf tony.worker.memory=512m"}}},
    {"TheDoctorCommandFailsOnAnUnusableHomeOrARelativeLedgerPath",
     {{"write file", ""},
      {"TONY_HOME=%B/file/home doctor", "1 && out~fail  home: %B/file && out~-> set TONY_HOME"},
      {"TONY_LEDGER=relative doctor", "1 && out~fail  ledger: TONY_LEDGER=relative"}}},
};
TABLE_TEST(LedgerTest, kLedger, [](TestRow row) {
  row.cases.insert(row.cases.begin(), {"machine {\"memory_mb\":1000,\"gpus\":[0,1]}", ""});
  RunScript(row);
});

class LedgerTurnsTest : public TonyTest {
 protected:
  LedgerTurnsTest() { box_.SetMachine(R"({"memory_mb":1000})"); }
  Words Sixty(const std::string& command) const { return One(command, {"tony.worker.memory=600m"}); }
  value Queue() const { return Json({"list", "--queue"}); }
};

TEST_F(LedgerTurnsTest, JobsWhoseProcessesWereAllKilledFreeTheirMemoryForTheNextJob) {
  auto first = Hold(Sixty(HoldUntilGo()));
  auto second = box_.StartTony(Sixty("true"));
  ASSERT_TRUE(WaitFor([&] { return Text(Queue(), "/jobs/1/state") == "waiting"; }));
  ASSERT_TRUE(WaitFor([&] {
    const std::vector<Process> left = box_.Processes();
    for (const Process& process : left) kill(process.pid, SIGKILL);
    return left.empty();
  }));
  EXPECT_EQ(Queue().at("jobs").as_array().size(), 0u);
  EXPECT_GE(Queue().at("dead").as_int64(), 1);
  Succeeds(One("true", {"tony.worker.memory=1000m"}));
  EXPECT_EQ(Queue().at("dead").as_int64(), 0);
}

}  // namespace
}  // namespace tony
