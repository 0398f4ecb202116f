#include "runtime/staging/stage_source.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/staging/known_hashes.h"
#include "runtime/staging/source_tree.h"
#include "runtime/staging/space_guard.h"
#include "runtime/staging/tree_writer.h"
#include "runtime/staging/unpack.h"
#include "runtime/store/copy_file.h"
#include "runtime/store/files.h"
#include "runtime/store/sha256.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

struct OpenSource {
  UniqueFd fd;
  struct stat info {};
};

// A pipe put in the file's place must not hang us.
Result<OpenSource> OpenForReading(const fs::path& path, int more_flags = 0) {
  OpenSource source{.fd = UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | more_flags))};
  if (!source.fd.valid() || fstat(source.fd.get(), &source.info) != 0)
    return FileError(ErrorCode::kInvalid, "read", path, errno);
  return source;
}

Error Changed(const fs::path& path) {
  return {ErrorCode::kUnavailable,
          StrCat("read ", path.string(), ": it changed meanwhile; submit again when it is complete")};
}

// The file's stamp now; nothing that was found before equals that of one that cannot be looked at.
FileStamp StampNow(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 ? StampOf(info) : FileStamp{.size = -1};
}

class Stager {
 public:
  explicit Stager(const StageContext& context)
      : store_(context.store),
        watch_(context.watch),
        limits_(context.limits),
        meter_(context.meter),
        space_(context.store.entries().folder()) {}

  Result<StagedSource> Tree(const fs::path& folder) {
    TRY_ASSIGN(const std::vector<SourceItem> items, ListSource(folder, store_.home()));
    known_ = KnownHashes::Load(store_.entries().folder(), folder, TotalSize(items));
    TRY_ASSIGN(const std::vector<std::string> hashes, HashAll(folder, items, &Stager::HashOfSource));
    known_.Keep();
    const std::string hash = TreeHash(items, hashes);
    return Keep(
        hash + "-tree", TreeHashOfSources(items, hashes),
        [&](const fs::path& temporary) {
          meter_.Expect(TotalSize(items));
          return CopyTree(folder, items, hashes, temporary);
        },
        [&](const fs::path& entry) -> Result<bool> {
          TRY_ASSIGN(const std::vector<SourceItem> kept, ListSource(entry, store_.home()));
          TRY_ASSIGN(const std::vector<std::string> its, HashAll(entry, kept, &Stager::Hash));
          return TreeHash(kept, its) == hash;
        });
  }

