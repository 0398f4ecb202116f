// A master's session with the ResourceManager: ApplicationMasterProtocol. Loop thread only.
//
//    Register() --> Allocate() again and again --> Finish() until it is unregistered
//         ^              | NotRegistered: the ResourceManager began anew
//         +--------------+ then every open ask, and every release that no status has confirmed, is sent again
//
// Keeps the number of the last answer, and the newest token for the next connection. Nothing else is tried twice, and
// one call is under way at a time. Callbacks come as RpcConnection's do.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/hadoop/rpc_connection.h"
#include "runtime/hadoop/yarn_clients.h"
#include "runtime/hadoop/yarn_records.h"

namespace tony::hadoop {

struct NotRegistered {};  // Register() again
struct AttemptOver {      // another attempt rules, or the application has been killed: leave, and do not Finish()
  std::string reason;
};
// Error: kUnavailable may go away, what was asked is to be asked again; kInvalid: the same will never be granted.
template <class T>
using MasterReply = std::variant<T, NotRegistered, AttemptOver, Error>;

struct MasterAddress {
  std::string host;
  int rpc_port = -1;         // -1: none
  std::string tracking_url;  // empty: none
};

struct Registration {
  bool was_registered = false;  // an earlier answer was lost: what follows is not known
  Resource maximum;             // of one container
  std::string queue;
  std::vector<std::string> resource_types;  // that the cluster knows: "yarn.io/gpu"
  std::vector<Container> kept;              // of earlier attempts; those of a lost node's come later
  std::vector<NodeToken> node_tokens;
};

// One row of what is wanted: the whole number that is still wanted, not a change. Its key is priority, request id and
// place; one resource for each priority and request id. A place alone grants nothing without a row for "*".
struct ContainerAsk {
  int32_t priority = 0;     // a lower one goes first; the master's own container had 0
  int64_t request_id = -1;  // -1: none
  std::string place = "*";  // a host, a rack, or "*"
  Resource resource;
  int32_t count = 0;  // 0 takes the row back
  bool relax = true;  // elsewhere is as well, after some time
  std::string label;  // for "*" alone; empty: none
};

struct Asked {
  std::vector<ContainerAsk> asks;  // the rows that changed
  std::vector<ContainerId> release;
  std::vector<std::string> avoid, no_longer_avoid;  // hosts
  float progress = 0;                               // 0 to 1
};

struct Allocation {
  std::vector<NodeToken> node_tokens;  // take these first
  std::vector<Container> granted;      // may be more than asked for: release the rest
  std::vector<ContainerStatus> ended;
  std::vector<Container> kept;      // of earlier attempts
  std::vector<NodeReport> nodes;    // whose state changed
  std::vector<ContainerId> wanted;  // will be taken away unless others are given back
  std::vector<ContainerId> doomed;  // will be taken away
  Resource headroom;                // a hint
  int cluster_nodes = 0;            // 0 after a restart of the ResourceManager: wait
  // The session has it already. Keep it for a process that takes over in this attempt: the first one is refused soon.
  std::optional<Token> renewed_token;
  // The call before had no answer, so this may be its answer, and what this call asked for may not have been read: ask
  // for the same once more.
  bool may_be_repeated = false;
};

class AmRmSession {
 public:
  template <class T>
  using Done = std::function<void(MasterReply<T>)>;

  // `token`: of kind YARN_AM_RM_TOKEN, which the master finds in its container. `loop` and `names` outlive this.
  AmRmSession(EventLoop& loop, HostResolver& names, Endpoint scheduler, Token token, RpcLimits limits = {});

  void Register(const MasterAddress& address, Done<Registration> done);
  void Allocate(const Asked& asked, Done<Allocation> done);
  // False: not yet; ask again after 100 ms, as Hadoop's own client does (AMRMClientImpl).
  void Finish(FinalStatus status, const std::string& diagnostics, const std::string& tracking_url, Done<bool> done);

 private:
  void Allocate(const Asked& asked, bool may_renumber, Done<Allocation> done);

  RpcConnection connection_;
  int32_t last_response_ = 0;
  bool unanswered_ = false;  // the last Allocate()
};

// The number that a refused Allocate() should have had: "... expect responseId to be 5, but get 3". Pure.
std::optional<int32_t> ExpectedResponse(std::string_view refusal);

}  // namespace tony::hadoop
