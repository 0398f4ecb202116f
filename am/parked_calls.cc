#include "am/parked_calls.h"

#include <algorithm>
#include <limits>

#include "runtime/base/strings.h"

namespace tony::am {
namespace {

constexpr Duration kAwaitLimit{30000};

// Answers that arrive within this time after the first answer go into the same reply. Executors whose tasks write all
// the time answer within a few milliseconds of each other.
constexpr Duration kGather{10};
// If a reader wants many logs at once, each request still covers at least this many bytes, because smaller pieces are
// not worth a call.
constexpr int64_t kLeastOfAsk = 16 << 10;
// A reader calls again as soon as it has printed the answer, so a reader that has not called for this long counts as
// disconnected.
constexpr Duration kReaderIsThere{1000};

// Returns true if the attempt has ended and `news` contains its logs up to their ends.
bool IsTheLast(const std::vector<LogWant>& wants, const std::vector<LogNews>& news) {
  for (size_t i = 0; i < news.size(); ++i) {
    const int64_t end = wants[i].offset + news[i].cut + static_cast<int64_t>(news[i].text.size());
    if (news[i].is_there && (!news[i].ended || wants[i].offset < 0 || end < news[i].size)) return false;
  }
  return true;
}

}  // namespace

void ParkedCalls::ParkAwait(const AttemptId& attempt, int64_t since, const Reply<Command>& reply) {
  const int64_t id = ++last_id_;
  auto& place = awaits_[attempt];
  if (place) place->reply.Success({});
  const auto on_limit = [this, attempt, id] {
    if (const auto await = TakeAwait(attempt, id)) await->reply.Success({});
  };
  place = std::make_unique<Await>(Await{id, since, reply, loop_.After(kAwaitLimit, on_limit)});
  reply.OnAbandoned([this, attempt, id] { TakeAwait(attempt, id); });
}

std::unique_ptr<ParkedCalls::Await> ParkedCalls::TakeAwait(const AttemptId& attempt, int64_t id) {
  const auto found = awaits_.find(attempt);
  if (found == awaits_.end() || found->second->id != id) return nullptr;
  std::unique_ptr<Await> await = std::move(found->second);
  awaits_.erase(found);
  return await;
}

std::optional<AttemptId> ParkedCalls::AttemptAwaiting(const TaskId& task) const {
  auto behind = awaits_.upper_bound({task, std::numeric_limits<int>::max()});
  if (behind == awaits_.begin() || (--behind)->first.task != task) return std::nullopt;
  return behind->first;
}

void ParkedCalls::AskForLogs(const AttemptId& attempt, std::vector<LogAsk> asks) {
  const auto await = TakeAwait(attempt, awaits_.at(attempt)->id);
  await->reply.Success({.logs = std::move(asks)});
}

void ParkedCalls::SendTokens(const AttemptId& attempt, const ClusterTokens& tokens) {
  const auto found = awaits_.find(attempt);
  if (found != awaits_.end()) TakeAwait(attempt, found->second->id)->reply.Success({.tokens = tokens});
}

void ParkedCalls::SendTokensToAll(const ClusterTokens& tokens) {
  for (const auto& [attempt, await] : std::exchange(awaits_, {})) await->reply.Success({.tokens = tokens});
}

void ParkedCalls::Tell(const AttemptId& attempt, const Command& command) {
  const auto found = awaits_.find(attempt);
  if (found == awaits_.end() || command.number <= found->second->since) return;
  TakeAwait(attempt, found->second->id)->reply.Success(command);
}

void ParkedCalls::ParkWatch(int64_t since, Duration limit, const Reply<StatusAnswer>& reply,
                            std::function<StatusAnswer()> status) {
  const int64_t id = ++last_id_;
  const auto on_limit = [this, id, status = std::move(status)] {
    const auto found = watches_.find(id);
    if (found == watches_.end()) return;
    const std::unique_ptr<Watch> watch = std::move(found->second);
    watches_.erase(found);
    watch->reply.Success(status());
    on_watch_end_();
  };
  watches_[id] = std::make_unique<Watch>(Watch{since, reply, loop_.After(limit, on_limit)});
  reply.OnAbandoned([this, id] {
    watches_.erase(id);
    on_watch_end_();
  });
}

void ParkedCalls::Tell(const StatusAnswer& answer) {
  for (auto& [id, watch] : std::exchange(watches_, {})) {
    if (answer.seq > watch->since || answer.ended) {
      watch->reply.Success(answer);
    } else {
      watches_[id] = std::move(watch);
    }
  }
  on_watch_end_();
}

void ParkedCalls::TellAll(const StatusAnswer& answer) {
  for (auto& [id, watch] : std::exchange(watches_, {})) watch->reply.Success(answer);
}

void LogRelay::Read(const LogQuery& query, const Reply<LogAnswer>& reply) {
  const int64_t id = ++last_id_;
  std::map<TaskId, std::vector<int>> places;
  for (size_t i = 0; i < query.wants.size(); ++i) places[query.wants[i].attempt.task].push_back(static_cast<int>(i));
  if (places.empty()) return reply.Success({});
  if (calls_.size() >= kMostCalls) {
    LogAnswer refused;
    for (size_t i = 0; i < query.wants.size(); ++i)
      refused.emplace_back(i,
                           LogNews{.problem = StrCat(kMostCalls, " other clients are reading logs; try again later")});
    return reply.Success(refused);
  }
  calls_.emplace(id, Call{.wants = query.wants, .waits = query.wait > Duration(0), .reply = reply});
  reply.OnAbandoned([this, id] { Forget(id); });
  const int64_t most = std::min(query.most, std::max(kLeastOfAsk, query.most / static_cast<int64_t>(places.size())));
  for (const auto& [task, of_task] : places) AskOf(task, of_task, most, query.wait, id);
}

void LogRelay::AskOf(const TaskId& task, const std::vector<int>& places, int64_t most, Duration wait, int64_t call_id) {
  Call& call = calls_.at(call_id);
  std::vector<LogWant> wants;
  for (const int place : places) wants.push_back(call.wants[static_cast<size_t>(place)]);
  Readers& readers = readers_[task];
  readers.active = loop_.Now();
  const auto same = std::ranges::find_if(readers.asks, [&](int64_t id) {
    const LogAsk& ask = asks_.at(id).ask;
    return ask.wait > Duration(0) && wait > Duration(0) && ask.most == most && ask.wants == wants;
  });
  const int64_t id = same == readers.asks.end() ? ++last_id_ : *same;
  call.asked[id] = places;
  if (same != readers.asks.end()) {
    asks_.at(id).calls.insert(call_id);
    return;
  }
  const bool has_room = MakeRoom(readers);
  const bool may_be_gone =
      std::ranges::all_of(wants, [this](const LogWant& want) { return master_.has_ended(want.attempt); });
  const Duration patience = !has_room ? Duration(0) : may_be_gone ? kLeftLimit : kAwaitLimit;
  Ask& ask = asks_[id] =
      Ask{.ask = {id, std::move(wants), most, wait}, .task = task, .is_given = !has_room, .calls = {call_id}};
  readers.asks.push_back(id);
  const std::string problem =
      has_room ? StrCat("no executor of ", ToString(task), " is connected to the application master")
               : StrCat(kMostAsksOfTask, " other clients are reading the logs of ", ToString(task), " now");
  ask.limit = loop_.After(patience, [this, id, problem] { Fail(id, problem); });
  if (has_room) loop_.Post([this, task] { master_.on_asks(task); });
}

bool LogRelay::MakeRoom(Readers& readers) {
  if (readers.asks.size() < kMostAsksOfTask) return true;
  const auto idle = std::ranges::find_if(readers.asks, [&](int64_t id) { return asks_.at(id).calls.empty(); });
  if (idle == readers.asks.end()) return false;
  asks_.erase(*idle);
  readers.asks.erase(idle);
  return true;
}

std::vector<LogAsk> LogRelay::TakeAsks(const TaskId& task) {
  std::vector<LogAsk> taken;
  const auto readers = readers_.find(task);
  if (readers == readers_.end()) return taken;
  for (const int64_t id : readers->second.asks) {
    Ask& ask = asks_.at(id);
    if (ask.is_given) continue;
    ask.is_given = true;
    ask.limit = loop_.After(ask.ask.wait + kAnswerLimit, [this, id] {
      Fail(id, StrCat("the executor of ", ToString(asks_.at(id).task), " does not answer"));
    });
    taken.push_back(ask.ask);
  }
  return taken;
}

void LogRelay::Take(const TaskId& task, int64_t id, std::vector<LogNews> news) {
  const auto found = asks_.find(id);
  if (found == asks_.end() || found->second.task != task || news.size() != found->second.ask.wants.size()) return;
  Readers& readers = readers_[task];
  readers.active = loop_.Now();
  readers.has_all = IsTheLast(found->second.ask.wants, news);
  Resolve(id, news);
}

void LogRelay::Fail(int64_t id, const std::string& problem) {
  Resolve(id, std::vector<LogNews>(asks_.at(id).ask.wants.size(), LogNews{.problem = problem}));
}

void LogRelay::Resolve(int64_t id, const std::vector<LogNews>& news) {
  const Ask ask = std::move(asks_.at(id));
  asks_.erase(id);
  std::erase(readers_.at(ask.task).asks, id);
  for (const int64_t call_id : ask.calls) {
    const auto found = calls_.find(call_id);
    // The reply to another call may have closed this call's connection, which drops this call.
    if (found == calls_.end()) continue;
    Call& call = found->second;
    const std::vector<int> places = std::move(call.asked.at(id));
    call.asked.erase(id);
    for (size_t i = 0; i < places.size(); ++i) call.answer.emplace_back(places[i], news[i]);
    if (call.asked.empty()) {
      Answer(call_id);
    } else if (call.waits && !call.gathering) {
      call.gathering = loop_.After(kGather, [this, call_id] { Answer(call_id); });
    }
  }
}

void LogRelay::Answer(int64_t id) {
  const Reply<LogAnswer> reply = calls_.at(id).reply;
  const LogAnswer answer = std::move(calls_.at(id).answer);
  Forget(id);
  reply.Success(answer);
}

void LogRelay::Forget(int64_t id) {
  const auto call = calls_.find(id);
  if (call == calls_.end()) return;
  for (const auto& [ask, places] : call->second.asked) {
    if (const auto open = asks_.find(ask); open != asks_.end()) open->second.calls.erase(id);
  }
  calls_.erase(call);
}

bool LogRelay::DelaysRelease(const AttemptId& attempt) {
  const auto found = readers_.find(attempt.task);
  if (found == readers_.end() || found->second.has_all) return false;
  Readers& readers = found->second;
  const Instant now = loop_.Now();
  const auto is_awaited = [this](int64_t id) { return !asks_.at(id).calls.empty(); };
  if (now > readers.active + kReaderIsThere && std::ranges::none_of(readers.asks, is_awaited)) return false;
  if (std::exchange(readers.delayed, attempt.number) != attempt.number) readers.delayed_since = now;
  return now < readers.delayed_since + kLongestDelay;
}

}  // namespace tony::am
