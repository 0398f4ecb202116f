#include "runtime/hadoop/hdfs.h"

#include <random>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/kms_client.h"
#include "runtime/hadoop/rpc_hdfs.h"
#include "runtime/hadoop/webhdfs.h"

namespace tony::hadoop {

namespace {

// For clients that reach the NameNode and no DataNode. A gateway such as HttpFS, which serves a part of WebHDFS, reads
// and writes the bytes of files. All other calls go to the NameNode by RPC, because HttpFS ignores the options of
// RENAME, and its CREATE makes missing folders.
//
//   Create:  create of an empty file by RPC -> APPEND of the bytes through the gateway
//
// An empty file needs only the NameNode. After an error of APPEND the file may exist, as after any error of Create().
class GatewayHdfs : public RpcHdfs {
 public:
  GatewayHdfs(EventLoop& loop, const Options& options)
      : RpcHdfs(loop, options, ResolveHost), bytes_(loop, OptionsOfGateway(options)) {}

  Handle Create(const std::string& path, HdfsBody body, const HdfsCreation& how, Done<Result<bool>> done) override {
    if (body.length() == 0) return RpcHdfs::Create(path, std::move(body), how, std::move(done));
    auto creation = std::make_unique<Creation>();
    const auto append = [=, this, creation = creation.get(), body = std::move(body)](const Result<bool>& created) {
      if (!created.ok() || !*created) return done(created);
      creation->running = Append(path, body, [done](const Status& appended) {
        done(appended.ok() ? Result<bool>(true) : appended.error());
      });
    };
    creation->running = RpcHdfs::Create(path, {}, how, append);
    return creation;
  }
  Handle Append(const std::string& path, HdfsBody body, Done<Status> done) override {
    return bytes_.Append(path, std::move(body), std::move(done));
  }
  Handle Read(const std::string& path, int64_t offset, int64_t length, Done<Result<std::string>> done) override {
    return bytes_.Read(path, offset, length, std::move(done));
  }

 private:
  struct Creation : public EventLoop::Handle {
    Hdfs::Handle running;
  };

  static Options OptionsOfGateway(Options options) {
    options.bases = {options.gateway};
    options.rpc = {};
    options.token = std::exchange(options.gateway_token, nullptr);
    return options;
  }

  WebHdfs bytes_;
};

}  // namespace

std::unique_ptr<Hdfs> MakeHdfs(EventLoop& loop, Hdfs::Options options) {
  if (!options.gateway.empty()) return std::make_unique<GatewayHdfs>(loop, std::move(options));
  if (options.rpc.name_nodes.empty()) return std::make_unique<WebHdfs>(loop, std::move(options));
  const auto kms = std::make_shared<KmsClient>(loop, options);
  const auto decrypt = [kms](const std::string& provider, const EncryptedFileKey& key,
                             Hdfs::Done<Result<std::string>> done) {
    return kms->Decrypt(provider, key, std::move(done));
  };
  return std::make_unique<RpcHdfs>(loop, std::move(options), ResolveHost, decrypt);
}

namespace {

std::string TemporaryFor(const std::string& path) {
  std::random_device random;
  return StrCat(path.substr(0, path.rfind('/') + 1), kUnfinishedPut, random(), "-", random());
}

class Put : public EventLoop::Handle {
 public:
  Put(Hdfs& hdfs, const std::string& path, HdfsRename how, Hdfs::Done<Result<bool>> done, std::function<Status()> check)
      : hdfs_(hdfs),
        path_(path),
        temporary_(TemporaryFor(path)),
        how_(how),
        done_(std::move(done)),
        check_(std::move(check)) {}

  void Begin(HdfsBody body, int permission) {
    length_ = body.length();
    const HdfsCreation how{.permission = permission};
    running_ = hdfs_.Create(temporary_, std::move(body), how, [this](const Result<bool>& created) {
      if (!created.ok()) return CleanUp(created.error());
      if (!*created) return CleanUp(UnavailableError(temporary_, ": the temporary file already exists"));
      CheckLength();
    });
  }

 private:
  void CheckLength() {
    running_ = hdfs_.GetEntry(temporary_, [this](const Result<HdfsEntry>& entry) {
      if (!entry.ok()) return CleanUp(entry.error());
      const int64_t there = (*entry).length;
      if (there != length_) return CleanUp(UnavailableError(path_, ": ", there, " of ", length_, " bytes arrived"));
      const Status checked = check_ ? check_() : Ok();
      if (!checked.ok()) return CleanUp(checked.error());
      Rename();
    });
  }
  void Rename() {
    running_ = hdfs_.Rename(temporary_, path_, how_, [this](const Result<bool>& renamed) {
      if (renamed.ok() && *renamed) return Tell(true);
      renaming_ = true;
      CleanUp(renamed);
    });
  }
  // Removes the temporary file. If the answer to the rename was lost, and the temporary file does not exist, the rename
  // was done.
  void CleanUp(const Result<bool>& ending) {
    running_ = hdfs_.Remove(temporary_, [this, ending](const Result<bool>& removed) {
      const bool was_renamed = renaming_ && !ending.ok() && removed.ok() && !*removed;
      Tell(was_renamed ? Result<bool>(true) : ending);
    });
  }
  void Tell(const Result<bool>& result) {
    // This is a copy, because the call may destroy this object.
    const auto done = done_;
    done(result);
  }

  Hdfs& hdfs_;
  const std::string path_, temporary_;
  const HdfsRename how_;
  Hdfs::Done<Result<bool>> done_;
  std::function<Status()> check_;
  int64_t length_ = 0;
  bool renaming_ = false;
  Hdfs::Handle running_;
};

}  // namespace

Hdfs::Handle PutCompleteFile(Hdfs& hdfs, const std::string& path, HdfsBody body, HdfsRename how, int permission,
                             Hdfs::Done<Result<bool>> done, std::function<Status()> check) {
  auto put = std::make_unique<Put>(hdfs, path, how, std::move(done), std::move(check));
  put->Begin(std::move(body), permission);
  return put;
}

}  // namespace tony::hadoop
