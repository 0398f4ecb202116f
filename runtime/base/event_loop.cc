#include "runtime/base/event_loop.h"

#include <poll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <map>
#include <system_error>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/unique_fd.h"

namespace tony {
namespace asio = boost::asio;

namespace {

using WaitType = asio::posix::descriptor_base::wait_type;
class Descriptor;
using Descriptors = std::map<int, std::weak_ptr<Descriptor>>;

// A Descriptor is an fd that is registered with Asio. Asio registers an fd only once, so a readable and a writable
// watch share one Descriptor. The caller of the watch owns the fd.
class Descriptor {
 public:
  Descriptor(asio::io_context& io, int fd, Descriptors& all) : fd_(fd), all_(all), asio_(io) {
    boost::system::error_code error;
    asio_.assign(fd, error);
    if (error) throw std::system_error(error.value(), std::generic_category());
  }
  ~Descriptor() {
    asio_.release();
    all_.erase(fd_);
  }
  template <class Handler>
  void Wait(WaitType type, Handler handler) {
    asio_.async_wait(type, std::move(handler));
  }
  void CancelWaits() { asio_.cancel(); }
  // Returns whether the fd is ready now. This check is needed, because an event of a destroyed descriptor may reach a
  // new descriptor that has got the same place in Asio's tables.
  bool IsReady(WaitType type) const {
    pollfd now = {fd_, static_cast<short>(type == WaitType::wait_write ? POLLOUT : POLLIN), 0};
    return poll(&now, 1, 0) > 0;
  }

 private:
  int fd_;
  Descriptors& all_;
  asio::posix::stream_descriptor asio_;
};

// A watch that waits again after each event. The state outlives the handle while a wait is pending or `fn` runs.
class AsioWatch : public EventLoop::Handle {
 public:
  AsioWatch(std::shared_ptr<Descriptor> descriptor, WaitType type, EventLoop::Callback fn)
      : state_(std::make_shared<Watched>()) {
    state_->descriptor = std::move(descriptor);
    state_->type = type;
    state_->fn = std::move(fn);
    Wait(state_);
  }
  ~AsioWatch() override {
    // This call cancels the waits in both directions, because Asio cannot cancel only one. A watch of the other
    // direction starts its wait again.
    state_->descriptor->CancelWaits();
    state_->descriptor = nullptr;
  }

 private:
  struct Watched {
    std::shared_ptr<Descriptor> descriptor;  // null: the handle was destroyed
    WaitType type{};
    EventLoop::Callback fn;
  };
  static void Wait(const std::shared_ptr<Watched>& state) {
    state->descriptor->Wait(state->type, [state](const boost::system::error_code& error) {
      if (!state->descriptor) return;
      // Any other error means that the fd was closed, or is a file.
      CHECK(!error || error == asio::error::operation_aborted);
      if (!error && state->descriptor->IsReady(state->type)) state->fn();
      if (state->descriptor) Wait(state);
    });
  }
  std::shared_ptr<Watched> state_;
};

// The clock of EventLoop::Now(), in the form that Asio needs.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  [[maybe_unused]] static constexpr bool is_steady = true;
  static time_point now() noexcept {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return time_point(std::chrono::seconds(time.tv_sec) + duration(time.tv_nsec));
  }
};

// Limits each wait to a second, because the kernel waits without counting the machine's sleep. Asio reads the clock
// again after each wait. A timer that became due while the machine slept is at most a second late.
struct ShortWaits {
  static BootClock::duration to_wait_duration(const BootClock::duration& left) {
    return std::min<BootClock::duration>(left, std::chrono::seconds(1));
  }
  static BootClock::duration to_wait_duration(const BootClock::time_point& when) {
    return to_wait_duration(when - BootClock::now());
  }
};

class AsioTimer : public EventLoop::Handle {
 public:
  AsioTimer(asio::io_context& io, Duration delay, EventLoop::Callback fn) : timer_(io, delay) {
    timer_.async_wait([fn = std::move(fn), alive = std::weak_ptr<int>(alive_)](const boost::system::error_code& error) {
      if (!error && !alive.expired()) fn();
    });
  }

