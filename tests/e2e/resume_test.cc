// The checkpoint that a restarted task gets, and the end of a job that makes no checkpoints.
#include "tests/e2e/script.h"

namespace tony {
namespace {

// %C stands for the keys of the checkpoint folder, "saved". %T COMMAND writes the checkpoint variables of the task into
// the file "told-ROLE-INDEX-ATTEMPT" before it runs COMMAND.
const TestRow kResume[] = {
    // The first attempt does not resume from the earlier job's checkpoint.
    {"ARestartedTaskGetsTheNewestCheckpoint",
     {{"write saved/ckpt-5 `of an earlier job`", ""},
      {"one `%T [ $TONY_ATTEMPT = 2 ] || { cd $TONY_CHECKPOINT_DIR; touch ckpt-7 ckpt-12 ckpt-13.tmp other-99; exit 3; "
       "}` "
       "%C tony.restart.task.budget=1 --json",
       "/restart_count=1"},
      {"file told-worker-0-1", "out=none %B/saved 1 0\n"},
      {"file told-worker-0-2", "out~%B/saved/ckpt-12 %B/saved "},
      {"left", ""}}},
    {"AllTasksOfARestartedGangResumeFromTheSameCheckpoint",
     {{"workers 2 `%T [ $TONY_ATTEMPT = 2 ] && exit 0; if [ $TASK_INDEX = 1 ]; then until [ -e %B/saved/ckpt-4 ]; do "
       "sleep "
       "0.02; done; exit 3; fi; mkdir -p %B/saved; touch %B/saved/ckpt-4; exec sleep 100` %C "
       "tony.restart.gang.budget=1 "
       "--json",
       "/restart_count=1"},
      {"file told-worker-0-1", "out=none %B/saved 1 0\n"},
      {"file told-worker-1-1", "out=none %B/saved 1 0\n"},
      {"file told-worker-0-2", "out=%B/saved/ckpt-4 %B/saved 2 1\n"},
      {"file told-worker-1-2", "out=%B/saved/ckpt-4 %B/saved 2 1\n"},
      {"left", ""}}},
    // The job gives up after three restarts.
    {"AJobWithoutNewCheckpointsFailsAfterThreeRestarts",
     {{"one `%T exit 3` %C tony.restart.task.budget=100 --json",
       "1 && /state=FAILED && /verdict/message~produced no newer checkpoint in %B/saved && /verdict/exit_code=3"},
      {"file told-worker-0-4", "out=none %B/saved 1 0\n"},
      {"missing told-worker-0-5", ""},
      {"left", ""}}},
    {"EachNewCheckpointResetsTheCountOfRestartsWithoutProgress",
     {{"one `%T mkdir -p $TONY_CHECKPOINT_DIR; touch $TONY_CHECKPOINT_DIR/ckpt-$TONY_ATTEMPT; [ $TONY_ATTEMPT = 6 ]` "
       "%C "
       "tony.checkpoint.fruitless-restarts=1 tony.restart.task.budget=5",
       ""},
      {"file told-worker-0-6", "out~%B/saved/ckpt-5 "},
      {"left", ""}}},

    // ---- jobs that wrote a checkpoint
    {"ARestartedTaskIgnoresCheckpointsOfEarlierJobs",
     {{"write saved/ckpt-99 `of an earlier job`", ""},
      {"one `%T [ $TONY_ATTEMPT = 3 ] && exit 0; [ $TONY_ATTEMPT = 1 ] || touch $TONY_CHECKPOINT_DIR/ckpt-12; exit 3` "
       "%C "
       "tony.restart.task.budget=2 --json",
       "/checkpoint/resumed_from/path=%B/saved/ckpt-12 && /checkpoint/resumed_from/writer=this_job"},
      {"file told-worker-0-2", "out=none %B/saved 1 0\n"},
      {"file told-worker-0-3", "out=%B/saved/ckpt-12 %B/saved 1 0\n"}}},
    {"ARestartedTaskResumesFromAnOldCheckpointThatTheCurrentJobHasModified",
     {{"write saved/ckpt-7/weights `of an earlier job`", ""},
      {"write saved/ckpt-99 `of an earlier job`", ""},
      {"one `%T [ $TONY_ATTEMPT = 2 ] || { echo more >> $TONY_CHECKPOINT_DIR/ckpt-7/weights; exit 3; }` %C "
       "tony.restart.task.budget=1",
       ""},
      {"file told-worker-0-2", "out=%B/saved/ckpt-7 %B/saved 1 0\n"}}},
    {"ATaskStartsFromTheNewestCheckpointOfAnyJobIfCheckpointResumeIsLatest",
     {{"write saved/ckpt-99 `of an earlier job`", ""},
      {"one `%T [ $TONY_ATTEMPT = 1 ]` %C tony.checkpoint.resume=latest --json",
       "/checkpoint/resumed_from/writer=others"},
      {"file told-worker-0-1", "out=%B/saved/ckpt-99 %B/saved 1 0\n"}}},
    // With another submission number the job runs from the beginning.
    {"ANewJobWithTheSameSubmissionNumberResumesFromTheFailedJobsCheckpoint",
     {{"write saved/ckpt-99 `of an earlier job`", ""},
      {"& one `%T touch $TONY_CHECKPOINT_DIR/ckpt-12; exit 3` %C --request-id run/train --submission 0", ""},
      {"end 0", "1"},
      {"file told-worker-0-1", "out=none %B/saved 1 0\n"},
      {"one `%T exit 3` %C --request-id run/train --submission 0 --json",
       "1 && /checkpoint/resumed_from/writer=earlier_job && /checkpoint/resumed_from/job=%0"},
      {"file told-worker-0-1", "out=%B/saved/ckpt-12 %B/saved 1 0\n"},
      {"one `%T exit 0` %C --request-id run/train --submission 1", ""},
      {"file told-worker-0-1", "out=none %B/saved 1 0\n"}}},
    {"AJobFailsIfAnotherRunningJobUsesTheSameCheckpointFolder",
     {{"write saved/other", ""},
      {"& one `ln -s %B/saved %B/link; %H` %C", ""},
      {"running 1", ""},
      {"one true tony.checkpoint.dir=%B/link --json",
       "1 && /verdict/class=user_config && /verdict/message~tony.checkpoint.dir: %B/link is in use by job %0"},
      {"go", ""},
      {"end 0", ""},
      {"one true %C", ""}}},
};
TABLE_TEST(ResumeTest, kResume, [](const TestRow& row) {
  RunScriptWith({{"%T",
                  "echo ${TONY_RESUME_FROM-none} $TONY_CHECKPOINT_DIR $TONY_GENERATION ${NUM_AM_RETRIES-0} > "
                  "%B/told-$JOB_NAME-$TASK_INDEX-$TONY_ATTEMPT;"},
                 {"%C", "tony.checkpoint.dir=%B/saved tony.checkpoint.pattern=ckpt-* tony.restart.backoff-ms=1"}},
                row);
});

}  // namespace
}  // namespace tony
