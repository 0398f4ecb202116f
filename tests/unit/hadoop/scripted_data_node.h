// A DataNode on the test's own loop. It answers each operation as the test wants, including invalid answers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/hadoop/data_packets.h"
#include "runtime/net/frame_connection.h"
#include "runtime/net/sockets.h"

namespace tony::hadoop {

class ScriptedDataNode {
 public:
  explicit ScriptedDataNode(EventLoop& loop) : loop_(loop) {
    UniqueFd socket = *ListenOn({kLoopback, 0});
    const int port = BoundAddress(socket)->port;
    listener_ = std::make_unique<Listener>(loop, std::move(socket), port, [this](UniqueFd fd) { Add(std::move(fd)); });
  }

  wire::hdfs::DatanodeInfo info() const {
    wire::hdfs::DatanodeInfo info;
    wire::hdfs::DatanodeID& id = *info.mutable_id();
    id.set_ipaddr(kLoopback);
    id.set_hostname("node");
    id.set_datanodeuuid(StrCat(listener_->port()));
    id.set_xferport(static_cast<uint32_t>(listener_->port()));
    id.set_infoport(0);
    id.set_ipcport(0);
    return info;
  }

  // The bytes that this node sends after an operation, and whether it then closes the connection.
  std::string answer;
  bool closes = false;
  // Received operations and data. A write gets an acknowledgement for each packet unless `answer` refuses it.
  std::vector<wire::hdfs::OpReadBlock> reads;
  std::vector<wire::hdfs::OpWriteBlock> writes;
  std::vector<std::string> written;
  bool refuses_packets = false;

 private:
  struct Peer {
    std::unique_ptr<Channel> channel;
    std::string in;
    // The number of the block that this connection writes, from 1. 0: none.
    size_t write = 0;
    EventLoop::FdWatch readable;
  };

  void Add(UniqueFd fd) {
    auto peer = std::make_shared<Peer>();
    peer->channel = MakePlainChannel(std::move(fd));
    peer->readable = loop_.WhenReadable(peer->channel->socket(), [this, raw = peer.get()] { Receive(*raw); });
    peers_.push_back(std::move(peer));
  }

  void Receive(Peer& peer) {
    std::string chunk(64 << 10, '\0');
    const Channel::Step step = peer.channel->Read(chunk.data(), chunk.size());
    if (step.kind == Channel::Step::Kind::kEnded) return peer.readable.reset();
    peer.in.append(chunk, 0, step.bytes);
    if (peer.write != 0) return TakePackets(peer);
    if (peer.in.size() < 4) return;
    const bool is_write = peer.in[2] == static_cast<char>(DataOperation::kWriteBlock);
    const std::string_view body = std::string_view(peer.in).substr(3);
    wire::hdfs::OpReadBlock read;
    wire::hdfs::OpWriteBlock write;
    const auto size = is_write ? ReadDelimited(body, write) : ReadDelimited(body, read);
    if (!size.ok() || *size == 0) return;
    peer.in.erase(0, 3 + *size);
    (void)peer.channel->Write(answer);
    if (closes) return peer.channel->ShutDown();
    if (!is_write) return reads.push_back(read);
    writes.push_back(write);
    written.emplace_back();
    peer.write = written.size();
  }

  void TakePackets(Peer& peer) {
    wire::hdfs::Checksum checksum;
    checksum.set_type(wire::hdfs::CHECKSUM_CRC32C);
    checksum.set_bytesperchecksum(writes[peer.write - 1].requestedchecksum().bytesperchecksum());
    while (true) {
      const auto packet = ReadPacket(peer.in, checksum);
      if (!packet.ok() || !*packet || !IsIntact(**packet, checksum)) return;
      written[peer.write - 1] += (*packet)->data;
      wire::hdfs::PipelineAck ack;
      ack.set_seqno((*packet)->header.seqno());
      ack.add_reply(refuses_packets ? wire::hdfs::ERROR : wire::hdfs::SUCCESS);
      for (int i = 0; i < writes[peer.write - 1].targets_size(); ++i) ack.add_reply(wire::hdfs::SUCCESS);
      (void)peer.channel->Write(DelimitedBytes(ack));
      peer.in.erase(0, (*packet)->size);
    }
  }

  EventLoop& loop_;
  std::vector<std::shared_ptr<Peer>> peers_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace tony::hadoop
