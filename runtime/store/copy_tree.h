// Copies a user's folder.
#pragma once

#include <filesystem>

#include "runtime/base/result.h"

namespace tony {

// Makes the folder `to` and copies all that is in `from`. Files keep their executable bit and are private otherwise;
// symbolic links are copied as they are, wherever they point. `without`, a folder, is left out (the store itself may
// lie in the user's folder). A pipe, socket or device is kInvalid. A failure leaves a part of the copy.
Status CopyTree(const std::filesystem::path& from, const std::filesystem::path& to,
                const std::filesystem::path& without);

}  // namespace tony
