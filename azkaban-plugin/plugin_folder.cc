#include "azkaban-plugin/plugin_folder.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"

namespace tony::azkaban {
namespace {

constexpr std::string_view kBlanks = " \t\f";

size_t NaturalLineSize(std::string_view text) {
  const size_t end = text.find_first_of("\r\n");
  if (end == std::string_view::npos) return text.size();
  return text.substr(end).starts_with("\r\n") ? end + 2 : end + 1;
}

// Returns true if the next natural line continues this one.
bool IsOpen(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  return ContinuesOnNextLine(line);
}

bool IsCommentOrBlank(std::string_view line) {
  const size_t start = line.find_first_not_of(kBlanks);
  return start == std::string_view::npos || std::string_view("#!\r\n").find(line[start]) != std::string_view::npos;
}

// Returns the logical lines. Each logical line contains its continuation lines and line ends, so that all logical lines
// together are `text`.
std::vector<std::string_view> LogicalLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t size = NaturalLineSize(text);
    bool open = !IsCommentOrBlank(text.substr(0, size)) && IsOpen(text.substr(0, size));
    while (open && size < text.size()) {
      const size_t more = NaturalLineSize(text.substr(size));
      open = IsOpen(text.substr(size, more));
      size += more;
    }
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

const Property* Find(const Result<Properties>& properties, std::string_view key) {
  return properties.ok() ? properties->Find(key) : nullptr;
}

}  // namespace

Result<Properties> ParseServerProperties(std::string_view bytes, const std::string& name) {
  return ParseJavaProperties(Utf8FromLatin1(bytes), name);
}

bool MayStandInCommand(std::string_view path) {
  return std::ranges::all_of(path, [](unsigned char c) {
    return c < 128 && std::isgraph(c) &&
           std::string_view("'\"\\$").find(static_cast<char>(c)) == std::string_view::npos;
  });
}

std::string FirstPrivateText() {
  return "# For Azkaban's executor server alone. No secrets: newer servers give each job these lines as a file.\n"
         "jobtype.class=azkaban.jobExecutor.ProcessJob\n"
         "# The step itself needs little memory; with the check Azkaban delays a step while less than 3 GB are free.\n"
         "memCheck.enabled=false\n"
         "# Azkaban's default is true and needs the setuid program execute-as-user in azkaban.native.lib.\n"
         "#execute.as.user=false\n";
}

std::string FirstPluginText(std::string_view command) {
  return StrCat("command=", command,
                "\n"
                "# Below: defaults of this site for every job of this type. A flow or a job may set them otherwise.\n"
                "# Keys are those of TonY and variables of the step's environment, for example:\n"
                "#tony.worker.memory=4g\n"
                "#tony.application.timeout=86400000\n"
                "#tony.azkaban.watch-timeout=7200\n"
                "#env.TONY_HOME=/var/lib/tony\n"
                "# No secrets: Azkaban prints them into job logs. No $(...): Azkaban evaluates it.\n");
}

std::string WithValue(std::string_view text, std::string_view key, std::string_view value) {
  const Property* now = nullptr;
  const auto all = ParseServerProperties(text, "");
  if (now = Find(all, key); now != nullptr && now->value == value) return std::string(text);
  const std::string line = StrCat(key, "=", value, "\n");
  std::string out;
  bool done = false;
  bool open = false;
  for (const std::string_view old : LogicalLines(text)) {
    if (Find(ParseServerProperties(old, ""), key) == nullptr) {
      out += old;
      open = !IsCommentOrBlank(old) && IsOpen(old);
      continue;
    }
    open = false;
    // Further lines of the key are dropped, because Java would use the last of them.
    if (!done) out += line;
    done = true;
  }
  if (done) return out;
  if (!out.empty() && !out.ends_with('\n') && !out.ends_with('\r')) out += '\n';
  if (open) out += '\n';  // ends an open continuation line
  return out + line;
}

}  // namespace tony::azkaban
