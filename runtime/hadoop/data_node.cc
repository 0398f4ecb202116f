#include "runtime/hadoop/data_node.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/hadoop/data_packets.h"
#include "runtime/net/frame_connection.h"
#include "runtime/net/sockets.h"

namespace tony::hadoop {
namespace {

namespace hdfs = wire::hdfs;

constexpr std::string_view kProofMagic = "\xDE\xAD\xBE\xEF";  // SASL_TRANSFER_MAGIC_NUMBER
constexpr int kFirstUnprivilegedPort = 1024;
// Java's streams accept wrapped messages of 64 KiB, and send no longer ones.
constexpr uint32_t kLongestWrapped = 1 << 20;
constexpr size_t kPiece = 64 << 10;
// The limit for bytes of packets that wait to be sent.
constexpr size_t kMostUnsent = 1 << 20;
constexpr int kPacketsAtOnce = 16;

class DataNodeCall : public EventLoop::Handle {
 public:
  ~DataNodeCall() override { Close(); }

 protected:
  DataNodeCall(const DataNodeContext& context, const hdfs::LocatedBlock& block, int location)
      : context_(context), chunk_(kPiece, '\0') {
    const hdfs::DatanodeID& id = block.locs(location).id();
    at_ = {id.ipaddr(), static_cast<int>(id.xferport())};
    if (context.key) {
      proof_ = MakeDigestMechanism(*context.key, NewClientNonce());
    } else if (context.proves_tokens && at_.port >= kFirstUnprivilegedPort) {
      const wire::Token& token = block.blocktoken();
      proof_ = MakeDigestMechanism(LoginOf({token.identifier(), token.password(), "", ""}), NewClientNonce());
    }
    Arm(context.limits.connect, "no connection");
    auto socket = StartConnect(at_);
    if (!socket.ok()) {
      Fail(socket.error());
      return;
    }
    socket_ = *std::move(socket);
    writable_ = context.loop.WhenWritable(socket_.get(), [this] { OnConnected(); });
  }

  // Called when the connection is ready for the operation.
  virtual void OnOpen() = 0;
  // Takes a part off the start of the received bytes, and returns its size. 0: more bytes are needed.
  virtual Result<size_t> Take(std::string_view bytes) = 0;
  // Returns whether OnRoom() has more to send now.
  virtual bool HasMore() const { return false; }
  // Called while few bytes wait to be sent.
  virtual void OnRoom() {}
  // Called as the last function, later than End() and Fail().
  virtual void OnEnd(const Status& status) = 0;

  void Send(std::string_view bytes) {
    if (!layer_) {
      out_ += bytes;
    } else {
      for (const size_t most = layer_->LongestWrap(); !bytes.empty();) {
        const auto wrapped = layer_->Wrap(bytes.substr(0, most));
        if (!wrapped.ok()) return Fail(wrapped.error());
        AppendBigEndian(out_, wrapped->size(), 4);
        out_ += *wrapped;
        bytes.remove_prefix(std::min(most, bytes.size()));
      }
    }
    Flush();
  }
  size_t unsent() const { return out_.size() - sent_; }
  bool is_open() const { return channel_ != nullptr && !is_cut_; }
  const DataNodeContext& context() const { return context_; }

  void Fail(const Error& error) { End(Annotate(error, StrCat("DataNode ", ToString(at_)))); }
  void End(Status status) {
    Close();
    if (ended_) return;
    ended_ = true;
    timer_ = context_.loop.After(Duration(0), [this, status = std::move(status)] { OnEnd(status); });
  }

 private:
  void Close() {
    readable_.reset();
    writable_.reset();
    channel_.reset();
    socket_.Reset();
  }

  void Arm(Duration limit, const char* what) {
    moved_ = false;
    timer_ = context_.loop.After(limit, [this, limit, what] {
      if (moved_) return Arm(context_.limits.stalled, "no byte moved");
      Fail(UnavailableError(what, " within ", limit.count(), " ms"));
    });
  }

  void OnConnected() {
    writable_.reset();
    if (const int error = ConnectError(socket_); error != 0)
      return Fail(UnavailableError("connect: ", ErrnoText(error)));
    ConfigureConnected(socket_);
    channel_ = MakePlainChannel(std::move(socket_));
    readable_ = context_.loop.WhenReadable(channel_->socket(), [this] { Receive(); });
    Arm(context_.limits.stalled, "no byte moved");
    if (!proof_) return OnOpen();
    Send(kProofMagic);
    Prove("");
  }

