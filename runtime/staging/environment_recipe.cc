#include "runtime/staging/environment_recipe.h"

#include <sys/utsname.h>

#include <algorithm>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"
#include "runtime/spec/property_values.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestLock = 64 << 20;  // bytes; that of 1000 packages for all platforms has 3 MB

std::string LastLines(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string& line : Split(text, '\n')) {
    if (!Trim(line).empty()) lines.push_back(std::string(Trim(line)));
  }
  constexpr size_t kMost = 4;
  if (lines.size() > kMost) lines.erase(lines.begin(), lines.end() - kMost);
  return Join(lines, " ");
}

}  // namespace

Error RefuseLock(const std::string& why) { return {ErrorCode::kInvalid, why}; }

Error RefuseLine(size_t line, std::string_view text, std::string_view why) {
  constexpr size_t kLongestLine = 300;  // bytes; the URL of a package is to be read whole
  return RefuseLock(StrCat("line ", line, ", ", Quoted(Trim(text), kLongestLine), ": ", why));
}

Result<std::string> ReadLock(const fs::path& file) {
  std::error_code error;
  if (fs::is_regular_file(file, error) && fs::file_size(file, error) > kLargestLock)
    return RefuseLock(StrCat(file.string(), ": larger than ", kLargestLock >> 20, " MB"));
  auto text = ReadFile(file);
  if (!text.ok()) return RefuseLock(text.error().message);
  return text;
}

std::string NameOfEnvironment(std::initializer_list<std::string_view> parts) {
  struct utsname machine {};
  uname(&machine);
  Sha256 sha;
  const auto add = [&](std::string_view part) { sha.Update(StrCat(part.size(), ":", part)); };
  std::ranges::for_each(parts, add);
  add(machine.machine);
  return sha.Hex() + "-venv";
}

Result<std::string> RunMaker(const std::string& what, const Tool& tool, std::initializer_list<std::string_view> network,
                             StageMeter& meter) {
  TRY_ASSIGN(const ToolEnd end, RunTool(tool, [&] { return meter.Done(0); }));
  if (end.exit_code == 0) return end.output;
  const bool of_network =
      std::ranges::any_of(network, [&](std::string_view said) { return end.errors.find(said) != std::string::npos; });
  return Error{of_network ? ErrorCode::kUnavailable : ErrorCode::kInvalid,
               StrCat(what, ": exit code ", end.exit_code, ": ", LastLines(end.errors))};
}

}  // namespace tony
