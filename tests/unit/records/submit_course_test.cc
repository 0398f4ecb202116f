// Conversations: the course says a step, the test answers.
#include "runtime/records/submit_course.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"

namespace tony {
void PrintTo(SubmitDecision decision, std::ostream* out) { *out << static_cast<int>(decision); }

namespace {

const JobId kOld{"old"};
const JobId kOther{"other"};
const JobId kNew{"new"};
const OwnerToken kOwner{"o1"};

std::string Describe(const SubmitStep& step) {
  std::string text(ToString(step.kind));
  if (step.kind == SubmitStepKind::kRecord) {
    text += StrCat(" ", step.record.newest_number);
    if (step.record.job) text += StrCat(" ", step.record.job->value, "#", step.record.job_number);
    if (!step.record.adopter.value.empty()) text += StrCat(" adopter ", step.record.adopter.value);
  }
  if (step.kind == SubmitStepKind::kDone) text += StrCat(" ", ToString(step.end));
  if (!step.job.value.empty() && step.kind != SubmitStepKind::kReadRevocation) text += StrCat(" ", step.job.value);
  if (step.own) text += " if own";
  if (step.to_tell) text += " to tell";
  if (!step.differs_in.empty()) text += StrCat(", other ", Join(step.differs_in, ", "));
  return text;
}

RequestSeen Seen(int64_t newest, ExistingJob existing, const JobId& job, int64_t job_number, bool gone) {
  return {{newest, job, job_number}, existing, gone, false};
}
RequestSeen Nothing() { return {}; }
RequestSeen OfFiles(const std::string& files, RequestSeen seen) {
  seen.record.digest = {{{"files", files}}};
  return seen;
}
RequestSeen Active(int64_t number) { return Seen(number, ExistingJob::kActive, kOld, number, false); }

class SubmitCourseTest : public ::testing::Test {
 protected:
  static SubmitCourse Course(int64_t number, OnExisting policy = OnExisting::kAdopt) {
    return SubmitCourse({number, policy, SubmitAsker::kLaterTry}, kOwner, kNew);
  }
  static SubmitCourse CourseOf(SubmitAsker asker) {
    return SubmitCourse({.asker = asker}, asker == SubmitAsker::kPerson ? OwnerToken() : kOwner, kNew);
  }
  // Takes the steps that need no answer, and says them together with the one that does, or the last.
  static std::string Run(SubmitCourse& course) {
    std::vector<std::string> steps;
    for (;;) {
      const SubmitStep step = course.step();
      steps.push_back(Describe(step));
      if (step.kind == SubmitStepKind::kRead || step.kind == SubmitStepKind::kAttach ||
          step.kind == SubmitStepKind::kReadRevocation || step.kind == SubmitStepKind::kDone)
        return Join(steps, ", ");
      if (step.kind == SubmitStepKind::kPrepare) {
        course.Take(PreparedSeen{{{{"files", "mine"}}}});
      } else if (step.kind == SubmitStepKind::kRecord) {
        course.Take(RecordSeen{});
      } else {
        course.Take(StepTaken{});
      }
    }
  }
  static std::string Answer(SubmitCourse& course, const SubmitObservation& seen) {
    course.Take(seen);
    return Run(course);
  }
};

TEST_F(SubmitCourseTest, TheFirstSubmitPreparesWithoutTheLockAndCreatesUnderIt) {
  SubmitCourse course = Course(0);
  EXPECT_EQ(Run(course), "lock, read");
  EXPECT_EQ(Answer(course, Nothing()), "unlock, prepare, lock, read");
  EXPECT_EQ(Answer(course, Nothing()), "record 0 new#0, create new, read_revocation");
  EXPECT_EQ(Answer(course, RevocationSeen{false}), "start new, unlock, done created new");
}

TEST_F(SubmitCourseTest, ItsNumberIsKnownBeforeItPrepares) {
  SubmitCourse course = Course(3);
  Run(course);
  EXPECT_EQ(Answer(course, Nothing()), "record 3, unlock, prepare, lock, read");
  EXPECT_EQ(Answer(course, RequestSeen{{.newest_number = 3}}), "record 3 new#3, create new, read_revocation");
}

TEST_F(SubmitCourseTest, ARunningJobOfTheSameNumberIsAttachedTo) {
  SubmitCourse course = Course(2);
  Run(course);
  EXPECT_EQ(Answer(course, Active(2)), "attach old");
  EXPECT_EQ(Answer(course, AttachSeen{.attached = true}), "read_revocation");
  EXPECT_EQ(Answer(course, RevocationSeen{false}), "unlock, prepare old to tell, done attached old");
}

TEST_F(SubmitCourseTest, AJobThatAnotherMadeMeanwhileIsAttachedTo) {
  SubmitCourse course = Course(0);
  Run(course);
  EXPECT_EQ(Answer(course, Nothing()), "unlock, prepare, lock, read");
  EXPECT_EQ(Answer(course, Seen(0, ExistingJob::kActive, kOther, 0, false)), "attach other");
}

TEST_F(SubmitCourseTest, AnOwnerThatIsRevokedWhileItCreatesEndsItsJobAndStartsItToBeSeenEnding) {
  SubmitCourse course = Course(0);
  Run(course);
  Answer(course, Nothing());
  Answer(course, Nothing());
  EXPECT_EQ(Answer(course, RevocationSeen{true}), "kill new if own, start new, unlock, done refused_revoked");
}

TEST_F(SubmitCourseTest, AnOwnerThatIsRevokedWhileItAttachesEndsTheJobIfItIsStillItsOwn) {
  SubmitCourse course = Course(0);
  Run(course);
  Answer(course, Active(0));
  Answer(course, AttachSeen{.attached = true});
  EXPECT_EQ(Answer(course, RevocationSeen{true}), "kill old if own, unlock, done refused_revoked");
}

TEST_F(SubmitCourseTest, AnOwnerThatWasRevokedBeforeTouchesNothing) {
  SubmitCourse course = Course(1);
  Run(course);
  RequestSeen seen = Active(0);
  seen.revoked = true;
  EXPECT_EQ(Answer(course, seen), "unlock, done refused_revoked");
}

TEST_F(SubmitCourseTest, AnOwnerThatIsRevokedWhileItPreparesCreatesNothing) {
  SubmitCourse course = Course(0);
  Run(course);
  Answer(course, Nothing());
  EXPECT_EQ(Answer(course, RequestSeen{.revoked = true}), "unlock, done refused_revoked");
}

TEST_F(SubmitCourseTest, ASucceededJobIsAdoptedAndTheAdopterRecorded) {
  SubmitCourse course = Course(1);
  Run(course);
  EXPECT_EQ(Answer(course, Seen(1, ExistingJob::kSucceeded, kOld, 1, true)),
            "record 1 old#1 adopter o1, unlock, prepare old to tell, done adopted old");
}

TEST_F(SubmitCourseTest, AJobThatSucceedsWhileItIsAttachedToIsAdopted) {
  SubmitCourse course = Course(1);
  Run(course);
  Answer(course, Active(1));
  EXPECT_EQ(Answer(course, AttachSeen{.attached = false, .ended = true}), "read");
  // Its files need not say so yet.
  EXPECT_EQ(Answer(course, Active(1)), "record 1 old#1 adopter o1, unlock, prepare old to tell, done adopted old");
}

TEST_F(SubmitCourseTest, AJobThatSucceedsWhileItIsAttachedToIsNotAdoptedByPolicyAttach) {
  SubmitCourse course = Course(1, OnExisting::kAttach);
  Run(course);
  Answer(course, Active(1));
  Answer(course, AttachSeen{.attached = false, .ended = true});
  EXPECT_EQ(Answer(course, Active(1)), "unlock, prepare, await_gone old, lock, read");
}

TEST_F(SubmitCourseTest, AJobThatSaysItIsEndingIsAwaitedWhateverItsFilesSay) {
  SubmitCourse course = Course(1);
  Run(course);
  Answer(course, Active(1));
  EXPECT_EQ(Answer(course, AttachSeen{}), "read");
  EXPECT_EQ(Answer(course, Active(1)), "unlock, prepare, await_gone old, lock, read");
  EXPECT_EQ(Answer(course, Active(1)), "unlock, await_gone old, lock, read");
  EXPECT_EQ(Answer(course, Seen(1, ExistingJob::kEnding, kOld, 1, true)),
            "record 1 new#1, create new, read_revocation");
}

TEST_F(SubmitCourseTest, APredecessorThatFailedIsReplacedOnlyWhenNothingOfItRuns) {
  SubmitCourse course = Course(1);
  Run(course);
  EXPECT_EQ(Answer(course, Seen(1, ExistingJob::kEnding, kOld, 1, false)),
            "unlock, prepare, await_gone old, lock, read");
  EXPECT_EQ(Answer(course, Seen(1, ExistingJob::kEnding, kOld, 1, true)),
            "record 1 new#1, create new, read_revocation");
}

// Found by the simulator: else the next to adopt would run it again.
TEST_F(SubmitCourseTest, AResultIsRememberedUntilTheJobThatIsToFollowItIsMade) {
  SubmitCourse course = Course(1, OnExisting::kAttach);
  Run(course);
  RequestSeen succeeded = Seen(1, ExistingJob::kSucceeded, kOld, 1, true);
  succeeded.record.adopter = {"o0"};
  Answer(course, succeeded);
  course.Take(succeeded);
  const RequestRecord record = course.step().record;
  EXPECT_EQ(record.job, kNew);
  EXPECT_EQ(WithoutItsJob(record), succeeded.record);
  EXPECT_EQ(WithoutItsJob(succeeded.record), succeeded.record);
}

TEST_F(SubmitCourseTest, AHigherNumberIsRecordedBeforeTheOldJobIsKilled) {
  SubmitCourse course = Course(2);
  Run(course);
  EXPECT_EQ(Answer(course, Active(1)), "record 2 old#1, kill old, unlock, prepare, await_gone old, lock, read");
  EXPECT_EQ(Answer(course, Seen(2, ExistingJob::kEnding, kOld, 1, true)),
            "record 2 new#2, create new, read_revocation");
}

TEST_F(SubmitCourseTest, NeverKillsAJobOfItsOwnNumber) {
  SubmitCourse course = Course(1, OnExisting::kNever);
  Run(course);
  EXPECT_EQ(Answer(course, Active(1)), "kill old, unlock, prepare, await_gone old, lock, read");
}

TEST_F(SubmitCourseTest, AJobThatSucceedsBeforeItsKillIsReplacedAllTheSame) {
  SubmitCourse course = Course(2);
  Run(course);
  Answer(course, Active(1));
  EXPECT_EQ(Answer(course, Seen(2, ExistingJob::kSucceeded, kOld, 1, true)),
            "record 2 new#2, create new, read_revocation");
}

// Its submitter died before it started it: nothing runs, and nobody will ever write how it ended.
TEST_F(SubmitCourseTest, AJobThatWasNeverStartedIsKilledOnceAndNotForEver) {
  SubmitCourse course = Course(1, OnExisting::kNever);
  Run(course);
  const RequestSeen unstarted = Seen(1, ExistingJob::kActive, kOld, 1, /*gone=*/true);
  EXPECT_EQ(Answer(course, unstarted), "kill old, unlock, prepare, await_gone old, lock, read");
  EXPECT_EQ(Answer(course, unstarted), "record 1 new#1, create new, read_revocation");
}

TEST_F(SubmitCourseTest, AnothersJobThatCameWhileItWaitedIsDecidedAnew) {
  SubmitCourse course = Course(2);
  Run(course);
  Answer(course, Active(1));
  EXPECT_EQ(Answer(course, Seen(2, ExistingJob::kActive, kOther, 2, false)), "attach other");
}

TEST_F(SubmitCourseTest, ANewerNumberThatCameWhileItWaitedRefusesIt) {
  SubmitCourse course = Course(2);
  Run(course);
  Answer(course, Active(1));
  EXPECT_EQ(Answer(course, Seen(3, ExistingJob::kEnding, kOld, 1, true)), "unlock, done refused_stale");
}

TEST_F(SubmitCourseTest, ALowerNumberTouchesNothing) {
  SubmitCourse course = Course(1);
  Run(course);
  EXPECT_EQ(Answer(course, Active(2)), "unlock, done refused_stale");
}

TEST_F(SubmitCourseTest, ARecordedJobThatWasNeverMadeIsNone) {
  SubmitCourse course = Course(1);
  Run(course);
  const RequestSeen never_made = Seen(1, ExistingJob::kNone, kOld, 1, true);
  EXPECT_EQ(Answer(course, never_made), "unlock, prepare, lock, read");
  EXPECT_EQ(Answer(course, never_made), "record 1 new#1, create new, read_revocation");
}

TEST_F(SubmitCourseTest, ASubmitThatDiedAfterItRecordedItsNumberLeavesTheJobToTheNext) {
  SubmitCourse course = Course(2);
  Run(course);
  EXPECT_EQ(Answer(course, Seen(2, ExistingJob::kActive, kOld, 1, false)),
            "kill old, unlock, prepare, await_gone old, lock, read");
}

TEST_F(SubmitCourseTest, AFirstTryReplacesAJobThatRunsSomethingElse) {
  SubmitCourse course = CourseOf(SubmitAsker::kFirstTry);
  Run(course);
  RequestSeen other = OfFiles("theirs", Active(0));
  EXPECT_EQ(Answer(course, other), "unlock, prepare, lock, read");
  EXPECT_EQ(Answer(course, other), "kill old, other files, unlock, await_gone old, lock, read");
  other.existing = ExistingJob::kEnding;
  other.gone = true;
  EXPECT_EQ(Answer(course, other), "record 0 new#0, create new, read_revocation");
}

TEST_F(SubmitCourseTest, AFirstTryAttachesToAJobThatRunsTheSame) {
  SubmitCourse course = CourseOf(SubmitAsker::kFirstTry);
  Run(course);
  RequestSeen same = OfFiles("mine", Active(0));
  EXPECT_EQ(Answer(course, same), "unlock, prepare, lock, read");
  EXPECT_EQ(Answer(course, same), "attach old");
  EXPECT_EQ(Answer(course, AttachSeen{.attached = true}), "read_revocation");
  EXPECT_EQ(Answer(course, RevocationSeen{false}), "unlock, done attached old");
}

TEST_F(SubmitCourseTest, ALaterTryAttachesToWhateverRunsAndIsToldInWhatItDiffers) {
  SubmitCourse course = CourseOf(SubmitAsker::kLaterTry);
  Run(course);
  RequestSeen other = OfFiles("theirs", Active(0));
  EXPECT_EQ(Answer(course, other), "attach old");
  Answer(course, AttachSeen{.attached = true});
  EXPECT_EQ(Answer(course, RevocationSeen{false}), "unlock, prepare old to tell, done attached old, other files");
}

TEST_F(SubmitCourseTest, APersonWhoAsksForSomethingElseThanRunsIsRefused) {
  SubmitCourse course = CourseOf(SubmitAsker::kPerson);
  Run(course);
  RequestSeen other = OfFiles("theirs", Active(0));
  Answer(course, other);
  EXPECT_EQ(Answer(course, other), "unlock, done refused_differs old, other files");
}

TEST_F(SubmitCourseTest, AResultOfSomethingElseIsFollowedByANewJob) {
  SubmitCourse course = CourseOf(SubmitAsker::kPerson);
  Run(course);
  RequestSeen other = OfFiles("theirs", Seen(0, ExistingJob::kSucceeded, kOld, 0, true));
  EXPECT_EQ(Answer(course, other), "unlock, prepare, lock, read");
  course.Take(other);
  const RequestRecord record = course.step().record;
  EXPECT_EQ(record.digest, (SubmitDigest{{{"files", "mine"}}}));
  EXPECT_EQ(WithoutItsJob(record), other.record) << "the one before is remembered with its digest";
}

TEST_F(SubmitCourseTest, WhatIsTakenIsOfTheRunThatTookIt) {
  const SubmitAsk ask = {.asker = SubmitAsker::kFirstTry, .run = {"tuesday"}};
  RequestSeen seen = Active(0);
  seen.record.run = {"monday"};
  SubmitCourse attaches(ask, kOwner, kNew);
  Run(attaches);
  Answer(attaches, seen);
  Answer(attaches, seen);
  attaches.Take(AttachSeen{.attached = true});
  EXPECT_EQ(Describe(attaches.step()), "record 0 old#0");
  EXPECT_EQ(attaches.step().record.run, RunToken{"tuesday"});

  seen.existing = ExistingJob::kSucceeded;
  seen.gone = true;
  seen.record.run = {};  // of who named none
  SubmitCourse adopts(ask, kOwner, kNew);
  Run(adopts);
  Answer(adopts, seen);
  adopts.Take(seen);
  EXPECT_EQ(Describe(adopts.step()), "record 0 old#0 adopter o1");
  EXPECT_EQ(adopts.step().record.run, RunToken{"tuesday"});

  seen.record.run = {"monday"};
  SubmitCourse creates(ask, kOwner, kNew);
  Run(creates);
  Answer(creates, seen);
  creates.Take(seen);
  EXPECT_EQ(creates.step().record.run, RunToken{"tuesday"});
  EXPECT_EQ(WithoutItsJob(creates.step().record).run, RunToken{"monday"});
}

RequestSeen OfRevision(int64_t revision, RequestSeen seen) {
  seen.record.revision = revision;
  return seen;
}

TEST_F(SubmitCourseTest, ARecordThatCameBetweenIsReadAndDecidedUpon) {
  SubmitCourse course = Course(1);
  Run(course);
  Answer(course, Nothing());
  course.Take(OfRevision(7, RequestSeen{{.newest_number = 1}}));
  ASSERT_EQ(Describe(course.step()), "record 1 new#1");
  EXPECT_EQ(course.step().record.revision, 7) << "the one that it follows from";
  EXPECT_EQ(Answer(course, RecordSeen{false}), "read");
  EXPECT_EQ(Answer(course, OfRevision(8, Seen(1, ExistingJob::kActive, kOther, 1, false))), "attach other");
}

TEST_F(SubmitCourseTest, AnAdoptionThatIsNotRecordedIsNone) {
  SubmitCourse course = Course(1);
  Run(course);
  course.Take(Seen(1, ExistingJob::kSucceeded, kOld, 1, true));
  ASSERT_EQ(Describe(course.step()), "record 1 old#1 adopter o1");
  EXPECT_EQ(Answer(course, RecordSeen{false}), "read");
  EXPECT_EQ(Answer(course, Seen(1, ExistingJob::kEnding, kOther, 1, true)), "unlock, prepare, lock, read");
  EXPECT_EQ(Answer(course, Seen(1, ExistingJob::kEnding, kOther, 1, true)),
            "record 1 new#1, create new, read_revocation");
}

TEST_F(SubmitCourseTest, AJobThatIsComingIsKnownToTheRecordThatLeavesItOut) {
  SubmitCourse course = Course(1);
  Run(course);
  RequestSeen seen = Nothing();
  seen.record.coming = kOther;
  EXPECT_EQ(Answer(course, seen), "record 1, unlock, prepare, lock, read");
  course.Take(seen);
  EXPECT_EQ(course.step().record.coming, kOther);
}

TEST_F(SubmitCourseTest, StepsAndEndsHaveNames) {
  EXPECT_EQ(ToString(SubmitStepKind::kLock), "lock");
  EXPECT_EQ(ToString(SubmitStepKind::kAwaitGone), "await_gone");
  EXPECT_EQ(ToString(SubmitStepKind::kDone), "done");
  EXPECT_EQ(ToString(SubmitEnd::kCreated), "created");
  EXPECT_EQ(ToString(SubmitEnd::kRefusedRevoked), "refused_revoked");
}

// ---- submit decision

// The contract's table, as it stands there.
struct Row {
  std::vector<ExistingJob> existing;
  SubmitDecision adopt, attach, never, higher;
};
const std::vector<Row>& Table() {
  using enum SubmitDecision;
  static const auto& rows = *new std::vector<Row>{
      {{ExistingJob::kNone}, kCreate, kCreate, kCreate, kCreate},
      {{ExistingJob::kActive}, kAttach, kAttach, kReplace, kReplace},
      {{ExistingJob::kEnding}, kCreate, kCreate, kCreate, kCreate},
      {{ExistingJob::kSucceeded}, kAdopt, kCreate, kCreate, kCreate},
  };
  return rows;
}

constexpr OnExisting kPolicies[] = {OnExisting::kAdopt, OnExisting::kAttach, OnExisting::kNever};

SubmitDecision OfSameNumber(const Row& row, OnExisting policy) {
  switch (policy) {
    case OnExisting::kAdopt:
      return row.adopt;
    case OnExisting::kAttach:
      return row.attach;
    case OnExisting::kNever:
      return row.never;
  }
  return {};
}

TEST(SubmitDecisionTest, TheSameNumberIsDecidedByTheTable) {
  for (const Row& row : Table()) {
    for (const ExistingJob existing : row.existing) {
      for (const OnExisting policy : kPolicies) {
        for (const int64_t number : {0, 1, 7}) {
          EXPECT_EQ(DecideSubmit({number, existing, number, false}, {number, policy}), OfSameNumber(row, policy))
              << "existing " << static_cast<int>(existing) << ", " << ToString(policy);
        }
      }
    }
  }
}

// Higher than the existing job's; whether a submit that died has asked for the number before makes no difference.
TEST(SubmitDecisionTest, AHigherNumberIsDecidedByTheTableWhateverThePolicy) {
  for (const Row& row : Table()) {
    for (const ExistingJob existing : row.existing) {
      for (const OnExisting policy : kPolicies) {
        for (const int64_t newest : {3, 4, 5}) {
          EXPECT_EQ(DecideSubmit({newest, existing, 3, false}, {5, policy}), row.higher)
              << "existing " << static_cast<int>(existing) << ", " << ToString(policy) << ", newest " << newest;
        }
      }
    }
  }
}

TEST(SubmitDecisionTest, ALowerNumberThanTheNewestIsRefusedWhateverElseIsSo) {
  for (const ExistingJob existing :
       {ExistingJob::kNone, ExistingJob::kActive, ExistingJob::kEnding, ExistingJob::kSucceeded}) {
    for (const OnExisting policy : kPolicies) {
      for (const bool revoked : {false, true}) {
        for (const int64_t of_job : {2, 3, 4}) {
          EXPECT_EQ(DecideSubmit({4, existing, of_job, revoked}, {3, policy}), SubmitDecision::kRefuseStale);
        }
      }
    }
  }
}

TEST(SubmitDecisionTest, AnOwnerThatWasToldToStopIsRefusedWhateverIsThere) {
  for (const ExistingJob existing :
       {ExistingJob::kNone, ExistingJob::kActive, ExistingJob::kEnding, ExistingJob::kSucceeded}) {
    for (const OnExisting policy : kPolicies) {
      for (const int64_t number : {4, 5}) {
        EXPECT_EQ(DecideSubmit({4, existing, 4, true}, {number, policy}), SubmitDecision::kRefuseRevoked);
      }
    }
  }
}

// The contract's rules of digests and consumed results, each case by hand.
TEST(SubmitDecisionTest, DigestsAndConsumedResultsAreDecidedByWhoAsks) {
  using enum SubmitAsker;
  using enum SubmitDecision;
  struct Case {
    ExistingJob existing;
    bool differs, consumed;
    SubmitDecision person, first, later;
  };
  const Case cases[] = {
      {ExistingJob::kActive, false, false, kAttach, kAttach, kAttach},
      {ExistingJob::kActive, true, false, kRefuseDiffers, kReplace, kAttach},
      {ExistingJob::kSucceeded, false, false, kAdopt, kAdopt, kAdopt},
      {ExistingJob::kSucceeded, true, false, kCreate, kCreate, kAdopt},
      {ExistingJob::kSucceeded, false, true, kAdopt, kCreate, kAdopt},
      {ExistingJob::kSucceeded, true, true, kCreate, kCreate, kCreate},
      {ExistingJob::kEnding, true, true, kCreate, kCreate, kCreate},
      {ExistingJob::kNone, true, true, kCreate, kCreate, kCreate},
  };
  for (const Case& c : cases) {
    const KnownRequest known = {.existing = c.existing, .differs = c.differs, .consumed = c.consumed};
    for (const auto& [asker, decision] : {std::pair{kPerson, c.person}, {kFirstTry, c.first}, {kLaterTry, c.later}})
      EXPECT_EQ(DecideSubmit(known, {.asker = asker}), decision)
          << static_cast<int>(c.existing) << c.differs << c.consumed << " asker " << static_cast<int>(asker);
  }
}

// Its first try may have died before it came here.
TEST(SubmitDecisionTest, TheResultOfAnotherRunIsNotAdopted) {
  using enum SubmitAsker;
  KnownRequest known = {.existing = ExistingJob::kSucceeded, .run = {"monday"}};
  for (const SubmitAsker asker : {kPerson, kFirstTry, kLaterTry}) {
    EXPECT_EQ(DecideSubmit(known, {.asker = asker, .run = {"monday"}}), SubmitDecision::kAdopt);
    EXPECT_EQ(DecideSubmit(known, {.asker = asker, .run = {"tuesday"}}), SubmitDecision::kCreate);
    EXPECT_EQ(DecideSubmit(known, {.asker = asker}), SubmitDecision::kAdopt);
  }
  known.consumed = true;
  EXPECT_EQ(DecideSubmit(known, {.asker = kLaterTry, .run = {"monday"}}), SubmitDecision::kAdopt);
  EXPECT_EQ(DecideSubmit(known, {.asker = kLaterTry, .run = {"tuesday"}}), SubmitDecision::kCreate);
  EXPECT_EQ(DecideSubmit(known, {.asker = kFirstTry, .run = {"monday"}}), SubmitDecision::kCreate);
}

TEST(SubmitDecisionTest, ALaterTryIsAFirstOneToAJobOfAnotherRun) {
  using enum SubmitAsker;
  const KnownRequest other = {.existing = ExistingJob::kActive, .differs = true, .run = {"monday"}};
  EXPECT_EQ(DecideSubmit(other, {.asker = kLaterTry, .run = {"monday"}}), SubmitDecision::kAttach);
  EXPECT_EQ(DecideSubmit(other, {.asker = kLaterTry, .run = {"tuesday"}}), SubmitDecision::kReplace);
  const KnownRequest unknown = {.existing = ExistingJob::kSucceeded, .consumed = true};
  EXPECT_EQ(DecideSubmit(unknown, {.asker = kLaterTry, .run = {"tuesday"}}), SubmitDecision::kAdopt);
}

TEST(SubmitDecisionTest, SourcesAreReadOnlyWhereTheirDigestDecides) {
  using enum SubmitAsker;
  for (const SubmitAsker asker : {kPerson, kFirstTry, kLaterTry}) {
    const bool engine_goes_on = asker == kLaterTry;
    EXPECT_EQ(DigestDecides({.existing = ExistingJob::kActive}, {.asker = asker}), !engine_goes_on);
    EXPECT_EQ(DigestDecides({.existing = ExistingJob::kSucceeded}, {.asker = asker}), !engine_goes_on);
    EXPECT_FALSE(DigestDecides({.existing = ExistingJob::kEnding}, {.asker = asker}));
    EXPECT_FALSE(DigestDecides({.existing = ExistingJob::kActive}, {.number = 1, .asker = asker}));
    EXPECT_FALSE(DigestDecides({.newest_number = 2, .existing = ExistingJob::kActive}, {.asker = asker}));
  }
  EXPECT_TRUE(DigestDecides({.existing = ExistingJob::kSucceeded, .consumed = true}, {.asker = kLaterTry}));
  EXPECT_FALSE(DigestDecides({.existing = ExistingJob::kSucceeded, .consumed = true}, {.asker = kFirstTry}));
}

TEST(SubmitDecisionTest, PartsThatBothHaveAreCompared) {
  const SubmitDigest a = {{{"command", "1"}, {"files", "2"}, {"roles", "3"}}};
  const SubmitDigest b = {{{"command", "1"}, {"files", "x"}, {"newer", "4"}}};
  EXPECT_EQ(DiffersIn(a, b), std::vector<std::string>{"files"});
  EXPECT_EQ(DiffersIn(a, a), std::vector<std::string>());
  EXPECT_EQ(DiffersIn(a, {}), std::vector<std::string>()) << "a release without digests made it";
}

TEST(SubmitDecisionTest, PoliciesHaveTheNamesOfTheContract) {
  for (const OnExisting policy : kPolicies) EXPECT_EQ(OnExistingFromString(ToString(policy)), policy);
  EXPECT_EQ(OnExistingFromString("adopt"), OnExisting::kAdopt);
  EXPECT_EQ(OnExistingFromString("attach"), OnExisting::kAttach);
  EXPECT_EQ(OnExistingFromString("never"), OnExisting::kNever);
  EXPECT_EQ(OnExistingFromString("Adopt"), std::nullopt);
  EXPECT_EQ(OnExistingFromString(""), std::nullopt);
}

}  // namespace
}  // namespace tony
