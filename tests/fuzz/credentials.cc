// Fuzzes tokens and secrets, which a container reads from its file or a ResourceManager sends.
#include "runtime/hadoop/credentials.h"

#include "tests/fuzz/fuzz.h"

namespace tony::fuzz {

void Read(std::string_view input) {
  const auto credentials = hadoop::DecodeCredentials(input);
  if (!credentials.ok()) return;
  const std::string bytes = hadoop::EncodeCredentials(*credentials);
  const auto again = hadoop::DecodeCredentials(bytes);
  CHECK(again.ok() && *again == *credentials);
  CHECK(hadoop::EncodeCredentials(*again) == bytes);
}

std::vector<std::string> Seeds() {
  hadoop::Credentials some;
  some.tokens[""] = {std::string("\0\x80", 2), std::string(20, '\xff'), "YARN_AM_RM_TOKEN", ""};
  some.tokens["10.0.0.1:8020"] = {std::string(300, 'i'), "pass", "HDFS_DELEGATION_TOKEN", "10.0.0.1:8020"};
  some.secrets["tony.job.token"] = "0123456789abcdef";
  const std::string message =
      "\x0a\x14\x0a\x01"
      "a\x12\x0f\x0a\x02ID\x12\x01P\x1a\x01K\x22\x03s:1\x12\x07\x0a\x01"
      "b\x1a\x02xy";
  return {hadoop::EncodeCredentials({}), hadoop::EncodeCredentials(some),
          std::string("HDTS\x01") + static_cast<char>(message.size()) + message};
}

}  // namespace tony::fuzz