  // Writes what the socket takes. An error is left to Receive(), because the DataNode's own reason may still arrive.
  void Flush() {
    while (channel_ && !is_cut_ && unsent() > 0) {
      const Channel::Step step = channel_->Write(std::string_view(out_).substr(sent_));
      is_cut_ = step.kind == Channel::Step::Kind::kEnded;
      if (step.kind != Channel::Step::Kind::kMoved) break;
      sent_ += step.bytes;
      moved_ = true;
    }
    if (unsent() == 0 || sent_ > kMostUnsent) out_.erase(0, std::exchange(sent_, 0));
    if (!channel_ || is_cut_ || (unsent() == 0 && !HasMore())) return writable_.reset();
    if (!writable_) writable_ = context_.loop.WhenWritable(channel_->socket(), [this] { SendMore(); });
  }

  void SendMore() {
    if (HasMore() && unsent() < kMostUnsent) OnRoom();
    Flush();
  }

  void Receive() {
    while (channel_) {
      const Channel::Step step = channel_->Read(chunk_.data(), chunk_.size());
      if (step.kind == Channel::Step::Kind::kEnded) return Fail(WhyClosed(step.why));
      if (step.kind != Channel::Step::Kind::kMoved) break;
      moved_ = true;
      const Status taken = TakeBytes({chunk_.data(), step.bytes});
      if (!taken.ok()) return Fail(taken.error());
    }
    if (channel_) SendMore();
  }

  // A DataNode closes a connection that begins in the wrong way, without an answer.
  Error WhyClosed(Error error) const {
    if (!is_answered_)
      error.message += "; dfs.data.transfer.protection in hdfs-site.xml must have the DataNodes' value";
    return error;
  }

  Status TakeBytes(std::string_view bytes) {
    if (!layer_) {
      in_ += bytes;
    } else {
      wrapped_.Add(bytes);
      while (true) {
        TRY_ASSIGN(const auto frame, wrapped_.Next());
        if (!frame) break;
        TRY_ASSIGN(const std::string plain, layer_->Unwrap(*frame));
        in_ += plain;
      }
    }
    return TakeAll();
  }

  Status TakeAll() {
    size_t used = 0;
    while (channel_) {
      const std::string_view rest = std::string_view(in_).substr(used);
      TRY_ASSIGN(const size_t taken, proof_ ? TakeProof(rest) : Take(rest));
      if (taken == 0) break;
      is_answered_ = true;
      used += taken;
    }
    in_.erase(0, used);
    return Ok();
  }

  void Prove(std::string payload) {
    hdfs::DataTransferEncryptorMessage message;
    message.set_status(hdfs::DataTransferEncryptorMessage::SUCCESS);
    message.set_payload(std::move(payload));
    Send(DelimitedBytes(message));
  }

  Result<size_t> TakeProof(std::string_view bytes) {
    hdfs::DataTransferEncryptorMessage message;
    TRY_ASSIGN(const size_t size, ReadDelimited(bytes, message));
    if (size == 0) return size;
    if (message.status() != hdfs::DataTransferEncryptorMessage::SUCCESS)
      return UnavailableError("the DataNode refuses the exchange that proves the token: ",
                              FirstLine(message.message()));
    if (!std::exchange(is_challenged_, true)) {
      wire::RpcSasl::SaslAuth offer;
      offer.set_protocol("hdfs");
      offer.set_serverid("0");
      offer.set_challenge(message.payload());
      TRY_ASSIGN(std::string response, proof_->Begin(offer));
      Prove(std::move(response));
      return size;
    }
    TRY_ASSIGN(layer_, proof_->Finish(message.payload()));
    if (bytes.size() > size) return InvalidError("the DataNode sends bytes before the operation");
    proof_ = nullptr;
    OnOpen();
    return size;
  }

  const DataNodeContext context_;
  Endpoint at_;
  std::unique_ptr<SaslMechanism> proof_;  // null: not needed, or done
  std::unique_ptr<SaslLayer> layer_;      // null: bytes are not protected
  FrameCutter wrapped_{kLongestWrapped};
  bool is_challenged_ = false, is_answered_ = false, is_cut_ = false, ended_ = false, moved_ = false;
  std::string chunk_, in_, out_;
  size_t sent_ = 0;  // sent bytes of out_
  UniqueFd socket_;  // valid while connecting
  std::unique_ptr<Channel> channel_;
  EventLoop::FdWatch readable_, writable_;  // declared after channel_: destroyed first
  EventLoop::Timer timer_;
};

hdfs::ClientOperationHeader HeaderOf(const hdfs::LocatedBlock& block, const std::string& client_name) {
  hdfs::ClientOperationHeader header;
  *header.mutable_baseheader()->mutable_block() = block.b();
  *header.mutable_baseheader()->mutable_token() = block.blocktoken();
  header.set_clientname(client_name);
  return header;
}

Status Accepted(const hdfs::BlockOpResponse& response) {
  if (response.status() == hdfs::SUCCESS) return Ok();
  return UnavailableError("the DataNode refuses the operation: ",
                          response.message().empty() ? StrCat("status ", static_cast<int>(response.status()))
                                                     : FirstLine(response.message()));
}

class BlockRead : public DataNodeCall {
 public:
  BlockRead(const DataNodeContext& context, const BlockPart& part, Hdfs::Done<Result<std::string>> done)
      : DataNodeCall(context, part.block, part.location), part_(part), done_(std::move(done)) {}

