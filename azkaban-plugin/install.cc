#include "azkaban-plugin/install.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "azkaban-plugin/plugin_folder.h"
#include "runtime/base/strings.h"
#include "runtime/cli/output.h"
#include "runtime/os/files.h"
#include "runtime/os/start_program.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFolderMode = 0755;
constexpr mode_t kTextMode = 0644;
constexpr mode_t kProgramMode = 0755;

Error CannotWrite(std::string_view what, const fs::path& path) {
  return FileError(ErrorCode::kCannotWrite, what, path, errno);
}

Status MakeReadableFolder(const fs::path& path) {
  if (mkdir(path.c_str(), 0700) != 0 || chmod(path.c_str(), kFolderMode) != 0) return CannotWrite("make", path);
  return Ok();
}

Status WriteText(const fs::path& path, std::string_view text) {
  TRY(WriteNewFile(path, text, false));
  if (chmod(path.c_str(), kTextMode) != 0) return CannotWrite("change the mode of", path);
  return SyncPath(path);
}

Status CopyProgram(const fs::path& from, const fs::path& to) {
  const UniqueFd in(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in.valid()) return FileError(ErrorCode::kNotFound, "open", from, errno);
  const UniqueFd out(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out.valid()) return CannotWrite("make", to);
  TRY(CopyContent(in.get(), from, out.get(), to, [](int64_t) { return Ok(); }));
  if (fchmod(out.get(), kProgramMode) != 0 || fsync(out.get()) != 0) return CannotWrite("write", to);
  return Ok();
}

Status CarryOver(const fs::path& old, const fs::path& folder) {
  const std::vector<std::string> names = FurtherFiles(old);
  for (const std::string& name : names) {
    std::error_code error;
    fs::copy(old / name, folder / name, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
    if (error) return FileError(ErrorCode::kCannotWrite, "copy", old / name, error.value());
  }
  if (names.empty()) return Ok();
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || syncfs(fd.get()) != 0) return CannotWrite("sync", folder);
  return Ok();
}

bool HasMode(const fs::path& path, mode_t mode) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && (status.st_mode & 07777) == mode;
}

bool IsText(const fs::path& path, const std::string& text) {
  const auto now = ReadFile(path);
  return now.ok() && *now == text && HasMode(path, kTextMode);
}

std::vector<fs::path> Entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(entry->path());
  std::ranges::sort(entries);
  return entries;
}

// An installation reads the existing entries and refuses entries that are not TonY's. It builds the new entries outside
// the folder of job types, and renames them into place.

struct Options {
  bool with_programs = false;
  bool replace = false;
  bool no_execute_as_user = false;
};

// An existing entry of the job types' folder that has the name of one of TonY's job types.
struct Existing {
  enum class Kind { kNothing, kOurs, kForeign };
  Kind kind = Kind::kNothing;
  std::string why;                        // reason why the entry is foreign
  std::string private_text, plugin_text;  // texts of the existing property files
};

struct Part {
  std::string name;  // name of the job type
  Existing existing;
  bool done = false;  // true: nothing has to change
};

struct Plan {
  fs::path jobtypes;
  std::string command;
  PluginContent content;
  std::vector<Part> parts;  // `tony`, followed by its aliases
};

Existing Foreign(std::string why) { return {Existing::Kind::kForeign, std::move(why), "", ""}; }

Result<Existing> LookAtFolder(const fs::path& folder) {
  Existing ours{Existing::Kind::kOurs, "", "", ""};
  auto plugin = ReadFile(folder / kPluginFile);
  if (!plugin.ok() && plugin.error().code != ErrorCode::kNotFound) return plugin.error();
  if (!plugin.ok()) return Foreign(StrCat("a job type without ", kPluginFile));
  const auto parsed = ParseServerProperties(*plugin, (folder / kPluginFile).string());
  if (!parsed.ok()) return Foreign(parsed.error().message);
  const Property* command = parsed->Find("command");
  if (command == nullptr || fs::path(command->value).filename() != kAdapter)
    return Foreign(StrCat("a job type whose command is not ", kAdapter));
  ours.plugin_text = *std::move(plugin);
  auto secret = ReadFile(folder / kPrivateFile);
  if (!secret.ok() && secret.error().code != ErrorCode::kNotFound) return secret.error();
  ours.private_text = secret.ok() ? *std::move(secret) : FirstPrivateText();
  return ours;
}

