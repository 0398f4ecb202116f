// Holds back the containers of tasks that start together until the last one is granted. Otherwise, two jobs that each
// have half of their containers, and run executors there, would wait for each other forever. Pure.
//
//   gathering --all granted--> handed out
//     ^    | some granted, none added for the length of a hold
//     |    v
//   resting: granted containers have been released, and nothing is requested
//
// The lengths of holds and rests are random. So if two jobs hold containers that the other one needs, one of them
// releases its containers while the other one still requests.
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
  // `hold` is the minimum time to wait after the newest container. The maximum is twice as long. 0: nothing is held
  // back. A ResourceManager takes a container away if it is not started within ten minutes
  // (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms).
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
  // Handles the end of a container. A container that was held back is requested again. Returns false if the container
  // was not held back.
  bool Ended(const hadoop::ContainerId& container, News& news);
  // Handles a restart of the ResourceManager, which no longer knows containers that were never started.
  News HandleRmRestart();
  // Ends the holds and rests that are due. Call it at the time of NextLook().
  News Look(Instant now);

  std::optional<Instant> NextLook() const;
  int Kept() const;  // number of containers held back
  // Reason for users. Empty if no gang rests.
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
