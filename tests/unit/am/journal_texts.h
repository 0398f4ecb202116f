// Texts of what a journal holds, for comparisons.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/records/decisions.h"

namespace tony::am {

inline std::string Bytes(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline std::vector<std::string> Json(const std::vector<Decision>& decisions) {
  std::vector<std::string> texts;
  for (const Decision& decision : decisions) texts.push_back(ToJson(decision));
  return texts;
}

}  // namespace tony::am
