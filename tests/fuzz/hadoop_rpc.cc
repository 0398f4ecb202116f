// Fuzzes the answers of a Hadoop server or of an attacker in its place: frames, headers, the offer of a SASL exchange,
// the answers of YARN's three protocols, and protected messages. The first byte sets the length of the pieces.
#include "runtime/hadoop/am_rm_session.h"
#include "runtime/hadoop/digest_md5.h"
#include "runtime/hadoop/rpc_connection.h"
#include "runtime/hadoop/rpc_frames.h"
#include "runtime/hadoop/sasl.h"
#include "runtime/hadoop/wire_records.h"
#include "tests/fuzz/frame_pieces.h"
#include "tests/fuzz/fuzz.h"

namespace tony::fuzz {
namespace {

constexpr uint32_t kMostBytes = 4 << 20;
constexpr const char* kProtections[] = {"auth-int", "auth-conf"};
constexpr char kChallenge[] = "realm=\"default\",nonce=\"n\",qop=\"auth\",charset=utf-8,algorithm=md5-sess";

template <class Message>
bool Parse(std::string_view body, Message& message) {
  return message.ParsePartialFromArray(body.data(), static_cast<int>(body.size())) && message.IsInitialized();
}

// A server without the right proof never gets further than its offer.
void Prove(std::string_view body) {
  hadoop::wire::RpcSasl message;
  if (!Parse(body, message)) return;
  hadoop::SaslExchange exchange(hadoop::MakeDigestMechanism({"identifier", "password"}, "nonce"));
  const auto first = exchange.Next(message);
  if (!first.ok()) return;
  CHECK(first->has_value() && (*first)->state() == hadoop::wire::RpcSasl::INITIATE && (*first)->auths_size() == 1);
  CHECK(!exchange.Next(message).ok());
}

void ReadContainers(std::string_view body) {
  hadoop::wire::AllocateResponse allocation;
  if (Parse(body, allocation)) {
    for (const auto& container : hadoop::AllFromWire(allocation.allocated_containers()))
      (void)hadoop::ParseContainerId(hadoop::ToString(container.id));
    (void)hadoop::AllFromWire(allocation.completed_container_statuses());
    (void)hadoop::AllFromWire(allocation.updated_nodes());
    (void)hadoop::AllFromWire(allocation.nm_tokens());
  }
  hadoop::wire::GetContainerStatusesResponse statuses;
  if (Parse(body, statuses)) (void)hadoop::AllFromWire(statuses.status());
}

void ReadFrame(std::string_view frame) {
  const auto response = hadoop::ReadResponse(frame);
  if (!response.ok()) return;
  const std::string line = FirstLine(response->header.errormsg());
  CHECK(line.size() <= 1000 && line.find('\n') == std::string::npos);
  (void)hadoop::ExpectedResponse(line);
  Prove(response->body);
  ReadContainers(response->body);
}

std::unique_ptr<hadoop::SaslLayer> LayerOf(const char* qop, hadoop::DigestSide side) {
  return *hadoop::MakeDigestLayer("0123456789abcdef", qop, side);
}

// Only the token of somebody who has the keys is accepted.
void Unwrap(std::string_view token, const char* qop) {
  const auto bytes = LayerOf(qop, hadoop::DigestSide::kClient)->Unwrap(token);
  if (bytes.ok()) CHECK(*LayerOf(qop, hadoop::DigestSide::kServer)->Wrap(*bytes) == token);
}

void ReadProtected(std::string_view input, const char* qop) {
  auto layer = LayerOf(qop, hadoop::DigestSide::kClient);
  FrameCutter answers(kMostBytes);
  ForEachFrame(input, kMostBytes, [&](std::string_view frame) {
    const auto response = hadoop::ReadResponse(frame);
    hadoop::wire::RpcSasl message;
    if (!layer || !response.ok() || !Parse(response->body, message)) return;
    const auto bytes = layer->Unwrap(message.token());
    if (!bytes.ok()) return layer.reset();
    answers.Add(*bytes);
    for (auto answer = answers.Next(); answer.ok() && *answer; answer = answers.Next()) ReadFrame(**answer);
  });
}

}  // namespace

void Read(std::string_view input) {
  if (input.empty()) return;
  (void)hadoop::AnswerDigest({"identifier", "password"}, input, "/default", "nonce").ok();
  if (const auto id = hadoop::ParseContainerId(input)) CHECK(hadoop::ParseContainerId(hadoop::ToString(*id)) == id);
  ForEachFrame(input, kMostBytes, ReadFrame);
  for (const char* qop : kProtections) {
    Unwrap(input, qop);
    ReadProtected(input, qop);
  }
}

std::vector<std::string> Seeds() {
  hadoop::wire::RpcResponseHeader header;
  header.set_callid(static_cast<uint32_t>(hadoop::kSaslCallId));
  header.set_status(hadoop::wire::RpcResponseHeader::SUCCESS);
  hadoop::wire::RpcSasl offer;
  offer.set_state(hadoop::wire::RpcSasl::NEGOTIATE);
  auto& auth = *offer.add_auths();
  auth.set_method("TOKEN");
  auth.set_mechanism("DIGEST-MD5");
  auth.set_protocol("");
  auth.set_serverid("default");
  auth.set_challenge(kChallenge);
  hadoop::wire::AllocateResponse allocation;
  allocation.set_response_id(1);
  auto& container = *allocation.add_allocated_containers();
  *container.mutable_id() = hadoop::ToWire(hadoop::ContainerId{{{1700000000000, 1}, 1}, 2});
  container.mutable_nodeid()->set_host("n1");
  *container.mutable_resource() = hadoop::ToWire(hadoop::Resource{128, 1, {{"yarn.io/gpu", 1}}});
  allocation.add_completed_container_statuses()->set_exit_status(-100);
  hadoop::wire::RpcResponseHeader failure = header;
  failure.set_status(hadoop::wire::RpcResponseHeader::ERROR);
  failure.set_exceptionclassname("org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException");
  failure.set_errormsg("expect responseId to be 5, but get 3\n\tat X");
  std::vector<std::string> seeds = {
      "\xff" + hadoop::FrameOf({&header, &offer}),
      std::string(1, '\0') + hadoop::FrameOf({&header, &allocation}) + hadoop::FrameOf({&failure}),
      "\x01" + hadoop::FrameOf({&failure}), kChallenge, "container_e03_1700000000000_0001_01_000002"};
  for (const char* qop : kProtections) {
    const auto layer = LayerOf(qop, hadoop::DigestSide::kServer);
    seeds.push_back(*layer->Wrap(hadoop::FrameOf({&failure})));
    const auto message = hadoop::SaslMessage(hadoop::wire::RpcSasl::WRAP, seeds.back());
    const auto next =
        hadoop::SaslMessage(hadoop::wire::RpcSasl::WRAP, *layer->Wrap(hadoop::FrameOf({&header, &allocation})));
    seeds.push_back("\x01" + hadoop::FrameOf({&header, &message}) + hadoop::FrameOf({&header, &next}));
  }
  return seeds;
}

}  // namespace tony::fuzz
