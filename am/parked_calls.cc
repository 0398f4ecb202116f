#include "am/parked_calls.h"

#include <limits>
#include <utility>

namespace tony::am {
namespace {

constexpr Duration kAwaitLimit{30000};

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

std::optional<AttemptId> ParkedCalls::WhoAwaits(const TaskId& task) const {
  auto behind = awaits_.upper_bound({task, std::numeric_limits<int>::max()});
  if (behind == awaits_.begin() || (--behind)->first.task != task) return std::nullopt;
  return behind->first;
}

void ParkedCalls::AskForLogs(const AttemptId& attempt, std::vector<LogAsk> asks) {
  const auto await = TakeAwait(attempt, awaits_.at(attempt)->id);
  await->reply.Success({.logs = std::move(asks)});
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

}  // namespace tony::am
