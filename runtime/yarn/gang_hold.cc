#include "runtime/yarn/gang_hold.h"

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"

namespace tony {
namespace {

// The first rest of a gang is half as long as a hold. Each further rest is twice as long as the rest before, up to this
// many doublings.
constexpr int kMostDoublings = 3;

}  // namespace

int GangHold::Gang::There() const {
  return static_cast<int>(
      std::ranges::count_if(members, [](const auto& member) { return member.second.container.has_value(); }));
}

GangHold::News GangHold::Want(const std::vector<ContainerRequest>& asks) {
  News news;
  Gang gang;
  for (const ContainerRequest& ask : asks) {
    const bool is_known =
        std::ranges::any_of(gangs_, [&](const Gang& other) { return other.members.contains(ask.attempt); });
    if (!is_known && gang.members.emplace(ask.attempt, Member{ask, std::nullopt}).second) news.want.push_back(ask);
  }
  if (!gang.members.empty()) gangs_.push_back(std::move(gang));
  return news;
}

GangHold::News GangHold::Withdraw(const std::vector<AttemptId>& attempts) {
  News news;
  for (Gang& gang : gangs_) {
    for (const AttemptId& attempt : attempts) {
      const auto member = gang.members.find(attempt);
      if (member == gang.members.end()) continue;
      if (member->second.container) {
        news.release.push_back(member->second.container->id);
      } else if (!gang.rests) {
        news.withdraw.push_back(attempt);
      }
      gang.members.erase(member);
    }
  }
  HandOutComplete(news);
  return news;
}

GangHold::News GangHold::Granted(const std::vector<YarnGrant>& grants, Instant now) {
  News news;
  for (const YarnGrant& grant : grants) {
    const auto gang =
        std::ranges::find_if(gangs_, [&](const Gang& each) { return each.members.contains(grant.attempt); });
    if (gang == gangs_.end()) {
      news.release.push_back(grant.container.id);
      continue;
    }
    gang->members.at(grant.attempt).container = grant.container;
    gang->until = now + AtRandom(hold_);
  }
  HandOutComplete(news);
  return news;
}

bool GangHold::Ended(const hadoop::ContainerId& container, News& news) {
  for (Gang& gang : gangs_) {
    for (auto& [attempt, member] : gang.members) {
      if (!member.container || member.container->id != container) continue;
      member.container.reset();
      news.want.push_back(member.ask);
      if (gang.There() == 0) gang.until.reset();
      return true;
    }
  }
  return false;
}

GangHold::News GangHold::HandleRmRestart() {
  News news;
  for (Gang& gang : gangs_) {
    for (auto& [attempt, member] : gang.members) {
      if (const auto lost = std::exchange(member.container, std::nullopt)) {
        news.release.push_back(lost->id);
        news.want.push_back(member.ask);
      }
    }
    if (!gang.rests) gang.until.reset();
  }
  return news;
}

GangHold::News GangHold::Look(Instant now) {
  News news;
  for (Gang& gang : gangs_) {
    if (!gang.until || now < *gang.until) continue;
    if (gang.rests) {
      gang.rests = false;
      gang.until.reset();
      for (const auto& [attempt, member] : gang.members) news.want.push_back(member.ask);
    } else {
      GiveBack(gang, now, news);
    }
  }
  return news;
}

void GangHold::GiveBack(Gang& gang, Instant now, News& news) {
  const int there = gang.There();
  for (auto& [attempt, member] : gang.members) {
    if (const auto container = std::exchange(member.container, std::nullopt)) {
      news.release.push_back(container->id);
    } else {
      news.withdraw.push_back(attempt);
    }
  }
  gang.rests = true;
  gang.until = now + AtRandom(hold_ * (1 << std::min(gang.holds++, kMostDoublings)) / 2);
  gang.why = StrCat("released ", there, " of ", Counted(std::ssize(gang.members), "container"), " at ", ToIso8601(now),
                    ", because the others were not granted in time; requests all of them again at ",
                    ToIso8601(*gang.until));
}

void GangHold::HandOutComplete(News& news) {
  for (Gang& gang : gangs_) {
    const bool is_whole = gang.There() == std::ssize(gang.members);
    for (auto member = gang.members.begin(); member != gang.members.end();) {
      if (member->second.container && (is_whole || hold_ == Duration(0))) {
        news.ready.push_back({member->first, *member->second.container});
        member = gang.members.erase(member);
      } else {
        ++member;
      }
    }
  }
  std::erase_if(gangs_, [](const Gang& gang) { return gang.members.empty(); });
}

Duration GangHold::AtRandom(Duration length) {
  return length + Duration(static_cast<Duration::rep>(random_() % (static_cast<uint64_t>(length.count()) + 1)));
}

std::optional<Instant> GangHold::NextLook() const {
  std::optional<Instant> next;
  for (const Gang& gang : gangs_) {
    if (gang.until && (!next || *gang.until < *next)) next = gang.until;
  }
  return next;
}

int GangHold::Kept() const {
  int kept = 0;
  for (const Gang& gang : gangs_) kept += gang.There();
  return kept;
}

std::vector<hadoop::Container> GangHold::KeptContainers() const {
  std::vector<hadoop::Container> kept;
  for (const Gang& gang : gangs_)
    for (const auto& [attempt, member] : gang.members)
      if (member.container) kept.push_back(*member.container);
  return kept;
}

std::string GangHold::RestReason() const {
  const auto resting = std::ranges::find(gangs_, true, &Gang::rests);
  return resting == gangs_.end() ? "" : resting->why;
}

}  // namespace tony
