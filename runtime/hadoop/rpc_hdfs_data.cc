// The calls of RpcHdfs that read and write the bytes of files.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/data_node.h"
#include "runtime/hadoop/data_packets.h"
#include "runtime/hadoop/file_coding.h"
#include "runtime/hadoop/rpc_hdfs_calls.h"
#include "runtime/hadoop/wire/hdfs.pb.h"
#include "runtime/os/files.h"

namespace tony::hadoop {
namespace {

namespace hdfs = wire::hdfs;

// The tries to write a block, each to other DataNodes.
constexpr int kMostBlockTries = 4;
// HDFS takes some milliseconds until it knows that a DataNode has the last block.
constexpr Duration kFirstPause{4}, kLongestPause{400};
// The lease of a writer, without which HDFS closes the file, lasts a minute at least.
constexpr Duration kRenewLease{20'000};
constexpr Duration kProgress{100};
constexpr size_t kMostFileKeys = 1000;

Result<ErasureCoding> CodingOf(const hdfs::ErasureCodingPolicy& policy) {
  // The NameNode describes only the policies that a site has added.
  if (!policy.has_schema()) return BuiltInErasureCoding(policy.id());
  const hdfs::ECSchema& schema = policy.schema();
  const ErasureCoding coding{schema.codecname(), static_cast<int>(schema.dataunits()),
                             static_cast<int>(schema.parityunits()), policy.cellsize()};
  TRY(CheckErasureCoding(coding));
  return coding;
}

// Returns the block of one unit of a block group; nullopt: no DataNode has it.
std::optional<hdfs::LocatedBlock> BlockOfUnit(const hdfs::LocatedBlock& group, int unit) {
  for (int i = 0; i < group.locs_size(); ++i) {
    if (static_cast<size_t>(i) >= group.blockindices().size() || group.blockindices()[static_cast<size_t>(i)] != unit)
      continue;
    hdfs::LocatedBlock block;
    *block.mutable_b() = group.b();
    block.mutable_b()->set_blockid(group.b().blockid() + static_cast<uint64_t>(unit));
    *block.add_locs() = group.locs(i);
    *block.mutable_blocktoken() = i < group.blocktokens_size() ? group.blocktokens(i) : group.blocktoken();
    return block;
  }
  return std::nullopt;
}

}  // namespace

// Calls that read or write bytes. They end with Finish().
class RpcHdfs::DataSteps : public Steps {
 protected:
  DataSteps(RpcHdfs& owner, std::string path, bool writes)
      : owner_(owner), path_(std::move(path)), writes_(writes), client_name_("tony-" + RandomHex(8)) {}

  // Called once. May destroy this object.
  virtual void OnFinish(const Status& status) = 0;

  void Finish(const Status& status) {
    if (!alive) return;
    alive.reset();
    running.reset();
    OnFinish(status);
  }

  // Calls the NameNode, then `then` with the response. An error ends all calls.
  template <class Response, class Request, class Then>
  void Ask(const char* method, const Request& request, Then then) {
    const Call call = CallOf(method);
    Send(call, request, Parse<Response>(call, std::move(then)));
  }
  template <class Request>
  void Send(const Call& call, const Request& request, Done<Result<Reply>> done) {
    owner_.Send(*this, call, request.SerializeAsString(), owner_.options_.rpc.name_nodes.size(), std::move(done));
  }
  template <class Response, class Then>
  Done<Result<Reply>> Parse(const Call& call, Then then) {
    return owner_.Parsing<Response, Response>(
        call, [](const Response& response) -> Result<Response> { return response; },
        [this, then = std::move(then)](const Result<Response>& response) {
          if (!response.ok()) return Finish(response.error());
          then(*response);
        });
  }
  Call CallOf(const char* method) const { return {method, path_, writes_}; }

