// The tests use real files in /dev/shm, under names of their own, and real processes that have them open or mapped.
#include "runtime/os/shared_memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "tests/support/no_more_files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SharedMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm to write to";
  }
  ~SharedMemoryTest() override {
    for (const pid_t pid : living_) End(pid);
    for (const auto& name : made_) fs::remove_all(name);
  }
  fs::path Make(const std::string& name) {
    const fs::path file = StrCat("/dev/shm/tony-test-", getpid(), "-", name);
    std::ofstream(file) << std::string(3 << 20, 'x');
    made_.push_back(file);
    return file;
  }
  // Starts a process that runs `first` and then lives until it is killed.
  pid_t Start(const std::function<void()>& first) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const UniqueFd read_end(ends[0]);
    UniqueFd write_end(ends[1]);
    const pid_t pid = fork();
    if (pid == 0) {
      first();
      (void)!write(write_end.get(), "x", 1);
      for (;;) pause();
    }
    char ready = 0;
    EXPECT_EQ(read(read_end.get(), &ready, 1), 1);
    living_.insert(pid);
    return pid;
  }
  pid_t Holding(const fs::path& file) {
    return Start([&] { open(file.c_str(), O_RDONLY); });
  }
  pid_t Mapping(const fs::path& file) {
    return Start([&] {
      const UniqueFd fd(open(file.c_str(), O_RDWR));
      if (mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd.get(), 0) == MAP_FAILED) _exit(1);
    });
  }
  void End(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  std::vector<std::string> FreeAfterTheEndOf(pid_t pid) {
    shared_memory_.Note([pid] { return std::set<pid_t>{pid}; });
    living_.erase(pid);
    End(pid);
    return shared_memory_.Free();
  }

  SharedMemory shared_memory_;
  std::set<pid_t> living_;
  std::vector<fs::path> made_;
};

TEST_F(SharedMemoryTest, DevShmFilesThatADeadProcessHadOpenOrMappedAreRemoved) {
  const fs::path open = Make("open"), mapped = Make("mapped"), other = Make("other");
  EXPECT_THAT(FreeAfterTheEndOf(Holding(open)),
              ElementsAre(StrCat("removed 3 MB of files from /dev/shm, because their processes have ended: ",
                                 open.filename().string())));
  EXPECT_THAT(FreeAfterTheEndOf(Mapping(mapped)), ElementsAre(HasSubstr("removed")));
  EXPECT_FALSE(fs::exists(open) || fs::exists(mapped));
  EXPECT_TRUE(fs::exists(other)) << "nobody that was ended had it open";
}

TEST_F(SharedMemoryTest, FilesInDevShmAreKeptWhileALivingProcessUsesTheFiles) {
  const fs::path open = Make("open"), mapped = Make("mapped");
  const pid_t user = Holding(open), mapper = Mapping(mapped);
  EXPECT_THAT(FreeAfterTheEndOf(Mapping(open)),
              ElementsAre(HasSubstr(StrCat("did not remove these files from /dev/shm, although processes that used "
                                           "them have ended: ",
                                           open.filename().string(), " (process ", user, " uses the file)"))));
  EXPECT_THAT(FreeAfterTheEndOf(Holding(mapped)), ElementsAre(HasSubstr(StrCat("(process ", mapper, " uses the file)"))));
  EXPECT_TRUE(fs::exists(open) && fs::exists(mapped));
}

TEST_F(SharedMemoryTest, FilesThatAreAlreadyDeletedFromDevShmAreIgnored) {
  const fs::path file = Make("gone"), other = Make("other");
  const pid_t holder = Holding(file);
  fs::remove(file);
  EXPECT_THAT(FreeAfterTheEndOf(holder), IsEmpty());
}

// Another file, or a link, has taken the name by now.
TEST_F(SharedMemoryTest, AFileOrLinkThatReplacedTheFileOfAnEndedProcessIsKept) {
  const fs::path file = Make("file"), target = Make("target");
  const pid_t holder = Holding(file);
  shared_memory_.Note([holder] { return std::set<pid_t>{holder}; });
  fs::rename(Make("new"), file);
  EXPECT_THAT(shared_memory_.Free(), IsEmpty());
  EXPECT_TRUE(fs::exists(file));

  const pid_t second = Holding(target);
  shared_memory_.Note([second] { return std::set<pid_t>{second}; });
  fs::rename(target, StrCat(target.string(), "-moved"));
  made_.emplace_back(StrCat(target.string(), "-moved"));
  fs::create_symlink(made_.back(), target);
  End(second);
  living_.erase(second);
  EXPECT_THAT(shared_memory_.Free(), IsEmpty());
  EXPECT_TRUE(fs::is_symlink(target) && fs::exists(made_.back()));
}

TEST_F(SharedMemoryTest, AFileInASubfolderOfDevShmIsReportedAndNotRemoved) {
  const fs::path folder = StrCat("/dev/shm/tony-test-", getpid(), "-folder");
  fs::create_directory(folder);
  const fs::path file = Make("folder/x");
  made_.push_back(folder);
  EXPECT_THAT(FreeAfterTheEndOf(Holding(file)),
              ElementsAre(HasSubstr("-folder/x (the file is in a subfolder of /dev/shm)")));
  EXPECT_TRUE(fs::exists(file));
}

TEST_F(SharedMemoryTest, AFileOfAnotherUserInDevShmIsKeptEvenIfTonyRunsAsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files to others";
  const fs::path theirs = Make("theirs"), ours = Make("ours");
  ASSERT_EQ(chown(theirs.c_str(), 4711, 4711), 0);
  EXPECT_THAT(FreeAfterTheEndOf(Holding(theirs)),
              ElementsAre(HasSubstr("(the file is not a regular file of this user)")));
  EXPECT_TRUE(fs::exists(theirs));
}

TEST_F(SharedMemoryTest, FilesAreKeptIfADescriptorShortageHidesTheProcessesThatUseThem) {
  const fs::path file = Make("file");
  const pid_t holder = Holding(file);
  shared_memory_.Note([holder] { return std::set<pid_t>{holder}; });
  {
    // The descriptors suffice for the folders /dev/shm and /proc, and for no process.
    const NoMoreFiles shortage(2);
    EXPECT_THAT(shared_memory_.Free(), ElementsAre(HasSubstr("(the processes that use the file are unknown)")));
  }
  EXPECT_TRUE(fs::exists(file));
}

}  // namespace
}  // namespace tony
