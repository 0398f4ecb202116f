// What a task tells those that start after it, as the address at which a driver waits for its workers.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tony {

using PublishedValues = std::map<std::string, std::string>;  // by name

// Every START of a later stage carries all values of the earlier ones: at most 256 KiB.
constexpr size_t kMostPublishedValues = 8;         // of one task
constexpr size_t kMostPublishedValuesOfJob = 256;  // of all its tasks
constexpr size_t kLongestPublishedValue = 1024;    // bytes
// But of what a preprocessing task hands on to all others, which one task has.
inline constexpr std::string_view kModelParams = "MODEL_PARAMS";
constexpr size_t kLongestModelParams = 32768;

size_t LongestValue(std::string_view name);
bool IsValueName(std::string_view name);  // capital letters, digits and underscores after a letter; 64 at most
// UTF-8 without control characters, and not too long; may be empty.
bool IsPublishable(std::string_view name, std::string_view value);

// Of a file of NAME=value lines those with one of these names and a value that may be published; of equal names the
// first. A line that is not ended is still being written, and is none.
PublishedValues ParsePublished(std::string_view text, const std::vector<std::string>& names);

}  // namespace tony
