// What Hadoop's daemons tell by their web servers alone. Waits; any thread.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/time.h"

namespace tony::hadoop {

// The text at a JSON pointer ("/clusterInfo/state") in the document that GET `url` answers. Nothing: there is none, or
// no answer within `limit`.
std::optional<std::string> WebText(const std::string& url, const std::string& pointer, Duration limit);

// What a ResourceManager itself is configured with, where what clients' site files say may be another thing, or
// nothing. `web`: "http://rm.example.org:8088", or empty. Nothing: it does not tell, or the key is not set.
std::optional<std::string> RmSetting(const std::string& web, const std::string& key, Duration limit);

std::string HostOfUrl(const std::string& url);  // "http://rm.example.org:8088" -> "rm.example.org"

}  // namespace tony::hadoop