Result<Existing> LookAt(const fs::path& jobtypes, std::string_view name) {
  const fs::path path = jobtypes / name;
  std::error_code error;
  const fs::file_type type = fs::symlink_status(path, error).type();
  if (type == fs::file_type::not_found) return Existing{};
  if (type == fs::file_type::symlink) {
    const fs::path target = fs::read_symlink(path, error);
    const bool ours = name != kTypeName && (jobtypes / target).lexically_normal() == jobtypes / kTypeName;
    if (ours) return Existing{Existing::Kind::kOurs, "", "", ""};
    return Foreign(StrCat("a link to ", target.string()));
  }
  if (type != fs::file_type::directory) return Foreign("a file");
  if (name != kTypeName) return Foreign("a folder, not a link to tony");
  return LookAtFolder(path);
}

Result<fs::path> JobtypesFolder(const std::string& word) {
  std::error_code error;
  const fs::path folder = fs::canonical(word, error);
  const bool is_forbidden = error.value() == EACCES;
  if (error)
    return FileError(is_forbidden ? ErrorCode::kNotPermitted : ErrorCode::kNotFound, "open", word, error.value());
  if (!fs::is_directory(folder, error))
    return Error{ErrorCode::kNotFound, StrCat(word,
                                              ": a file; expected the executor server's folder of job types, which "
                                              "its property azkaban.jobtype.plugin.dir names")};
  if (fs::exists(folder / kPrivateFile, error))
    return Error{ErrorCode::kUsage, StrCat(word, ": the folder has a ", kPrivateFile,
                                           ", so it is one job type; expected the folder above, which has all job "
                                           "types")};
  if (!folder.has_relative_path()) return Error{ErrorCode::kUsage, "/: expected a folder of job types"};
  return folder;
}

Result<std::vector<fs::path>> Programs() {
  std::vector<fs::path> programs = {SiblingProgram(kAdapter)};
  for (const std::string_view name : kPrograms) programs.emplace_back(SiblingProgram(name));
  for (const fs::path& program : programs)
    if (access(program.c_str(), X_OK) != 0) return FileError(ErrorCode::kNotFound, "run", program, errno);
  for (const std::string_view name : kGpuPrograms)
    if (const std::string file = SiblingProgram(name); access(file.c_str(), R_OK) == 0) programs.emplace_back(file);
  if (const std::string file = SiblingProgram(kYarnFile); access(file.c_str(), R_OK) == 0) programs.emplace_back(file);
  return programs;
}

// Returns the value for the property `command`.
Result<std::string> Command(const fs::path& jobtypes, const Options& options) {
  const std::string adapter = SiblingProgram(kAdapter);
  if (access(adapter.c_str(), X_OK) != 0) return FileError(ErrorCode::kNotFound, "run", adapter, errno);
  const std::string& path = options.with_programs ? jobtypes.string() : adapter;
  if (!MayStandInCommand(path))
    return Error{ErrorCode::kInvalid, StrCat(path,
                                             ": Azkaban would change this path in a command; expected a path "
                                             "without blanks, quotes, backslashes, $ and letters beyond ASCII")};
  if (options.with_programs) return StrCat(kOwnFolder, "/", kProgramsFolder, "/", kAdapter);
  if (adapter.starts_with(StrCat((jobtypes / kTypeName).string(), "/")))
    return Error{ErrorCode::kUsage, StrCat(adapter,
                                           ": this program lies in the folder that would be replaced; add "
                                           "--with-programs, or run a ",
                                           kAdapter, " from another folder")};
  return adapter;
}

std::string PrivateText(std::string text, bool no_execute_as_user) {
  const auto has = [&text](std::string_view key) {
    const auto parsed = ParseServerProperties(text, "");
    return parsed.ok() && parsed->Find(key) != nullptr;
  };
  if (!has("jobtype.class")) text = WithValue(text, "jobtype.class", "azkaban.jobExecutor.ProcessJob");
  if (no_execute_as_user && !has("execute.as.user")) text = WithValue(text, "execute.as.user", "false");
  return text;
}

