#include "runtime/cli/line_exchange.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/base/unique_fd.h"

namespace tony {
namespace {

constexpr size_t kLongestLine = 4096;
// Whoever writes to us without reading waits once we have so much to say.
constexpr size_t kMostWaiting = 1000;

}  // namespace

// Shared with the callbacks on their way to the loop, which hold it weakly.
class LineExchange::Talk : public std::enable_shared_from_this<Talk> {
 public:
  Talk(EventLoop& loop, bool reads, Sink sink) : loop_(loop), sink_(std::move(sink)), reads_(reads) {}

  void Start() {
    thread_ = std::thread([this] {
      while (Turn()) {
      }
    });
  }

  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    Wake();
    thread_.join();
  }

  void Put(const std::string& key, std::string line) {
    {
      const std::lock_guard lock(mutex_);
      const auto same = std::ranges::find(waiting_, key, &Waiting::key);
      if (same == waiting_.end()) {
        waiting_.push_back({key, std::move(line)});
      } else {
        same->line = std::move(line);
      }
    }
    Wake();
  }

  bool IsIdle() {
    const std::lock_guard lock(mutex_);
    return waiting_.empty() && now_.empty();
  }

 private:
  struct Waiting {
    std::string key, line;
  };

  void Wake() {
    const uint64_t one = 1;
    while (write(wake_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
  }

  template <class Callback>
  void Tell(Callback callback) {
    loop_.Post([weak = weak_from_this(), callback] {
      if (const auto talk = weak.lock()) callback(talk->sink_);
    });
  }

  // False: that was the last one.
  bool Turn() {
    bool writes = false, reads = false;
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return false;
      writes = !waiting_.empty() || !now_.empty();
      reads = reads_ && waiting_.size() < kMostWaiting;
    }
    // Standard output also where there is nothing to write: a reader that has gone is seen at once.
    pollfd fds[] = {{wake_.get(), POLLIN, 0},
                    {STDOUT_FILENO, static_cast<short>(writes ? POLLOUT : 0), 0},
                    {reads ? STDIN_FILENO : -1, POLLIN, 0}};
    if (poll(fds, 3, -1) < 0) return errno == EINTR;
    if (uint64_t count = 0; fds[0].revents != 0) writes = read(wake_.get(), &count, sizeof count) < 0 || writes;
    if ((fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0 || ((fds[1].revents & POLLOUT) != 0 && !Write())) {
      Tell([](const Sink& sink) { sink.on_reader_gone(); });
      return false;
    }
    if (fds[2].revents != 0) Read();
    return true;
  }

  // A pipe that can be written to takes this much without making us wait. False: nobody reads any more.
  bool Write() {
    std::string piece;
    {
      const std::lock_guard lock(mutex_);
      if (now_.empty() && !waiting_.empty()) {
        now_ = std::move(waiting_.front().line) + "\n";
        waiting_.pop_front();
      }
      piece = now_.substr(0, PIPE_BUF);
    }
    const ssize_t written = write(STDOUT_FILENO, piece.data(), piece.size());
    if (written < 0) return errno == EINTR || errno == EAGAIN;
    bool idle = false;
    {
      const std::lock_guard lock(mutex_);
      now_.erase(0, static_cast<size_t>(written));
      idle = now_.empty() && waiting_.empty();
    }
    if (idle) Tell([](const Sink& sink) { sink.on_idle(); });
    return true;
  }

  void Read() {
    char buffer[8 << 10];
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    for (ssize_t i = 0; i < got; ++i) {
      if (buffer[i] == '\n') {
        TellLine();
      } else if (line_.size() < kLongestLine) {
        line_.push_back(buffer[i]);
      }
    }
    if (got > 0) return;
    if (!line_.empty()) TellLine();
    reads_ = false;
    Tell([](const Sink& sink) { sink.on_input_end(); });
  }

  void TellLine() {
    Tell([line = std::exchange(line_, "")](const Sink& sink) { sink.on_line(line); });
  }

  EventLoop& loop_;
  const Sink sink_;
  const UniqueFd wake_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  bool reads_;        // the thread's
  std::string line_;  // the thread's: of standard input, so far
  std::mutex mutex_;
  bool stopped_ = false;
  std::deque<Waiting> waiting_;
  std::string now_;  // the line that is being written
  std::thread thread_;
};

LineExchange::LineExchange(EventLoop& loop, bool reads, Sink sink)
    : talk_(std::make_shared<Talk>(loop, reads, std::move(sink))) {
  talk_->Start();
}

LineExchange::~LineExchange() { talk_->Stop(); }

void LineExchange::Put(const std::string& key, std::string line) { talk_->Put(key, std::move(line)); }

bool LineExchange::IsIdle() const { return talk_->IsIdle(); }

}  // namespace tony
