// Nodes that fail containers for reasons of their own. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/hadoop/am_rm_session.h"
#include "runtime/hadoop/yarn_records.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/scheduler_events.h"

namespace tony {

class BadNodes {
 public:
  void Failed(const std::string& host, Instant now) { failures_[host].push_back(now); }
  // Those that failed twice within ten minutes, for ten minutes. None, if that were more than half of all: the trouble
  // is not theirs then, and who is left could not do the work.
  std::set<std::string> ToAvoid(int all_nodes, Instant now);
  static std::string WhyAvoided(const std::string& host);  // for people

 private:
  std::map<std::string, std::vector<Instant>> failures_;  // by host, oldest first
};

// What an application master wants of YARN, and what it has told the ResourceManager of that. Pure.
//
//   Want() --> line of its role and size --> rows for hosts, racks and "*" --> container
//                                               given to the first attempt that waits <------+--> or released:
//                                                                nobody waits for it, or it is too small
//
// A row says the whole number that is still wanted, so it can be sent again at any time. It is sent when the
// ResourceManager cannot know that number by itself: it counts what it grants. Exchanges come one after the other:
// Next() is what to ask, then comes one of Answered(), Unanswered() and Refused(), or BeginAnew().

struct YarnGrant {
  AttemptId attempt;
  hadoop::Container container;
};

class YarnAsks {
 public:
  // Again for the same attempt: changes nothing.
  void Want(const ContainerAsk& ask);
  void Withdraw(const AttemptId& attempt);
  // Of one that was given, and is not needed. Said in each exchange until its end is heard.
  void Release(const hadoop::ContainerId& container);
  // Of nodes that fail containers: nothing is asked of them, nor taken. All that are to be avoided.
  void Avoid(std::set<std::string> hosts);
  // All that the cluster has. Rows for hosts and racks let a node give many containers at once: without them a
  // CapacityScheduler as it comes gives one for each heartbeat of a node. While there are none, "*" alone is asked for.
  void SetNodes(std::vector<hadoop::NodeReport> nodes);
  // The ResourceManager did: it knows nothing of what was asked.
  void BeginAnew();

  hadoop::Asked Next();
  struct News {
    std::vector<YarnGrant> grants;
    std::vector<hadoop::ContainerId> forgotten;  // released, and the ResourceManager does not know them
  };
  News Answered(const hadoop::Allocation& allocation);
  void Unanswered() { EndExchange(false); }  // it may have been read
  // It will never be granted. Whose rows were in it; nobody wants a container for these any more.
  std::vector<AttemptId> Refused();

  bool HasNews() const;  // Next() says what was not said before
  int Waiting() const;   // attempts

 private:
  using Counts = std::map<std::string, int32_t>;  // by host or rack
  // What attempts of one role, size, label and placement want, who are all the same to the ResourceManager. Its number
  // is the request id, which a grant names.
  struct Line {
    std::string role;
    hadoop::Resource size;
    std::string label;
    Placement placement = Placement::kPack;
    std::set<AttemptId> waiting;
    Counts told, telling;  // rows that may not be 0; and after this exchange
    Counts given;          // containers that have not ended, by host
    bool must_tell = false;
    bool in_exchange = false;
  };
  struct Released {
    int answers = 0;  // to exchanges that said so
    bool in_exchange = false;
  };

  Line& LineOf(const ContainerAsk& ask);
  int32_t PriorityOf(const std::string& role) const;
  std::vector<std::pair<const hadoop::NodeReport*, int64_t>> HostsFor(const Line& line) const;
  Counts PlacesOf(const Line& line) const;
  bool IsTold(const Line& line) const;
  std::vector<hadoop::ContainerAsk> RowsOf(int64_t number, Line& line) const;
  void EndExchange(bool is_known_read);
  void Count(const hadoop::Container& container, Line& line);
  void Uncount(const hadoop::ContainerId& container);
  // Nothing: nobody gets it.
  std::optional<YarnGrant> Give(const hadoop::Container& container);

  std::map<int64_t, Line> lines_;
  int64_t last_line_ = 0;
  std::vector<std::string> roles_;  // in the order of their first ask, which is that of their priorities
  std::vector<hadoop::NodeReport> nodes_;
  std::map<hadoop::ContainerId, Released> released_;
  std::set<hadoop::ContainerId> seen_;                                    // granted once
  std::map<hadoop::ContainerId, std::pair<int64_t, std::string>> given_;  // line and host
  std::set<std::string> avoided_, avoided_told_, avoided_telling_;        // told: maybe
  bool is_avoiding_doubtful_ = false;
};

// What a cluster will never grant, however long a job waits. Pure.

inline constexpr char kGpuType[] = "yarn.io/gpu";

hadoop::Resource ToYarn(const Resources& resources);

// What a cluster gives one container: from NewApplication or Registration.
struct ContainerLimits {
  hadoop::Resource maximum;
  std::vector<std::string> types;  // of resources beside memory and vcores, where `maximum` does not have them
};
// Why no container of this size is ever granted, with both numbers; nothing: one may be. A ResourceManager grants a
// container without what it has no type for, so that is found only here.
std::optional<std::string> WhyNeverGranted(const Resources& wanted, const ContainerLimits& limits);
// The same for the first role that it is true of, by the name of its key: "tony.worker.memory: ...".
std::optional<std::string> WhyNeverGranted(const JobSpec& spec, const ContainerLimits& limits);

// What to tell of a gang that asks for more GPUs than all of these nodes have: it waits until there are more. Nothing:
// they have as many.
std::optional<std::string> WhyTooManyGpus(const JobSpec& spec, const std::vector<hadoop::NodeReport>& nodes);

}  // namespace tony
