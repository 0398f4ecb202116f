// Parses a few properties, written as TonY's -conf options.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "runtime/spec/job_spec_parser.h"

namespace tony {

using Settings = std::vector<std::pair<std::string, std::string>>;

inline Properties PropertiesOf(const Settings& settings) {
  Properties properties;
  for (const auto& [key, value] : settings) properties.Set(key, value, "-conf");
  return properties;
}

// Parses a job with one worker that runs `true`; `settings` are added to these or replace them.
inline Result<ParsedJobSpec> ParseWith(
    const Settings& settings, const std::filesystem::path& directory = std::filesystem::temp_directory_path()) {
  Settings all = {{"tony.worker.instances", "1"}, {"tony.containers.command", "true"}};
  all.insert(all.end(), settings.begin(), settings.end());
  return ParseJobSpec(PropertiesOf(all), directory);
}

inline std::string ErrorWith(const Settings& settings) {
  const auto parsed = ParseWith(settings);
  if (parsed.ok()) return "accepted";
  return parsed.error().code == ErrorCode::kInvalid ? parsed.error().message : "another code than kInvalid";
}

// Returns the warnings as lines, or the error.
inline std::string WarningsWith(const Settings& settings) {
  const auto parsed = ParseWith(settings);
  if (!parsed.ok()) return "error: " + parsed.error().message;
  std::string out;
  for (const auto& warning : parsed->warnings) out += warning + "\n";
  return out;
}

}  // namespace tony
