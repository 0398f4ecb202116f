#include "am/yarn_page.h"

#include <set>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/hadoop/application_viewers.h"
#include "runtime/hadoop/web_text.h"
#include "runtime/net/host_resolver.h"
#include "runtime/net/tcp.h"
#include "runtime/yarn/yarn_logs.h"

namespace tony::am {
namespace {

constexpr const char* kAllAddresses = "0.0.0.0";
constexpr Duration kPause{2000};
constexpr const char* kUserCookie = "proxy-user";  // WebAppProxyServlet.PROXY_USER_COOKIE_NAME

// Says once for each address that it was refused: a proxy that calls from another one than its name's is seen there.
std::function<bool(const std::string&)> ProxyAlone(EventLoop& loop, const YarnCluster& cluster) {
  const std::string host = hadoop::HostOfUrl(WebProxyOf(cluster));
  const auto proxy = std::make_shared<HostAddress>(loop, host);
  if (!proxy->known().ok()) LogWarn(StrCat("the job's page is shown to nobody yet: ", proxy->known().error().message));
  return [host, proxy, refused = std::make_shared<std::set<std::string>>()](const std::string& address) {
    constexpr size_t kMostSaid = 10;
    if (proxy->Is(address)) return true;
    if (proxy->known().ok() && refused->size() < kMostSaid && refused->insert(address).second)
      LogWarn(StrCat("the job's page: a connection from ", address, " is closed: YARN's proxy is at ", host, ", ",
                     *proxy->known()));
    return false;
  };
}

HttpAnswer Refused(const Result<bool>& may_see, const std::string& user) {
  const std::string who = user.empty() ? "who gives no name" : user;
  if (may_see.ok())
    return TextAnswer(403,
                      StrCat(who, " may not see this job: its owner may, and who else tony.yarn.view-acl names\n"));
  return TextAnswer(503, StrCat("the ResourceManager does not say whether ", who,
                                " may see this job: ", may_see.error().message, "\n"));
}

PageGate GateOf(EventLoop& loop, const YarnCluster& cluster, const JobId& job) {
  const auto viewers = std::make_shared<hadoop::ApplicationViewers>(loop, cluster.rm_web, job.value);
  return {.admits = ProxyAlone(loop, cluster), .ask = [viewers](const HttpRequest& request, PageGate::OnRefusal done) {
            const std::string user = CookieOf(request, kUserCookie);
            viewers->Ask(user, [user, done = std::move(done)](const Result<bool>& may_see) {
              done(may_see.ok() && *may_see ? std::nullopt : std::optional(Refused(may_see, user)));
            });
          }};
}

}  // namespace

std::unique_ptr<LivePage> OpenYarnPage(YarnPageParts parts) {
  if (parts.cluster.rm_web.empty()) return nullptr;
  auto listening = ListenOn({kAllAddresses, 0});
  const auto at = listening.ok() ? BoundAddress(*listening) : Result<Endpoint>(listening.error());
  if (!at.ok()) {
    LogWarn(StrCat("the job has no page: ", at.error().message));
    return nullptr;
  }
  PageSite site{.listening = *std::move(listening),
                .url = StrCat("http://", ToString(Endpoint{parts.host, at->port}), "/"),
                .below = 0,
                .make_gate = [cluster = parts.cluster,
                              job = parts.records.job()](EventLoop& loop) { return GateOf(loop, cluster, job); },
                .pause = kPause};
  std::shared_ptr<const LogSource> logs = MakeYarnLogs(parts.records, [way = parts.way] { return way; });
  return std::make_unique<LivePage>(parts.loop, parts.records, std::move(logs), std::move(site));
}

}  // namespace tony::am
