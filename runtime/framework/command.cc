#include "runtime/framework/command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"

namespace tony {
namespace {

// Reserved words and builtins of bash 5: what of these is also a program (echo, kill, test) is another one.
constexpr std::string_view kNotPrograms[] = {
    ".",       ":",       "alias",    "bg",        "bind",     "break",    "builtin", "caller",  "case",   "cd",
    "command", "compgen", "complete", "compopt",   "continue", "coproc",   "declare", "dirs",    "disown", "do",
    "done",    "echo",    "elif",     "else",      "enable",   "esac",     "eval",    "exec",    "exit",   "export",
    "false",   "fc",      "fg",       "fi",        "for",      "function", "getopts", "hash",    "help",   "history",
    "if",      "in",      "jobs",     "kill",      "let",      "local",    "logout",  "mapfile", "popd",   "printf",
    "pushd",   "pwd",     "read",     "readarray", "readonly", "return",   "select",  "set",     "shift",  "shopt",
    "source",  "suspend", "test",     "then",      "time",     "times",    "trap",    "true",    "type",   "typeset",
    "ulimit",  "umask",   "unalias",  "unset",     "until",    "wait",     "while",
};

bool IsPlain(char c) {
  constexpr std::string_view kPlain = "_./:+,@%=-";
  const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return alphanumeric || kPlain.find(c) != std::string_view::npos;
}

std::vector<std::string> PlainWords(const std::string& command) {
  std::vector<std::string> words;
  bool in_word = false;
  for (const char c : command) {
    const bool blank = c == ' ' || c == '\t';
    if (!blank && !IsPlain(c)) return {};
    if (!blank && !in_word) words.emplace_back();
    if (!blank) words.back() += c;
    in_word = !blank;
  }
  return words;
}

std::string_view ValueOf(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string_view variable : environment)
    if (variable.starts_with(name) && variable.substr(name.size()).starts_with('='))
      return variable.substr(name.size() + 1);
  return {};
}

// Bash would read a file first, know other commands, or behave in another way.
bool ConfiguresBash(std::string_view variable) {
  constexpr std::string_view kNames[] = {
      "BASH_ENV=", "BASHOPTS=", "SHELLOPTS=", "BASH_FUNC_", "BASH_COMPAT=", "POSIXLY_CORRECT="};
  return std::ranges::any_of(kNames, [&](std::string_view name) { return variable.starts_with(name); });
}

// Scripts are for bash: it knows what to say of one whose interpreter is missing.
bool IsBinary(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  char magic[4] = {};
  return fd.valid() && read(fd.get(), magic, sizeof magic) == sizeof magic && std::string_view(magic, 4) == "\177ELF";
}

bool IsProgram(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

// "" where only bash, in its folder, can say.
std::string FindProgram(const std::string& name, std::string_view path) {
  if (name.starts_with('/')) return IsProgram(name) ? name : "";
  if (name.find('/') != std::string::npos) return "";
  for (const auto& folder : Split(path, ':')) {
    if (!folder.starts_with('/')) return "";
    std::string program = StrCat(folder, folder.ends_with('/') ? "" : "/", name);
    if (IsProgram(program)) return program;
  }
  return "";
}

}  // namespace

std::optional<SimpleCommand> AsSimpleCommand(const std::string& command, const std::vector<std::string>& environment) {
  if (std::ranges::any_of(environment, ConfiguresBash)) return std::nullopt;
  auto words = PlainWords(command);
  if (words.empty() || words[0].find_first_of("=%") != std::string::npos) return std::nullopt;
  if (std::ranges::find(kNotPrograms, words[0]) != std::end(kNotPrograms)) return std::nullopt;
  const std::string program = FindProgram(words[0], ValueOf(environment, "PATH"));
  if (program.empty() || !IsBinary(program)) return std::nullopt;
  return SimpleCommand{program, std::move(words)};
}

void AddBashVariables(std::vector<std::string>& environment, const std::string& program) {
  std::erase_if(environment, [](const std::string& variable) { return variable.starts_with("_="); });
  environment.push_back(StrCat("_=", program));
  if (ValueOf(environment, "SHLVL").empty()) environment.push_back("SHLVL=0");
}

Result<pid_t> StartCommand(ProcessRunner& processes, const std::string& command, ProcessSpec spec,
                           const ProcessRunner::OnExit& on_exit) {
  if (auto simple = AsSimpleCommand(command, spec.env)) {
    ProcessSpec direct = spec;
    direct.program = simple->program;
    direct.argv = std::move(simple->argv);
    AddBashVariables(direct.env, simple->program);
    auto pid = processes.Start(direct, on_exit);
    if (pid.ok()) return pid;
  }
  spec.argv = {"/bin/bash", "-c", command};
  return processes.Start(spec, on_exit);
}

}  // namespace tony
