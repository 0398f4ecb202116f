#include "tests/unit/yarn/simulated_rm.h"

#include <utility>

#include "runtime/base/strings.h"
#include "tests/unit/yarn/yarn_fixture.h"

namespace tony {

// After a lost answer the next call gets the same answer, and the requests of that call are not read.
SimulatedRm::Reply SimulatedRm::Allocate(const hadoop::Asked& asked) {
  if (Fault(3)) Restart();
  if (!is_registered_) return hadoop::NotRegistered{};
  if (Fault(5)) {
    may_be_repeated_ = true;
    return Lost{};
  }
  if (!std::exchange(is_last_lost_, false)) {
    Read(asked);
    last_ = News();
  }
  if (Fault(8)) {
    is_last_lost_ = may_be_repeated_ = true;
    return Lost{};
  }
  hadoop::Allocation answer = last_;
  answer.may_be_repeated = std::exchange(may_be_repeated_, false);
  for (const hadoop::Container& container : answer.granted) told_.insert(container.id);
  return answer;
}

void SimulatedRm::Register() { is_registered_ = true; }

void SimulatedRm::Read(const hadoop::Asked& asked) {
  for (const hadoop::ContainerRequest& row : asked.asks) {
    Asks& asks = asks_[{row.priority, row.request_id}];
    asks.size = row.resource;
    asks.rows[row.place] = row.count;
    if (row.place == "*") asks.relax = row.relax;
  }
  avoided_.insert(asked.avoid.begin(), asked.avoid.end());
  for (const std::string& host : asked.no_longer_avoid) avoided_.erase(host);
  for (const hadoop::ContainerId& id : asked.release) End(id);
}

// Forgets all requests. Containers that no answer has named yet are dropped, because nothing can run in them.
void SimulatedRm::Restart() {
  is_registered_ = false;
  asks_.clear();
  avoided_.clear();
  ended_.clear();
  untold_.clear();
  std::erase_if(running_, [this](const auto& entry) { return !told_.contains(entry.first); });
  is_last_lost_ = may_be_repeated_ = false;
}

void SimulatedRm::Heartbeat() {
  constexpr int kNodes = 4;
  if (is_orderly_) {
    for (int node = 0; node < kNodes; ++node) GrantOn(StrCat("n", node));
  } else {
    GrantOn(StrCat("n", Below(kNodes)));
  }
  if (Fault(2)) Grant(1, 999, {256, 1, {}}, "n0");
  if (Fault(5) && !running_.empty()) untold_.push_back(running_.begin()->second);
}

void SimulatedRm::GrantOn(const std::string& host) {
  for (auto& [key, of_key] : asks_) {
    Asks& asks = of_key;  // lambdas cannot capture structured bindings
    const auto may_go = [&] {
      return asks.rows["*"] > 0 && !avoided_.contains(host) && (asks.relax || asks.rows[host] > 0);
    };
    for (int grants = Below(4); grants > 0 && may_go(); --grants) {
      for (const std::string& place : {host, std::string("/rack"), std::string("*")}) {
        if (asks.rows[place] > 0) --asks.rows[place];
      }
      hadoop::Resource size = asks.size;
      if (Fault(10)) size.memory_mib = size.memory_mib / 2;
      if (Chance(10)) size.memory_mib *= 2;
      if (Fault(5)) size.others.clear();
      Grant(key.first, key.second, size, host);
    }
    if (Fault(10)) Grant(key.first, key.second, asks.size, host);
  }
}

void SimulatedRm::Grant(int32_t priority, int64_t request, const hadoop::Resource& size, const std::string& host) {
  const hadoop::ContainerId id = YarnId(++last_container_);
  running_[id] = {.id = id, .node = {host, 8041}, .resource = size, .priority = priority, .request_id = request};
  untold_.push_back(running_[id]);
}

void SimulatedRm::End(const hadoop::ContainerId& id) {
  if (running_.erase(id) > 0) ended_.push_back({.id = id, .exit_status = -100});
}

hadoop::Allocation SimulatedRm::News() {
  hadoop::Allocation news;
  while (!untold_.empty() && !Fault(20)) {
    news.granted.push_back(untold_.front());
    untold_.pop_front();
  }
  news.ended = std::exchange(ended_, {});
  return news;
}

int SimulatedRm::OpenRows() const {
  int open = 0;
  for (const auto& [key, asks] : asks_) {
    for (const auto& [place, count] : asks.rows) open += count > 0 ? 1 : 0;
  }
  return open;
}

}  // namespace tony