 private:
  std::shared_ptr<int> alive_ = std::make_shared<int>();
  asio::basic_waitable_timer<BootClock, ShortWaits> timer_;
};

class SignalWatch : public EventLoop::Handle {
 public:
  using Callback = std::function<void(const EventLoop::SentSignal&)>;
  SignalWatch(EventLoop& loop, std::initializer_list<int> signals, Callback fn) : fn_(std::move(fn)) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : signals) sigaddset(&set, signal);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
    fd_ = UniqueFd(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
    if (!fd_.valid()) throw std::system_error(errno, std::generic_category());
    watch_ = loop.WhenReadable(fd_.get(), [this] { Read(); });
  }

 private:
  void Read() {
    signalfd_siginfo info{};
    if (read(fd_.get(), &info, sizeof info) != sizeof info) return;
    // The copy is needed because the callback may destroy this handle.
    const auto fn = fn_;
    const bool sent = info.ssi_code == SI_USER || info.ssi_code == SI_QUEUE || info.ssi_code == SI_TKILL;
    fn({static_cast<int>(info.ssi_signo), sent ? static_cast<pid_t>(info.ssi_pid) : 0, info.ssi_uid});
  }
  Callback fn_;
  UniqueFd fd_;
  EventLoop::FdWatch watch_;  // declared after fd_: destroyed first
};

}  // namespace

struct EventLoop::State {
  FdWatch Watch(int fd, WaitType type, Callback fn) {
    std::shared_ptr<Descriptor> descriptor = descriptors[fd].lock();
    if (!descriptor) {
      descriptor = std::make_shared<Descriptor>(io, fd, descriptors);
      descriptors[fd] = descriptor;
    }
    return std::make_unique<AsioWatch>(std::move(descriptor), type, std::move(fn));
  }

  // Declared before `io`, and so destroyed after `io`, whose pending handlers may own watches.
  Descriptors descriptors;
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(io);
  RealClock clock;
};

EventLoop::EventLoop() : state_(std::make_unique<State>()) {}
EventLoop::~EventLoop() = default;

void EventLoop::Run() {
  state_->io.run();
  // The restart comes after run(), so that a Stop() before Run() has an effect.
  state_->io.restart();
}
void EventLoop::Stop() { state_->io.stop(); }
void EventLoop::Post(Callback fn) { asio::post(state_->io, std::move(fn)); }
Instant EventLoop::Now() const { return state_->clock.Now(); }

EventLoop::Timer EventLoop::At(Instant when, Callback fn) {
  // The delay is limited, because Asio counts in nanoseconds and cannot express an unlimited delay.
  constexpr Duration kLongest = std::chrono::hours(24 * 365 * 100);
  const Instant now = Now();
  const Duration delay = when <= now ? Duration(0) : std::min(kLongest, when - now);
  return std::make_unique<AsioTimer>(state_->io, delay, std::move(fn));
}

EventLoop::FdWatch EventLoop::WhenReadable(int fd, Callback fn) {
  return state_->Watch(fd, asio::posix::descriptor_base::wait_read, std::move(fn));
}

EventLoop::FdWatch EventLoop::WhenWritable(int fd, Callback fn) {
  return state_->Watch(fd, asio::posix::descriptor_base::wait_write, std::move(fn));
}

EventLoop::FdWatch EventLoop::OnSignals(std::initializer_list<int> signals, std::function<void(int)> fn) {
  return OnSentSignals(signals, [fn = std::move(fn)](const SentSignal& signal) { fn(signal.number); });
}

EventLoop::FdWatch EventLoop::OnSentSignals(std::initializer_list<int> signals,
                                            std::function<void(const SentSignal&)> fn) {
  return std::make_unique<SignalWatch>(*this, signals, std::move(fn));
}

SideThread::~SideThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void SideThread::Do(std::function<Then()> work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  wake_.notify_one();
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

void SideThread::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    const auto work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    loop_.Post([then = work(), alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) then();
    });
    lock.lock();
  }
}

}  // namespace tony