  Result<StagedSource> File(const OpenSource& source, const fs::path& path) {
    TRY_ASSIGN(const std::string hash, HashOfOne(source, path));
    const bool executable = (source.info.st_mode & S_IXUSR) != 0;
    const std::string name = hash + (executable ? "-x" : "");
    return Keep(
        name, name,
        [&](const fs::path& temporary) -> Status {
          meter_.Expect(source.info.st_size);
          const UniqueFd copy(open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
          if (!copy.valid()) return FileError(ErrorCode::kCannotWrite, "make", temporary, errno);
          TRY(Copy(source.fd.get(), path, copy.get(), temporary, hash));
          const timespec times[2] = {source.info.st_mtim, source.info.st_mtim};
          if (futimens(copy.get(), times) == 0 && fchmod(copy.get(), executable ? 0555 : 0444) == 0) return Ok();
          return FileError(ErrorCode::kCannotWrite, "finish", temporary, errno);
        },
        [&](const fs::path& entry) -> Result<bool> {
          TRY_ASSIGN(const OpenSource kept, OpenForReading(entry, O_NOFOLLOW));
          meter_.Expect(kept.info.st_size);
          TRY_ASSIGN(const std::string its, Hash(kept, entry));
          return its == hash;
        });
  }

  Result<StagedSource> Unpacked(const OpenSource& source, const fs::path& path) {
    TRY_ASSIGN(const std::string hash, HashOfOne(source, path));
    return Keep(hash + "-unpacked", hash, [&](const fs::path& temporary) -> Status {
      meter_.Expect(source.info.st_size);
      if (was_known_) {  // the entry would have the name of what the archive was
        meter_.Expect(source.info.st_size);
        TRY_ASSIGN(const std::string read, Hash(source, path));
        if (read != hash) return HasChanged(path);
      }
      TRY_ASSIGN(TreeWriter tree, TreeWriter::Make(temporary));
      TRY(Unpack(source.fd.get(), tree, limits_, space_, meter_));
      if (StampNow(source.fd.get()) != StampOf(source.info)) return Changed(path);
      return tree.Seal();
    });
  }

 private:
  Result<StagedSource> Keep(const std::string& name, const std::string& content,
                            std::function<Status(const fs::path&)> make,
                            std::function<Result<bool>(const fs::path&)> verify = {}) const {
    TRY_ASSIGN(fs::path entry, store_.entries().Keep(name, watch_.stop,
                                                     {.make = std::move(make),
                                                      .verify = std::move(verify),
                                                      .on_damage = [this](const std::string& damage) {
                                                        watch_.on_damage(meter_.progress().what, damage);
                                                      }}));
    return StagedSource{std::move(entry), content};
  }

  using HashOne = Result<std::string> (Stager::*)(const OpenSource& source, const fs::path& path);

  // In the order of `items`, of the files among them.
  Result<std::vector<std::string>> HashAll(const fs::path& folder, const std::vector<SourceItem>& items,
                                           HashOne hash_one) {
    meter_.Expect(TotalSize(items));
    std::vector<std::string> hashes;
    for (const SourceItem& item : items) {
      if (item.kind != SourceItem::Kind::kFile) continue;
      TRY_ASSIGN(const OpenSource source, OpenForReading(folder / item.name, O_NOFOLLOW));
      TRY_ASSIGN(std::string hash, (this->*hash_one)(source, folder / item.name));
      hashes.push_back(std::move(hash));
    }
    return hashes;
  }

  Result<std::string> HashOfOne(const OpenSource& source, const fs::path& path) {
    known_ = KnownHashes::Load(store_.entries().folder(), path, source.info.st_size);
    meter_.Expect(source.info.st_size);
    TRY_ASSIGN(std::string hash, HashOfSource(source, path));
    known_.Keep();
    return hash;
  }

  // Not read where it is known.
  Result<std::string> HashOfSource(const OpenSource& source, const fs::path& path) {
    const FileStamp stamp = StampOf(source.info);
    std::string hash = known_.Find(stamp);
    was_known_ = was_known_ || !hash.empty();
    if (!hash.empty()) {
      TRY(meter_.Done(stamp.size));
      return hash;
    }
    const Instant began = RealClock().Now();
    TRY_ASSIGN(hash, Hash(source, path));
    if (StampNow(source.fd.get()) == stamp) known_.Add(stamp, hash, began);
    return hash;
  }

  Result<std::string> Hash(const OpenSource& source, const fs::path& path) {
    if (!S_ISREG(source.info.st_mode)) return Changed(path);
    return Sha256OfFile(source.fd.get(), path, [this](int64_t bytes) { return meter_.Done(bytes); });
  }

  Status CopyTree(const fs::path& folder, const std::vector<SourceItem>& items, const std::vector<std::string>& hashes,
                  const fs::path& temporary) {
    TRY_ASSIGN(TreeWriter tree, TreeWriter::Make(temporary));
    size_t file = 0;
    for (const SourceItem& item : items) {
      TRY(meter_.CheckStop());
      switch (item.kind) {
        case SourceItem::Kind::kFolder:
          TRY(tree.MakeFolder(item.name, item.modified));
          break;
        case SourceItem::Kind::kLink:
          TRY(tree.MakeSymlink(item.name, item.target, item.modified));
          break;
        case SourceItem::Kind::kFile:
          TRY(CopyItem(folder / item.name, item, hashes.at(file++), tree));
          break;
      }
    }
    return tree.Seal();
  }

  Status CopyItem(const fs::path& path, const SourceItem& item, const std::string& hash, TreeWriter& tree) {
    TRY_ASSIGN(const OpenSource source, OpenForReading(path, O_NOFOLLOW));
    if (!S_ISREG(source.info.st_mode)) return Changed(path);
    TRY_ASSIGN(const UniqueFd copy, tree.MakeFile(item.name));
    TRY(Copy(source.fd.get(), path, copy.get(), tree.PathOf(item.name), hash));
    return tree.FinishFile(copy.get(), item.name, item.executable, item.modified);
  }

  // What has been hashed is the copy: nobody else can change that.
  Status Copy(int from, const fs::path& from_path, int to, const fs::path& to_path, const std::string& expected) {
    TRY(CopyContent(from, from_path, to, to_path, [this](int64_t bytes) { return Tell(bytes); }));
    TRY_ASSIGN(const std::string hash, Sha256OfFile(to, to_path, [this](int64_t) { return meter_.CheckStop(); }));
    return hash == expected ? Ok() : HasChanged(from_path);
  }

  // Or it was not what was known: the next submit reads it.
  Error HasChanged(const fs::path& path) const {
    known_.Forget();
    return Changed(path);
  }

  Status Tell(int64_t bytes) {
    TRY(space_.Take(bytes));
    TRY(meter_.Copied(bytes));
    return meter_.Done(bytes);
  }

  const StagedStore& store_;
  const StageWatch& watch_;
  const UnpackLimits& limits_;
  StageMeter& meter_;
  SpaceGuard space_;
  KnownHashes known_ = KnownHashes::None();  // of the source
  bool was_known_ = false;                   // a hash of the source that was not read for it
};

}  // namespace

Result<StagedSource> StageSource(const fs::path& source, bool unpack, const StageContext& context) {
  TRY_ASSIGN(const OpenSource opened, OpenForReading(source));
  Stager stager(context);
  if (S_ISDIR(opened.info.st_mode)) return stager.Tree(source);
  if (!S_ISREG(opened.info.st_mode))
    return Error{ErrorCode::kInvalid, StrCat(source.string(), ": neither a file nor a folder")};
  return unpack ? stager.Unpacked(opened, source) : stager.File(opened, source);
}

}  // namespace tony
