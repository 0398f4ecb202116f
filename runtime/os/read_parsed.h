// Files that are read whole and parsed; what is wrong with one names its path. Private to the store.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/os/files.h"

namespace tony {

// `parse`: content -> Result.
template <class Parse>
auto ReadParsed(const std::filesystem::path& path, Parse parse) -> decltype(parse(std::string_view())) {
  TRY_ASSIGN(const std::string content, ReadFile(path));
  auto parsed = parse(content);
  if (!parsed.ok()) return Annotate(parsed.error(), "read " + path.string());
  return parsed;
}

// As ReadParsed(), but nothing where there is no file.
template <class T>
Result<std::optional<T>> ReadOptional(const std::filesystem::path& path, Result<T> (*parse)(std::string_view)) {
  auto parsed = ReadParsed(path, parse);
  if (parsed.ok()) return std::optional<T>(*std::move(parsed));
  if (parsed.error().code == ErrorCode::kNotFound) return std::optional<T>();
  return parsed.error();
}

}  // namespace tony
