// Links to the pages where a NodeManager shows the logs of a container, "http://node:8042/node/containerlogs/ID/USER".
// Pure.
#pragma once

#include <string>

namespace tony {

// `node_http`: "node:8042"; empty: not known, and there is no link.
std::string LinkToLogs(const std::string& node_http, const std::string& container, const std::string& user);

struct LogLink {
  std::string node;  // "http://node:8042"; empty: it was no such link
  std::string container;
};
LogLink ParseLogLink(const std::string& link);

}  // namespace tony
