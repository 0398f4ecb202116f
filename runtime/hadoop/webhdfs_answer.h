// Reads values that Hadoop's daemons publish only on their web servers. Blocks; any thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/hadoop/webhdfs.h"
#include "runtime/net/http_client.h"

namespace tony::hadoop {

// Returns the text at a JSON pointer ("/clusterInfo/state") in the document at `url`. nullopt if the document has no
// such text, or does not arrive within `limit`.
std::optional<std::string> WebText(const std::string& url, const std::string& pointer, Duration limit);

// Returns a setting of the ResourceManager itself. The site files of clients may set another value, or none. `web` is
// empty or has the form "http://rm.example.org:8088". nullopt if the ResourceManager does not answer, or the key is not
// set.
std::optional<std::string> RmSetting(const std::string& web, const std::string& key, Duration limit);

// Returns the paths of the queues of the CapacityScheduler that make queues below them for jobs. Empty if the
// ResourceManager does not answer, or has another scheduler.
std::set<std::string> QueuesThatMakeQueues(const std::string& web, Duration limit);

std::string HostOfUrl(const std::string& url);  // "http://rm.example.org:8088" -> "rm.example.org"

// Converts WebHDFS' answers from JSON to values and errors, and paths to URLs. Pure.

// A refusal by a NameNode, a DataNode, or a gateway in front of them.
struct HdfsRefusal {
  int status = 0;
  std::string exception;  // e.g. "SafeModeException"; empty: not Hadoop's answer
  std::string message;    // first line of the message

  // Returns true if the refusal means that the file or attribute already exists.
  bool IsAlreadyThere() const;
  // Converts the refusal to an error. `subject` has the form "CREATE /a/b". `writes` is true for an operation that
  // writes.
  Error ToError(std::string_view subject, bool writes) const;
};

// Returns the refusal that a response contains; nullopt for status 2xx and for a redirect.
std::optional<HdfsRefusal> RefusalIn(const HttpResponse& response);

struct HdfsListing {
  std::vector<HdfsEntry> entries;
  int64_t remaining = 0;
};

// Each of these functions reads one kind of answer. kInvalid: `json` is not an answer of that kind.
Result<bool> BooleanIn(std::string_view json);
Result<HdfsEntry> EntryIn(std::string_view json);
Result<HdfsListing> ListingIn(std::string_view json);
Result<std::map<std::string, std::string>> XattrsIn(std::string_view json);
// Returns the text of the member `name`.
Result<std::string> TextIn(std::string_view json, std::string_view name);

// Replaces every byte except letters, digits and "-._~" with %XX. EscapedPath() also keeps "/".
std::string EscapedPath(std::string_view path);
std::string Escaped(std::string_view value);

std::string ToHexText(std::string_view bytes);  // e.g. "0x00ff", as attributes are written

}  // namespace tony::hadoop
