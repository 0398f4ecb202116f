// Copies one file's content the cheapest way that the file system has: shared blocks, the kernel alone, or by hand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "runtime/base/result.h"

namespace tony {

// Called with the bytes since the last call; an error ends the copying with it.
using OnCopied = std::function<Status(int64_t bytes)>;

// From where `from` stands to its end, into the empty file `to`. kInvalid: it cannot be read; kCannotWrite. The paths
// are for messages. A failure leaves a part.
Status CopyContent(int from, const std::filesystem::path& from_path, int to, const std::filesystem::path& to_path,
                   const OnCopied& on_copied);

}  // namespace tony
