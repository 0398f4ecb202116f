// What a task publishes reaches the AM once, whatever becomes of it.
#include <gtest/gtest.h>

#include "tests/unit/executor/task_run_driver.h"

namespace tony::executor {
namespace {

const PublishedValues kAddress{{"ADDRESS", "here:1"}};
const PublishedValues kBoth{{"ADDRESS", "here:1"}, {"TOKEN", "t"}};

TEST(TaskRunPublishTest, AValueIsSentAsItIsSeenAndOnce) {
  TaskRunDriver task;
  task.RunTask();
  task.Give(ValuesSeen{kAddress});
  ASSERT_EQ(task.Count<SendValues>(), 1);
  EXPECT_EQ(task.Last<SendValues>().values, kAddress);
  EXPECT_EQ(task.Last<SendValues>().caller.generation, Generation{1});
  task.Give(ValuesSeen{kAddress});
  task.Give(ValuesAcknowledged{task.link});
  task.Give(ValuesAcknowledged{task.link});
  task.Give(ValuesSeen{kAddress});
  EXPECT_EQ(task.Count<SendValues>(), 1);
}

TEST(TaskRunPublishTest, WhatComesWhileACallIsOpenIsSentAfterIt) {
  TaskRunDriver task;
  task.RunTask();
  task.Give(ValuesSeen{kAddress});
  task.Give(ValuesSeen{kBoth});
  EXPECT_EQ(task.Count<SendValues>(), 1);
  task.Give(ValuesAcknowledged{task.link});
  EXPECT_EQ(task.Last<SendValues>().values, kBoth);
  task.Give(ValuesAcknowledged{task.link});
  EXPECT_EQ(task.Count<SendValues>(), 2);
}

TEST(TaskRunPublishTest, TheFirstValueOfANameIsKept) {
  TaskRunDriver task;
  task.RunTask();
  task.Give(ValuesSeen{kAddress});
  task.Give(ValuesAcknowledged{task.link});
  task.Give(ValuesSeen{{{"ADDRESS", "there:2"}, {"TOKEN", "t"}}});
  EXPECT_EQ(task.Last<SendValues>().values, kBoth);
}

TEST(TaskRunPublishTest, WhatNoAmHasAcknowledgedIsToldToTheNext) {
  TaskRunDriver task;
  task.RunTask();
  task.Give(ValuesSeen{kAddress});
  task.LoseAm();
  task.actions.clear();
  task.Register(2);
  EXPECT_EQ(task.Last<SendValues>().values, kAddress);
  EXPECT_EQ(task.Last<SendValues>().caller.epoch, Epoch{2});
  task.Give(ValuesAcknowledged{task.link});
  task.LoseAm();
  task.actions.clear();
  task.Register(3);
  EXPECT_EQ(task.Count<SendValues>(), 0) << "the second has it in the journal";
}

TEST(TaskRunPublishTest, AnAnswerOfAnAmThatWasLostAcknowledgesNothing) {
  TaskRunDriver task;
  task.RunTask();
  task.Give(ValuesSeen{kAddress});
  const int64_t lost = task.link;
  task.LoseAm();
  task.Register(2);
  task.Give(ValuesAcknowledged{lost});
  task.LoseAm();
  task.actions.clear();
  task.Register(3);
  EXPECT_EQ(task.Count<SendValues>(), 1);
}

TEST(TaskRunPublishTest, WhatIsSeenWithoutAnAmIsSentOnceThereIsOne) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  task.Give(ValuesSeen{kAddress});
  EXPECT_EQ(task.Count<SendValues>(), 0);
  task.Register(2);
  EXPECT_EQ(task.Count<SendValues>(), 1);
}

// An AM that knows of the end takes no values any more, and may be the next one.
TEST(TaskRunPublishTest, TheOutcomeIsReportedAfterTheValues) {
  TaskRunDriver task;
  task.RunTask();
  task.Give(ValuesSeen{kAddress});
  task.Exit(ExitCode(0));
  task.Give(TreeGone{});
  EXPECT_EQ(task.run.state(), State::kEnded);
  EXPECT_EQ(task.Count<SendOutcome>(), 0);
  task.LoseAm();
  task.actions.clear();
  task.Register(2);
  EXPECT_EQ(task.Count<SendValues>(), 1);
  EXPECT_EQ(task.Count<SendOutcome>(), 0);
  task.Give(ValuesAcknowledged{task.link});
  EXPECT_EQ(task.Count<SendOutcome>(), 1);
}

TEST(TaskRunPublishTest, AnExecutorThatHasToLeaveDoesNotWaitForItsValues) {
  TaskRunDriver task;
  task.RunTask();
  task.Give(ValuesSeen{kAddress});
  task.Give(TermSignal{});
  task.Exit(KilledBy(SIGTERM));
  task.Give(TreeGone{});
  task.Pass(std::chrono::seconds{2});
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftTerminated);
}

TEST(TaskRunPublishTest, TheNextAttemptHasPublishedNothing) {
  TaskRunDriver task;
  task.RunTask();
  task.Give(ValuesSeen{kAddress});
  task.Give(ValuesAcknowledged{task.link});
  task.Exit(ExitCode(3));
  task.Give(TreeGone{});
  task.Give(OutcomeAcknowledged{task.link});
  task.Next(3);
  task.Give(ValuesSeen{kAddress});
  task.Give(Registered{task.link, {1}});
  EXPECT_EQ(task.Count<SendValues>(), 1) << "nothing runs yet that could have published";
  task.Start();
  task.Give(ProcessStarted{4243});
  task.Give(ValuesSeen{kAddress});
  EXPECT_EQ(task.Count<SendValues>(), 2);
  EXPECT_EQ(task.Last<SendValues>().caller.attempt.number, 3);
}

}  // namespace
}  // namespace tony::executor
