#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"
#include "runtime/spec/parser_parts.h"

namespace tony {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr size_t kMaxTotalBytes = 1'500'000;  // the kernel's limit is 2 MB for most, and executors add their own

Status CheckVariable(std::string_view origin, const std::string& name, const std::string& value) {
  const auto fail = [&](std::string_view what) {
    return Error{ErrorCode::kInvalid, StrCat("variable ", Quoted(name), " (from ", origin, "): ", what)};
  };
  if (name.empty()) return fail("the name is empty");
  if (name.find('=') != std::string::npos) return fail("a name cannot hold =");
  if ((name + value).find('\0') != std::string::npos) return fail("a variable cannot hold a NUL character");
  const size_t bytes = name.size() + 1 + value.size();
  if (bytes < kMaxStringBytes) return Ok();
  return fail(StrCat("NAME=VALUE has ", bytes, " bytes, and the kernel takes at most ", kMaxStringBytes - 1,
                     "; put the value into a file"));
}

// `list_key`: NAME=VALUE pairs that a comma separates. `prefix` + NAME: one variable whose value may hold commas.
Result<Variables> ParseVariables(const PropertyValues& values, std::string_view list_key, const std::string& prefix,
                                 Warnings& warnings) {
  Variables variables;
  const Property* list = values.properties().Find(list_key);
  const std::string origin = list ? list->origin : "";
  std::string last;
  for (const auto& item : values.List(list_key)) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos) {
      // The value is not quoted: it may be the rest of a password.
      return Error{ErrorCode::kInvalid,
                   StrCat(list_key, " (from ", origin, "): expected NAME=VALUE pairs, and what follows ",
                          variables.empty() ? "the beginning" : Quoted(last),
                          " is none; a value that holds a comma goes to ", prefix, "NAME")};
    }
    const std::string name = item.substr(0, equals), value = item.substr(equals + 1);
    TRY(CheckVariable(origin, name, value));
    if (const auto second = NameAfterBlank(value); !second.empty())
      warnings.push_back(StrCat(list_key, " (from ", origin, "): ", name, " has one value, with its blanks; ", second,
                                " is a variable of its own only behind a comma"));
    variables[name] = value;
    last = name;
  }
  const auto& all = values.properties().all();
  for (auto it = all.lower_bound(prefix); it != all.end() && it->first.starts_with(prefix); ++it) {
    const std::string name = it->first.substr(prefix.size());
    TRY(CheckVariable(it->second.origin, name, it->second.value));
    variables[name] = it->second.value;
  }
  return variables;
}

size_t TotalBytes(const Variables& variables) {
  size_t bytes = 0;
  for (const auto& [name, value] : variables) bytes += name.size() + value.size() + 2;  // '=' and NUL
  return bytes;
}

}  // namespace

Result<ParsedEnvironment> ParseEnvironment(const PropertyValues& values, Warnings& warnings) {
  ParsedEnvironment parsed;
  TRY_ASSIGN(parsed.execution, ParseVariables(values, "tony.execution.envs", "tony.execution.env.", warnings));
  TRY_ASSIGN(parsed.container, ParseVariables(values, "tony.containers.envs", "tony.containers.env.", warnings));
  parsed.secrets = values.properties().secrets();
  for (const auto& [name, value] : parsed.secrets) TRY(CheckVariable("secrets", name, value));
  const size_t bytes = TotalBytes(parsed.execution) + TotalBytes(parsed.container) + TotalBytes(parsed.secrets);
  if (bytes < kMaxTotalBytes) return parsed;
  return Error{ErrorCode::kInvalid, StrCat("tony.execution.envs, tony.containers.envs and secrets together have ",
                                           bytes, " bytes, and a process can be given less than ", kMaxTotalBytes)};
}

}  // namespace tony
