// The check of a job's queue against a scripted ResourceManager.
#include "runtime/yarn/yarn_queues.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/hadoop/wire/client.pb.h"
#include "runtime/hadoop/wire_records.h"
#include "tests/support/results.h"
#include "tests/support/script.h"
#include "tests/unit/yarn/fake_yarn.h"

namespace tony {
namespace {

hadoop::QueueReport QueueOf(const std::string& path, std::vector<hadoop::QueueReport> children = {}) {
  hadoop::QueueReport queue{.path = path, .running = true};
  queue.children = std::move(children);
  return queue;
}

TEST(ClusterQueuesTest, AQueueIsFoundByItsPathOrByAUniqueName) {
  ClusterQueues queues{.root = QueueOf("root", {QueueOf("root.a", {QueueOf("root.a.ml"), QueueOf("root.a.x")}),
                                                QueueOf("root.b", {QueueOf("root.b.ml")})})};
  const auto find = [&](const std::string& name) {
    const auto* queue = queues.Find(name);
    return queue ? queue->path : "none";
  };
  EXPECT_EQ(find("root.a.ml"), "root.a.ml");
  EXPECT_EQ(find("x"), "root.a.x");
  EXPECT_EQ(find("b"), "root.b");
  for (const char* name : {"ml", "a.x", "root.c", "", "."}) EXPECT_EQ(find(name), "none") << name;
  queues.root.is_fair = true;
  EXPECT_EQ(find("a.x"), "root.a.x") << "the FairScheduler adds root";
  EXPECT_EQ(find("x"), "none") << "it means root.x";
}

TEST(ClusterQueuesTest, AQueueIsOpenIfItsPathIsInTheUsersAllowedQueues) {
  ClusterQueues queues{.root = QueueOf("root"), .allowed = {"root.a.ml", "old"}};
  EXPECT_TRUE(queues.IsOpen(QueueOf("root.a.ml")));
  EXPECT_FALSE(queues.IsOpen(QueueOf("root.b.ml")));
  EXPECT_TRUE(queues.IsOpen(QueueOf("root.b.old"))) << "an older ResourceManager lists names";
  queues.has_rules = false;
  EXPECT_TRUE(queues.IsOpen(QueueOf("root.b.ml")));
}

// A ResourceManager on a thread of its own, because the check blocks. It has the queues root.default (open), root.ml
// (closed), root.off (stopped), root.a.twin and root.b.twin (open).
class QueueWorld {
 public:
  QueueWorld() : server_(loop_, std::nullopt) {
    server_.on_call = [this](const FakeRpcServer::Call& call) { On(call); };
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~QueueWorld() {
    loop_.Post([this] { loop_.Stop(); });
    thread_.join();
  }
  static Deeds<QueueWorld> Its();
  std::string Check(const std::string& name, CheckFor purpose) {
    const YarnCluster cluster{.rms = {{"127.0.0.1", 1}, {"127.0.0.1", server_.port()}}, .user = "eve", .enforces_queue_acls = true};
    JobSpec spec;
    spec.yarn.queue = name;
    const auto checked = CheckYarnQueue(cluster, spec, {1700000000000, 7}, purpose);
    if (!checked.ok())
      return StrCat(checked.error().code == ErrorCode::kNotPermitted ? "not permitted: " : "", checked.error().message);
    return StrCat(checked->queue ? checked->queue->path : "comes", checked->id_was_used ? ", asked" : "");
  }

  // Runs `fn` on the ResourceManager's thread.
  std::string OnServer(const std::function<std::string()>& fn) {
    std::promise<std::string> done;
    loop_.Post([&] { done.set_value(fn()); });
    return done.get_future().get();
  }
  std::string Set(std::string QueueWorld::*text, const std::string& value) {
    return OnServer([&] { return this->*text = value, ""; });
  }

  // How the ResourceManager answers a submit, and how its report on the application ends. Empty: it accepts.
  std::string refusal, later_refusal;
  std::string scheduler;  // "fair", or empty
  std::vector<std::string> received;

 private:
  void On(const FakeRpcServer::Call& call) {
    if (call.method == "getQueueInfo") return server_.Succeed(call, Queues());
    if (call.method == "getQueueUserAcls") return server_.Succeed(call, Acls());
    if (call.method == "submitApplication") return OnSubmit(call);
    if (call.method == "forceKillApplication") {
      received.emplace_back("kill");
      return server_.Succeed(call, wire::KillApplicationResponse());
    }
    wire::GetApplicationReportResponse answer;
    auto& report = *answer.mutable_application_report();
    // The first report comes too early.
    const bool is_new = ++reports_ == 1;
    report.set_yarn_application_state(is_new ? wire::SUBMITTED : later_refusal.empty() ? wire::ACCEPTED : wire::FAILED);
    if (!is_new) report.set_diagnostics(later_refusal);
    report.mutable_currentapplicationattemptid()->set_attemptid(-1);
    server_.Succeed(call, answer);
  }
  void OnSubmit(const FakeRpcServer::Call& call) {
    const auto context = MessageOf<wire::SubmitApplicationRequest>(call).application_submission_context();
    received.push_back(StrCat("submit ", context.application_id().id(), " to ", context.queue(),
                              context.unmanaged_am() ? " without master" : ""));
    if (!refusal.empty()) return server_.Fail(call, kYarnExceptions + "YarnException", refusal);
    server_.Succeed(call, wire::SubmitApplicationResponse());
  }
  wire::GetQueueInfoResponse Queues() const {
    wire::GetQueueInfoResponse answer;
    auto& root = *answer.mutable_queueinfo();
    Fill(root, "root");
    for (const char* name : {"default", "ml", "off"}) Fill(*root.add_childqueues(), name);
    root.mutable_childqueues(2)->set_state(wire::Q_STOPPED);
    for (const char* name : {"a", "b"}) {
      auto& queue = *root.add_childqueues();
      Fill(queue, name);
      Fill(*queue.add_childqueues(), "twin");
    }
    return answer;
  }
  void Fill(wire::QueueInfo& queue, const std::string& name) const {
    queue.set_queuename(name);
    queue.set_state(wire::Q_RUNNING);
    if (scheduler.empty()) queue.set_maximumcapacity(1);
  }
  static wire::GetQueueUserAclsInfoResponse Acls() {
    wire::GetQueueUserAclsInfoResponse answer;
    for (const char* name : {"root.default", "root.a.twin", "root.b.twin"}) {
      auto& queue = *answer.add_queueuseracls();
      queue.set_queuename(name);
      queue.add_useracls(wire::QACL_SUBMIT_APPLICATIONS);
    }
    return answer;
  }

  int reports_ = 0;
  EventLoop loop_;
  FakeRpcServer server_;
  std::thread thread_;
};

Deeds<QueueWorld> QueueWorld::Its() {
  return {
      {"fair", [](auto& w, auto&) { return w.Set(&QueueWorld::scheduler, "fair"); }},
      {"refuses", [](auto& w, auto& its) { return w.Set(&QueueWorld::refusal, its.From(1)); }},
      {"refuses-later", [](auto& w, auto& its) { return w.Set(&QueueWorld::later_refusal, its.From(1)); }},
      {"check", [](auto& w, auto& its) { return w.Check(its[1], CheckFor::kSubmit); }},
      {"plan", [](auto& w, auto& its) { return w.Check(its[1], CheckFor::kPlan); }},
      {"received", [](auto& w, auto&) { return w.OnServer([&] { return "received: " + Join(w.received, ", "); }); }},
  };
}

const TestRow kChecks[] = {
    {"AKnownOpenQueueIsAcceptedWithoutATestSubmission",
     {{"check default | check root.a.twin | received", "root.default | root.a.twin | received: "}}},
    {"AnUnknownQueueIsRefusedWithTheReasonAndTheOpenQueues",
     {{"refuses-later Application submitted by user eve to unknown queue: none | check none | received",
       "tony.yarn.queue: \"none\": Application submitted by user eve to unknown queue: none; use one of "
       "root.a.twin, root.b.twin, root.default | received: submit 7 to none without master"}}},
    {"AnAmbiguousQueueNameIsRejectedByTheResourceManager",
     {{"refuses-later ambiguous queue: twin | check twin",
       "~\"twin\": ambiguous queue: twin; use one of root.a.twin"}}},
    {"AClosedQueueIsRefusedByTheResourceManager",
     {{"refuses User eve does not have permission to submit x to queue ml | check ml",
       "^not permitted: tony.yarn.queue: \"ml\": "},
      {"check ml", "~does not have permission to submit x to queue ml; use one of root.a.twin"},
      {"refuses | refuses-later User eve does not have permission to submit x to queue ml | check ml",
       "^not permitted: "}}},
    {"AQueueIsAcceptedIfTheResourceManagerAcceptsATestSubmission",
     {{"check none | check off | received",
       "comes, asked | root.off, asked | received: submit 7 to none without master, kill, submit 7 to off without "
       "master, kill"}}},
    {"AnUnknownQueueOfAFairSchedulerIsAccepted", {{"fair | check none | received", "comes | received: "}}},
    {"AJobPlanReportsQueueProblemsWithoutATestSubmission",
     {{"plan none | plan off | plan ml | plan a | received",
       "~no such queue now, or has several queues of this name; the ResourceManager decides at the submit; use one of | "
       "~the queue is stopped | ~the queue is closed to user eve | ~is a parent queue | received: "}}},
};
TABLE_TEST(YarnQueueCheckTest, kChecks, ScriptIn<QueueWorld>());

}  // namespace
}  // namespace tony
