// One source into the store: a file, a folder, or an archive to be unpacked.
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
  std::string content;      // a hash of what it holds; of a folder without __pycache__
  SourceSummary summary{};  // of a folder
};

struct SourceUse {
  // The rules for a folder.
  SourceRules rules{};
  // The place of the copy, to which the files are to lead.
  std::optional<CopyPlace> place{};
};

// `unpack`: a file is an archive whose content is wanted; a folder is taken as `use` has it.
// Content is hashed first, and again as it is put into the store, so that an entry is what its name says.
Result<StagedSource> StageSource(const std::filesystem::path& source, bool unpack, const StageContext& context,
                                 const SourceUse& use = {});

}  // namespace tony
