// What a preprocessing program hands on, as TonY read it: the rest of the first line of its standard output that holds
// "Model parameters: ".
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tony::executor {

// At most kLongestModelParams + 1 bytes of it; nothing where there is no such line, or no regular file.
std::optional<std::string> ReadModelParameters(const std::filesystem::path& stdout_file);

}  // namespace tony::executor
