// Connections to a master: which clients reach it and are trusted, which answers they get, and how much memory and how
// many descriptors unknown clients can use. With real programs, of users other than root.
#include <sys/socket.h>

#include <deque>
#include <regex>

#include "runtime/net/sockets.h"
#include "tests/e2e/strangers/master_job.h"

namespace tony {
namespace {

// The limit of memory in MB. A sanitizer needs memory of its own and keeps freed memory.
int MostMb() { return SanitizedPrograms() ? 400 : 64; }

// Returns a value in MB from /proc/PID/status; `what` is "VmRSS:" or "VmHWM:".
long MemoryOf(pid_t pid, const std::string& what) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(what)) return std::stol(line.substr(what.size())) / 1024;
  }
  return 0;
}

TEST_F(MasterTest, AJobListensOnlyOnTheTcpPortOfItsPage) {
  Submit();

  std::set<int> page;
  const std::string url = Text(ParseJson(Tony({"status", "--json", Job()}).out), "/tracking_url");
  if (std::smatch port; std::regex_search(url, port, std::regex("127\\.0\\.0\\.1:([0-9]+)")))
    page = {std::stoi(port[1])};

  EXPECT_EQ(ListeningPorts(user_->Processes()), page);
  EXPECT_EQ(Socket(), "am.1.sock");
  struct stat socket = {}, folder = {};
  ASSERT_EQ(stat((Folder() / Socket()).c_str(), &socket), 0);
  ASSERT_EQ(stat(Folder().c_str(), &folder), 0);
  EXPECT_EQ(socket.st_mode & 0777, 0600u);
  EXPECT_EQ(folder.st_mode & 0777, 0700u);
}

TEST_F(MasterTest, AnotherUserCannotConnectToTheMaster) {
  Submit();
  const OtherUser stranger;
  const SocketPlace place{Folder(), "am.1.sock"};
  const Ran connecting = stranger.Do([&] {
    const auto socket = ConnectTo(place, SocketKind::kStream);
    return socket.ok() ? std::string("connected") : socket.error().message;
  });
  EXPECT_THAT(connecting.out, HasSubstr("permission denied"));
  kill(Master(), SIGKILL);
  EXPECT_TRUE(WaitFor([&] { return IsReached() && Socket() == "am.2.sock"; }));
  EXPECT_FALSE(fs::exists(Folder() / "am.1.sock")) << "a stale name";
  EXPECT_EQ(End(0).exit, 0);
  EXPECT_THAT(user_->Processes(), IsEmpty());
}

TEST_F(MasterTest, TheVerdictNamesRootIfRootKilledTheJob) {
  Submit();
  const std::string tony = (ReachablePrograms() / "tony").string();
  const Background root(
      {tony, "kill", Job(), "--reason", "the machine is needed"},
      {"TONY_HOME=" + home_.string(), "PATH=/usr/bin:/bin", "TONY_LEDGER=" + user_->ledger().string()}, "/");
  const Ran ran = client_->Wait();
  EXPECT_EQ(ran.exit, 1);
  EXPECT_THAT(ran.out + ran.err, HasSubstr("killed by root (uid 0): the machine is needed"));
}

TEST_F(MasterTest, TheVerdictNamesNoUserIfTheOwnerKilledTheJob) {
  Submit();
  EXPECT_EQ(Tony({"kill", Job(), "--reason", "enough"}).exit, 0);
  const Ran ran = client_->Wait();
  EXPECT_THAT(ran.out + ran.err, HasSubstr("enough"));
  EXPECT_THAT(ran.out + ran.err, Not(HasSubstr("killed by")));
}

