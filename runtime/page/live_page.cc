#include "runtime/page/live_page.h"

#include <fcntl.h>

#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/net/http_server.h"
#include "runtime/page/job_page.h"
#include "runtime/page/page_address.h"

namespace tony {
namespace {

constexpr Duration kFresh{500};
constexpr Duration kAskLimit{5000};

constexpr Duration kCheckInterval{20};

PageGate TokenGate(const std::string& token) {
  return {.admits = nullptr, .ask = [token](const HttpRequest& request, const PageGate::OnRefusal& done) {
            done(HasToken(request, token) ? std::nullopt : std::optional(NotFound()));
          }};
}

}  // namespace

bool StatusFeed::IsFresh() const { return shown_ && (final_ || loop_.Now() - shown_->time < kFresh); }

void StatusFeed::Latest(Answer answer) {
  if (IsFresh()) return answer(shown_);
  waiting_.push_back(std::move(answer));
  AskNow();
}

void StatusFeed::Next(int64_t since, Duration limit, Answer answer) {
  const bool news = shown_ && (shown_->status.seq > since || shown_->status.verdict);
  if (news || limit <= Duration(0)) return Latest(std::move(answer));
  const auto watcher = watchers_.insert(watchers_.end(), {since, std::move(answer), nullptr});
  watcher->limit = loop_.After(limit, [this, watcher] {
    const Answer late = std::move(watcher->answer);
    watchers_.erase(watcher);
    Latest(late);
  });
  LookAgain();
}

void StatusFeed::End(JobStatus last) {
  final_ = true;
  Heard(std::move(last));
}

void StatusFeed::AskNow() {
  if (asking_ || final_) return;
  asking_ = loop_.After(kAskLimit, [this] {
    Heard(Error{ErrorCode::kUnavailable, "the job's application master does not answer"});
  });
  ask_([this, alive = std::weak_ptr<int>(alive_)](Result<JobStatus> status) {
    if (!alive.expired() && !final_) Heard(std::move(status));
  });
}

void StatusFeed::Heard(Result<JobStatus> status) {
  asking_.reset();
  std::shared_ptr<ShownStatus> heard;
  if (status.ok()) {
    shown_ = std::make_shared<ShownStatus>(ShownStatus{*std::move(status), loop_.Now(), {}, {}, {}});
    heard = shown_;
  }
  const std::list<Answer> waiting = std::exchange(waiting_, {});
  for (const Answer& answer : waiting) answer(heard);
  AnswerWatchers();
}

void StatusFeed::AnswerWatchers() {
  std::list<Watcher> answered;
  for (auto watcher = watchers_.begin(); shown_ && watcher != watchers_.end();) {
    const auto next = std::next(watcher);
    const bool news = final_ || shown_->status.verdict || shown_->status.seq > watcher->since;
    if (news) answered.splice(answered.end(), watchers_, watcher);
    watcher = next;
  }
  for (const Watcher& watcher : answered) watcher.answer(shown_);
  LookAgain();
}

void StatusFeed::LookAgain() {
  if (watchers_.empty() || final_) return again_.reset();
  if (again_) return;
  again_ = loop_.After(kFresh, [this] {
    again_.reset();
    if (!watchers_.empty()) AskNow();
    LookAgain();
  });
}

// The thread that serves the page, and the objects of that thread. The AM's thread creates, starts and joins the
// thread.
struct LivePage::Server {
  void Run(const JobRecords& records, std::shared_ptr<const LogSource> logs, const StatusFeed::Ask& ask) {
    const PageGate gate = site.make_gate(loop);
    page.emplace(JobPage::Parts{loop, records, std::move(logs), ask, /*ends_with_job=*/!IsPolled(), site.pause});
    const auto serve = [this, &gate](const HttpRequest& request, const HttpReply& reply) {
      gate.ask(request, [this, request, reply](std::optional<HttpAnswer> refusal) {
        refusal ? reply.Send(*std::move(refusal)) : page->Serve(request, site.below, reply);
      });
    };
    http.emplace(loop, std::move(site.listening), serve, HttpLimits(), gate.admits, site.tls);
    loop.Run();
    http.reset();
    page.reset();
  }

  bool IsPolled() const { return site.pause > Duration(0); }

  void End(const JobRecords& records) {
    const auto last = IsPolled() ? Result<std::optional<JobStatus>>(std::nullopt) : records.ReadStatus();
    if (last.ok() && *last) page->End(**last);
    StopWhenSeen();
  }

  void StopWhenSeen() {
    if (IsPolled() || !page->ExpectsVisitor()) return http->Stop([this] { loop.Stop(); });
    look = loop.After(kCheckInterval, [this] { StopWhenSeen(); });
  }

  PageSite site;
  EventLoop loop;
  EventLoop::Timer look;
  std::optional<JobPage> page;
  std::optional<HttpServer> http;
  std::thread thread;
};

Result<std::unique_ptr<LivePage>> LivePage::Open(EventLoop& loop, const JobRecords& records,
                                                 std::shared_ptr<const LogSource> logs, UniqueFd inherited,
                                                 const std::string& host) {
  TRY_ASSIGN(PageSocket socket,
             inherited.valid() ? AdoptPageSocket(std::move(inherited)) : ListenForPage(records, host));
  // The token is read only now, because ListenForPage() may have replaced it.
  TRY_ASSIGN(const std::string token, ReadPageToken(records));
  PageSite site{.listening = std::move(socket.listening),
                .url = PageUrl(socket.at, token),
                .below = 1,
                .make_gate = [token](EventLoop&) { return TokenGate(token); }};
  return std::make_unique<LivePage>(loop, records, std::move(logs), std::move(site));
}

LivePage::LivePage(EventLoop& loop, JobRecords records, std::shared_ptr<const LogSource> logs, PageSite site)
    : loop_(loop), records_(std::move(records)), logs_(std::move(logs)), site_(std::move(site)) {}

LivePage::~LivePage() { End(); }

UniqueFd LivePage::ShareSocket() const { return UniqueFd(fcntl(site_.listening.get(), F_DUPFD_CLOEXEC, 3)); }

void LivePage::Serve(std::function<JobStatus()> status) {
  status_ = std::move(status);
  first_visitor_ = loop_.WhenReadable(site_.listening.get(), [this] { Start(); });
}

void LivePage::Start() {
  first_visitor_.reset();
  server_ = std::make_shared<Server>();
  server_->site = {std::move(site_.listening), site_.url, site_.below, site_.make_gate, site_.pause, site_.tls};
  // The query is posted from the page's thread to the AM's loop, and the answer is posted back. The page may have been
  // closed meanwhile.
  StatusFeed::Ask ask = [&loop = loop_, status = status_, server = std::weak_ptr<Server>(server_)](auto answer) {
    loop.Post([status, server, answer] {
      const auto asker = server.lock();
      if (!asker) return;
      asker->loop.Post([answer, told = status()] { answer(told); });
    });
  };
  try {
    server_->thread =
        std::thread([server = server_.get(), folder = records_, logs = logs_, ask] { server->Run(folder, logs, ask); });
  } catch (const std::system_error& error) {
    LogWarn(StrCat("the job's page is not served: ", error.what()));
    server_.reset();
  }
}

void LivePage::End() {
  first_visitor_.reset();
  if (!server_) return;
  server_->loop.Post([server = server_.get(), folder = records_] { server->End(folder); });
  server_->thread.join();
  server_.reset();
}

}  // namespace tony
