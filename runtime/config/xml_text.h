// Values that Hadoop puts in place of ${...}, besides the values of keys: environment variables, and Java's system
// properties that do not depend on a JVM. Both are taken from the submitting process, as in TonY's client.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony {

using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;
std::optional<std::string> EnvironmentVariable(const std::string& name);

// Returns the value for the text behind "env.": X, X-text (`text` if X is not set) or X:-text (`text` also if X is
// empty).
std::optional<std::string> FromEnvironment(const std::string& name, const EnvironmentLookup& environment);

// Returns user.name, user.home, user.dir, java.io.tmpdir, os.*, *.separator; nullopt for any other name.
std::optional<std::string> SystemProperty(std::string_view name);

// Returns true if no shell can have a variable of this name, because the name has a dot. ${name} can then only mean a
// key or one of the values above.
bool CannotBeShellVariable(std::string_view name);

// Reads XML that is not in UTF-8, as Hadoop's Java reads it.

// Returns the text in UTF-8. The first bytes show whether the text is UTF-16. Otherwise the XML declaration names the
// encoding, which is UTF-8 by default. The declaration stays as it is. Encodings other than UTF-8, ASCII and ISO-8859-1
// are converted by the machine's `iconv`. kInvalid, with `name`: the encoding is unknown, or the text is not valid in
// it.
Result<std::string> XmlAsUtf8(std::string_view text, const std::string& name);

}  // namespace tony