 private:
  void OnOpen() override {
    hdfs::OpReadBlock operation;
    *operation.mutable_header() = HeaderOf(part_.block, context().client_name);
    operation.set_offset(part_.offset);
    operation.set_len(part_.length);
    Send(OperationBytes(DataOperation::kReadBlock, operation));
  }

  Result<size_t> Take(std::string_view bytes) override {
    if (checksum_.has_type()) return TakePacket(bytes);
    hdfs::BlockOpResponse response;
    TRY_ASSIGN(const size_t size, ReadDelimited(bytes, response));
    if (size == 0) return size;
    TRY(Accepted(response));
    checksum_ = response.readopchecksuminfo().checksum();
    TRY(CheckChecksum(checksum_));
    next_ = response.readopchecksuminfo().chunkoffset();
    if (next_ <= part_.offset && part_.offset - next_ < checksum_.bytesperchecksum()) return size;
    return InvalidError("the DataNode sends bytes from ", next_, " on instead of ", part_.offset);
  }

  // Takes the bytes of the part. The first and the last chunk may have bytes before and behind it.
  Result<size_t> TakePacket(std::string_view bytes) {
    TRY_ASSIGN(const auto packet, ReadPacket(bytes, checksum_));
    if (!packet) return size_t{0};
    if (!IsIntact(*packet, checksum_)) return UnavailableError("the bytes do not match their checksums");
    std::string_view data = packet->data;
    if (!data.empty() && static_cast<uint64_t>(packet->header.offsetinblock()) != next_)
      return InvalidError("a packet is missing at byte ", next_);
    const uint64_t begin = next_;
    next_ += data.size();
    if (begin < part_.offset) data.remove_prefix(std::min<uint64_t>(part_.offset - begin, data.size()));
    read_ += data.substr(0, part_.length - read_.size());
    if (!packet->header.lastpacketinblock()) return packet->size;
    if (read_.size() != part_.length)
      return UnavailableError("the DataNode has only ", read_.size(), " of ", part_.length, " bytes");
    hdfs::ClientReadStatus status;
    status.set_status(hdfs::CHECKSUM_OK);
    Send(DelimitedBytes(status));
    End(Ok());
    return packet->size;
  }

  void OnEnd(const Status& status) override {
    const auto done = std::move(done_);
    if (!status.ok()) return done(status.error());
    done(std::move(read_));
  }

  const BlockPart part_;
  Hdfs::Done<Result<std::string>> done_;
  hdfs::Checksum checksum_;
  uint64_t next_ = 0;  // place in the block
  std::string read_;
};

class BlockWrite : public DataNodeCall {
 public:
  BlockWrite(const DataNodeContext& context, BlockContent content, Hdfs::Done<std::optional<BlockFailure>> done)
      : DataNodeCall(context, content.block, 0), content_(std::move(content)), done_(std::move(done)) {
    packet_ = std::max<int64_t>(kPiece / content_.chunk, 1) * content_.chunk;
  }

 private:
  void OnOpen() override {
    const hdfs::LocatedBlock& block = content_.block;
    hdfs::OpWriteBlock operation;
    *operation.mutable_header() = HeaderOf(block, context().client_name);
    for (int i = 1; i < block.locs_size(); ++i) *operation.add_targets() = block.locs(i);
    operation.set_stage(hdfs::OpWriteBlock::PIPELINE_SETUP_CREATE);
    operation.set_pipelinesize(static_cast<uint32_t>(block.locs_size()));
    operation.set_minbytesrcvd(0);
    operation.set_maxbytesrcvd(0);
    operation.set_latestgenerationstamp(0);
    operation.mutable_requestedchecksum()->set_type(hdfs::CHECKSUM_CRC32C);
    operation.mutable_requestedchecksum()->set_bytesperchecksum(content_.chunk);
    for (int i = 0; i < block.storagetypes_size(); ++i)
      i == 0 ? operation.set_storagetype(block.storagetypes(0))
             : operation.add_targetstoragetypes(block.storagetypes(i));
    for (int i = 0; i < block.storageids_size(); ++i)
      i == 0 ? operation.set_storageid(block.storageids(0)) : operation.add_targetstorageids(block.storageids(i));
    Send(OperationBytes(DataOperation::kWriteBlock, operation));
  }

