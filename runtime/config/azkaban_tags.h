// What Azkaban's own properties of a step say about where it runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/properties.h"

namespace tony {

// A property's value without blanks around it; empty: it is not set.
std::string StepText(const Properties& step, std::string_view key);

// Of Azkaban's web server: azkaban.webserverhost, or else the host in azkaban.url, which versions before 2020-09 have
// alone; empty: neither is set.
std::string AzkabanHost(const Properties& step);

// The same with its port, "az.example:8081": of azkaban.url, or else the host alone.
std::string AzkabanAddress(const Properties& step);

// The tags that TonY's Azkaban type gave to a job, "azkaban.flow.execid:17" and so on for the execution, the flow, the
// project and the host, those that are known. Each has at most 100 characters, as YARN's limit made TonY cut them.
std::vector<std::string> AzkabanTags(const Properties& step);

}  // namespace tony
