#include "runtime/records/submit_digest.h"

namespace tony {

std::vector<std::string> DiffersIn(const SubmitDigest& a, const SubmitDigest& b) {
  std::vector<std::string> names;
  for (const auto& [name, hash] : a.parts) {
    const auto other = b.parts.find(name);
    if (other != b.parts.end() && other->second != hash) names.push_back(name);
  }
  return names;
}

}  // namespace tony
