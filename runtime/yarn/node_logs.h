// Logs as the pages of a container's node show them, by HTTP without a login: while the container runs, and afterwards
// for as long as the node keeps them (yarn.nodemanager.log.retain-seconds, 3 hours, or until they are aggregated).
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/job/log_pieces.h"

namespace tony {

inline constexpr int64_t kMostOfNodeLog = 8 << 20;  // bytes; a node gives no part of a log but its end

// The last kMostOfNodeLog bytes of one; `link` as yarn/log_links.h has it. Waits for the node, some seconds
// at most. kNotFound: the node has it no longer. kUnavailable, kInvalid: it does not answer, or not in the words of a
// NodeManager. Any thread.
Result<LogExcerpt> FetchNodeLog(const std::string& link, const std::string& stream);

// The part of a NodeManager's answer that is the log. Pure.
Result<LogExcerpt> NodeLogIn(const std::string& body, const std::string& stream);

}  // namespace tony
