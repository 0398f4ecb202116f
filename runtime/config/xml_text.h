// What Hadoop puts in place of ${...} beside the values of keys: variables of the environment, and Java's system
// properties, which we can only tell where they do not come from a JVM. They are those of the submitting process, as
// they were in TonY's client.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony {

using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;
std::optional<std::string> OwnVariable(const std::string& name);

// `name` is what stands behind "env.": X, X-text (if X is not set) or X:-text (also if X is empty).
std::optional<std::string> FromEnvironment(const std::string& name, const EnvironmentLookup& environment);

// user.name, user.home, user.dir, java.io.tmpdir, os.*, *.separator; nothing for any other.
std::optional<std::string> SystemProperty(std::string_view name);

// Whether ${name} could only be one of these, or a key: no shell knows variables with a dot.
bool IsNoShellVariable(std::string_view name);

// XML that is not in UTF-8, as Hadoop's Java reads it.

// The text in UTF-8. Its encoding is what its first bytes show (UTF-16), else what its declaration names, else UTF-8.
// The declaration stays as it is. Encodings other than UTF-8, ASCII and ISO-8859-1 are read by the machine's `iconv`.
// kInvalid, with `name`: there is no such encoding, or the text is not in it.
Result<std::string> XmlAsUtf8(std::string_view text, const std::string& name);

}  // namespace tony
