// Helpers for test tables of the parsers of a job spec.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <string>

#include "runtime/base/strings.h"
#include "tests/support/table_test.h"
#include "tests/unit/job/parse_properties.h"

namespace tony {

// Returns a value of the spec's JSON, e.g. "timers.lost_after_ms", or "worker.command" of a role; "roles" gives the
// roles' names.
inline std::string SpecValue(const ParsedJobSpec& parsed, const std::string& path) {
  if (path == "watch_timeout_ms") return StrCat(parsed.watch_timeout.count());
  boost::json::value at = boost::json::parse(ToJson(parsed.spec));
  std::string names;
  for (const boost::json::value& role : boost::json::array(at.at("roles").as_array())) {
    const auto& name = role.at("name").as_string();
    names += (names.empty() ? "" : ",") + std::string(name);
    at.as_object()[name] = role;
  }
  if (path == "roles") return names;
  for (const std::string& step : Split(path, '.')) {
    if (!at.is_object() || !at.as_object().contains(step)) return "none";
    at = boost::json::value(at.at(step));
  }
  return at.is_string() ? std::string(at.as_string()) : boost::json::serialize(at);
}

// The row gives settings as "tony.worker.instances=2 | tony.x=", from -conf. "only: " before them leaves out the one
// worker that runs `true`. "@" is `directory`. It expects parts between " | ":
//   worker.memory_mb=2048   a value, as SpecValue returns it (ExpectText)
//   quiet                   no warning
//   warns TEXT              the next warning (ExpectText); each warning needs a part of this kind
//   on KEY TEXT             the next warning, which begins with KEY, its value and origin
//   error TEXT              the error, which is kInvalid
//   refused TEXT            the error, which begins with the first setting's key, its value and origin
//   accepted                no error
inline void CheckSpec(const RowCase& row, const std::filesystem::path& directory) {
  const std::string here = directory.string();
  for (std::string given : Alternatives(row.given)) {
    SCOPED_TRACE(given);
    const bool only = given.starts_with("only: ");
    Settings settings;
    for (const std::string& part : PartsOf(only ? given.substr(6) : given)) {
      const size_t equals = std::min(part.find('='), part.size() - 1);
      settings.emplace_back(part.substr(0, equals), Replaced(part.substr(equals + 1), "@", here));
    }
    const auto named = [&](const std::string& key) {
      for (const auto& [its_key, value] : settings)
        if (its_key == key) return StrCat(key, ": \"", value, "\" (from -conf): ");
      return StrCat(key, " (from -conf): ");
    };
    const auto parsed = only ? ParseJobSpec(PropertiesOf(settings), directory) : ParseWith(settings, directory);
    size_t warnings = 0;
    for (const std::string& part : PartsOf(Replaced(row.expected, "@", here))) {
      const std::string word = part.substr(0, part.find(' ')),
                        rest = part.substr(std::min(part.size(), word.size() + 1));
      if (word == "error" || word == "refused") {
        ASSERT_FALSE(parsed.ok()) << "accepted";
        EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
        const std::string before = word == "error" ? "" : named(settings.at(0).first);
        const auto& message = parsed.error().message;
        EXPECT_EQ(message.substr(0, before.size()), before);
        ExpectText(rest, message.substr(std::min(message.size(), before.size())));
        continue;
      }
      ASSERT_TRUE(parsed.ok()) << parsed.error().message;
      if (word == "quiet" || word == "accepted") {
        if (word == "quiet") {
          EXPECT_EQ(Join(parsed->warnings, "\n"), "");
        }
      } else if (word == "warns" || word == "on") {
        ASSERT_LT(warnings, parsed->warnings.size()) << part;
        const std::string key = rest.substr(0, rest.find(' '));
        const std::string text = rest.substr(word == "on" ? key.size() + 1 : 0);
        const std::string before = word == "on" ? named(key) : "";
        const std::string& warning = parsed->warnings[warnings++];
        EXPECT_EQ(warning.substr(0, before.size()), before);
        ExpectText(text, warning.substr(std::min(warning.size(), before.size())));
      } else {
        const size_t equals = part.find('=');
        ASSERT_NE(equals, std::string::npos) << part;
        SCOPED_TRACE(part);
        ExpectText(part.substr(equals + 1), SpecValue(*parsed, part.substr(0, equals)));
      }
    }
    if (warnings > 0) {
      EXPECT_EQ(parsed->warnings.size(), warnings) << Join(parsed->warnings, "\n");
    }
  }
}
inline void CheckSpecAnywhere(const RowCase& row) { CheckSpec(row, std::filesystem::temp_directory_path()); }

}  // namespace tony