  // Finds out how the cluster stores bytes, then calls `then`.
  void Prepare(const std::function<void()>& then) {
    if (owner_.defaults_) return PrepareKey(then);
    Ask<hdfs::GetServerDefaultsResponse>(
        "getServerDefaults", hdfs::GetServerDefaultsRequest(), [=, this](auto& response) {
          const hdfs::FsServerDefaults& found = response.serverdefaults();
          hdfs::Checksum checksum;
          checksum.set_type(hdfs::CHECKSUM_CRC32C);
          checksum.set_bytesperchecksum(found.bytesperchecksum());
          if (const Status status = CheckChecksum(checksum); !status.ok()) return Finish(status);
          if (found.blocksize() == 0 || found.blocksize() > INT64_MAX)
            return Finish(InvalidError("the NameNode's default block size is ", found.blocksize()));
          owner_.defaults_ = Defaults{found.blocksize(), found.bytesperchecksum(), found.replication(),
                                      found.encryptdatatransfer(), found.keyprovideruri()};
          PrepareKey(then);
        });
  }
  void PrepareKey(const std::function<void()>& then) {
    if (!owner_.defaults_->encrypts_data) return then();
    Ask<hdfs::GetDataEncryptionKeyResponse>(
        "getDataEncryptionKey", hdfs::GetDataEncryptionKeyRequest(), [=, this](auto& response) {
          const hdfs::DataEncryptionKey& key = response.dataencryptionkey();
          if (response.has_dataencryptionkey())
            key_ = {StrCat(key.keyid(), " ", key.blockpoolid(), " ", Base64(key.nonce())), Base64(key.encryptionkey())};
          then();
        });
  }
  // Gets the key of a file in an encryption zone, then calls `then`. Call this after Prepare().
  void PrepareCipher(const hdfs::FileEncryptionInfo& info, const std::function<void()>& then) {
    const std::string& provider = owner_.defaults_->key_provider;
    if (info.suite() != hdfs::AES_CTR_NOPADDING)
      return Finish(InvalidError(path_, ": the file is encrypted, and only AES/CTR/NoPadding is supported"));
    if (!owner_.decrypt_key_ || provider.empty())
      return Finish(InvalidError(path_, ": the file is in an encryption zone, and ",
                                 provider.empty() ? "the NameNode names no KMS" : "this program calls no KMS"));
    const auto use = [=, this, iv = info.iv()](const std::string& key) {
      auto cipher = FileCipher::Make(key, iv);
      if (!cipher.ok()) return Finish(Annotate(cipher.error(), path_));
      cipher_ = *std::move(cipher);
      then();
    };
    const auto known = owner_.file_keys_.find(info.key());
    if (known != owner_.file_keys_.end()) return use(known->second);
    running = owner_.decrypt_key_(provider, {info.keyname(), info.ezkeyversionname(), info.iv(), info.key()},
                                  [=, this, encrypted = info.key()](const Result<std::string>& key) {
                                    if (!key.ok()) return Finish(Annotate(key.error(), path_));
                                    if (owner_.file_keys_.size() >= kMostFileKeys) owner_.file_keys_.clear();
                                    owner_.file_keys_[encrypted] = *key;
                                    use(std::string(*key));
                                  });
  }
  DataNodeContext Context() const {
    return {owner_.loop_, owner_.options_.limits, client_name_, owner_.options_.rpc.proves_data_transfer, key_};
  }

  RpcHdfs& owner_;
  const std::string path_;
  const bool writes_;
  const std::string client_name_;
  std::optional<DigestLogin> key_;
  std::optional<FileCipher> cipher_;
};

class RpcHdfs::Reading : public DataSteps {
 public:
  Reading(RpcHdfs& owner, const std::string& path, int64_t offset, int64_t length, Done<Result<std::string>> done)
      : DataSteps(owner, path, false), next_(offset), end_(offset + length), done_(std::move(done)) {
    hdfs::GetBlockLocationsRequest request;
    request.set_src(path);
    request.set_offset(static_cast<uint64_t>(offset));
    request.set_length(static_cast<uint64_t>(length));
    Ask<hdfs::GetBlockLocationsResponse>("getBlockLocations", request,
                                         [this](auto& response) { TakePlaces(response); });
  }

 private:
  void TakePlaces(const hdfs::GetBlockLocationsResponse& response) {
    if (!response.has_locations())
      return Finish(NotFoundError(path_, ": FileNotFoundException: the path does not exist"));
    const hdfs::LocatedBlocks& found = response.locations();
    if (found.has_ecpolicy()) {
      auto coding = CodingOf(found.ecpolicy());
      if (!coding.ok()) return Finish(Annotate(coding.error(), path_));
      coding_ = *std::move(coding);
    }
    end_ = std::min(end_, static_cast<int64_t>(found.filelength()));
    if (end_ - next_ > static_cast<int64_t>(owner_.options_.limits.answer))
      return Finish(InvalidError(path_, ": the answer has more than ", owner_.options_.limits.answer, " bytes"));
    blocks_ = {found.blocks().begin(), found.blocks().end()};
    if (next_ >= end_) return Finish(Ok());
    const std::function<void()> read = [this] { ReadNext(); };
    Prepare([=, this, info = found.fileencryptioninfo(), is_encrypted = found.has_fileencryptioninfo()] {
      is_encrypted ? PrepareCipher(info, read) : read();
    });
  }

