// The address of a job's page, and the token in it, survive the death of masters and keepers. A process that waits for
// the port gets neither.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Tries to take a port with a new socket, as a foreign process would.
bool MayBeTaken(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in address = Loopback(port);
  const bool taken = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && listen(fd, 1) == 0;
  close(fd);
  return taken;
}

// Tries to bind a port again and again in a thread.
class Spinner {
 public:
  explicit Spinner(int port)
      : thread_([this, port](const std::stop_token& stop) {
          for (; !stop.stop_requested(); ++tries_) taken_ = taken_ || MayBeTaken(port);
        }) {}
  bool taken() const { return taken_; }
  int tries() const { return tries_; }

 private:
  std::atomic<bool> taken_{false};
  std::atomic<int> tries_{0};
  // The last member, because the thread uses the other members.
  std::jthread thread_;
};

// A browser: connects, sends a request, and waits for the answer.
class Visit {
 public:
  Visit(int port, const std::string& path) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = Loopback(port);
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    if (connected_) (void)!send(fd_, request.data(), request.size(), MSG_NOSIGNAL);
  }
  ~Visit() { close(fd_); }
  bool connected() const { return connected_; }
  std::string Answer() const {
    std::string answer;
    pollfd readable = {fd_, POLLIN, 0};
    char buffer[4096];
    while (connected_ && poll(&readable, 1, static_cast<int>(kGenerous.count())) > 0) {
      const ssize_t got = recv(fd_, buffer, sizeof buffer, 0);
      if (got <= 0) break;
      answer.append(buffer, static_cast<size_t>(got));
    }
    return answer;
  }

 private:
  int fd_;
  bool connected_ = false;
};

class PagePortTest : public TonyTest {
 protected:
  void SetUp() override {
    client_ = Hold(One(HoldUntilGo()));
    url_ = Url();
    ASSERT_THAT(url_, StartsWith("http://127.0.0.1:"));
  }

  // The URL in the current status; "" while no master answers.
  std::string Url() const {
    const auto status = Status();
    return At(status, "/am_reachable") == value(true) ? Text(status, "/tracking_url") : "";
  }
  static int PortOf(const std::string& url) { return std::stoi(url.substr(url.rfind(':') + 1)); }
  static std::string PathOf(const std::string& url) { return url.substr(url.find('/', 8)); }

  void EndWell() {
    const Ran ran = GoAndEnd(*client_);
    ExpectNothingLeft();
  }

  std::unique_ptr<Background> client_;
  std::string url_;
};

TEST_F(PagePortTest, ThePortOfTheJobsPageIsNeverFreeDuringRepeatedMasterRestarts) {
  const Spinner spinner(PortOf(url_));
  for (int64_t epoch = 2; epoch <= 11; ++epoch) {
    KillTogether({"tony-am"});
    ASSERT_TRUE(WaitFor([&] { return Epoch() == epoch; })) << client_->err();
    EXPECT_EQ(Url(), url_);
  }
  EXPECT_FALSE(spinner.taken());
  EXPECT_GT(spinner.tries(), 100);
  EXPECT_THAT(Visit(PortOf(url_), PathOf(url_) + "status.json").Answer(), HasSubstr(Job()));
  EndWell();
}

TEST_F(PagePortTest, APageRequestSentDuringAMasterRestartIsAnsweredByTheNextMaster) {
  SignalAll("tony-keeper", SIGSTOP);
  KillTogether({"tony-am"});
  const Visit visit(PortOf(url_), PathOf(url_) + "status.json");
  EXPECT_TRUE(visit.connected());
  SignalAll("tony-keeper", SIGCONT);
  EXPECT_THAT(visit.Answer(), testing::AllOf(StartsWith("HTTP/1.1 200"), HasSubstr(Job())));
  EndWell();
}

TEST_F(PagePortTest, ThePortOfTheJobsPageStaysReservedWhenTheKeeperIsReplaced) {
  const Spinner spinner(PortOf(url_));
  for (int64_t epoch = 2; epoch <= 4; ++epoch) {
    KillTogether({"tony-keeper"});
    ASSERT_TRUE(WaitFor([&] {
      return ReadText(box_.JobFolder(Job()) / "keeper.log").find("AM adopted: epoch " + std::to_string(epoch - 1)) !=
             std::string::npos;
    }));
    KillTogether({"tony-am"});
    ASSERT_TRUE(WaitFor([&] { return Epoch() == epoch; })) << client_->err();
    EXPECT_EQ(Url(), url_);
  }
  EXPECT_FALSE(spinner.taken());
  EndWell();
}

TEST_F(PagePortTest, ThePageHasANewAddressAndRejectsTheOldTokenAfterItsPortWasFreed) {
  client_->Signal(SIGKILL);
  client_->Wait();
  KillTogether();
  // A dying process loses its name before it closes its files, so the port becomes free a moment later.
  EXPECT_TRUE(WaitFor([&] { return MayBeTaken(PortOf(url_)); }));
  client_ = box_.StartTony({"wait", Job()});
  ASSERT_TRUE(WaitFor([&] { return Epoch() >= 2; })) << client_->err();
  const std::string url = Url();
  EXPECT_NE(PathOf(url), PathOf(url_));
  EXPECT_THAT(Visit(PortOf(url), PathOf(url_)).Answer(), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Visit(PortOf(url), PathOf(url) + "status.json").Answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(client_->err(), HasSubstr("page: " + url));
  EndWell();
}

}  // namespace
}  // namespace tony
