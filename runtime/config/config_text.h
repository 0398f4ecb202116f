// Helpers for all configuration texts: line numbers for messages, and checks for bytes that a text must not contain.
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
  size_t LineOf(size_t offset) const;  // line number, from 1

 private:
  std::vector<size_t> line_ends_;
};

// Returns kInvalid with "name:line" if the text has a NUL, which cannot be passed to a process, or is not UTF-8.
Status CheckConfigText(std::string_view text, const std::string& name);

// Returns true if a line of java.util.Properties continues in the next line. The line continues if it ends with an odd
// number of backslashes. An even number of backslashes means escaped backslashes.
bool ContinuesOnNextLine(std::string_view line);

// Returns true if `text` can be the name of an environment variable.
bool IsVariableName(std::string_view text);

// Returns the name of a second variable inside a value, e.g. "B" for the value "1 B=2", because the writer may have
// meant two variables. Returns "" if the value has no such name.
std::string_view NameAfterBlank(std::string_view value);

inline constexpr size_t kMaxFileBytes = 16u << 20;  // about 1000 times a usual file

// These functions read a descriptor or a file to its end. The error message is the text of an errno, or says that the
// text is too large. The message does not name the file.
Result<std::string> ReadText(int fd);
Result<std::string> ReadTextFile(const std::filesystem::path& path);

// Parses like ParseHadoopXml(), but does not expand ${key}. The caller merges several files before the expansion.
Result<Properties> ParseRawHadoopXml(std::string_view text, const std::string& name);
// Parses like ParseRawHadoopXml(). `text` is the content of `file`, and may include local files (XInclude) relative to
// the folder of `file`.
Result<Properties> ParseHadoopXmlWithIncludes(const std::filesystem::path& file, std::string_view text,
                                              const std::string& name);

// ---- Where an Azkaban step runs, from Azkaban's own properties of the step

// Returns a property's value without blanks around it; "" if the property is not set.
std::string StepProperty(const Properties& step, std::string_view key);

// Returns the host of Azkaban's web server: azkaban.webserverhost, or else the host in azkaban.url. Azkaban versions
// before 2020-09 set only the latter. "" if neither is set.
std::string AzkabanHost(const Properties& step);

// Returns the web server's host with its port, "az.example:8081", from azkaban.url. If azkaban.url is not set, returns
// the host alone.
std::string AzkabanAddress(const Properties& step);

// Returns the tags that TonY's Azkaban type gave to a job: "azkaban.flow.execid:17" for the execution, and likewise for
// the flow, the project and the host, if they are known. Tags are cut to 100 characters, as in TonY, because of YARN's
// limit.
std::vector<std::string> AzkabanTags(const Properties& step);

}  // namespace tony
