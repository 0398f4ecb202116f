// Finds nodes on which containers fail because of the node itself. Pure.
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
#include "runtime/yarn/yarn_ends.h"

namespace tony {

class FailingNodes {
 public:
  void Failed(const std::string& host, Instant now) { failures_[host].push_back(now); }
  // Returns the hosts where two containers failed within the last ten minutes. Returns none if these are more than
  // half of all nodes: the nodes are then not the cause, and the remaining nodes could not do the work.
  std::set<std::string> ToAvoid(int all_nodes, Instant now);
  static std::string WhyAvoided(const std::string& host);  // reason for users

 private:
  std::map<std::string, std::vector<Instant>> failures_;  // key: host; oldest first
};

// Keeps the list of containers that an AM still needs, and the requests that the AM has sent to the ResourceManager.
// Pure.
//
//   Want() --> line of its role and size --> rows for hosts, racks and "*" --> container
//                                               given to the first attempt that waits <------+--> or released:
//                                                            no attempt waits for it, or it is too small
//
// A line consists of the waiting attempts of one role and size. Its rows are the requests as the ResourceManager stores
// them. A row states the total number that is still wanted, so it can be sent again at any time. The ResourceManager
// subtracts what it grants from the row, so the row is sent only if the ResourceManager cannot know the new number. An
// exchange must end before the next one begins. Next() returns the request. The outcome is passed to Answered(),
// Unanswered(), Refused() or HandleRmRestart().
//
// An attempt with a placement constraint or with allocation tags has a line of its own, and a ConstrainedRequest
// instead of rows. Its count is 1 or 0, because some clusters add up the counts that they receive. If such a cluster
// receives the request twice, it grants a surplus, which is released.

struct YarnGrant {
  AttemptId attempt;
  hadoop::Container container;
};

class YarnRequests {
 public:
  // Adds an attempt that needs a container. An attempt that already waits is ignored.
  void Want(const ContainerRequest& ask);
  void Withdraw(const AttemptId& attempt);
  // Releases a container that was given to an attempt and is not needed. Each exchange repeats the release until the
  // ResourceManager reports that the container has ended.
  void Release(const hadoop::ContainerId& container);
  // Sets the hosts to avoid because containers fail there. No row names these hosts, and the ResourceManager receives
  // them as a blacklist.
  void Avoid(std::set<std::string> hosts);
  // Sets all nodes of the cluster. Rows for hosts and racks let a node grant many containers at once. Without them, a
  // CapacityScheduler grants by default one container per heartbeat of a node. If `nodes` is empty, only rows for "*"
  // are sent.
  void SetNodes(std::vector<hadoop::NodeReport> nodes);
  // Handles a restart of the ResourceManager, which knows none of the earlier requests.
  void HandleRmRestart();
  // Notes that an AM before this one got the container, so that a repeated answer does not grant it again.
  void NoteGranted(const hadoop::ContainerId& container) { seen_.insert(container); }
  bool WasGranted(const hadoop::ContainerId& container) const { return seen_.contains(container); }

  hadoop::Asked Next();
  struct News {
    std::vector<YarnGrant> grants;
    // Released containers that the ResourceManager does not know.
    std::vector<hadoop::ContainerId> forgotten;
  };
  News Answered(const hadoop::Allocation& allocation);
  void Unanswered() { EndExchange(false); }  // the request may have been read
  // Handles an exchange whose rows will never be granted. Returns the attempts of these rows, which no longer wait.
  std::vector<AttemptId> Refused();

  // Returns true if Next() has something new to send.
  bool HasNews() const;
  int Waiting() const;  // number of waiting attempts
  // Returns why the waiting attempts got no container, as far as that is known; nullopt: nothing is known to be full.
  std::optional<std::string> WhyWaiting(ClusterRoom room) const;

