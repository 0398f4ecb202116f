// What all configuration texts have in common: lines for messages, and what none may contain.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/config/properties.h"

namespace tony {

class LineIndex {
 public:
  explicit LineIndex(std::string_view text);
  size_t LineOf(size_t offset) const;  // from 1

 private:
  std::vector<size_t> line_ends_;
};

// kInvalid with "name:line" for NUL, which no process can be given, and for what is not UTF-8.
Status CheckConfigText(std::string_view text, const std::string& name);

// Whether a line of java.util.Properties goes on in the next one: an even number of them are escaped backslashes.
bool EndsWithOpenBackslash(std::string_view line);

// Whether a variable could be called so.
bool IsVariableName(std::string_view text);

// The name in a value as "1 B=2", whose writer may have meant two variables. Empty: there is none.
std::string_view NameAfterBlank(std::string_view value);

inline constexpr size_t kMaxFileBytes = 16u << 20;  // a thousand times what people write

// What can be read of a descriptor; the error, which names nothing, is an errno's text or that it is too large.
Result<std::string> ReadText(int fd);
Result<std::string> ReadTextFile(const std::filesystem::path& path);

// ParseHadoopXml without expansion of ${key}: for files that are merged first.
Result<Properties> ParseRawHadoopXml(std::string_view text, const std::string& name);
// The same of what stands in `file`: local files may be included (XInclude), from its folder on.
Result<Properties> ParseHadoopXmlOf(const std::filesystem::path& file, std::string_view text, const std::string& name);

// What Azkaban's own properties of a step say about where it runs.

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
