// A pack: one file with all that `tony reproduce` needs on a machine that has no records of the job. It is a .tar.gz:
//
//   reproduce.json   the attempt, its submitter, its outcome, its checkpoint, and the names of secrets
//   spec.json        the job's spec; cluster.json: the addresses and values that the attempt found
//   staged.json      the staged entries, with paths in the archive
//   environment      "NAME=value\0..." of the submitter
//   staged/          the staged entries; checkpoint/: the checkpoint from which the attempt resumed
//
// Values of variables with a secret name are left out, and the names are kept. A pack runs the program that it has, so
// a person must trust its author.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/client/reproduction.h"
#include "runtime/staging/stage.h"

namespace tony {

// Writes a pack. The checkpoint must be unchanged (CheckpointDamage). kCannotWrite: e.g. the file exists. kInvalid:
// something cannot be carried to another machine; the message says what. A failure leaves no file.
Status WritePack(const Reproduction& kept, const std::filesystem::path& file);

// The files that a reproduction got from elsewhere. Its staged entries are in this machine's store, and stay there at
// least as long as this object exists. Its checkpoint is in a folder that is removed with this object.
class FetchedFiles {
 public:
  explicit FetchedFiles(StagedStore store);
  ~FetchedFiles();
  FetchedFiles(const FetchedFiles&) = delete;

  // A folder for temporary files.
  const std::filesystem::path& folder() const { return folder_; }
  // Puts a file or a folder into the store, under the name of its content, so that it cannot change entries of other
  // jobs. `unpack`: the content of an archive instead. Returns the path of the entry.
  Result<std::filesystem::path> Keep(const std::filesystem::path& source, bool unpack) const;
  const StagedStore& store() const { return store_; }

 private:
  const StagedStore store_;
  const std::filesystem::path folder_;
};

struct FetchedReproduction {
  Reproduction kept;
  std::unique_ptr<FetchedFiles> files;  // null: all files were here
};

// Unpacks a pack into the home of this user. kInvalid: the file is not a pack.
Result<FetchedReproduction> ReadPack(const std::filesystem::path& file, const std::filesystem::path& home);

// Fetches the staged files of a job that are not in this machine's store, from the file system of the job's cluster.
// kNotFound: a file is kept nowhere.
Result<FetchedReproduction> FetchMissing(const JobRecords& records, Reproduction kept,
                                         const std::filesystem::path& home);

// Checks that the checkpoint of the attempt is unchanged, and fetches it if it is in the file system of the job's
// cluster. kNotFound: it has changed, or it is not there any more.
Status FetchCheckpoint(FetchedReproduction& source, const std::filesystem::path& home);

}  // namespace tony
