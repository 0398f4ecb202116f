// Does with our code what CredentialsPeer.java does with Hadoop's own class: "write FILE" writes some credentials,
// "print FILE" prints the credentials of a file, one line each, sorted by alias.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "runtime/hadoop/credentials.h"

namespace tony::hadoop {
namespace {

Credentials Some() {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  Credentials credentials;
  credentials.tokens[""] = {all, all, "YARN_AM_RM_TOKEN", ""};
  for (const size_t size : {127, 128, 255, 256, 65536, 70000}) {
    credentials.tokens[std::to_string(size)] = {std::string(size, 'i'), std::string(20, '\xff'), "kind", "host:1"};
  }
  credentials.secrets["empty"] = "";
  credentials.secrets["tony.job.token"] = all;
  return credentials;
}

std::string Hex(std::string_view bytes) {
  std::string text = "0x";
  for (const char c : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02X", static_cast<unsigned char>(c));
    text += digits;
  }
  return text;
}

int Print(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  const auto credentials = DecodeCredentials(bytes);
  if (!credentials.ok()) {
    std::fprintf(stderr, "%s: %s\n", file.c_str(), credentials.error().message.c_str());
    return 1;
  }
  for (const auto& [alias, token] : (*credentials).tokens) {
    std::printf("token %s %s %s %s %s\n", alias.c_str(), Hex(token.identifier).c_str(), Hex(token.password).c_str(),
                Hex(token.kind).c_str(), Hex(token.service).c_str());
  }
  for (const auto& [alias, secret] : (*credentials).secrets) {
    std::printf("secret %s %s\n", alias.c_str(), Hex(secret).c_str());
  }
  return 0;
}

int Write(const std::string& file) {
  std::ofstream(file, std::ios::binary) << EncodeCredentials(Some());
  return 0;
}

}  // namespace
}  // namespace tony::hadoop

int main(int argc, char** argv) {
  const std::string_view verb = argc == 3 ? argv[1] : "";
  if (verb == "print") return tony::hadoop::Print(argv[2]);
  if (verb == "write") return tony::hadoop::Write(argv[2]);
  std::fprintf(stderr, "usage: %s print|write FILE\n", argv[0]);
  return 64;
}
