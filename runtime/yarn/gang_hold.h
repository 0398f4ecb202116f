// Holds back the containers of tasks that start together (a gang) until the last one is granted. Otherwise, two jobs
// that each have half of their containers, and run executors there, would wait for each other forever. Pure.
//
//   gathering --all granted--> handed out
//     ^    | some granted, none added for the length of a hold
//     |    v
//   resting: granted containers have been released, and nothing is requested
//
// A hold is the time for which granted containers wait for the others. A rest is the time without requests after a hold
// that ended without all containers. Both have random lengths. Therefore, if each of two jobs keeps containers that the
// other job needs, one job releases its containers while the other job still requests containers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/yarn/yarn_requests.h"

namespace tony {

class GangHold {
 public:
  // A hold ends at a random time between `hold` and twice `hold` after the newest container was granted. 0: nothing is
  // held back. Twice `hold` should be less than ten minutes, because a ResourceManager takes a container away that is
  // not started within ten minutes (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms).
  GangHold(Duration hold, uint64_t seed) : hold_(hold), random_(seed) {}

  // Changes for the ResourceManager, and containers that are ready for the AM.
  struct News {
    std::vector<ContainerRequest> want;
    std::vector<AttemptId> withdraw;
    std::vector<hadoop::ContainerId> release;
    std::vector<YarnGrant> ready;
  };
  // Adds requests for tasks that start together. An attempt that was added before is ignored.
  News Want(const std::vector<ContainerRequest>& asks);
  News Withdraw(const std::vector<AttemptId>& attempts);
  News Granted(const std::vector<YarnGrant>& grants, Instant now);
  // Handles a container that has ended. If it was held back, requests another container for its task, and returns true.
  // Otherwise returns false.
  bool Ended(const hadoop::ContainerId& container, News& news);
  // Handles a restart of the ResourceManager, which no longer knows containers that were never started.
  News HandleRmRestart();
  // Ends the holds and rests that are due. Call this at the time that NextLook() returns.
  News Look(Instant now);

  std::optional<Instant> NextLook() const;
  int Kept() const;  // number of containers held back
  std::vector<hadoop::Container> KeptContainers() const;
  // Returns for users why a gang rests; empty if no gang rests.
  std::string RestReason() const;

 private:
  struct Member {
    ContainerRequest ask;
    std::optional<hadoop::Container> container;
  };
  struct Gang {
    std::map<AttemptId, Member> members;
    std::optional<Instant> until;  // end of the hold or rest
    bool rests = false;
    // Number of holds that ended without all containers.
    int holds = 0;
    std::string why;  // why the gang rests
    int There() const;
  };

  // Returns a random length from `length` to twice `length`.
  Duration AtRandom(Duration length);
  void GiveBack(Gang& gang, Instant now, News& news);
  void HandOutComplete(News& news);

  const Duration hold_;
  std::mt19937_64 random_;
  std::vector<Gang> gangs_;  // gangs not yet handed out
};

}  // namespace tony