Result<PluginContent> Compose(const Plan& plan, const Existing& existing, const Options& options) {
  const bool upgrade = existing.kind == Existing::Kind::kOurs;
  PluginContent content;
  if (options.with_programs) {
    TRY_ASSIGN(content.programs, Programs());
  }
  if (upgrade) {
    content.old = plan.jobtypes / kTypeName;
    const std::string file = (content.old / kPrivateFile).string();
    const auto readable = ParseServerProperties(existing.private_text, file);
    if (!readable.ok()) return readable.error();
  }
  content.private_text = PrivateText(upgrade ? existing.private_text : FirstPrivateText(), options.no_execute_as_user);
  content.plugin_text =
      upgrade ? WithValue(existing.plugin_text, "command", plan.command) : FirstPluginText(plan.command);
  return content;
}

Result<Plan> MakePlan(const fs::path& jobtypes, const Options& options) {
  Plan plan;
  plan.jobtypes = jobtypes;
  TRY_ASSIGN(plan.command, Command(jobtypes, options));
  std::vector<std::string_view> names = {kTypeName};
  std::ranges::copy(kAliases, std::back_inserter(names));
  for (const std::string_view name : names) {
    TRY_ASSIGN(Existing existing, LookAt(jobtypes, name));
    if (existing.kind == Existing::Kind::kForeign && !options.replace)
      return Error{ErrorCode::kCannotWrite,
                   StrCat((jobtypes / name).string(), ": not installed by TonY (", existing.why,
                          "); --replace moves it to ", FreeAside(jobtypes, name).string())};
    const bool ours = existing.kind == Existing::Kind::kOurs;
    plan.parts.push_back({std::string(name), std::move(existing), ours});
  }
  Part& first = plan.parts.front();
  TRY_ASSIGN(plan.content, Compose(plan, first.existing, options));
  first.done = first.done && IsBuilt(jobtypes / kTypeName, plan.content);
  return plan;
}

// Returns the keys of an existing property file that a new installation would leave out or set to another value.
std::string KeptKeys(const std::string& text, const std::string& fresh) {
  const auto now = ParseServerProperties(text, ""), first = ParseServerProperties(fresh, "");
  std::vector<std::string> keys;
  if (!now.ok() || !first.ok()) return "";
  for (const auto& [key, property] : now->all()) {
    const Property* usual = first->Find(key);
    if (usual == nullptr || usual->value != property.value) keys.push_back(key);
  }
  return Join(keys, ", ");
}

void SayKept(const Plan& plan, const Existing& old) {
  // A changed `command` is not reported as kept, because every upgrade sets `command`. Therefore the old text is
  // compared with the text of a new installation that has the old `command`.
  const std::string command = ParseServerProperties(old.plugin_text, "")->Find("command")->value;
  const std::string plugin = KeptKeys(old.plugin_text, FirstPluginText(command));
  const std::string server = KeptKeys(old.private_text, FirstPrivateText());
  const std::string files = Join(FurtherFiles(plan.content.old), ", ");
  if (!plugin.empty()) PrintLine(StrCat("kept in ", kPluginFile, ": ", plugin));
  if (!server.empty()) PrintLine(StrCat("kept in ", kPrivateFile, ": ", server));
  if (!files.empty()) PrintLine(StrCat("kept files: ", files));
}

Status Make(const Plan& plan, const Part& part, const fs::path& made) {
  if (part.name == kTypeName) return BuildPlugin(made, plan.content);
  if (symlink(std::string(kTypeName).c_str(), made.c_str()) != 0)
    return FileError(ErrorCode::kCannotWrite, "make", made, errno);
  return Ok();
}

// Replaces a foreign entry in two steps. First the new entry gets the name under which the old entry will stay. Then
// the two entries exchange their names. Therefore the job type exists at every moment, and the old entry never has a
// name that a later installation removes.
Status Carry(const Plan& plan, const Part& part, const fs::path& work) {
  fs::path made = work / part.name;
  const fs::path place = plan.jobtypes / part.name;
  TRY(Make(plan, part, made));
  if (part.existing.kind != Existing::Kind::kForeign) return PutInPlace(made, place);
  const fs::path aside = FreeAside(plan.jobtypes, part.name);
  TRY(PutInPlace(made, aside));
  const Status put = PutInPlace(aside, place);
  if (!put.ok()) {
    (void)rename(aside.c_str(), made.c_str());  // removed with the work folder
    return put;
  }
  PrintLine(StrCat("moved: ", place.string(), " to ", aside.string()));
  return SyncPath(aside.parent_path());
}

