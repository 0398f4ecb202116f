// Converts WebHDFS' answers from JSON to values and errors, and paths to URLs. Pure. This code needs no libcurl,
// because executors do not have it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/hadoop/hdfs.h"
#include "runtime/hadoop/hdfs_answer.h"
#include "runtime/net/http_client.h"

namespace tony::hadoop {

// Returns the refusal that a response contains; nullopt for status 2xx and for a redirect.
std::optional<HdfsRefusal> RefusalIn(const HttpResponse& response);

// Each of these functions reads one kind of answer. kInvalid: `json` is not an answer of that kind.
Result<bool> BooleanIn(std::string_view json);
Result<HdfsEntry> EntryIn(std::string_view json);
Result<HdfsListing> ListingIn(std::string_view json);
Result<std::map<std::string, std::string>> XattrsIn(std::string_view json);
// The kind of the token is kHdfsTokenKind, because WebHDFS and all other servers of HDFS accept the same tokens.
Result<Token> TokenIn(std::string_view json);
// Returns the key management server in the answer of GETSERVERDEFAULTS; empty: it has none.
Result<std::string> KeyProviderIn(std::string_view json);
// Returns the time in the answer of RENEWDELEGATIONTOKEN.
Result<Instant> TimeIn(std::string_view json);
// Returns the text of the member `name`.
Result<std::string> TextIn(std::string_view json, std::string_view name);

// Replaces every byte except letters, digits and "-._~" with %XX. EscapedPath() also keeps "/".
std::string EscapedPath(std::string_view path);
std::string Escaped(std::string_view value);

std::string ToHexText(std::string_view bytes);  // e.g. "0x00ff", as attributes are written

}  // namespace tony::hadoop
