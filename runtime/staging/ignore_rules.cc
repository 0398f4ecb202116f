#include "runtime/staging/ignore_rules.h"

#include <fnmatch.h>

#include <algorithm>
#include <optional>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr std::string_view kAnyFolders = "**";

// Blanks at the end do not count, except where a backslash is before them.
std::string_view WithoutEnd(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  while (line.ends_with(' ') || line.ends_with('\t')) {
    if (line.size() > 1 && line[line.size() - 2] == '\\') break;
    line.remove_suffix(1);
  }
  return line;
}

std::optional<IgnorePattern> ParsePattern(std::string_view line) {
  IgnorePattern pattern{.text = std::string(WithoutEnd(line))};
  std::string_view rest = pattern.text;
  if (rest.starts_with('#')) return std::nullopt;
  if (rest.starts_with('!')) {
    pattern.keeps = true;
    rest.remove_prefix(1);
  }
  if (rest.ends_with('/')) {
    pattern.only_folders = true;
    rest.remove_suffix(1);
  }
  if (rest.empty()) return std::nullopt;
  pattern.only_name = rest.find('/') == std::string_view::npos;
  if (rest.starts_with('/')) rest.remove_prefix(1);
  for (std::string& part : Split(rest, '/'))
    if (part != kAnyFolders || pattern.parts.empty() || pattern.parts.back() != kAnyFolders)
      pattern.parts.push_back(std::move(part));
  return pattern;
}

bool MatchesName(const std::string& pattern, const std::string& name) {
  if (pattern.find_first_of("*?[\\") == std::string::npos) return pattern == name;
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

using Part = std::vector<std::string>::const_iterator;

bool MatchesParts(Part pattern, Part pattern_end, Part path, Part path_end) {
  for (; pattern != pattern_end; ++pattern, ++path) {
    if (*pattern == kAnyFolders) {
      // At the end it stands for what is in a folder, and not for the folder itself.
      if (pattern + 1 == pattern_end) return path != path_end;
      for (; path != path_end; ++path)
        if (MatchesParts(pattern + 1, pattern_end, path, path_end)) return true;
      return false;
    }
    if (path == path_end || !MatchesName(*pattern, *path)) return false;
  }
  return path == path_end;
}

}  // namespace

void IgnoreRules::Add(std::string_view text, const std::string& file, bool is_tonys) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (const std::string& line : Split(text, '\n')) {
    auto pattern = ParsePattern(line);
    if (!pattern) continue;
    pattern->file = file;
    pattern->folder = file.rfind('/') == std::string::npos ? 0 : file.rfind('/') + 1;
    pattern->is_tonys = is_tonys;
    patterns_.push_back(*std::move(pattern));
  }
}

const IgnorePattern* IgnoreRules::Find(std::string_view path, bool is_folder, bool only_tonys) const {
  const std::string name(path.substr(path.rfind('/') + 1));
  for (size_t i = patterns_.size(); i-- > 0;) {
    const IgnorePattern& pattern = patterns_[i];
    if ((pattern.only_folders && !is_folder) || (only_tonys && !pattern.is_tonys)) continue;
    if (pattern.only_name) {
      if (MatchesName(pattern.parts[0], name)) return &pattern;
      continue;
    }
    const std::vector<std::string> parts = Split(path.substr(pattern.folder), '/');
    if (MatchesParts(pattern.parts.begin(), pattern.parts.end(), parts.begin(), parts.end())) return &pattern;
  }
  return nullptr;
}

}  // namespace tony
