// XML that is not in UTF-8, as Hadoop's Java reads it.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony {

// The text in UTF-8. Its encoding is what its first bytes show (UTF-16), else what its declaration names, else UTF-8.
// The declaration stays as it is. Encodings other than UTF-8, ASCII and ISO-8859-1 are read by the machine's `iconv`.
// kInvalid, with `name`: there is no such encoding, or the text is not in it.
Result<std::string> XmlAsUtf8(std::string_view text, const std::string& name);

}  // namespace tony
