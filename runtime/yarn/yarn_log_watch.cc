#include "runtime/yarn/yarn_log_watch.h"

#include <algorithm>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr Duration kConnectAgain{1000};
// The time after which a status call is answered even without news. The call is repeated, so this time is not critical.
constexpr Duration kStatusLimit{30'000};
constexpr Duration kLookForLost{2000};
// The interval between queries for another AM. They are needed, because the connection to a lost node ends only after
// half a minute.
constexpr Duration kCheckMaster{1000};
// Limit of open calls. Logs that a caller began to follow at different times are requested in different calls. The last
// of these calls is short, so its logs are soon requested together with others.
constexpr int kMostCalls = 4;
constexpr Duration kShortWait{1000};
// Logs that are first read in one turn of the loop are requested together.
constexpr Duration kGather{20};

}  // namespace

YarnLogWatch::YarnLogWatch(EventLoop& loop, YarnLogReader& reader, std::optional<TaskId> task, LogWatchSink sink)
    : loop_(loop), reader_(reader), task_(std::move(task)), sink_(std::move(sink)) {
  connecting_ = loop_.After(Duration(0), [this] { Connect(); });
}

void YarnLogWatch::Look() {
  for (const AttemptId& attempt : reader_.Attempts(task_)) Tell(attempt);
}

template <class T>
OnAnswer<T> YarnLogWatch::Then(std::function<void(const T&)> take) {
  return [this, take = std::move(take)](const Answer<T>& answer) {
    if (const T* value = std::get_if<T>(&answer)) return take(*value);
    const auto* refusal = std::get_if<Refusal>(&answer);
    Lose((refusal ? ErrorOf(*refusal) : ErrorOf(std::get<Disconnected>(answer))).message);
  };
}

void YarnLogWatch::Connect() {
  connecting_ = nullptr;
  auto way = reader_.FindItsMaster();
  if (!way.ok()) return Lose(way.error().message);
  token_ = way->token;
  is_replaced_ = way->is_replaced;
  CheckMaster();
  am_ = ConnectTo(*way, loop_, reader_.records());
  am_->GetStatus(token_, Then<JobStatus>([this](const JobStatus& status) {
                   if (std::exchange(told_of_loss_, false)) LogInfo("the application master is reachable again");
                   Take(status);
                   WatchStatus();
                   AskLater(Duration(0));
                 }));
}

// Drops the connection with all its open calls, and connects again after a while.
void YarnLogWatch::Lose(const std::string& why) {
  if (connecting_) return;
  const bool was_there = std::exchange(am_, nullptr) != nullptr;
  asked_.clear();
  calls_ = 0;
  asking_ = nullptr;
  checking_ = nullptr;
  if (was_there && !std::exchange(told_of_loss_, true))
    LogInfo(StrCat("the application master is not reachable: ", why));
  connecting_ = loop_.After(kConnectAgain, [this] { Connect(); });
  // The AM may have exited because the job has ended, so the status must be checked.
  sink_.on_status();
}

void YarnLogWatch::CheckMaster() {
  if (!is_replaced_) return;
  checking_ = loop_.After(kCheckMaster, [this] {
    checks_.Do([this, is_replaced = is_replaced_, of = am_.get()]() -> SideThread::Then {
      return [this, of, replaced = is_replaced()] {
        if (of != am_.get()) return;
        replaced ? Lose("the scheduler has started another application master") : CheckMaster();
      };
    });
  });
}

void YarnLogWatch::WatchStatus() {
  am_->Watch(token_, seq_, kStatusLimit, {}, Then<JobStatus>([this](const JobStatus& status) {
               Take(status);
               if (!status.verdict) WatchStatus();
             }));
}

