#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include "runtime/hadoop/am_rm_session.h"
#include "runtime/hadoop/yarn_clients.h"
#include "tests/conformance/yarn/check.h"

namespace tony::hadoop {
namespace {

// Each row starts a container: its command, and the status with which it must exit.
struct Wish {
  const char* command;
  int exit_status;
};
constexpr Wish kWishes[] = {{"true", 0}, {"exit 7", 7}, {"sleep 300", -105}};
constexpr int kSleeper = 2;

class Master : public Bed {
 public:
  Master(Endpoint scheduler, Credentials credentials)
      : scheduler_(std::move(scheduler)), credentials_(std::move(credentials)) {}

  Why Run() {
    for (const auto step :
         {&Master::CheckCredentials, &Master::RegisterOnce, &Master::AskTooMuch, &Master::GetContainers,
          &Master::StartThem, &Master::OutliveRestart, &Master::SeeThemEnd, &Master::TakeOver}) {
      if (Why why = (this->*step)(); !why.empty()) return why;
    }
    return "";
  }

  bool Finish(const Why& why) {
    return Until([&] {
      const auto reply = Await<MasterReply<bool>>([&](auto done) {
        session_->Finish(why.empty() ? FinalStatus::kSucceeded : FinalStatus::kFailed, why.empty() ? "all well" : why,
                         "", done);
      });
      return reply && std::holds_alternative<bool>(*reply) && std::get<bool>(*reply);
    });
  }

 private:
  Why CheckCredentials() {
    MUST(credentials_.secrets["tony.check"] == "known");
    const auto id = ParseContainerId(StrCat(::getenv("CONTAINER_ID")));
    MUST(id && ToString(*id) == ::getenv("CONTAINER_ID"));
    const auto token = MasterTokenIn(credentials_);
    MUST(token);
    token_ = *token;
    session_ = std::make_unique<AmRmSession>(loop, names, std::vector{scheduler_}, token_);
    return "";
  }

  Why RegisterOnce() {
    Token wrong = token_;
    wrong.password = "guessed";
    AmRmSession impostor(loop, names, {scheduler_}, wrong);
    const auto refused = *Await<MasterReply<Allocation>>([&](auto done) { impostor.Allocate({}, done); });
    MUST(!std::holds_alternative<Allocation>(refused));
    MUST(std::holds_alternative<NotRegistered>(Allocate({})));
    const auto registration = Register();
    MUST(std::holds_alternative<Registration>(registration));
    MUST(std::get<Registration>(registration).queue.find("default") != std::string::npos);
    maximum_ = std::get<Registration>(registration).maximum;
    MUST(maximum_.memory_mib > 0);
    const auto again = Register();
    MUST(std::holds_alternative<Registration>(again) && std::get<Registration>(again).was_registered);
    return "";
  }

  // The request is refused, and the session continues.
  Why AskTooMuch() {
    ContainerRequest ask{.priority = 1, .request_id = 99, .resource = {maximum_.memory_mib * 2, 1, {}}, .count = 1};
    const auto refused = Allocate({.asks = {ask}});
    MUST(std::holds_alternative<Error>(refused));
    MUST(std::get<Error>(refused).code == ErrorCode::kInvalid);
    return "";
  }

  Why GetContainers() {
    Asked asked;
    for (size_t i = 0; i < std::size(kWishes); ++i) {
      asked.asks.push_back({.priority = static_cast<int32_t>(i) + 1,
                            .request_id = static_cast<int64_t>(i),
                            .resource = {128, 1, {}},
                            .count = 1});
    }
    MUST(Until([&] {
      Take(Allocate(std::exchange(asked, {})));
      return granted_.size() == std::size(kWishes);
    }));
    return "";
  }

  Why StartThem() {
    for (const auto& [wish, container] : granted_) {
      NmClient node(loop, names, {container.node, node_tokens_[container.node]});
      ContainerStart start{container.token, {}};
      start.context.command = kWishes[wish].command;
      start.context.credentials.secrets["mine"] = "x";
      using Answer = Result<NodeAnswer<ContainerId>>;
      const auto started = *Await<Answer>([&](auto done) { node.Start({start}, done); });
      MUST_BE_OK(started);
      MUST(started->failed.empty() && started->done == std::vector<ContainerId>{container.id});
      const auto again = *Await<Answer>([&](auto done) { node.Start({start}, done); });
      MUST_BE_OK(again);
      MUST(again->failed.size() == 1 && again->failed[0].IsAlreadyStarted());
    }
    return "";
  }

  Why SeeThemEnd() {
    const Container& sleeper = granted_.at(kSleeper);
    NmClient node(loop, names, {sleeper.node, node_tokens_[sleeper.node]});
    MUST(Until([&] {
      const auto statuses =
          *Await<Result<NodeAnswer<ContainerStatus>>>([&](auto done) { node.Statuses({sleeper.id}, done); });
      return statuses.ok() && statuses->done.size() == 1 && statuses->done[0].state == ContainerStatus::State::kRunning;
    }));
    const auto stopped = *Await<Result<NodeAnswer<ContainerId>>>([&](auto done) { node.Stop({sleeper.id}, done); });
    MUST_BE_OK(stopped);
    MUST(stopped->done.size() == 1);
    MUST(Until([&] {
      Take(Allocate({}));
      return ended_.size() == granted_.size();
    }));
    for (const auto& [wish, container] : granted_) {
      MUST(ended_.count(container.id) == 1);
      if (ended_[container.id] != kWishes[wish].exit_status)
        return StrCat(kWishes[wish].command, " ended with ", ended_[container.id]);
    }
    return "";
  }