  Result<size_t> Take(std::string_view bytes) override {
    if (is_accepted_) return TakeAck(bytes);
    hdfs::BlockOpResponse response;
    TRY_ASSIGN(const size_t size, ReadDelimited(bytes, response));
    if (size == 0) return size;
    for (int i = 0; i < content_.block.locs_size(); ++i) {
      const hdfs::DatanodeID& id = content_.block.locs(i).id();
      if (response.firstbadlink() == StrCat(id.ipaddr(), ":", id.xferport())) failed_location_ = i;
    }
    TRY(Accepted(response));
    is_accepted_ = true;
    return size;
  }

  Result<size_t> TakeAck(std::string_view bytes) {
    constexpr int64_t kHeartbeat = -1;
    hdfs::PipelineAck ack;
    TRY_ASSIGN(const size_t size, ReadDelimited(bytes, ack));
    if (size == 0 || ack.seqno() == kHeartbeat) return size;
    for (int i = 0; i < ack.reply_size(); ++i) {
      if (ack.reply(i) == hdfs::SUCCESS) continue;
      failed_location_ = i;
      return UnavailableError("DataNode ", i + 1, " of the block did not store a packet: status ",
                              static_cast<int>(ack.reply(i)));
    }
    // A DataNode that is about to restart sends other numbers and replies.
    if (ack.seqno() != acknowledged_ || acknowledged_ == next_packet_ || ack.reply_size() < content_.block.locs_size())
      return UnavailableError("the DataNode acknowledges packet ", ack.seqno(), " by ", ack.reply_size(),
                              " DataNodes, expected packet ", acknowledged_, " by ", content_.block.locs_size());
    ++acknowledged_;
    if (is_last_sent_ && acknowledged_ == next_packet_) End(Ok());
    return size;
  }

  bool HasMore() const override { return is_accepted_ && !is_last_sent_; }

  // The number of packets is limited, so that other callbacks of the loop also run.
  void OnRoom() override {
    for (int packets = 0; packets < kPacketsAtOnce && is_open() && HasMore() && unsent() < kMostUnsent; ++packets) {
      const auto data = NextPiece();
      if (!data.ok()) return End(data.error());
      hdfs::PacketHeader header;
      header.set_offsetinblock(given_);
      header.set_seqno(next_packet_++);
      header.set_lastpacketinblock(data->empty());
      header.set_datalen(static_cast<int32_t>(data->size()));
      is_last_sent_ = data->empty();
      given_ += static_cast<int64_t>(data->size());
      Send(PacketBytes(header, *data, content_.chunk));
      if (content_.on_moved && !data->empty()) content_.on_moved(given_);
    }
  }

  Result<std::string> NextPiece() const {
    const int64_t at = content_.offset + given_;
    TRY_ASSIGN(std::string piece, PlainPiece(at, std::min(packet_, content_.length - given_)));
    if (content_.cipher) TRY(content_.cipher->Apply(piece, content_.body_offset + static_cast<uint64_t>(at)));
    return piece;
  }

  Result<std::string> PlainPiece(int64_t at, int64_t size) const {
    const HdfsBody& body = *content_.body;
    if (!body.file) return body.bytes.substr(static_cast<size_t>(at), static_cast<size_t>(size));
    std::string piece(static_cast<size_t>(size), '\0');
    for (int64_t filled = 0; filled < size;) {
      const ssize_t read = ::pread(body.file->fd, piece.data() + filled, static_cast<size_t>(size - filled),
                                   body.file->offset + at + filled);
      if (read < 0) return InvalidError("read the file to send: ", ErrnoText(errno));
      if (read == 0)
        return InvalidError("the file to send ends after ", at + filled, " of ", body.file->length, " bytes");
      filled += read;
    }
    return piece;
  }

  void OnEnd(const Status& status) override {
    const auto done = std::move(done_);
    if (status.ok()) return done(std::nullopt);
    done(BlockFailure{status.error(), failed_location_});
  }

  const BlockContent content_;
  Hdfs::Done<std::optional<BlockFailure>> done_;
  int64_t packet_ = 0;  // bytes of a packet
  int failed_location_ = 0;
  bool is_accepted_ = false, is_last_sent_ = false;
  int64_t given_ = 0;  // bytes in packets
  int64_t next_packet_ = 0, acknowledged_ = 0;
};

}  // namespace

Hdfs::Handle ReadBlock(const DataNodeContext& context, const BlockPart& part, Hdfs::Done<Result<std::string>> done) {
  return std::make_unique<BlockRead>(context, part, std::move(done));
}

Hdfs::Handle WriteBlock(const DataNodeContext& context, const BlockContent& content,
                        Hdfs::Done<std::optional<BlockFailure>> done) {
  return std::make_unique<BlockWrite>(context, content, std::move(done));
}

}  // namespace tony::hadoop
