// Containers of tasks that start together, kept back until all of them are there: two jobs that have each half of what
// they need, and run executors in it, would wait for each other for ever. Pure.
//
//   gathering --all there--> handed out
//     ^    | some there, and no more of them for a hold
//     |    v
//   resting: what was there is given back, nothing is asked for
//
// A hold and a rest are each of a random length, so of two jobs that hold what the other one needs, one gives it back
// while the other one still asks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/yarn/yarn_asks.h"

namespace tony {

class GangHold {
 public:
  // `hold`: at least so long, at most twice, from the newest container on. 0: nothing is kept back. A ResourceManager
  // takes a container away that is not started within ten minutes
  // (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms).
  GangHold(Duration hold, uint64_t seed) : hold_(hold), random_(seed) {}

  // What a ResourceManager is to be told, and what the master gets.
  struct News {
    std::vector<ContainerAsk> want;
    std::vector<AttemptId> withdraw;
    std::vector<hadoop::ContainerId> release;
    std::vector<YarnGrant> ready;
  };
  // Those of one call start together. Again for the same attempt: changes nothing.
  News Want(const std::vector<ContainerAsk>& asks);
  News Withdraw(const std::vector<AttemptId>& attempts);
  News Granted(const std::vector<YarnGrant>& grants, Instant now);
  // One that was kept back has ended: it is asked for again. False: none was.
  bool Ended(const hadoop::ContainerId& container, News& news);
  // The ResourceManager began anew, and knows nothing of containers that were never started.
  News BeginAnew();
  News Look(Instant now);  // when NextLook() says so

  std::optional<Instant> NextLook() const;
  int Kept() const;                // containers
  std::string WhyItRests() const;  // for people; "": it does not

 private:
  struct Member {
    ContainerAsk ask;
    std::optional<hadoop::Container> container;
  };
  struct Gang {
    std::map<AttemptId, Member> members;
    std::optional<Instant> until;  // of the hold, or of the rest
    bool rests = false;
    int holds = 0;    // that ended so
    std::string why;  // it rests
    int There() const;
  };

  Duration AtRandom(Duration length);  // from `length` to twice as much
  void GiveBack(Gang& gang, Instant now, News& news);
  void HandOutWhole(News& news);

  const Duration hold_;
  std::mt19937_64 random_;
  std::vector<Gang> gangs_;  // that are not handed out
};

}  // namespace tony