void SayDone(const Plan& plan, const Part& part) {
  if (part.name != kTypeName) return PrintLine(StrCat("alias: ", part.name, " -> ", kTypeName));
  const bool upgrade = part.existing.kind == Existing::Kind::kOurs;
  PrintLine(StrCat(upgrade ? "upgraded: " : "installed: ", (plan.jobtypes / kTypeName).string(), ", command ",
                   plan.command, plan.content.programs.empty() ? "" : " (needs Azkaban 3.65 or newer)"));
  if (upgrade) SayKept(plan, part.existing);
}

Status Install(const Plan& plan) {
  TRY_ASSIGN(const WorkFolder work, WorkFolder::Make(plan.jobtypes));
  for (const Part& part : plan.parts) {
    if (part.done) continue;
    TRY(Carry(plan, part, work.path()));
    SayDone(plan, part);
  }
  return Ok();
}

}  // namespace

std::vector<std::string> FurtherFiles(const fs::path& old) {
  std::vector<std::string> names;
  if (old.empty()) return names;
  for (const fs::path& entry : Entries(old)) {
    const std::string name = entry.filename().string();
    if (name != kPrivateFile && name != kPluginFile && name != kProgramsFolder) names.push_back(name);
  }
  return names;
}

bool IsSameProgram(const fs::path& one, const fs::path& other) {
  std::error_code error;
  if (fs::equivalent(one, other, error)) return true;
  if (fs::file_size(one, error) != fs::file_size(other, error)) return false;
  const auto first = ReadFile(one), second = ReadFile(other);
  return first.ok() && second.ok() && *first == *second;
}

bool IsBuilt(const fs::path& folder, const PluginContent& content) {
  const fs::path bin = folder / kProgramsFolder;
  if (!HasMode(folder, kFolderMode) || !IsText(folder / kPrivateFile, content.private_text) ||
      !IsText(folder / kPluginFile, content.plugin_text) || Entries(bin).size() != content.programs.size())
    return false;
  return (content.programs.empty() || HasMode(bin, kFolderMode)) &&
         std::ranges::all_of(content.programs, [&](const fs::path& program) {
           const fs::path copy = bin / program.filename();
           return HasMode(copy, kProgramMode) && IsSameProgram(program, copy);
         });
}

Status BuildPlugin(const fs::path& folder, const PluginContent& content) {
  TRY(MakeReadableFolder(folder));
  TRY(CarryOver(content.old, folder));
  if (!content.programs.empty()) {
    const fs::path bin = folder / kProgramsFolder;
    TRY(MakeReadableFolder(bin));
    for (const fs::path& program : content.programs) TRY(CopyProgram(program, bin / program.filename()));
    TRY(SyncPath(bin));
  }
  TRY(WriteText(folder / kPluginFile, content.plugin_text));
  TRY(WriteText(folder / kPrivateFile, content.private_text));
  return SyncPath(folder);
}

