#include "runtime/client/hadoop_twin.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/base/spent_input.h"
#include "runtime/base/strings.h"
#include "runtime/os/sibling_program.h"

namespace tony {
namespace {

[[noreturn]] void End(const std::string& program, const std::string& why) {
  std::fprintf(stderr, "tony: YARN: start %s: %s\n", program.c_str(), why.c_str());
  _exit(static_cast<int>(ErrorCode::kUnavailable));
}

std::vector<std::string> OwnArguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments = Split(std::string{std::istreambuf_iterator<char>(file), {}}, '\0');
  if (!arguments.empty()) arguments.pop_back();  // each is followed by a NUL
  return arguments;
}

std::string Twin() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return SiblingProgram(StrCat(self.filename().string(), "-hadoop"));
}

}  // namespace

bool HasHadoopTwin() { return access(Twin().c_str(), X_OK) == 0; }

const Backend& BecomeHadoopTwin() {
  const std::string twin = Twin();
  std::vector<std::string> arguments = OwnArguments();
  if (const Status given = GiveBackSpentInput(); !given.ok()) End(twin, given.error().message);
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  std::fflush(stdout);
  execv(twin.c_str(), words.data());
  End(twin, ErrnoText(errno));
}

}  // namespace tony
