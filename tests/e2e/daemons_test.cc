// Tasks that leave daemons behind in each attempt. Each attempt checks that the daemons of all previous attempts are
// dead.
#include "tests/e2e/tony_test.h"
#include "tests/support/rough_daemon.h"

namespace tony {
namespace {

constexpr Limit kManyDaemons{100'000};

class DaemonsTest : public TonyTest {
 protected:
  // A command that appends to the file "alive" which daemons below "locks"/`before` still live.
  std::string Check(const std::string& before) const {
    return "for d in " + box_.File("locks") + "/" + before + "; do [ ! -d $d ] || " + TestProgram("rough_daemon") +
           " check $d 2>>" + box_.File("alive") + "; done; ";
  }
  // A command that starts a daemon, which holds a lock below "locks"/`folder`.
  std::string Leave(const std::string& kind, const std::string& folder) const {
    const std::string path = box_.File("locks") + "/" + folder;
    return "mkdir -p " + path + "; " + TestProgram("rough_daemon") + " " + kind + " " + path +
           "/$TASK_INDEX-$TONY_ATTEMPT || echo " + "no daemon >> " + box_.File("alive") + "; ";
  }
  void ExpectNoneLived(size_t daemons) const {
    EXPECT_THAT(ReadText(box_.File("alive")), IsEmpty());
    size_t left = 0;
    for (const auto& entry : fs::recursive_directory_iterator(box_.File("locks"))) {
      if (!entry.is_regular_file()) continue;
      ++left;
      EXPECT_FALSE(DaemonLives(entry.path())) << entry.path();
    }
    EXPECT_EQ(left, daemons);
    ExpectNothingLeft();
  }
};

TEST_F(DaemonsTest, DaemonsOfAFailedAttemptAreDeadBeforeTheNextAttemptStarts) {
  const std::string own = "$TASK_INDEX";
  Succeeds(Workers(4, Check(own) + Leave("refork", own) + "exit $((TONY_ATTEMPT < 25))",
                   {"tony.application.framework=standalone", "tony.application.distributed-mode=FCFS",
                    "tony.restart.task.budget=24", "tony.restart.backoff-ms=0", LittleMemory()}),
           {}, kManyDaemons);
  ExpectNoneLived(100);
}

// The other workers are stopped while their daemons live.
TEST_F(DaemonsTest, DaemonsOfAGangAreDeadBeforeTheGangRestarts) {
  const std::string earlier = "g$((TONY_GENERATION - 1))", own = "g$TONY_GENERATION", have = box_.File("have-" + own);
  Succeeds(Workers(3,
                   Check(earlier) + Leave("refork,noterm,bare,quiet", own) + "echo >> " + have +
                       "; [ $TONY_GENERATION = 8 ] && exit 0; until [ $(wc -l < " + have +
                       ") = 3 ]; do sleep 0.01; done; [ $TASK_INDEX != 0 ] || exit 1; sleep 1000",
                   {"tony.restart.gang.budget=7", "tony.restart.scope=gang", "tony.restart.backoff-ms=0",
                    "tony.task.stop-grace-ms=100", LittleMemory()}),
           {}, kManyDaemons);
  ExpectNoneLived(24);
}

// $PPID of the command is the pid of its executor.
TEST_F(DaemonsTest, DaemonsOfAKilledExecutorAreDeadBeforeTheNextAttemptStarts) {
  const std::string own = "all";
  Succeeds(
      One(Check(own) + Leave("refork,bare,quiet", own) + "[ $TONY_ATTEMPT = 6 ] && exit 0; kill -9 $PPID; sleep 1000",
          {"tony.restart.backoff-ms=0", LittleMemory()}),
      {}, kManyDaemons);
  ExpectNoneLived(6);
}

}  // namespace
}  // namespace tony
