#include "runtime/page/status_feed.h"

#include <utility>

namespace tony {
namespace {

constexpr Duration kFresh{500};
constexpr Duration kAskLimit{5000};

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
  asking_ = loop_.After(kAskLimit, [this] { Heard(Error{ErrorCode::kUnavailable, "the job does not answer"}); });
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

}  // namespace tony
