#include "runtime/os/sibling_program.h"

#include <filesystem>
#include <system_error>

namespace tony {

std::string SiblingProgram(std::string_view name) {
  std::error_code error;  // /proc is there, or nothing of ours works
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / name).string();
}

}  // namespace tony
