#include "runtime/config/hadoop_variables.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "runtime/os/users.h"

namespace tony {
namespace {

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Java's names of what uname calls otherwise.
std::string Architecture(const std::string& machine) { return machine == "x86_64" ? "amd64" : machine; }

std::optional<std::string> OfUser(std::string UnixUser::*field) {
  const auto user = FindUser(getuid());
  if (!user.ok() || !*user) return std::nullopt;
  return (**user).*field;
}

std::optional<std::string> OfSystem(std::string_view name) {
  utsname system{};
  if (uname(&system) != 0) return std::nullopt;
  if (name == "os.name") return std::string(system.sysname);
  if (name == "os.version") return std::string(system.release);
  return Architecture(system.machine);
}

}  // namespace

std::optional<std::string> OwnVariable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<std::string> FromEnvironment(const std::string& name, const EnvironmentLookup& environment) {
  const size_t dash = name.find('-');
  if (dash == std::string::npos) return environment(name);
  const bool or_empty = dash > 0 && name[dash - 1] == ':';
  const auto value = environment(name.substr(0, or_empty ? dash - 1 : dash));
  if (value && !(or_empty && value->empty())) return value;
  return name.substr(dash + 1);
}

std::optional<std::string> SystemProperty(std::string_view name) {
  if (name == "user.name") return OfUser(&UnixUser::name);
  if (name == "user.home") return OfUser(&UnixUser::folder);
  if (name == "user.dir") {
    std::error_code error;
    const std::filesystem::path here = std::filesystem::current_path(error);
    return error ? std::nullopt : std::optional<std::string>(here.string());
  }
  if (name == "java.io.tmpdir") return "/tmp";  // whatever TMPDIR says: Java does not look at it
  if (name == "os.name" || name == "os.version" || name == "os.arch") return OfSystem(name);
  if (name == "file.separator") return "/";
  if (name == "path.separator") return ":";
  if (name == "line.separator") return "\n";
  return std::nullopt;
}

bool IsNoShellVariable(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == 0 || dot == name.npos || name.ends_with('.')) return false;
  return std::ranges::all_of(name.substr(0, dot), IsWordCharacter) &&
         std::ranges::all_of(name.substr(dot), [](char c) { return IsWordCharacter(c) || c == '.' || c == '-'; });
}

}  // namespace tony
