// A ResourceManager as an application master sees it, with the faults of real ones: grants that come late, twice,
// without a request, too small or too large; answers that are lost and repeated; a restart that loses all requests.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "runtime/hadoop/am_rm_session.h"

namespace tony {

class SimulatedRm {
 public:
  explicit SimulatedRm(uint64_t seed) : random_(seed) {}

  // The result that AmRmSession would pass to its callback. `Lost`: no answer came.
  struct Lost {};
  using Reply = std::variant<hadoop::Allocation, hadoop::NotRegistered, Lost>;
  Reply Allocate(const hadoop::Asked& asked);
  void Register();

  // Grants containers, as heartbeats of the nodes would.
  void Heartbeat();
  void EndOne(const hadoop::ContainerId& id) { End(id); }
  void BeOrderly() { is_orderly_ = true; }
  bool Chance(int percent) { return Below(100) < percent; }
  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }

  const std::map<hadoop::ContainerId, hadoop::Container>& running() const { return running_; }
  // The number of request rows with a count above 0.
  int OpenRows() const;
  const std::set<std::string>& avoided() const { return avoided_; }

 private:
  struct Asks {
    hadoop::Resource size;
    std::map<std::string, int> rows;  // counts by place
    // The flag of the row for "*".
    bool relax = true;
  };
  bool Fault(int percent) { return !is_orderly_ && Chance(percent); }
  void Read(const hadoop::Asked& asked);
  void GrantOn(const std::string& host);
  void Restart();
  void Grant(int32_t priority, int64_t request, const hadoop::Resource& size, const std::string& host);
  void End(const hadoop::ContainerId& id);
  hadoop::Allocation News();

  std::mt19937_64 random_;
  bool is_orderly_ = false;
  bool is_registered_ = true;
  int64_t last_container_ = 1;
  std::map<std::pair<int32_t, int64_t>, Asks> asks_;
  std::map<hadoop::ContainerId, hadoop::Container> running_;
  std::set<hadoop::ContainerId> told_;
  std::set<std::string> avoided_;
  std::deque<hadoop::Container> untold_;
  std::vector<hadoop::ContainerStatus> ended_;
  hadoop::Allocation last_;  // the newest answer, to be repeated
  bool is_last_lost_ = false;
  // True if the session must expect that the next answer is a repetition.
  bool may_be_repeated_ = false;
};

}  // namespace tony
