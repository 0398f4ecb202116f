#include "runtime/page/live_page.h"

#include <fcntl.h>

#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/page/http_server.h"
#include "runtime/page/job_page.h"
#include "runtime/page/page_address.h"

namespace tony {

namespace {

constexpr Duration kBetweenLooks{20};

}  // namespace

// The thread and what is its own. Made, started and joined by the master's thread.
struct LivePage::Server {
  void Run(const JobRecords& records, std::shared_ptr<const LogSource> logs, const std::string& token,
           const StatusFeed::Ask& ask) {
    page.emplace(JobPage::Parts{loop, records, std::move(logs), ask, /*ends_with_job=*/true});
    const auto serve = [this, token](const HttpRequest& request, const HttpReply& reply) {
      HasToken(request, token) ? page->Serve(request, 1, reply) : reply.Send(NotFound());
    };
    http.emplace(loop, std::move(listening), serve);
    loop.Run();
    http.reset();
    page.reset();
  }

  void StopWhenSeen() {
    if (!page->ExpectsSomebody()) return http->Stop([this] { loop.Stop(); });
    look = loop.After(kBetweenLooks, [this] { StopWhenSeen(); });
  }

  UniqueFd listening;
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
  TRY_ASSIGN(std::string token, ReadPageToken(records));  // a new address has a new one
  return std::make_unique<LivePage>(loop, records, std::move(logs), std::move(token), std::move(socket));
}

LivePage::LivePage(EventLoop& loop, JobRecords records, std::shared_ptr<const LogSource> logs, std::string token,
                   PageSocket socket)
    : loop_(loop),
      records_(std::move(records)),
      logs_(std::move(logs)),
      token_(std::move(token)),
      url_(PageUrl(socket.at, token_)),
      listening_(std::move(socket.listening)) {}

LivePage::~LivePage() { End(); }

UniqueFd LivePage::ShareSocket() const { return UniqueFd(fcntl(listening_.get(), F_DUPFD_CLOEXEC, 3)); }

void LivePage::Serve(std::function<JobStatus()> status) {
  status_ = std::move(status);
  first_visitor_ = loop_.WhenReadable(listening_.get(), [this] { Start(); });
}

void LivePage::Start() {
  first_visitor_.reset();
  server_ = std::make_shared<Server>();
  server_->listening = std::move(listening_);
  // From the page's thread by way of the master's loop, and back. Neither end is there for the other to keep.
  StatusFeed::Ask ask = [&loop = loop_, status = status_, server = std::weak_ptr<Server>(server_)](auto answer) {
    loop.Post([status, server, answer] {
      const auto asker = server.lock();
      if (!asker) return;
      asker->loop.Post([answer, told = status()] { answer(told); });
    });
  };
  try {
    server_->thread = std::thread([server = server_.get(), folder = records_, logs = logs_, token = token_, ask] {
      server->Run(folder, logs, token, ask);
    });
  } catch (const std::system_error& error) {
    LogWarn(StrCat("the job's page is not served: ", error.what()));
    server_.reset();
  }
}

void LivePage::End() {
  first_visitor_.reset();
  if (!server_) return;
  server_->loop.Post([server = server_.get(), folder = records_] {
    const auto last = folder.ReadStatus();
    if (last.ok() && *last) server->page->End(**last);
    server->StopWhenSeen();
  });
  server_->thread.join();
  server_.reset();
}

}  // namespace tony
