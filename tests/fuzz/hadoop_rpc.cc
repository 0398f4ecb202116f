// Fuzzes the answers of a Hadoop server or of an attacker in its place: frames, headers, the offer of a SASL exchange,
// the answers of YARN's three protocols, and protected messages; messages and packets of a DataNode. The first byte sets
// the length of the pieces.
#include "runtime/hadoop/am_rm_session.h"
#include "runtime/hadoop/data_packets.h"
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
constexpr uint32_t kChunk = 4;
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

template <class Message>
void ReadMessage(std::string_view input) {
  Message message;
  const auto size = hadoop::ReadDelimited(input, message);
  if (size.ok() && *size > 0) CHECK(*size <= input.size() && message.IsInitialized());
}

// Only packets whose parts lie within the bytes are accepted. A packet is equal if it is written again.
void ReadPackets(std::string_view input) {
  hadoop::wire::hdfs::Checksum checksum;
  checksum.set_type(hadoop::wire::hdfs::CHECKSUM_CRC32C);
  checksum.set_bytesperchecksum(kChunk);
  while (true) {
    const auto packet = hadoop::ReadPacket(input, checksum);
    if (!packet.ok() || !*packet) return;
    CHECK((*packet)->size > 0 && (*packet)->size <= input.size());
    if (hadoop::IsIntact(**packet, checksum)) {
      const std::string again = hadoop::PacketBytes((*packet)->header, (*packet)->data, kChunk);
      CHECK(again.ends_with((*packet)->data));
    }
    input.remove_prefix((*packet)->size);
  }
}

}  // namespace

void Read(std::string_view input) {
  if (input.empty()) return;
  ReadPackets(input);
  ReadMessage<hadoop::wire::hdfs::BlockOpResponse>(input);
  ReadMessage<hadoop::wire::hdfs::PipelineAck>(input);
  ReadMessage<hadoop::wire::hdfs::DataTransferEncryptorMessage>(input);
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
  hadoop::wire::hdfs::PacketHeader packet;
  packet.set_offsetinblock(0);
  packet.set_seqno(1);
  packet.set_lastpacketinblock(false);
  packet.set_datalen(9);
  seeds.push_back(hadoop::PacketBytes(packet, "123456789", kChunk));
  hadoop::wire::hdfs::PipelineAck ack;
  ack.set_seqno(1);
  ack.add_reply(hadoop::wire::hdfs::ERROR);
  seeds.push_back(hadoop::DelimitedBytes(ack));
  hadoop::wire::hdfs::BlockOpResponse response;
  response.set_status(hadoop::wire::hdfs::SUCCESS);
  response.mutable_readopchecksuminfo()->set_chunkoffset(0);
  response.mutable_readopchecksuminfo()->mutable_checksum()->set_type(hadoop::wire::hdfs::CHECKSUM_CRC32C);
  response.mutable_readopchecksuminfo()->mutable_checksum()->set_bytesperchecksum(512);
  seeds.push_back(hadoop::DelimitedBytes(response));
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
