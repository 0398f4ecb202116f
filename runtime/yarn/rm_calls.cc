#include "runtime/yarn/rm_calls.h"

#include <optional>
#include <utility>

#include "runtime/base/event_loop.h"
#include "runtime/net/host_resolver.h"

namespace tony {

template <class T, class Ask>
Result<T> RmCalls::Await(Ask ask) const {
  EventLoop loop;
  HostResolver names(loop);
  hadoop::RmClient client(loop, names, rm_, hadoop::SimpleUser{user_}, {.establish = limit_, .call = limit_});
  std::optional<Result<T>> answer;
  ask(client, [&](Result<T> told) {
    answer = std::move(told);
    loop.Stop();
  });
  loop.Run();
  if (!answer->ok() && answer->error().code == ErrorCode::kUnavailable)
    return Annotate(answer->error(), "yarn.resourcemanager.address");
  return *std::move(answer);
}

Result<hadoop::NewApplication> RmCalls::MakeApplication() const {
  return Await<hadoop::NewApplication>([](hadoop::RmClient& rm, auto done) { rm.MakeApplication(done); });
}

Status RmCalls::Submit(const hadoop::Submission& submission) const {
  const auto submitted = Await<bool>([&](hadoop::RmClient& rm, auto done) {
    rm.Submit(submission, [done](const Status& told) { done(told.ok() ? Result<bool>(true) : told.error()); });
  });
  return submitted.ok() ? Ok() : Status(submitted.error());
}

Result<hadoop::ApplicationReport> RmCalls::Report(const hadoop::ApplicationId& id) const {
  return Await<hadoop::ApplicationReport>([&](hadoop::RmClient& rm, auto done) { rm.Report(id, done); });
}

Result<std::vector<hadoop::ApplicationReport>> RmCalls::Applications() const {
  return Await<std::vector<hadoop::ApplicationReport>>([](hadoop::RmClient& rm, auto done) { rm.Applications(done); });
}

Status RmCalls::Kill(const hadoop::ApplicationId& id, const std::string& reason) const {
  const auto killed = Await<bool>([&](hadoop::RmClient& rm, auto done) { rm.Kill(id, reason, done); });
  return killed.ok() ? Ok() : Status(killed.error());
}

Result<hadoop::QueueReport> RmCalls::Queue(const std::string& name) const {
  return Await<hadoop::QueueReport>([&](hadoop::RmClient& rm, auto done) { rm.Queue(name, done); });
}

Result<std::vector<std::string>> RmCalls::QueuesOfUser() const {
  return Await<std::vector<std::string>>([](hadoop::RmClient& rm, auto done) { rm.QueuesOfUser(done); });
}

Result<std::vector<std::string>> RmCalls::NodeLabels() const {
  return Await<std::vector<std::string>>([](hadoop::RmClient& rm, auto done) { rm.NodeLabels(done); });
}

Result<hadoop::ClusterMetrics> RmCalls::Metrics() const {
  return Await<hadoop::ClusterMetrics>([](hadoop::RmClient& rm, auto done) { rm.Metrics(done); });
}

Result<std::vector<hadoop::NodeReport>> RmCalls::RunningNodes() const {
  return Await<std::vector<hadoop::NodeReport>>([](hadoop::RmClient& rm, auto done) { rm.RunningNodes(done); });
}

}  // namespace tony