 private:
  using Counts = std::map<std::string, int32_t>;  // key: host or rack
  // A line: the attempts of one role, size, label and placement, which the ResourceManager cannot distinguish, or one
  // attempt with a constraint or with tags. The number of the line is the request id, which a grant names.
  struct Line {
    std::string role;
    hadoop::Resource size;
    std::string label;
    Placement placement = Placement::kPack;
    std::string placement_spec, job_placement_spec;
    std::vector<std::string> tags;
    std::set<AttemptId> waiting;
    // `told`: rows whose count in the ResourceManager is possibly above 0. `telling`: the value that `told` gets after
    // this exchange.
    Counts told, telling;
    // The number of this line's containers that have not ended. Key: host.
    Counts given;
    bool must_send = false;
    bool in_exchange = false;
    // True: the ResourceManager has dropped the ConstrainedRequest. It is sent again after one more exchange, so that a
    // cluster without room is not asked in each one.
    bool is_rejected = false;

    bool IsConstrained() const;  // has a ConstrainedRequest
  };
  struct Released {
    // Number of answers to exchanges that named the release.
    int answers = 0;
    bool in_exchange = false;
  };

  Line& LineOf(const ContainerRequest& ask);
  int32_t PriorityOf(const std::string& role) const;
  std::vector<std::pair<const hadoop::NodeReport*, int64_t>> HostsFor(const Line& line) const;
  Counts PlacesOf(const Line& line) const;
  bool IsTold(const Line& line) const;
  std::vector<hadoop::ContainerRequest> RowsOf(int64_t number, Line& line) const;
  hadoop::ConstrainedRequest ConstrainedRequestOf(int64_t number, const Line& line) const;
  void EndExchange(bool is_known_read);
  void Count(const hadoop::Container& container, Line& line);
  void Uncount(const hadoop::ContainerId& container);
  // Gives the container to a waiting attempt. Returns nullopt if no attempt gets the container.
  std::optional<YarnGrant> Give(const hadoop::Container& container);

  std::map<int64_t, Line> lines_;
  int64_t last_line_ = 0;
  // Roles in the order of their first request, which is the order of their priorities.
  std::vector<std::string> roles_;
  std::vector<hadoop::NodeReport> nodes_;
  std::map<hadoop::ContainerId, Released> released_;
  std::set<hadoop::ContainerId> seen_;                                    // containers granted before
  std::map<hadoop::ContainerId, std::pair<int64_t, std::string>> given_;  // value: line and host
  // `avoided_`: hosts to avoid. `avoided_sent_`: hosts that may be on the ResourceManager's blacklist.
  // `avoided_in_exchange_`: hosts that the current exchange sends.
  std::set<std::string> avoided_, avoided_sent_, avoided_in_exchange_;
  bool avoided_may_be_unread_ = false;
};

// Requests that a cluster will never grant, however long a job waits. Pure.

hadoop::Resource ToYarn(const Resources& resources);

// The maximum amounts that a cluster grants to one container, from NewApplication or Registration.
struct ContainerLimits {
  hadoop::Resource maximum;
  // Types of resources other than memory and vcores, for clusters whose `maximum` does not contain them.
  std::vector<std::string> types;
};
// Returns why no container of this size is ever granted, with the requested and the maximum amount; nullopt if one may
// be granted. If a ResourceManager has no type for a resource, it silently grants a container without that resource, so
// only this check finds the mistake.
std::optional<std::string> WhyNeverGranted(const Resources& wanted, const ContainerLimits& limits);
// Finds the first role of the spec that the cluster can never grant. Returns the reason with the key at fault
// ("tony.worker.memory: ..."); nullopt if all roles may be granted.
std::optional<std::string> WhyNeverGranted(const JobSpec& spec, const ContainerLimits& limits);

// Returns a note for users if a gang requests more of a resource, other than memory and vcores, than all of `nodes`
// have. Such a gang waits until the cluster has more. nullopt: the nodes have enough.
std::optional<std::string> WhyTooMuch(const JobSpec& spec, const std::vector<hadoop::NodeReport>& nodes);
bool RequestsOtherResources(const JobSpec& spec);  // more than memory and vcores

}  // namespace tony