  void ReadNext() {
    if (next_ >= end_) return Finish(Ok());
    const auto at = static_cast<uint64_t>(next_);
    const auto block = std::ranges::find_if(blocks_, [&](const hdfs::LocatedBlock& one) {
      return one.offset() <= at && at - one.offset() < one.b().numbytes();
    });
    if (block == blocks_.end()) return Finish(UnavailableError(path_, ": no block has byte ", next_));
    const uint64_t offset = at - block->offset();
    const uint64_t length = std::min(block->b().numbytes() - offset, static_cast<uint64_t>(end_) - at);
    failure_ = UnavailableError("no DataNode has the block at byte ", next_);
    if (coding_) return ReadCell(*block, offset, length);
    part_ = {*block, 0, offset, length};
    ReadFrom(*failure_);
  }

  // Reads from the next DataNode that has the block. `last` is the error if all have failed.
  void ReadFrom(const Error& last) {
    if (part_.location == part_.block.locs_size()) return Finish(Annotate(last, "read " + path_));
    running = ReadBlock(Context(), part_, [this](Result<std::string> bytes) {
      if (!bytes.ok()) {
        ++part_.location;
        return ReadFrom(bytes.error());
      }
      Take(*std::move(bytes));
    });
  }

  void Take(std::string bytes) {
    const Status plain = cipher_ ? cipher_->Apply(bytes, static_cast<uint64_t>(next_)) : Ok();
    if (!plain.ok()) return Finish(plain);
    next_ += static_cast<int64_t>(bytes.size());
    read_ += bytes;
    ReadNext();
  }

  // Reads bytes of one cell of a block group.
  void ReadCell(const hdfs::LocatedBlock& group, uint64_t offset, uint64_t length) {
    if (part_.block.b().blockid() != group.b().blockid()) lost_.clear();
    const CellPlace place = PlaceOf(*coding_, offset);
    part_ = {group, 0, place.offset, std::min(length, place.left)};
    wanted_ = place.unit;
    units_.clear();
    ReadUnit();
  }

  // Reads the unit with the wanted bytes. If it is lost, reads the same bytes of as many other units as are needed.
  void ReadUnit() {
    if (const auto unit = units_.find(wanted_); unit != units_.end()) return Take(std::move(unit->second));
    int unit = wanted_;
    if (lost_.contains(wanted_)) {
      if (units_.size() == static_cast<size_t>(coding_->data)) return Restore();
      for (unit = 0; units_.contains(unit) || lost_.contains(unit);) ++unit;
    }
    if (unit >= coding_->data + coding_->parity) return Finish(Annotate(*failure_, "read " + path_));
    const uint64_t size = UnitLength(*coding_, part_.block.b().numbytes(), unit);
    const uint64_t length = size > part_.offset ? std::min(size - part_.offset, part_.length) : 0;
    if (length == 0) return TakeUnit(unit, std::string());
    auto block = BlockOfUnit(part_.block, unit);
    if (!block) {
      lost_.insert(unit);
      return ReadUnit();
    }
    block->mutable_b()->set_numbytes(size);
    running = ReadBlock(Context(), {*std::move(block), 0, part_.offset, length}, [=, this](Result<std::string> bytes) {
      if (bytes.ok()) return TakeUnit(unit, *std::move(bytes));
      failure_ = bytes.error();
      lost_.insert(unit);
      ReadUnit();
    });
  }
  void TakeUnit(int unit, std::string bytes) {
    bytes.resize(part_.length);
    units_[unit] = std::move(bytes);
    ReadUnit();
  }
  void Restore() {
    auto restored = RestoreUnit(*coding_, wanted_, units_);
    if (!restored.ok()) return Finish(Annotate(restored.error(), StrCat("read ", path_, ": ", failure_->message)));
    Take(*std::move(restored));
  }

  void OnFinish(const Status& status) override {
    const auto done = std::move(done_);
    if (!status.ok()) return done(status.error());
    done(std::move(read_));
  }

