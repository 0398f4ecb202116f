#include "runtime/ledger/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Machine kSmallMachine = {.memory_mb = 1000, .gpus = {0, 1}};

Sighting Seen(const std::string& job, uint64_t file = 1) {
  return {.name = job + ".waiting", .entry = {.number = 1, .job = {job}, .user = 7}, .says_job = job, .file = file};
}

std::string WhyNot(const Sighting& sighting, const Machine& detected = kSmallMachine) {
  const Belief belief = Judge({sighting}, kSmallMachine, detected);
  EXPECT_EQ(belief.entries.size() + belief.doubts.size(), 1u);
  return belief.doubts.empty() ? "" : belief.doubts[0].why;
}

TEST(LedgerBeliefTest, WhatAKeeperCanHaveMadeIsBelieved) {
  EXPECT_EQ(WhyNot(Seen("a")), "");
  Sighting old = Seen("a");
  old.says_job.clear();
  EXPECT_EQ(WhyNot(old), "");
  old.witness = Witness::kCannotTell;
  EXPECT_EQ(WhyNot(old), "");
}

TEST(LedgerBeliefTest, AnEntryWithoutAProcessOfItsUserIsNot) {
  Sighting fake = Seen("a");
  fake.witness = Witness::kNone;
  const Belief belief = Judge({fake}, kSmallMachine, kSmallMachine);
  EXPECT_THAT(belief.entries, IsEmpty());
  EXPECT_EQ(belief.doubts, (std::vector<Doubt>{{"a.waiting", 7, "no process of its user runs this job"}}));
}

TEST(LedgerBeliefTest, ANumberBeyondAllLedgersIsNot) {
  Sighting fake = Seen("a");
  fake.entry.number = kMostNumber;
  EXPECT_EQ(WhyNot(fake), "");
  fake.entry.number = kMostNumber + 1;
  EXPECT_THAT(WhyNot(fake), HasSubstr("no ledger has come to number"));
}

TEST(LedgerBeliefTest, WhoHoldsMoreThanTheMachineHasIsNot) {
  Sighting fake = Seen("a");
  fake.entry.ask.memory_mb = 1001;
  EXPECT_EQ(WhyNot(fake), "") << "it only waits: it can never fit, and holds nobody up";
  fake.entry.place = Place::kAdmitted;
  EXPECT_EQ(WhyNot(fake), "it says that it holds 1001 MB of memory, this machine has 1000");
  EXPECT_EQ(WhyNot(fake, {.memory_mb = 2000}), "") << "it was admitted before machine.json said less";
}

TEST(LedgerBeliefTest, WhoHoldsMoreGpusThanHeAskedForIsNot) {
  Sighting fake = Seen("a");
  fake.entry.place = Place::kAdmitted;
  fake.entry.ask.gpus = 1;
  fake.entry.gpus = {0, 1};
  EXPECT_EQ(WhyNot(fake), "it holds 2 GPUs and asks for 1");
}

TEST(LedgerBeliefTest, WhatOthersMayWriteToOrAnotherJobsContentIsNot) {
  Sighting fake = Seen("a");
  fake.writable_by_others = true;
  EXPECT_EQ(WhyNot(fake), "others than its owner may write to it");
  fake = Seen("a");
  fake.says_job = "b";
  EXPECT_EQ(WhyNot(fake), "its name and its content speak of two jobs");
}

TEST(LedgerBeliefTest, OfTwoNamesOfOneFileTheOneThatHoldsMostCounts) {
  Sighting waits = Seen("a", 5), runs = Seen("a", 5), other = Seen("b", 6);
  runs.name = "a.running";
  runs.entry.place = Place::kAdmitted;
  const Belief belief = Judge({waits, other, runs}, kSmallMachine, kSmallMachine);
  ASSERT_THAT(belief.entries, SizeIs(2));
  EXPECT_TRUE(belief.entries[0].admitted());
  EXPECT_EQ(belief.doubts, (std::vector<Doubt>{{"a.waiting", 7, "it is the same file as a.running"}}));
}

TEST(LedgerBeliefTest, ANameThatSaysMoreThanTheContentOfAFileWithTwoNamesIsNot) {
  Sighting waits = Seen("a", 5), fake = Seen("a", 5);
  fake.entry.place = Place::kAdmitted;
  waits.says_it_waits = fake.says_it_waits = true;
  const Belief belief = Judge({waits, fake}, kSmallMachine, kSmallMachine);
  ASSERT_THAT(belief.entries, SizeIs(1));
  EXPECT_FALSE(belief.entries[0].admitted());
  EXPECT_EQ(belief.doubts[0].why, "its file has another name, and was never admitted");
}

}  // namespace
}  // namespace tony
