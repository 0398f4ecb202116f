// The outputs that a chief reports with its outcome become a record of the job.
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/records/kept_outputs.h"
#include "tests/support/run_until.h"
#include "tests/unit/am/master_test.h"

namespace tony::am {
namespace {

class MasterOutputsTest : public ApplicationMasterTest {
 protected:
  MasterOutputsTest() : ApplicationMasterTest(JobBuilder().Role("chief", 1).Role("worker", 1).Build()) {
    for (const char* task : {"chief:0", "worker:0"}) {
      Grant(task);
      Register(task);
    }
    journal_.WriteAll();
  }
  std::shared_ptr<Answered<std::monostate>> ReportWith(std::string_view task, const Outcome& outcome,
                                                       const std::string& text) {
    auto answer = std::make_shared<Answered<std::monostate>>();
    master_.ReportOutcome(CallerOf(task), {outcome, KeptOutputs{.text = text}}, Reply<std::monostate>(answer));
    return answer;
  }
  std::string Recorded() const {
    const auto read = ReadJobOutputs(records_);
    EXPECT_TRUE(read.ok());
    return *read ? ToString((*read)->attempt) + " " + (*read)->outputs.text : "nothing";
  }

  const Outcome success_{.exit = ExitStatus{}};
};

TEST_F(MasterOutputsTest, OutputsAreWrittenBeforeTheOutcomeIsJournalled) {
  std::string seen;
  journal_.on_append = [&] { seen = Recorded(); };
  ReportWith("chief:0", success_, "{\"loss\":1}");
  EXPECT_EQ(seen, "chief:0#1 {\"loss\":1}");
}

TEST_F(MasterOutputsTest, OnlyOutputsOfASuccessfulChiefAreRecorded) {
  ReportWith("worker:0", success_, "{}");
  EXPECT_EQ(Recorded(), "nothing") << "not the chief";
  ReportWith("chief:0", Failure(3), "{}");
  EXPECT_EQ(Recorded(), "nothing") << "it failed";
}

TEST_F(MasterOutputsTest, AnEndedAttemptCannotChangeTheOutputs) {
  ReportWith("chief:0", success_, "{\"first\":1}");
  journal_.WriteAll();
  ReportWith("chief:0", success_, "{\"second\":1}");
  EXPECT_EQ(Recorded(), "chief:0#1 {\"first\":1}");
}

TEST_F(MasterOutputsTest, AnOutcomeIsAcceptedEvenIfItsOutputsCannotBeWritten) {
  std::filesystem::create_directory(records_.place() / "outputs");
  const auto answer = ReportWith("chief:0", success_, "{}");
  journal_.WriteAll();
  EXPECT_TRUE(RunUntil(loop_, [&] { return answer->value.has_value(); }));
}

}  // namespace
}  // namespace tony::am
