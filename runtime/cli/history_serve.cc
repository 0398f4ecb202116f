#include "runtime/cli/history_serve.h"

#include <csignal>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/json_text.h"
#include "runtime/base/strings.h"
#include "runtime/cli/output.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/history/ended_log.h"
#include "runtime/history/ended_query.h"
#include "runtime/net/http_server.h"
#include "runtime/net/tcp.h"
#include "runtime/os/files.h"
#include "runtime/page/job_page.h"
#include "runtime/page/page_address.h"
#include "runtime/page/side_html.h"
#include "runtime/records/user_home.h"

namespace tony {
namespace {

constexpr int kTokenBytes = 16;
constexpr size_t kMostListed = 500;
constexpr size_t kMostKept = 100;  // pages of jobs, with what was read for them

class HistorySite {
 public:
  HistorySite(EventLoop& loop, std::filesystem::path home, std::string token)
      : loop_(loop), home_(std::move(home)), token_(std::move(token)) {}

  void Serve(const HttpRequest& request, const HttpReply& reply) {
    if (!HasToken(request, token_)) return reply.Send(NotFound());
    if (request.path.size() == 1) return reply.Send(AddSlash(request));
    const std::string& name = request.path[1];
    if (request.path.size() == 2 && name.empty()) return reply.Send(List());
    if (auto asset = request.path.size() == 2 ? AssetAnswer(name) : std::nullopt) return reply.Send(*std::move(asset));
    JobPage* page = PageOf({name});
    page ? page->Serve(request, 2, reply) : reply.Send(NotFound());
  }

 private:
  HttpAnswer List() const {
    const auto log = EndedLog(home_).Read();
    if (!log.ok()) return TextAnswer(503, log.error().message + "\n");
    const EndedFound found = FindEnded(log->text(), {}, kMostListed);
    std::vector<ListedJob> jobs;
    for (const EndedJob& job : found.jobs) {
      const bool good = job.state == FinalState::kSucceeded;
      jobs.push_back({job.job, job.name, job.user, std::string(ToString(job.state)), good ? "" : job.cause,
                      job.submitted, job.ended, /*kept=*/FindJob(job.job.value).ok()});
    }
    HttpAnswer answer;
    answer.body = std::make_shared<const std::string>(JobListHtml(jobs, !found.complete));
    return answer;
  }

  JobPage* PageOf(const JobId& job) {
    const auto records = FindJob(job.value);
    if (!records.ok()) return nullptr;
    auto logs = BackendOf(job).logs().LogsOf(*records);
    if (!logs.ok()) return nullptr;
    if (pages_.size() >= kMostKept && !pages_.contains(job)) pages_.clear();
    const auto [page, fresh] = pages_.try_emplace(job);
    if (fresh) {
      const auto ask = [records = *records](const auto& answer) { answer(StoredStatus(records)); };
      page->second = std::make_unique<JobPage>(JobPage::Parts{loop_, *records, *std::move(logs), ask});
    }
    return page->second.get();
  }

  EventLoop& loop_;
  const std::filesystem::path home_;
  const std::string token_;
  std::map<JobId, std::unique_ptr<JobPage>> pages_;
};

Result<int> PortOf(const CommandLine& line) {
  if (!line.Has("port")) return 0;
  const auto port = ParseInt(line.Value("port"));
  if (port && *port >= 0 && *port <= 65535) return static_cast<int>(*port);
  return Error{ErrorCode::kUsage, StrCat("--port \"", line.Value("port"), "\": expected a number from 0 to 65535")};
}

// A store that nobody can write to may still be looked at.
std::string TokenOf(const std::filesystem::path& home) {
  const auto kept = KeepPageToken(home / "history" / "page-token");
  if (kept.ok()) return *kept;
  Say(StrCat("tony: the address will be another one next time: ", kept.error().message));
  return RandomHex(kTokenBytes);
}

}  // namespace

Result<int> ServeHistory(const CommandLine& line) {
  if (!line.words().empty())
    return Error{ErrorCode::kUsage, "history --serve shows all jobs that have ended: name none"};
  TRY_ASSIGN(const int wanted, PortOf(line));
  TRY_ASSIGN(const std::filesystem::path home, TonyHome());
  TRY_ASSIGN(UniqueFd listening, ListenOn({kLoopback, wanted}));
  TRY_ASSIGN(const Endpoint at, BoundAddress(listening));
  const std::string token = TokenOf(home);
  EventLoop loop;
  const auto signals = loop.OnSignals({SIGINT, SIGTERM, SIGHUP}, [&](int) { loop.Stop(); });
  HistorySite site(loop, home, token);
  HttpServer server(loop, std::move(listening),
                    [&](const HttpRequest& request, const HttpReply& reply) { site.Serve(request, reply); });
  const std::string url = PageUrl(at, token);
  PrintLine(line.Has("json") ? StrCat("{\"schema\":1,\"url\":", JsonString(url), "}") : url);
  loop.Run();
  return 0;
}

}  // namespace tony