  int64_t next_, end_;  // in the file
  Done<Result<std::string>> done_;
  std::vector<hdfs::LocatedBlock> blocks_;
  // The part of a block that is read now. With an erasure coding it is a part of one cell of a block group, whose units
  // have been read or are lost.
  BlockPart part_;
  std::optional<Error> failure_;
  std::optional<ErasureCoding> coding_;
  int wanted_ = 0;
  std::map<int, std::string> units_;
  std::set<int> lost_;
  std::string read_;
};

Hdfs::Handle RpcHdfs::Read(const std::string& path, int64_t offset, int64_t length, Done<Result<std::string>> done) {
  return std::make_unique<Reading>(*this, path, offset, length, std::move(done));
}

class RpcHdfs::Writing : public DataSteps {
 public:
  Writing(RpcHdfs& owner, const std::string& path, HdfsBody body, Done<Result<bool>> done)
      : DataSteps(owner, path, true), body_(std::move(body)), done_(std::move(done)) {
    const Duration limit = owner.options_.limits.whole + Duration(body_.length() / kLeastBytesPerMillisecond);
    limit_ = owner.loop_.After(limit, [this, limit] {
      Finish(UnavailableError("write ", path_, ": not done within ", limit.count(), " ms"));
    });
    if (body_.file && body_.on_moved) ArmProgress();
    ArmLease();
  }

  void Create(const HdfsCreation& how) {
    Prepare([this, how] {
      hdfs::CreateRequest request;
      request.set_src(path_);
      request.mutable_masked()->set_perm(static_cast<uint32_t>(how.permission));
      request.set_clientname(client_name_);
      request.set_createflag(hdfs::CREATE | hdfs::SHOULD_REPLICATE | (how.overwrite ? hdfs::OVERWRITE : 0));
      request.set_createparent(how.make_parents);
      request.add_cryptoprotocolversion(hdfs::ENCRYPTION_ZONES);
      request.set_replication(owner_.defaults_->replication);
      request.set_blocksize(owner_.defaults_->block_size);
      const Call call = CallOf("create");
      const auto on_created = Parse<hdfs::CreateResponse>(call, [this](const hdfs::CreateResponse& response) {
        file_id_ = response.fs().fileid();
        WriteFirst(response.fs());
      });
      Send(call, request, [this, on_created](const Result<Reply>& reply) {
        // The second exception means that another client is writing this file.
        const auto refusal = RefusalOf(reply);
        const bool is_there =
            refusal && (refusal->IsAlreadyThere() || refusal->exception == "AlreadyBeingCreatedException");
        if (!is_there) return on_created(reply);
        is_new_ = false;
        Finish(Ok());
      });
    });
  }

  void Append() {
    Prepare([this] {
      hdfs::AppendRequest request;
      request.set_src(path_);
      request.set_clientname(client_name_);
      request.set_flag(hdfs::APPEND | hdfs::NEW_BLOCK);
      Ask<hdfs::AppendResponse>("append", request, [this](const hdfs::AppendResponse& response) {
        file_id_ = response.stat().fileid();
        previous_ = response.block().b();
        body_offset_ = response.stat().length();
        WriteFirst(response.stat());
      });
    });
  }

 private:
  void WriteFirst(const hdfs::HdfsFileStatus& file) {
    if (!file.has_fileencryptioninfo() || body_.length() == 0) return WriteNext();
    PrepareCipher(file.fileencryptioninfo(), [this] { WriteNext(); });
  }

  void WriteNext() {
    if (written_ == body_.length()) return Complete();
    length_ = std::min(body_.length() - written_, static_cast<int64_t>(owner_.defaults_->block_size));
    tries_ = 0;
    excluded_.clear();
    pause_ = kFirstPause;
    AddBlock();
  }

  void AddBlock() {
    hdfs::AddBlockRequest request;
    request.set_src(path_);
    request.set_clientname(client_name_);
    if (previous_.has_poolid()) *request.mutable_previous() = previous_;
    for (const hdfs::DatanodeInfo& node : excluded_) *request.add_excludenodes() = node;
    request.set_fileid(file_id_);
    const Call call = CallOf("addBlock");
    const auto on_added = Parse<hdfs::AddBlockResponse>(
        call, [this](const hdfs::AddBlockResponse& response) { Write(response.block()); });
    Send(call, request, [this, on_added](const Result<Reply>& reply) {
      const auto refusal = RefusalOf(reply);
      if (refusal && refusal->exception == "NotReplicatedYetException") return Again([this] { AddBlock(); });
      // Without other DataNodes the reason of the first failure says more.
      if (refusal && !excluded_.empty() && refusal->exception == "IOException") return Finish(*failure_);
      on_added(reply);
    });
  }

