#include "runtime/staging/stage_source.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"
#include "runtime/staging/source_tree.h"
#include "runtime/staging/stage.h"
#include "runtime/staging/unpack.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

struct OpenSource {
  UniqueFd fd;
  struct stat info {};
};

// O_NONBLOCK is needed because a pipe that was put in the place of the file must not block this process.
Result<OpenSource> OpenForReading(const fs::path& path, int more_flags = 0) {
  OpenSource source{.fd = UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | more_flags))};
  if (!source.fd.valid() || fstat(source.fd.get(), &source.info) != 0)
    return FileError(ErrorCode::kInvalid, "read", path, errno);
  return source;
}

Error Changed(const fs::path& path) {
  return {ErrorCode::kUnavailable, StrCat("cannot read ", path.string(),
                                          ": the source changed while it was read; submit the job again when the "
                                          "source is complete")};
}

// Returns the file's stamp at this moment. For a file that cannot be checked it returns a stamp that no file has.
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

  Result<StagedSource> Tree(const fs::path& folder, const SourceUse& use) {
    TRY_ASSIGN(const SourceListing listing, ListSource(folder, store_.home(), use.rules));
    const std::vector<SourceItem>& items = listing.items;
    if (use.place) relocated_ = RelocatedFiles(folder, items, *use.place);
    known_ = HashCache::Load(store_.entries().folder(), folder, TotalSize(items));
    TRY_ASSIGN(const std::vector<std::string> hashes, HashAll(folder, items, &Stager::HashOfSource, relocated_));
    known_.Keep();
    const std::string hash = TreeHash(items, hashes);
    auto staged = Keep(
        hash + "-tree", TreeHashOfSources(items, hashes),
        [&](const fs::path& temporary) {
          meter_.Expect(TotalSize(items));
          return CopyTree(folder, items, hashes, temporary);
        },
        [&](const fs::path& entry) -> Result<bool> {
          TRY_ASSIGN(const SourceListing kept, ListSource(entry, store_.home()));
          TRY_ASSIGN(const std::vector<std::string> its, HashAll(entry, kept.items, &Stager::Hash, {}));
          return TreeHash(kept.items, its) == hash;
        });
    if (staged.ok()) staged->summary = SummaryOf(folder, listing);
    return staged;
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

  Result<StagedSource> Unpacked(const OpenSource& source, const fs::path& path, const SourceUse& use) {
    TRY_ASSIGN(const std::string hash, HashOfOne(source, path));
    return Keep(hash + (use.place ? "-environment" : "-unpacked"), hash, [&](const fs::path& temporary) -> Status {
      meter_.Expect(source.info.st_size);
      // A remembered hash is checked by reading the archive. If the archive has changed since, the entry would get a
      // wrong name.
      if (was_known_) {
        meter_.Expect(source.info.st_size);
        TRY_ASSIGN(const std::string read, Hash(source, path));
        if (read != hash) return HasChanged(path);
      }
      TRY_ASSIGN(TreeWriter tree, TreeWriter::Make(temporary));
      TRY(Unpack(source.fd.get(), tree, limits_, space_, meter_));
      if (use.place) TRY(Relocate(temporary, *use.place));
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

  // Changes those files of an unpacked archive that contain the path of the folder that was packed. The result must not
  // depend on the job, because the entry is named after the archive, and other jobs share the entry.
  static Status Relocate(const fs::path& folder, const CopyPlace& place) {
    TRY_ASSIGN(const SourceListing listing, ListSource(folder, {}));
    const auto changed = RelocatedFiles(folder, listing.items, {.name = place.name});
    for (const SourceItem& item : listing.items) {
      const auto content = changed.find(item.name);
      if (content == changed.end()) continue;
      const fs::path file = folder / item.name;
      TRY(WriteFileByRename(file, content->second, /*durable=*/false));
      const timespec times[2] = {item.modified, item.modified};
      if (utimensat(AT_FDCWD, file.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0 ||
          chmod(file.c_str(), item.executable ? 0555 : 0444) != 0)
        return FileError(ErrorCode::kCannotWrite, "finish", file, errno);
    }
    return Ok();
  }

  using Contents = std::map<std::string, std::string>;  // key: name of the file
  using HashOne = Result<std::string> (Stager::*)(const OpenSource& source, const fs::path& path);

  // Returns the hashes of the files among `items`, in the order of `items`.
  Result<std::vector<std::string>> HashAll(const fs::path& folder, const std::vector<SourceItem>& items,
                                           HashOne hash_one, const Contents& relocated) {
    meter_.Expect(TotalSize(items));
    std::vector<std::string> hashes;
    for (const SourceItem& item : items) {
      if (item.kind != SourceItem::Kind::kFile) continue;
      if (const auto content = relocated.find(item.name); content != relocated.end()) {
        hashes.push_back(Sha256Hex(content->second));
        TRY(meter_.Done(item.size));
        continue;
      }
      TRY_ASSIGN(const OpenSource source, OpenForReading(folder / item.name, O_NOFOLLOW));
      TRY_ASSIGN(std::string hash, (this->*hash_one)(source, folder / item.name));
      hashes.push_back(std::move(hash));
    }
    return hashes;
  }

  Result<std::string> HashOfOne(const OpenSource& source, const fs::path& path) {
    known_ = HashCache::Load(store_.entries().folder(), path, source.info.st_size);
    meter_.Expect(source.info.st_size);
    TRY_ASSIGN(std::string hash, HashOfSource(source, path));
    known_.Keep();
    return hash;
  }

  // Returns the file's hash; reads the file only if the hash is not known.
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
    if (const auto content = relocated_.find(item.name); content != relocated_.end()) {
      TRY_ASSIGN(const UniqueFd changed, tree.MakeFile(item.name));
      TRY(WriteAll(changed.get(), content->second, tree.PathOf(item.name)));
      TRY(Tell(item.size));
      return tree.FinishFile(changed.get(), item.name, item.executable, item.modified);
    }
    TRY_ASSIGN(const OpenSource source, OpenForReading(path, O_NOFOLLOW));
    if (!S_ISREG(source.info.st_mode)) return Changed(path);
    TRY_ASSIGN(const UniqueFd copy, tree.MakeFile(item.name));
    TRY(Copy(source.fd.get(), path, copy.get(), tree.PathOf(item.name), hash));
    return tree.FinishFile(copy.get(), item.name, item.executable, item.modified);
  }

  // Copies a file and hashes the copy, because no other process can change the copy.
  Status Copy(int from, const fs::path& from_path, int to, const fs::path& to_path, const std::string& expected) {
    TRY(CopyContent(from, from_path, to, to_path, [this](int64_t bytes) { return Tell(bytes); }));
    TRY_ASSIGN(const std::string hash, Sha256OfFile(to, to_path, [this](int64_t) { return meter_.CheckStop(); }));
    return hash == expected ? Ok() : HasChanged(from_path);
  }

  // Returns the error for a file that does not match its hash. Either the file has changed, or the remembered hash is
  // wrong. The remembered hashes are therefore deleted, and the next submit reads the files.
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
  // The new content of those files of a tree that are not copied unchanged.
  Contents relocated_;
  HashCache known_ = HashCache::None();  // hashes of the source's files
  // True if a hash of the source was remembered, and the file was not read for it.
  bool was_known_ = false;
};

}  // namespace

Result<StagedSource> StageSource(const fs::path& source, bool unpack, const StageContext& context,
                                 const SourceUse& use) {
  TRY_ASSIGN(const OpenSource opened, OpenForReading(source));
  Stager stager(context);
  if (S_ISDIR(opened.info.st_mode)) return stager.Tree(source, use);
  if (!S_ISREG(opened.info.st_mode))
    return Error{ErrorCode::kInvalid, StrCat(source.string(), ": neither a file nor a folder")};
  return unpack ? stager.Unpacked(opened, source, use) : stager.File(opened, source);
}

}  // namespace tony
