// Scripts of submits: the course names its steps up to the one that needs an answer, and the row answers it.
#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "runtime/records/submit_machine.h"
#include "tests/support/script.h"

namespace tony {
void PrintTo(SubmitDecision decision, std::ostream* out) { *out << static_cast<int>(decision); }

namespace {

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
  if (step.only_for_report) text += " to tell";
  if (!step.differs_in.empty()) text += StrCat(", other ", Join(step.differs_in, ", "));
  return text;
}

const std::map<std::string, ExistingJob> kStates = {{"none", ExistingJob::kNone},
                                                    {"active", ExistingJob::kActive},
                                                    {"ending", ExistingJob::kEnding},
                                                    {"succeeded", ExistingJob::kSucceeded}};

struct CourseWorld {
  // The words "course NUMBER" start a later try; then follow "attach" or "never", "first" or "person", and the run.
  void Begin(const Words& its) {
    SubmitAsk ask{its.Number(1), OnExisting::kAdopt, SubmitterKind::kLaterTry};
    OwnerToken owner{"o1"};
    for (size_t i = 2; !its[i].empty(); ++i) {
      if (const auto policy = OnExistingFromString(its[i]))
        ask.on_existing = *policy;
      else if (its[i] == "first")
        ask.asker = SubmitterKind::kFirstTry;
      else if (its[i] == "person")
        ask.asker = SubmitterKind::kPerson, owner = {};
      else
        ask.run = {its[i]};
    }
    course.emplace(ask, owner, JobId{"new"});
  }
  // The words "seen NEWEST STATE JOB#NUMBER" and further facts describe what the submit found; "seen" alone: it found
  // nothing.
  void See(const Words& its) {
    seen = {};
    seen.record.newest_number = its.Number(1);
    for (size_t i = 2; !its[i].empty(); ++i) {
      const auto parts = Split(its[i], its[i].find('#') == std::string::npos ? '=' : '#');
      if (const auto state = kStates.find(its[i]); state != kStates.end()) {
        seen.existing = state->second;
        seen.gone = false;
      } else if (its[i] == "gone") {
        seen.gone = true;
      } else if (its[i] == "revoked") {
        seen.revoked = true;
      } else if (parts[0] == "files") {
        seen.record.digest = {{{"files", parts[1]}}};
      } else if (parts[0] == "adopter") {
        seen.record.adopter = {parts[1]};
      } else if (parts[0] == "revision") {
        seen.record.revision = *ParseInt(parts[1]);
      } else if (parts[0] == "coming") {
        seen.record.coming = JobId{parts[1]};
      } else if (parts[0] == "run") {
        seen.record.run = {parts[1]};
      } else {
        seen.record.job = JobId{parts[0]};
        seen.record.job_number = *ParseInt(parts[1]);
      }
    }
  }
  // Performs the steps that need no answer. Returns them together with the step that needs one, or with the last step.
  std::string Run() {
    std::vector<std::string> steps;
    for (;;) {
      const SubmitStep step = course->step();
      steps.push_back(Describe(step));
      if (step.kind == SubmitStepKind::kRead || step.kind == SubmitStepKind::kAttach ||
          step.kind == SubmitStepKind::kReadRevocation || step.kind == SubmitStepKind::kDone)
        return Join(steps, ", ");
      if (step.kind == SubmitStepKind::kPrepare) {
        course->Take(PreparedSeen{{{{"files", "mine"}}}});
      } else if (step.kind == SubmitStepKind::kRecord) {
        course->Take(RecordSeen{});
      } else {
        course->Take(StepDone{});
      }
    }
  }
  std::string Answer(const SubmitObservation& answer) {
    course->Take(answer);
    return Run();
  }
  static Deeds<CourseWorld> Its() {
    return {
        {"course", [](auto& w, auto& its) { w.Begin(its); }},
        // The course has locked the request and waits for the record.
        {"begun", [](auto& w, auto& its) { w.Begin(its), w.Run(); }},
        {"run", [](auto& w, auto&) { return w.Run(); }},
        {"seen", [](auto& w, auto& its) { return w.See(its), w.Answer(w.seen); }},
        {"again", [](auto& w, auto&) { return w.Answer(w.seen); }},
        {"attached", [](auto& w, auto&) { return w.Answer(AttachSeen{.attached = true}); }},
        {"attach-ended", [](auto& w, auto&) { return w.Answer(AttachSeen{.attached = false, .ended = true}); }},
        {"attach-ending", [](auto& w, auto&) { return w.Answer(AttachSeen{}); }},
        {"revoked", [](auto& w, auto&) { return w.Answer(RevocationSeen{true}); }},
        {"not-revoked", [](auto& w, auto&) { return w.Answer(RevocationSeen{false}); }},
        {"not-recorded", [](auto& w, auto&) { return w.Answer(RecordSeen{false}); }},
        // Words that return only the next step, before its answer, and the contents of its record.
        {"step-seen",
         [](auto& w, auto& its) {
           w.See(its);
           w.course->Take(w.seen);
           return Describe(w.course->step());
         }},
        {"step-again",
         [](auto& w, auto&) {
           w.course->Take(w.seen);
           return Describe(w.course->step());
         }},
        {"step-attached",
         [](auto& w, auto&) {
           w.course->Take(AttachSeen{.attached = true});
           return Describe(w.course->step());
         }},
        {"revision", [](auto& w, auto&) { return StrCat("revision ", w.course->step().record.revision); }},
        {"coming", [](auto& w, auto&) { return w.course->step().record.coming.value_or(JobId{"none"}).value; }},
        {"of-run", [](auto& w, auto&) { return w.course->step().record.run.value; }},
        {"run-before", [](auto& w, auto&) { return WithoutItsJob(w.course->step().record).run.value; }},
        {"files",
         [](auto& w, auto&) {
           return w.course->step().record.digest == SubmitDigest{{{"files", "mine"}}} ? "its own" : "another's";
         }},
        {"remembers-what-was-seen",
         [](auto& w, auto&) {
           return WithoutItsJob(w.course->step().record) == w.seen.record &&
                          WithoutItsJob(w.seen.record) == w.seen.record
                      ? "yes"
                      : "no";
         }},
    };
  }
  std::optional<SubmitMachine> course;
  RequestSeen seen;
};

const TestRow kCourses[] = {
    {"TheFirstSubmitReleasesTheRequestLockWhileFilesArePrepared",
     {{"course 0 | run | seen | seen",
       "lock, read | unlock, prepare, lock, read | record 0 new#0, create new, read_revocation"},
      {"not-revoked", "start new, unlock, done created new"}}},
    {"ASubmitRecordsTheSubmissionNumberBeforePreparingFiles",
     {{"begun 3 | seen | seen 3",
       "record 3, unlock, prepare, lock, read | record 3 new#3, create new, read_revocation"}}},
    {"ASubmitAttachesToTheRunningJobOfTheSameSubmissionNumber",
     {{"begun 2 | seen 2 active old#2 | attached | not-revoked",
       "attach old | read_revocation | unlock, prepare old to tell, done attached old"}}},
    {"ASubmitAttachesToAJobCreatedByAnotherSubmitDuringFilePreparation",
     {{"begun 0 | seen | seen 0 active other#0", "unlock, prepare, lock, read | attach other"}}},
    {"AJobIsKilledAndItsSubmitRejectedIfTheOwnerIsRevokedDuringCreation",
     {{"begun 0 | seen | seen | revoked", "~ | ~ | kill new if own, start new, unlock, done refused_revoked"}}},
    {"ASubmitKillsTheJobOfItsOwnerIfTheOwnerIsRevokedDuringTheAttach",
     {{"begun 0 | seen 0 active old#0 | attached | revoked", "~ | ~ | kill old if own, unlock, done refused_revoked"}}},
    {"ASubmitOfARevokedOwnerIsRejected", {{"begun 1 | seen 0 active old#0 revoked", "unlock, done refused_revoked"}}},
    {"ASubmitCreatesNoJobIfItsOwnerIsRevokedDuringFilePreparation",
     {{"begun 0 | seen | seen 0 revoked", "~ | unlock, done refused_revoked"}}},
    {"ASubmitReusesTheResultOfASucceededJobAndRecordsTheNewOwner",
     {{"begun 1 | seen 1 succeeded old#1 gone",
       "record 1 old#1 adopter o1, unlock, prepare old to tell, done adopted old"}}},
    // Its files need not show the success yet.
    {"ASubmitReusesTheResultOfAJobThatSucceedsDuringTheAttach",
     {{"begun 1 | seen 1 active old#1 | attach-ended | seen 1 active old#1",
       "~ | read | record 1 old#1 adopter o1, unlock, prepare old to tell, done adopted old"}}},
    {"PolicyAttachDoesNotReuseTheResultOfAJobThatSucceedsDuringTheAttach",
     {{"begun 1 attach | seen 1 active old#1 | attach-ended | seen 1 active old#1",
       "~ | ~ | unlock, prepare, await_gone old, lock, read"}}},
    {"ASubmitWaitsForAnEndingJobEvenIfTheJobRecordsStillSayRunning",
     {{"begun 1 | seen 1 active old#1 | attach-ending | again | again",
       "~ | read | unlock, prepare, await_gone old, lock, read | unlock, await_gone old, lock, read"},
      {"seen 1 ending old#1 gone", "record 1 new#1, create new, read_revocation"}}},
    {"AFailedJobIsReplacedOnlyAfterAllItsProcessesAreGone",
     {{"begun 1 | seen 1 ending old#1 | seen 1 ending old#1 gone",
       "unlock, prepare, await_gone old, lock, read | record 1 new#1, create new, read_revocation"}}},
    // Found by the simulator: otherwise the next submit that adopts would run the job again.
    {"TheResultOfThePreviousJobStaysRecordedUntilTheNextJobIsCreated",
     {{"begun 1 attach | seen 1 succeeded old#1 gone adopter=o0 | step-again | remembers-what-was-seen",
       "~ | ^record 1 new#1 | yes"}}},
    {"AHigherSubmissionNumberIsRecordedBeforeTheOldJobIsKilled",
     {{"begun 2 | seen 1 active old#1 | seen 2 ending old#1 gone",
       "record 2 old#1, kill old, unlock, prepare, await_gone old, lock, read | "
       "record 2 new#2, create new, read_revocation"}}},
    {"ARunningJobOfTheSameSubmissionNumberIsKilledUnderPolicyNever",
     {{"begun 1 never | seen 1 active old#1", "kill old, unlock, prepare, await_gone old, lock, read"}}},
    {"ASubmitWithAHigherNumberReplacesAJobThatSucceedsBeforeTheKill",
     {{"begun 2 | seen 1 active old#1 | seen 2 succeeded old#1 gone",
       "~ | record 2 new#2, create new, read_revocation"}}},
    // The job's submitter died before it started the job. Nothing runs, and no process will ever write how the job
    // ended.
    {"AJobThatWasNeverStartedIsKilledOnceAndThenReplaced",
     {{"begun 1 never | seen 1 active old#1 gone | again",
       "kill old, unlock, prepare, await_gone old, lock, read | record 1 new#1, create new, read_revocation"}}},
    {"ASubmitAttachesToANewJobThatAppearsDuringTheWaitForTheOldJob",
     {{"begun 2 | seen 1 active old#1 | seen 2 active other#2", "~ | attach other"}}},
    {"ASubmitIsRejectedAsStaleIfAHigherNumberAppearsDuringTheWaitForTheOldJob",
     {{"begun 2 | seen 1 active old#1 | seen 3 ending old#1 gone", "~ | unlock, done refused_stale"}}},
    {"ALowerSubmissionNumberIsRejectedAsStale", {{"begun 1 | seen 2 active old#2", "unlock, done refused_stale"}}},
    {"ARecordedJobThatWasNeverCreatedIsIgnored",
     {{"begun 1 | seen 1 none old#1 gone | again",
       "unlock, prepare, lock, read | record 1 new#1, create new, read_revocation"}}},
    {"ARetryWithTheSameSubmissionNumberReplacesTheOldJobIfTheFirstTryDied",
     {{"begun 2 | seen 2 active old#1", "kill old, unlock, prepare, await_gone old, lock, read"}}},
    {"TheFirstTryOfAWorkflowStepReplacesAJobThatRunsDifferentFiles",
     {{"begun 0 first | seen 0 active old#0 files=theirs | again",
       "unlock, prepare, lock, read | kill old, other files, unlock, await_gone old, lock, read"},
      {"seen 0 ending old#0 gone files=theirs", "record 0 new#0, create new, read_revocation"}}},
    {"TheFirstTryOfAWorkflowStepAttachesToAJobThatRunsTheSameFiles",
     {{"begun 0 first | seen 0 active old#0 files=mine | again | attached | not-revoked",
       "unlock, prepare, lock, read | attach old | read_revocation | unlock, done attached old"}}},
    {"ALaterTryOfAWorkflowStepAttachesToAJobOfDifferentFilesAndReportsTheDifference",
     {{"begun 0 | seen 0 active old#0 files=theirs | attached | not-revoked",
       "attach old | ~ | unlock, prepare old to tell, done attached old, other files"}}},
    {"AManualSubmitWithDifferentFilesIsRejectedWhileAJobRuns",
     {{"begun 0 person | seen 0 active old#0 files=theirs | again",
       "~ | unlock, done refused_differs old, other files"}}},
    // The record keeps the previous job with its digest.
    {"AManualSubmitWithDifferentFilesCreatesANewJobAfterASucceededJob",
     {{"begun 0 person | seen 0 succeeded old#0 gone files=theirs | step-again | files | remembers-what-was-seen",
       "unlock, prepare, lock, read | ~ | its own | yes"}}},
    {"AnAttachedOrReusedJobIsRecordedUnderTheWorkflowRunOfTheSubmit",
     {{"begun 0 first tuesday | seen 0 active old#0 run=monday | again | step-attached | of-run",
       "~ | ~ | record 0 old#0 | tuesday"},
      {"begun 0 first tuesday | seen 0 succeeded old#0 gone | step-again | of-run",  // the record names no run
       "~ | record 0 old#0 adopter o1 | tuesday"},
      {"begun 0 first tuesday | seen 0 succeeded old#0 gone run=monday | step-again | of-run | run-before",
       "~ | ~ | tuesday | monday"}}},
    // The new record has the revision of the record that it replaces.
    {"ASubmitDecidesAgainIfAnotherSubmitWroteTheRequestRecordFirst",
     {{"begun 1 | seen | step-seen 1 revision=7 | revision | not-recorded | seen 1 active other#1 revision=8",
       "~ | record 1 new#1 | revision 7 | read | attach other"}}},
    {"ASubmitDecidesAgainIfTheReuseOfAResultCouldNotBeRecorded",
     {{"begun 1 | step-seen 1 succeeded old#1 gone | not-recorded | seen 1 ending other#1 gone | again",
       "record 1 old#1 adopter o1 | read | unlock, prepare, lock, read | record 1 new#1, create new, "
       "read_revocation"}}},
    {"ARequestRecordRetainsTheNameOfAJobThatIsStillBeingCreated",
     {{"begun 1 | seen 0 coming=other | step-again | coming", "record 1, unlock, prepare, lock, read | ~ | other"}}},
};
TABLE_TEST(SubmitCourseTest, kCourses, ScriptIn<CourseWorld>());

TEST(SubmitStepTest, SubmitStepsAndResultsAreNamedInSnakeCase) {
  EXPECT_EQ(ToString(SubmitStepKind::kLock), "lock");
  EXPECT_EQ(ToString(SubmitStepKind::kAwaitGone), "await_gone");
  EXPECT_EQ(ToString(SubmitStepKind::kDone), "done");
  EXPECT_EQ(ToString(SubmitEnd::kCreated), "created");
  EXPECT_EQ(ToString(SubmitEnd::kRefusedRevoked), "refused_revoked");
}

// ---- submit decision

// The table of the contract, in the contract's order.
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

TEST(SubmitDecisionTest, ASubmitWithTheSameNumberAsTheExistingJobIsDecidedByPolicyAndJobState) {
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

// The number is higher than the existing job's. A submit that recorded it and then died makes no difference.
TEST(SubmitDecisionTest, ASubmitWithAHigherNumberThanTheExistingJobIsDecidedByJobStateAlone) {
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

TEST(SubmitDecisionTest, ASubmitWithASubmissionNumberBelowTheNewestIsRejectedAsStale) {
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

TEST(SubmitDecisionTest, ASubmitOfARevokedOwnerIsRejectedUnderEveryPolicyAndJobState) {
  for (const ExistingJob existing :
       {ExistingJob::kNone, ExistingJob::kActive, ExistingJob::kEnding, ExistingJob::kSucceeded}) {
    for (const OnExisting policy : kPolicies) {
      for (const int64_t number : {4, 5}) {
        EXPECT_EQ(DecideSubmit({4, existing, 4, true}, {number, policy}), SubmitDecision::kRefuseRevoked);
      }
    }
  }
}

// The contract's rules for digests and consumed results, with each case written by hand.
TEST(SubmitDecisionTest, TheDecisionForChangedFilesOrAConsumedResultDependsOnTheKindOfSubmitter) {
  using enum SubmitterKind;
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

// The first try of this run may have died before its submit, so that a later try meets the old result.
TEST(SubmitDecisionTest, TheResultOfAnotherWorkflowRunIsNotReused) {
  using enum SubmitterKind;
  KnownRequest known = {.existing = ExistingJob::kSucceeded, .run = {"monday"}};
  for (const SubmitterKind asker : {kPerson, kFirstTry, kLaterTry}) {
    EXPECT_EQ(DecideSubmit(known, {.asker = asker, .run = {"monday"}}), SubmitDecision::kAdopt);
    EXPECT_EQ(DecideSubmit(known, {.asker = asker, .run = {"tuesday"}}), SubmitDecision::kCreate);
    EXPECT_EQ(DecideSubmit(known, {.asker = asker}), SubmitDecision::kAdopt);
  }
  known.consumed = true;
  EXPECT_EQ(DecideSubmit(known, {.asker = kLaterTry, .run = {"monday"}}), SubmitDecision::kAdopt);
  EXPECT_EQ(DecideSubmit(known, {.asker = kLaterTry, .run = {"tuesday"}}), SubmitDecision::kCreate);
  EXPECT_EQ(DecideSubmit(known, {.asker = kFirstTry, .run = {"monday"}}), SubmitDecision::kCreate);
}

TEST(SubmitDecisionTest, ALaterTryOfAWorkflowStepReplacesAJobOfAnotherRunIfTheFilesDiffer) {
  using enum SubmitterKind;
  const KnownRequest other = {.existing = ExistingJob::kActive, .differs = true, .run = {"monday"}};
  EXPECT_EQ(DecideSubmit(other, {.asker = kLaterTry, .run = {"monday"}}), SubmitDecision::kAttach);
  EXPECT_EQ(DecideSubmit(other, {.asker = kLaterTry, .run = {"tuesday"}}), SubmitDecision::kReplace);
  const KnownRequest unknown = {.existing = ExistingJob::kSucceeded, .consumed = true};
  EXPECT_EQ(DecideSubmit(unknown, {.asker = kLaterTry, .run = {"tuesday"}}), SubmitDecision::kAdopt);
}

TEST(SubmitDecisionTest, FileDigestsAreNeededOnlyIfFileDifferencesCanChangeTheSubmitDecision) {
  using enum SubmitterKind;
  for (const SubmitterKind asker : {kPerson, kFirstTry, kLaterTry}) {
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

TEST(SubmitDecisionTest, OnlyDigestPartsThatBothSubmitsHaveAreCompared) {
  const SubmitDigest a = {{{"command", "1"}, {"files", "2"}, {"roles", "3"}}};
  const SubmitDigest b = {{{"command", "1"}, {"files", "x"}, {"newer", "4"}}};
  EXPECT_EQ(DifferingParts(a, b), std::vector<std::string>{"files"});
  EXPECT_EQ(DifferingParts(a, a), std::vector<std::string>());
  EXPECT_EQ(DifferingParts(a, {}), std::vector<std::string>()) << "a release without digests made it";
}

TEST(SubmitDecisionTest, ThePoliciesForAnExistingJobAreNamedAdoptAttachAndNever) {
  for (const OnExisting policy : kPolicies) EXPECT_EQ(OnExistingFromString(ToString(policy)), policy);
  EXPECT_EQ(OnExistingFromString("adopt"), OnExisting::kAdopt);
  EXPECT_EQ(OnExistingFromString("attach"), OnExisting::kAttach);
  EXPECT_EQ(OnExistingFromString("never"), OnExisting::kNever);
  EXPECT_EQ(OnExistingFromString("Adopt"), std::nullopt);
  EXPECT_EQ(OnExistingFromString(""), std::nullopt);
}

}  // namespace
}  // namespace tony
