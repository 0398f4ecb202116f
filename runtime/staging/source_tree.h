// Remembers the hashes of a source's files, so that a second submit need not read e.g. 800 MB again. A file is
// identified by its stamp (entry_store.h). This is only a cache: a file without a remembered hash is read. A wrong hash
// never makes a wrong entry in the store, because all content is hashed again when it is copied into the store. A wrong
// hash only causes a submit to be refused.
//
// A hash is wrong if a file changes and its stamp does not. This can happen if a program writes through a memory
// mapping to which it had written before the file was read. It can also happen on a file system whose times have
// ticks of a second and whose clock is behind, and on a disk that is written to past its file system.
#pragma once

#include <time.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/records/entry_store.h"
#include "runtime/records/staged_files.h"

namespace tony {

class HashCache {
 public:
  // The size in bytes below which the hashes of a source are not remembered. Smaller sources are hashed in 50 ms.
  static constexpr int64_t kNotWorthIt = int64_t{16} << 20;

  // Loads the hashes that were remembered for `source`, from the folder `store`. `source` is a file or a folder, and
  // `bytes` is its size. If the file of hashes cannot be read, no hash is known.
  static HashCache Load(const std::filesystem::path& store, const std::filesystem::path& source, int64_t bytes);
  static HashCache None() { return {}; }

  // Returns the hash; "" if it is not known.
  std::string Find(const FileStamp& stamp);
  // Remembers a hash. `read` is the time at which the reading of the file began. The hash is not remembered if the file
  // changed shortly before that time. The caller must have checked that the file had the same stamp after the reading.
  void Add(const FileStamp& stamp, const std::string& hash, Instant read);
  // Writes the hashes that were found or added since Load(), if they differ from what Load() read.
  void Keep() const;
  // Deletes the remembered hashes. Call this if content that was read does not match its remembered hash.
  void Forget() const;

 private:
  HashCache() = default;

  std::filesystem::path file_;  // empty: hashes are not remembered
  std::map<FileStamp, std::string> known_, seen_;
};

// Types and functions that list what is staged from a user's folder.

struct SourceItem {
  enum class Kind { kFolder, kFile, kLink };
  // The path from the source folder, e.g. "package/train.py".
  std::string name;
  Kind kind = Kind::kFile;
  bool executable = false;
  std::string target;  // target of a link, unchanged
  int64_t size = 0;    // bytes of a file
  timespec modified{};
};

// Rules that leave out files of a folder. Without rules only pipes, sockets and devices are left out, because they
// cannot be copied.
struct SourceRules {
  // False: no rule applies. True: the rules below apply, and the patterns of .tonyignore files.
  bool apply = false;
  // True: .gitignore files apply where no .tonyignore exists. Also, .git and the environments that the job does not
  // name are left out.
  bool with_defaults = false;
  // Paths relative to the folder that are staged even if a rule leaves them out. A named folder is staged with its
  // content, except files that a .tonyignore leaves out.
  std::set<std::string> named;
  // Folders that the job itself fills. They are staged as empty folders.
  std::set<std::string> written;
  // A folder that tasks find under another name. It is not staged with this source.
  std::string elsewhere;
};

struct SourceListing {
  // Sorted by name, so that a folder comes before its content.
  std::vector<SourceItem> items;
  std::vector<LeftOut> left_out;  // largest first, by bytes
};

// Lists `folder`. Links are not followed. A link with an absolute path to something in the folder becomes a link with a
// relative path. Pipes, sockets and devices are left out. The folder `without` is left out and not reported, because
// the store itself may lie in the user's folder. kInvalid: the message names what cannot be read, or there are too many
// files.
Result<SourceListing> ListSource(const std::filesystem::path& folder, const std::filesystem::path& without,
                                 const SourceRules& rules = {});

// Returns true if the folder is a Python environment that runs by itself: made by venv, virtualenv, uv or conda.
bool IsEnvironment(const std::filesystem::path& folder);

SourceSummary SummaryOf(const std::filesystem::path& folder, const SourceListing& listing);

int64_t TotalSize(const std::vector<SourceItem>& items);

// Returns the hash that names the tree. The hash covers names, kinds, executable bits, link targets and `hashes`, one
// for each file in order. Times do not count.
std::string TreeHash(const std::vector<SourceItem>& items, const std::vector<std::string>& hashes);

// Returns the hash of TreeHash(), computed without the folders __pycache__. Python writes these folders even when a
// program merely runs.
std::string TreeHashOfSources(const std::vector<SourceItem>& items, const std::vector<std::string>& hashes);

}  // namespace tony