  void Write(const hdfs::LocatedBlock& block) {
    block_ = block;
    if (block.locs_size() == 0) return Finish(UnavailableError("write ", path_, ": the NameNode names no DataNode"));
    const BlockContent content{.block = block,
                               .body = &body_,
                               .offset = written_,
                               .length = length_,
                               .chunk = owner_.defaults_->chunk,
                               .cipher = cipher_,
                               .body_offset = body_offset_,
                               .on_moved = [this](int64_t moved) { moved_ = written_ + moved; }};
    running = WriteBlock(Context(), content, [this](const std::optional<BlockFailure>& failure) {
      if (failure) return Abandon(*failure);
      written_ += length_;
      previous_ = block_.b();
      previous_.set_numbytes(static_cast<uint64_t>(length_));
      WriteNext();
    });
  }

  // Gives the block up, and writes its bytes into another one, without the DataNode that has failed.
  void Abandon(const BlockFailure& failure) {
    failure_ = Annotate(failure.why, "write " + path_);
    if (failure.why.code != ErrorCode::kUnavailable || ++tries_ == kMostBlockTries) return Finish(*failure_);
    excluded_.push_back(block_.locs(failure.location));
    hdfs::AbandonBlockRequest request;
    *request.mutable_b() = block_.b();
    request.set_src(path_);
    request.set_holder(client_name_);
    request.set_fileid(file_id_);
    Ask<hdfs::AbandonBlockResponse>("abandonBlock", request, [this](const auto&) { AddBlock(); });
  }

  void Complete() {
    pause_ = kFirstPause;
    AskComplete();
  }
  void AskComplete() {
    hdfs::CompleteRequest request;
    request.set_src(path_);
    request.set_clientname(client_name_);
    if (previous_.has_poolid()) *request.mutable_last() = previous_;
    request.set_fileid(file_id_);
    Ask<hdfs::CompleteResponse>("complete", request, [this](const hdfs::CompleteResponse& response) {
      if (response.result()) return Finish(Ok());
      Again([this] { AskComplete(); });
    });
  }

  // Calls `step` after a pause, which doubles each time.
  void Again(const std::function<void()>& step) {
    running = owner_.loop_.After(std::exchange(pause_, std::min(pause_ * 2, kLongestPause)), step);
  }

  void ArmProgress() {
    progress_ = owner_.loop_.After(kProgress, [this] {
      const auto on_moved = body_.on_moved;
      const int64_t moved = moved_;
      ArmProgress();
      if (moved > 0) on_moved(moved);  // may destroy this object
    });
  }

  // Keeps the file open for this writer.
  void ArmLease() {
    lease_timer_ = owner_.loop_.After(kRenewLease, [this] {
      hdfs::RenewLeaseRequest request;
      request.set_clientname(client_name_);
      owner_.Send(lease_, CallOf("renewLease"), request.SerializeAsString(), owner_.options_.rpc.name_nodes.size(),
                  [](const Result<Reply>&) {});
      ArmLease();
    });
  }

  void OnFinish(const Status& status) override {
    limit_.reset();
    progress_.reset();
    lease_timer_.reset();
    const auto done = std::move(done_);
    done(status.ok() ? Result<bool>(is_new_) : status.error());
  }

  const HdfsBody body_;
  Done<Result<bool>> done_;
  EventLoop::Timer limit_, progress_, lease_timer_;
  Steps lease_;
  uint64_t file_id_ = 0, body_offset_ = 0;
  bool is_new_ = true;
  int64_t written_ = 0, moved_ = 0;  // bytes of the body
  hdfs::ExtendedBlock previous_;     // the last block that was written
  // The block that is being written, the bytes that it gets, and the DataNodes that have failed.
  hdfs::LocatedBlock block_;
  int64_t length_ = 0;
  std::vector<hdfs::DatanodeInfo> excluded_;
  std::optional<Error> failure_;
  int tries_ = 0;
  Duration pause_ = kFirstPause;
};

Hdfs::Handle RpcHdfs::Create(const std::string& path, HdfsBody body, const HdfsCreation& how, Done<Result<bool>> done) {
  auto writing = std::make_unique<Writing>(*this, path, std::move(body), std::move(done));
  writing->Create(how);
  return writing;
}

Hdfs::Handle RpcHdfs::Append(const std::string& path, HdfsBody body, Done<Status> done) {
  auto writing = std::make_unique<Writing>(
      *this, path, std::move(body), [done = std::move(done)](const Result<bool>& result) { done(result.status()); });
  writing->Append();
  return writing;
}

}  // namespace tony::hadoop