Result<UniqueFd> LockBeside(const fs::path& jobtypes) {
  const fs::path parent = jobtypes.parent_path();
  UniqueFd fd(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return FileError(ErrorCode::kNotPermitted, "open", parent, errno);
  // A file system that cannot lock folders is accepted, because two installations at the same time are rare, and each
  // rename is atomic.
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Error{ErrorCode::kUnavailable, StrCat(parent.string(), ": another installation is running there")};
  return fd;
}

Result<WorkFolder> WorkFolder::Make(const fs::path& jobtypes) {
  const fs::path parent = jobtypes.parent_path();
  struct stat inner = {}, outer = {};
  if (stat(jobtypes.c_str(), &inner) != 0 || stat(parent.c_str(), &outer) != 0) return CannotWrite("read", jobtypes);
  if (inner.st_dev != outer.st_dev)
    return Error{
        ErrorCode::kCannotWrite,
        StrCat(jobtypes.string(), ": this folder and its parent are on different file systems; the job type is made ",
               "in ", parent.string(), " and then renamed, which works only within one file system")};
  fs::path path = parent / StrCat(kWorkPrefix, RandomHex(6));
  if (mkdir(path.c_str(), 0700) != 0) {
    Error error = CannotWrite("make", path);
    error.message += StrCat("; the job type is made in ", parent.string(), " and renamed into ", jobtypes.string(),
                            ", so both must be writable");
    return error;
  }
  return WorkFolder(std::move(path));
}

WorkFolder::~WorkFolder() {
  // If the folder cannot be removed, the next installation removes it.
  if (!path_.empty()) (void)RemoveTree(path_).ok();
}

std::vector<fs::path> Leftovers(const fs::path& jobtypes) {
  std::vector<fs::path> found = Entries(jobtypes.parent_path());
  std::erase_if(found, [](const fs::path& path) { return !path.filename().string().starts_with(kWorkPrefix); });
  return found;
}

Status PutInPlace(const fs::path& made, const fs::path& place) {
  std::error_code error;
  const bool there = fs::symlink_status(place, error).type() != fs::file_type::not_found;
  if (!there && rename(made.c_str(), place.c_str()) != 0) return CannotWrite("make", place);
  if (there && renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) != 0) {
    const int error_number = errno;
    Error failed = FileError(ErrorCode::kCannotWrite, "replace", place, error_number);
    if (error_number == EINVAL || error_number == ENOSYS || error_number == EOPNOTSUPP || error_number == EXDEV)
      failed.message = StrCat("replace ", place.string(),
                              ": this file system cannot exchange two folders in one step; stop the executor server, "
                              "move the old folder out of the folder of job types and install again");
    return failed;
  }
  return SyncPath(place.parent_path());
}

fs::path FreeAside(const fs::path& jobtypes, std::string_view name) {
  for (int number = 1;; ++number) {
    fs::path aside = jobtypes.parent_path() / StrCat(name, ".replaced-", number);
    std::error_code error;
    if (fs::symlink_status(aside, error).type() == fs::file_type::not_found) return aside;
  }
}

VerbSpec InstallVerb() {
  constexpr auto kFlag = OptionSpec::Kind::kFlag;
  return {"install",
          "JOBTYPES_FOLDER",
          1,
          1,
          "install the job type tony in this folder of an executor server, or upgrade it to this release",
          {{"with-programs", kFlag, "", "copy the programs into the job type's folder (Azkaban 3.65 or newer)"},
           {"replace", kFlag, "", "move other job types named tony, TonyJob or TensorFlowJob out of the folder"},
           {"no-execute-as-user", kFlag, "",
            "run jobs as the executor server's user, without Azkaban's setuid program"}}};
}

Result<int> RunInstall(const std::vector<std::string>& arguments) {
  TRY_ASSIGN(const CommandLine line, CommandLine::Parse(InstallVerb(), arguments));
  const Options options{line.Has("with-programs"), line.Has("replace"), line.Has("no-execute-as-user")};
  TRY_ASSIGN(const fs::path jobtypes, JobtypesFolder(line.words().front()));
  TRY_ASSIGN(const UniqueFd lock, LockBeside(jobtypes));
  TRY_ASSIGN(const Plan plan, MakePlan(jobtypes, options));
  for (const fs::path& leftover : Leftovers(jobtypes)) {
    TRY(RemoveTree(leftover));
    PrintLine(StrCat("removed: ", leftover.string(), ", left by an installation that was killed"));
  }
  if (std::ranges::all_of(plan.parts, &Part::done)) {
    PrintLine(StrCat((jobtypes / kTypeName).string(),
                     ": the job type is already installed in this form; nothing was changed"));
    return 0;
  }
  TRY(Install(plan));
  PrintLine(
      StrCat("next: restart the executor server so that it loads the job type (for Azkaban 3 and newer, a request to "
             "http://HOST:PORT/executor?action=reloadJobTypePlugins is enough), then run: ",
             kAdapter, " doctor ", jobtypes.string()));
  return 0;
}

}  // namespace tony::azkaban
