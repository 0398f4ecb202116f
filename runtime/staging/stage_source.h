// Puts one source into the store: a file, a folder, or an archive that is unpacked.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/staging/relocation.h"
#include "runtime/staging/source_tree.h"
#include "runtime/staging/stage.h"

namespace tony {

struct StageContext {
  const StagedStore& store;
  const StageWatch& watch;
  const UnpackLimits& limits;
  StageMeter& meter;
};

struct StagedSource {
  std::filesystem::path entry;
  // Hash of the content; the hash of a folder does not cover __pycache__.
  std::string content;
  SourceSummary summary{};  // only for a folder
};

struct SourceUse {
  // The rules that select files of a folder.
  SourceRules rules{};
  // The place of the copy. Files that contain the source's path are changed to lead to the copy.
  std::optional<CopyPlace> place{};
};

// Puts `source` into the store. `unpack`: a file is taken as an archive, and its content is put into the store. `use`
// applies to folders and unpacked archives. The content is hashed first, and hashed again as it is put into the
// store, so that the entry matches the hash in its name.
Result<StagedSource> StageSource(const std::filesystem::path& source, bool unpack, const StageContext& context,
                                 const SourceUse& use = {});

}  // namespace tony