void YarnLogWatch::Take(const JobStatus& status) {
  seq_ = status.seq;
  reader_.Take(status);
  for (const TaskStatus& task : status.tasks) {
    if (task_ && *task_ != task.id) continue;
    const AttemptId newest{task.id, task.attempt};
    if (!reader_.WasStarted(newest)) continue;
    if (!told_.contains(newest)) {
      reader_.Find(newest);
      Tell(newest);
    }
    if (task.ended && !reader_.IsWithExecutor(newest)) EndIfOver(newest);
    if (reader_.IsLost(newest)) lost_.insert(newest);
  }
  LookForLostLater();
  if (status.verdict) sink_.on_status();
}

void YarnLogWatch::Tell(const AttemptId& attempt) {
  if (!told_.insert(attempt).second) return;
  sink_.on_attempt(attempt);
  AskLater(kGather);
}

void YarnLogWatch::AskLater(Duration delay) {
  if (am_ && !asking_) asking_ = loop_.After(delay, [this] { Ask(); });
}

void YarnLogWatch::Ask() {
  asking_ = nullptr;
  std::vector<LogWant> wants;
  for (LogWant& want : reader_.NextRequests()) {
    if (wants.size() == kMostLogWants || calls_ >= kMostCalls) break;
    if (asked_.insert({want.attempt, want.stream}).second) wants.push_back(std::move(want));
  }
  if (wants.empty()) return;
  ++calls_;
  const Duration wait = calls_ < kMostCalls ? kLongestLogWait : kShortWait;
  am_->ReadLogs(token_, {.wants = wants, .wait = wait},
                Then<LogAnswer>([this, wants](const LogAnswer& answer) { Take(wants, answer); }));
  AskLater(kGather);
}

void YarnLogWatch::Take(const std::vector<LogWant>& wants, const LogAnswer& answer) {
  --calls_;
  for (const LogWant& want : wants) asked_.erase({want.attempt, want.stream});
  for (const auto& [index, news] : answer) {
    const LogWant& want = wants[static_cast<size_t>(index)];
    if (reader_.Take(want, news)) sink_.on_written(want.attempt, want.stream);
    EndIfOver(want.attempt);
    if (reader_.IsLost(want.attempt)) lost_.insert(want.attempt);
  }
  LookForLostLater();
  AskLater(Duration(0));
}

void YarnLogWatch::LookForLostLater() {
  if (!lost_.empty() && !looking_) looking_ = loop_.After(kLookForLost, [this] { QueryLostExecutors(); });
}

// Queries the executors that did not answer once more, except those whose attempt is known to have ended.
void YarnLogWatch::QueryLostExecutors() {
  looking_ = nullptr;
  std::erase_if(lost_, [this](const AttemptId& attempt) { return !reader_.IsLost(attempt); });
  LookForLostLater();
  if (lost_.empty() || !am_ || calls_ >= kMostCalls) return;
  std::vector<LogWant> wants;
  for (const AttemptId& attempt : lost_)
    if (wants.size() < kMostLogWants) wants.push_back({attempt, "stdout", -1});
  ++calls_;
  am_->ReadLogs(token_, {.wants = wants}, Then<LogAnswer>([this, wants](const LogAnswer& answer) {
                  --calls_;
                  for (const auto& [index, news] : answer) {
                    const AttemptId& attempt = wants[static_cast<size_t>(index)].attempt;
                    if (!news.problem.empty()) continue;
                    reader_.Find(attempt);
                    ReportAllStreams(attempt);
                  }
                  AskLater(kGather);
                }));
}

void YarnLogWatch::ReportAllStreams(const AttemptId& attempt) {
  for (const std::string& stream : LogNames(reader_.Processes(attempt.task))) sink_.on_written(attempt, stream);
}

// Reports that an attempt's logs have ended, if they are complete or are no longer with a running executor. In the
// second case the rest of the logs can be read immediately.
void YarnLogWatch::EndIfOver(const AttemptId& attempt) {
  const bool is_over = reader_.IsWithExecutor(attempt) ? reader_.IsOver(attempt) : !reader_.IsLost(attempt);
  if (!is_over || !ended_.insert(attempt).second) return;
  ReportAllStreams(attempt);
  sink_.on_ended(attempt);
}

}  // namespace tony
