// What a file or folder that never changes looked like when it was made: enough to see later, without reading it, that
// it is still that.
//
// Compared are names, kinds, sizes, modes, targets of links, and of files the times of modification and change, which
// no program can set back. A disk that gives other bytes under the same times is not noticed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony {

// Of a file, or of a folder with all that is in it; links are not followed. kUnavailable names what cannot be read.
Result<std::string> ManifestOf(const std::filesystem::path& path);

struct ManifestMatch {
  enum class State {
    kSame,
    kMaybe,  // only times differ, as after a restore from a backup; or the manifest itself is damaged
    kDiffers,
  };
  State state = State::kMaybe;
  std::string first;  // "lib/a.so is missing"; kMaybe: "the times of lib/a.so differ"
};

// `kept`: what ManifestOf() gave then; any bytes are allowed.
ManifestMatch CompareManifests(std::string_view kept, std::string_view present);

}  // namespace tony
