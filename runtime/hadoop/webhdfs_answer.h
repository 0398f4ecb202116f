// What Hadoop's daemons tell by their web servers alone. Waits; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/hadoop/webhdfs.h"
#include "runtime/net/http_client.h"

namespace tony::hadoop {

// The text at a JSON pointer ("/clusterInfo/state") in the document that GET `url` answers. Nothing: there is none, or
// no answer within `limit`.
std::optional<std::string> WebText(const std::string& url, const std::string& pointer, Duration limit);

// What a ResourceManager itself is configured with, where what clients' site files say may be another thing, or
// nothing. `web`: "http://rm.example.org:8088", or empty. Nothing: it does not tell, or the key is not set.
std::optional<std::string> RmSetting(const std::string& web, const std::string& key, Duration limit);

std::string HostOfUrl(const std::string& url);  // "http://rm.example.org:8088" -> "rm.example.org"

// WebHDFS' answers: from JSON to values and errors, and paths to URLs. Pure.

// What a NameNode, a DataNode or a gateway before them did not do.
struct HdfsRefusal {
  int status = 0;
  std::string exception;  // "SafeModeException"; empty: the answer is not Hadoop's
  std::string message;    // its first line

  bool SaysExists() const;  // of a file or an attribute
  // `subject` is as "CREATE /a/b".
  Error ToError(std::string_view subject, bool writes) const;
};

std::optional<HdfsRefusal> RefusalIn(const HttpResponse& response);  // none: status 2xx, or a redirect

struct HdfsListing {
  std::vector<HdfsEntry> entries;
  int64_t remaining = 0;
};

// Each is kInvalid for what is no such answer.
Result<bool> BooleanIn(std::string_view json);
Result<HdfsEntry> EntryIn(std::string_view json);
Result<HdfsListing> ListingIn(std::string_view json);
Result<std::map<std::string, std::string>> XattrsIn(std::string_view json);
Result<std::string> TextIn(std::string_view json, std::string_view name);  // the member of that name

// Every byte but letters, digits and "-._~" becomes %XX; in a path "/" stays, too.
std::string EscapedPath(std::string_view path);
std::string Escaped(std::string_view value);

std::string ToHexText(std::string_view bytes);  // "0x00ff", as attributes are written

}  // namespace tony::hadoop