TEST_F(MasterTest, TheMasterUsesLittleMemoryForUnfinishedRpcFramesOf250Connections) {
  Submit();
  const pid_t master = Master();
  const auto hostile = user_->StartCall([place = SocketPlace{Folder(), Socket()}]() -> std::string {
    std::vector<UniqueFd> sockets;
    for (int i = 0; i < 250; ++i) {
      auto socket = ConnectTo(place, SocketKind::kStream);
      if (!socket.ok() || !*socket) continue;
      sockets.push_back(**std::move(socket));
      const std::string length("\x00\x3f\xff\xff", 4), frame = length + std::string(150'000, 'x');
      (void)!::send(sockets.back().get(), frame.data(), frame.size(), MSG_NOSIGNAL);
    }
    for (int round = 0; round < 200; ++round) {
      for (const UniqueFd& socket : sockets)
        (void)!::send(socket.get(), std::string(100'000, 'x').data(), 100'000, MSG_NOSIGNAL);
    }
    return "done";
  });
  EXPECT_EQ(hostile->Wait().out, "done");
  EXPECT_TRUE(WaitFor([&] { return IsReached(); }));
  EXPECT_EQ(Master(), master);
  EXPECT_LT(MemoryOf(master, "VmHWM:"), MostMb()) << "MB";
  EXPECT_EQ(End(0).exit, 0);
}

TEST_F(MasterTest, IdleConnectionsDoNotExhaustTheMastersDescriptors) {
  Submit(/*open_files=*/256);
  const fs::path go = Go();
  // After the first thousand connections a new one replaces an old one every 10 ms, so the pressure lasts even if the
  // master accepts slowly.
  const auto idle = user_->StartCall([place = SocketPlace{Folder(), Socket()}, go]() -> std::string {
    std::deque<UniqueFd> sockets;
    const auto add = [&] {
      auto socket = ConnectTo(place, SocketKind::kStream);
      if (socket.ok() && *socket) sockets.push_back(**std::move(socket));
    };
    for (int i = 0; i < 1000; ++i) add();
    std::ofstream(go.string() + "-idle") << sockets.size();
    for (; access(go.c_str(), F_OK) != 0; usleep(10'000)) {
      if (!sockets.empty()) sockets.pop_front();
      add();
    }
    return "done";
  });
  ASSERT_TRUE(WaitForFile(go.string() + "-idle"));
  const auto renewal = [&] { return Number(ParseJson(ReadText(Folder() / "am.lease")), "/renewal"); };
  const int64_t before = renewal();
  EXPECT_TRUE(WaitFor([&] { return renewal() > before; })) << "the lease is renewed";
  EXPECT_TRUE(WaitFor([&] { return IsReached(); }));
  EXPECT_EQ(End(0).exit, 0);
}

TEST_F(MasterTest, AMasterStoppedBySigstopIsReportedAsUnreachableAndIsNotReplaced) {
  Submit();
  const pid_t master = Master();
  kill(master, SIGSTOP);
  const Ran status = Tony({"status", "--json", Job()});
  kill(master, SIGCONT);
  EXPECT_EQ(status.exit, 0) << status.err;
  EXPECT_EQ(At(ParseJson(status.out), "/am_reachable"), value(false));
  EXPECT_EQ(Text(ParseJson(status.out), "/state"), "RUNNING");
  EXPECT_TRUE(WaitFor([&] { return IsReached(); }));
  EXPECT_EQ(Master(), master);
  EXPECT_EQ(End(0).exit, 0);
}

TEST_F(MasterTest, TheMasterIsReachableInAHomeWithAPathOf200Bytes) {
  home_ = user_->home() / std::string(100, 'x') / std::string(100, 'y');
  Submit();
  EXPECT_TRUE(WaitFor([&] { return IsReached(); }));
  kill(Master(), SIGKILL);
  EXPECT_TRUE(WaitFor([&] { return IsReached() && Socket() == "am.2.sock"; }));
  EXPECT_EQ(End(0).exit, 0);
}

TEST_F(MasterTest, TheMasterIsReachableThroughABindMountOfTheHome) {
  Submit();
  const SharedFolder elsewhere;
  const std::string command = "mount --bind " + home_.string() + " " + elsewhere.path().string() +
                              " && TONY_HOME=" + elsewhere.path().string() + " " +
                              (ReachablePrograms() / "tony").string() + " status --json " + Job();
  Background mounted({"/usr/bin/unshare", "-m", "sh", "-c", command}, {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, "/");
  const Ran ran = mounted.Wait();
  if (ran.err.starts_with("unshare: ")) GTEST_SKIP() << ran.err;
  ASSERT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(At(ParseJson(ran.out), "/am_reachable"), value(true)) << ran.out;
}

TEST_F(MasterTest, AClientInAnUnmappedUserNamespaceDoesNotSendTheToken) {
  Submit();
  const Words status = {"unshare", "-U", (ReachablePrograms() / "tony").string(), "status", "--json", Job()};
  const Ran ran = user_->Run(status, {.variables = Home()});
  if (ran.err.starts_with("unshare: ")) GTEST_SKIP() << ran.err;
  ASSERT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(At(ParseJson(ran.out), "/am_reachable"), value(false)) << "whoever listens there has no name";
  EXPECT_EQ(Text(ParseJson(ran.out), "/state"), "RUNNING");
}

TEST_F(MasterTest, NoJobStartsInAnUnmappedUserNamespace) {
  const Ran ran = user_->Run({"unshare", "-U", (ReachablePrograms() / "tony").string(), "submit", "-executes", "true",
                              "-conf", "tony.application.framework=standalone"},
                             {.variables = Home()});
  if (ran.err.starts_with("unshare: ")) GTEST_SKIP() << ran.err;
  EXPECT_EQ(ran.exit, 77);
  EXPECT_THAT(ran.err, HasSubstr("stands for every unmapped user"));
  EXPECT_EQ(Folder().string(), "");
}

TEST_F(MasterTest, AJobWithAnEmptyTokenFileIsDegradedAndCanBeKilled) {
  Submit();
  const std::string token = ReadText(Folder() / "token");
  ASSERT_EQ(truncate((Folder() / "token").c_str(), 0), 0);
  const Ran wait = Tony({"wait", Job(), "--timeout", "2"});
  EXPECT_EQ(wait.exit, 69) << "followed by its files, it has not ended";
  EXPECT_THAT(wait.err, HasSubstr("/token: the job's token has 0 bytes, expected 64 hexadecimal digits"));

  // The next master reads an empty token.
  kill(Master(), SIGKILL);
  ASSERT_TRUE(WaitFor([&] {
    return Text(ParseJson(ReadText(Folder() / "status.json")), "/trouble").find("token has 0 bytes") != std::string::npos;
  })) << ReadText(Folder() / "status.json");
  EXPECT_NE(Pid("tony-executor"), 0) << "the task goes on";
  Tony({"kill", Job(), "--no-wait"});
  EXPECT_TRUE(WaitFor([&] {
    const auto left = user_->Processes();
    return left.empty() || left.front().program == "tony";
  }));
  client_->Wait();
}

}  // namespace
}  // namespace tony
