// The members of a job document (job_document.h) that say one thing each, and what they set.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/config/document_node.h"
#include "runtime/config/submit_flags.h"

namespace tony {

// The members of the object at `path`, "" of the whole document. Those named `read_elsewhere` are known and left alone.
// `conf` is behind all others of the result's conf.
Result<SubmitFlags> ReadMembers(const DocumentNode& object, const std::string& path,
                                std::span<const std::string_view> read_elsewhere);

// NAME: value, without those that are null.
Result<std::vector<std::pair<std::string, std::string>>> ReadPairs(const DocumentNode& object, const std::string& path);

}  // namespace tony
