// The hashes of a source's files as they were found last, so that a second submit need not read 800 MB again. A file is
// known by its stamp (entry_store.h). Only a shortcut: what cannot be remembered is read, and whatever is put into the
// store is hashed on the way, so a wrong one costs a refused submit and never makes a wrong entry.
//
// It is wrong where a file changes and its stamp does not: through a mapping into memory that was written to before the
// file was read; on a file system whose times have ticks of a second and whose clock is behind; by a disk that is
// written to past its file system.
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

class KnownHashes {
 public:
  // Of sources below this size, in bytes: they are hashed in 50 ms.
  static constexpr int64_t kNotWorthIt = int64_t{16} << 20;

  // Those of `source`, a file or a folder of `bytes`, from the store's folder. Unreadable ones are as none.
  static KnownHashes Load(const std::filesystem::path& store, const std::filesystem::path& source, int64_t bytes);
  static KnownHashes None() { return {}; }

  // "": not known.
  std::string Find(const FileStamp& stamp);
  // `read`: when the reading of the file began, whose stamp was the same afterwards.
  void Add(const FileStamp& stamp, const std::string& hash, Instant read);
  // Writes those that were found or added since Load(), if that are others than it read.
  void Keep() const;
  // Something read was not what was known.
  void Forget() const;

 private:
  KnownHashes() = default;

  std::filesystem::path file_;  // empty: nothing is remembered
  std::map<FileStamp, std::string> known_, seen_;
};

// A folder of the user's, as it is to be staged.

struct SourceItem {
  enum class Kind { kFolder, kFile, kLink };
  std::string name;  // from the source folder: "package/train.py"
  Kind kind = Kind::kFile;
  bool executable = false;
  std::string target;  // of a link, as it is
  int64_t size = 0;    // of a file
  timespec modified{};
};

// Rules that leave out files of a folder. Without any, only what nobody can copy is left out.
struct SourceRules {
  // .tonyignore counts.
  bool apply = false;
  // .gitignore counts where there is no .tonyignore, and .git and environments that are not named are left out.
  bool with_defaults = false;
  // Paths from the folder that travel whatever a rule says. A folder travels with all that is in it.
  std::set<std::string> named;
  // Folders that the job itself fills, which travel empty.
  std::set<std::string> written;
  // A folder that tasks find by another name.
  std::string elsewhere;
};

struct SourceListing {
  std::vector<SourceItem> items;  // sorted by name, so that a folder is before what is in it
  std::vector<LeftOut> left_out;  // the most bytes first
};

// Lists `folder`. Links are not followed; one that leads to something of the folder by its absolute path leads to
// it by a relative one. Pipes, sockets and devices are left out. `without`, a folder, is left out without a word: the
// store itself may lie in the user's folder. kInvalid names what cannot be read, or says that there is too much.
Result<SourceListing> ListSource(const std::filesystem::path& folder, const std::filesystem::path& without,
                                 const SourceRules& rules = {});

// Whether it is a Python environment, which runs by itself: of venv, virtualenv, uv or conda.
bool IsEnvironment(const std::filesystem::path& folder);

SourceSummary SummaryOf(const std::filesystem::path& folder, const SourceListing& listing);

int64_t TotalSize(const std::vector<SourceItem>& items);

// The hash that names the tree: of names, kinds, executable bits, link targets and `hashes`, one for each file in
// order. Not of times.
std::string TreeHash(const std::vector<SourceItem>& items, const std::vector<std::string>& hashes);

// The same without folders __pycache__: Python writes them beside a program that merely runs.
std::string TreeHashOfSources(const std::vector<SourceItem>& items, const std::vector<std::string>& hashes);

}  // namespace tony
