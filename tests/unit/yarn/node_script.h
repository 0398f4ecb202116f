// The script that a NodeManager (ContainerLaunch, Hadoop 3.4.3) makes of the texts of a launch context.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/strings.h"
#include "tests/support/table_test.h"

namespace tony {

// Replaces variables as ContainerLaunch.expandEnvironment() does.
inline std::string Expanded(const std::string& text, const std::string& logs) {
  const std::string known = Replaced(Replaced(text, "<LOG_DIR>", logs), "<CPS>", ":");
  return Replaced(Replaced(known, "{{", "$"), "}}", "");
}

inline std::string ExportLine(const std::string& name, const std::string& value, const std::string& logs) {
  return StrCat("export ", name, "=\"", Expanded(value, logs), "\"\n");
}
inline std::string CommandLine(const std::string& command, const std::string& logs) {
  return StrCat("exec /bin/bash -c \"", Expanded(command, logs), "\"\n");
}

}  // namespace tony