  // Calls are lost, and then the ResourceManager does not know this master. Containers on the nodes keep running.
  Why OutliveRestart() {
    if (!::getenv("TONY_CHECK_RESTART")) return "";
    int lost = 0;
    MUST(Until([&] {
      const auto reply = Allocate({.progress = 0.5F});
      Take(reply);
      const auto* error = std::get_if<Error>(&reply);
      lost += error && error->code == ErrorCode::kUnavailable ? 1 : 0;
      return std::holds_alternative<NotRegistered>(reply);
    }));
    MUST(lost > 0);
    const auto registration = Register();
    MUST(std::holds_alternative<Registration>(registration) && !std::get<Registration>(registration).was_registered);
    const Container& sleeper = granted_.at(kSleeper);
    NmClient node(loop, names, {sleeper.node, node_tokens_[sleeper.node]});
    const auto statuses =
        *Await<Result<NodeAnswer<ContainerStatus>>>([&](auto done) { node.Statuses({sleeper.id}, done); });
    MUST_BE_OK(statuses);
    MUST(statuses->done.size() == 1 && statuses->done[0].state == ContainerStatus::State::kRunning);
    return GetOneMore();
  }

  // The container's id shows that the ResourceManager was restarted. The container is released.
  Why GetOneMore() {
    Asked asked;
    asked.asks = {{.priority = 9, .request_id = 50, .resource = {128, 1, {}}, .count = 1}};
    MUST(Until([&] {
      Take(Allocate(std::exchange(asked, {})));
      return granted_.count(50) == 1;
    }));
    const ContainerId id = granted_.at(50).id;
    granted_.erase(50);
    MUST(ToString(id).starts_with("container_e"));
    // Its exit may be in this answer, and is reported once.
    Take(Allocate({.release = {id}}));
    MUST(Until([&] {
      Take(Allocate({}));
      return ended_.count(id) == 1;
    }));
    MUST(ended_[id] == -100);
    ended_.erase(id);
    return "";
  }

  // Acts as a process that restarts within the same attempt.
  Why TakeOver() {
    session_ = std::make_unique<AmRmSession>(loop, names, std::vector{scheduler_}, token_);
    const auto registration = Register();
    MUST(std::holds_alternative<Registration>(registration) && std::get<Registration>(registration).was_registered);
    MUST(std::holds_alternative<Allocation>(Allocate({})));
    MUST(std::holds_alternative<Allocation>(Allocate({})));
    return "";
  }

  MasterReply<Registration> Register() {
    return *Await<MasterReply<Registration>>([&](auto done) { session_->Register({"localhost", 4242, ""}, done); });
  }
  MasterReply<Allocation> Allocate(const Asked& asked) {
    return *Await<MasterReply<Allocation>>([&](auto done) { session_->Allocate(asked, done); });
  }
  void Take(const MasterReply<Allocation>& reply) {
    const auto* allocation = std::get_if<Allocation>(&reply);
    if (!allocation) return;
    if (allocation->renewed_token) token_ = *allocation->renewed_token;
    for (const NodeToken& token : allocation->node_tokens) node_tokens_[token.node] = token.token;
    for (const Container& container : allocation->granted) granted_[container.request_id] = container;
    for (const ContainerStatus& status : allocation->ended) ended_[status.id] = status.exit_status;
  }

  const Endpoint scheduler_;
  Credentials credentials_;
  Token token_;
  Resource maximum_;
  std::unique_ptr<AmRmSession> session_;
  std::map<NodeId, Token> node_tokens_;
  std::map<int64_t, Container> granted_;  // keyed by the row's index
  std::map<ContainerId, int> ended_;
};

}  // namespace

std::optional<MasterPlace> MasterPlaceHere() {
  MasterPlace place;
  for (const auto& [variable, address] :
       {std::pair("TONY_CHECK_CLIENT", &place.client), std::pair("TONY_CHECK_SCHEDULER", &place.scheduler)}) {
    const std::vector<std::string> parts = Split(StrCat(::getenv(variable)), ':');
    if (parts.size() != 2) return std::nullopt;
    *address = {parts[0], static_cast<int>(*ParseInt(parts[1]))};
  }
  return place;
}

Result<Credentials> CredentialsHere() {
  std::ifstream file(StrCat(::getenv("HADOOP_TOKEN_FILE_LOCATION")), std::ios::binary);
  return DecodeCredentials(std::string{std::istreambuf_iterator<char>(file), {}});
}

std::optional<Token> MasterTokenIn(const Credentials& credentials) {
  for (const auto& [name, token] : credentials.tokens) {
    if (token.kind == "YARN_AM_RM_TOKEN") return token;
  }
  return std::nullopt;
}

int RunMaster() {
  const auto place = MasterPlaceHere();
  const auto credentials = CredentialsHere();
  if (!place || !credentials.ok()) return 65;
  Master master(place->scheduler, *credentials);
  const Why why = master.Run();
  return master.Finish(why) && why.empty() ? 0 : 1;
}

}  // namespace tony::hadoop
