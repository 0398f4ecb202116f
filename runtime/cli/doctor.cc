// `tony doctor`: checks what prevents jobs from running on this machine or on a cluster, and advises what to do.
#include "runtime/cli/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/output.h"
#include "runtime/cli/text_table.h"
#include "runtime/client/choose_backend.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/file_system.h"
#include "runtime/os/files.h"
#include "runtime/os/start_program.h"
#include "runtime/os/users.h"
#include "runtime/records/user_home.h"
#include "runtime/staging/programs.h"

namespace tony {

void Fields(auto& io, Is<Check> auto& check) {
  io.Field("name", check.name);
  io.Field("health", check.health);
  io.Field("text", check.text);
  io.Field("advice", check.advice);
}

namespace {

namespace fs = std::filesystem;

constexpr int64_t kMegabyte = 1 << 20;
// With less free space than this, doctor warns, because the logs of one job may grow to their limit, 1 GB by default.
constexpr int64_t kEnoughDisk = 1024 * kMegabyte;
constexpr std::chrono::hours kOldJob{14 * 24};  // the default of `tony gc`
constexpr const char* kDailyUnit = "/usr/lib/systemd/system/tony-gc@.timer";
// With less free space than this, the check fails, because the journal and the status of a job with thousands of tasks
// need this much.
constexpr int64_t kLittleDisk = 16 * kMegabyte;

Check FailOf(std::string name, const Error& error, std::string advice = "") {
  return {std::move(name), Health::kFail, error.message, std::move(advice)};
}

Checks AllChecks() {
  Checks all;
  for (const Checks& some :
       {CheckHome(), CheckOldJobs(), DefaultBackend().operations().Doctor(), CheckPrograms(), CheckService()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

std::string Text(const Checks& checks, const TableRoom& room) {
  constexpr size_t kHead = 6, kAdvice = 9;
  const auto clean = [&](const std::string& line) { return room.columns > 0 ? SafeLine(line) : line; };
  std::string text;
  for (const Check& check : checks) {
    const std::string health(ToString(check.health));
    const std::string head = FitToWidth(health, kHead);
    const std::string line = Wrapped(StrCat(head, clean(StrCat(check.name, ": ", check.text))), room.columns, kHead);
    text += StrCat(Styled(health, StyleOfState(health), room.colour), line.substr(health.size()), "\n");
    if (!check.advice.empty())
      text += StrCat(Wrapped(StrCat("      -> ", clean(check.advice)), room.columns, kAdvice), "\n");
  }
  return text;
}

std::string Json(const Checks& checks, bool healthy) {
  return WriteJsonObject([&](JsonWriter& io) {
    Schema(io, 1);
    io.Field("healthy", healthy);
    io.Field("checks", checks);
  });
}

// Prints the checks and returns the exit code. If all checks passed, also suggests the next commands; a failed check
// prints its own advice instead.
int Report(const CommandLine& line, const Checks& checks, const TableRoom& room) {
  const int exit = ReportChecks(checks, line.Has("json"), room);
  if (exit == 0) SuggestNext(line, {"init pytorch", "run -- COMMAND"});
  return exit;
}

}  // namespace

Check CheckHomeDisk(const fs::path& home, const std::string& about) {
  const auto system = FileSystemOf(home);
  if (!system.ok()) return FailOf("home", system.error());
  Check check{"home", Health::kOk, StrCat(home.string(), about, ": ", Describe(*system)), ""};
  if (system->free_bytes < kLittleDisk || system->free_files == 0) {
    check.health = Health::kFail;
    check.advice = "free some space, or set TONY_HOME to a folder on another disk; \"tony gc\" removes old jobs";
  } else if (!CanCreateFilesIn(home)) {
    check.health = Health::kFail;
    check.text += StrCat(", and you may not create files there: ", ErrnoText(errno));
    check.advice = "set TONY_HOME to a folder that you may write";
  } else if (system->is_noexec) {
    check.health = Health::kWarn;
    check.text += ", mounted noexec: programs in a job's files cannot be started";
    check.advice = "set TONY_HOME to a folder on another file system, or as root: mount -o remount,exec";
  } else if (system->free_bytes < kEnoughDisk) {
    check.health = Health::kWarn;
    check.advice = "\"tony gc\" removes old jobs";
  } else if (system->network) {
    check.health = Health::kWarn;
    check.advice =
        "jobs hang while the network file system does not respond; set TONY_HOME to a folder on a disk of this "
        "machine";
  }
  return check;
}

Checks CheckHome() {
  const auto named = NamedHome();
  if (!named.ok()) return {FailOf("home", named.error(), "set TONY_HOME to a folder that you may write")};
  const auto home = FindHome(*named, geteuid());
  if (!home.ok()) return {FailOf("home", home.error(), "set TONY_HOME to a folder of your own")};
  const std::string about =
      home->is_below ? StrCat(", your folder in ", named->string(), ", which several users share") : "";
  Checks checks = {CheckHomeDisk(home->path, about)};
  if (home->is_open) {
    checks.push_back(
        {"home", Health::kWarn, StrCat(home->path.string(), ": other users may replace its content"),
         StrCat("chmod go-w ", home->path.string(),
                "; otherwise the next submit does this, and copies TonY's programs there again")});
  }
  const auto walked = WalkPath(home->path);
  const PathRisk* const risk = walked.ok() && !home->is_below ? walked->RiskFromOthers(geteuid()) : nullptr;
  if (risk) {
    checks.push_back({"home", Health::kWarn, StrCat(home->path.string(), " is reached through ", RiskText(*risk)),
                      "set TONY_HOME to a folder whose path can be changed only by you and root"});
  }
  return checks;
}

// Counts the jobs that ended long ago. When a job ends, its keeper (the supervisor of one job) writes the file
// `finished` into the job's folder, so only folders with this file are counted.
Checks CheckOldJobs() {
  const auto home = TonyHome();
  if (!home.ok()) return {};  // CheckHome() already reports this error
  std::error_code error, none;
  int64_t old = 0, all = 0;
  const auto limit = fs::file_time_type::clock::now() - kOldJob;
  for (fs::directory_iterator at(*home / "jobs", error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().native().starts_with('.')) continue;
    ++all;
    const auto ended = fs::last_write_time(at->path() / "finished", none);
    if (!none && ended < limit) ++old;
  }
  const std::string text = StrCat(Counted(all, "job"), " in ", (*home / "jobs").string());
  if (old == 0) return {{"old jobs", Health::kOk, text, ""}};
  const std::string daily =
      access(kDailyUnit, R_OK) == 0
          ? StrCat("; to do this each day, run once as root: systemctl enable --now tony-gc@", UserName(geteuid()),
                   ".timer")
          : "";
  return {{"old jobs", Health::kWarn, StrCat(text, "; ", old, " ended more than 14 days ago"),
           StrCat("tony gc --older-than 14d", daily)}};
}

Checks CheckPrograms() {
  std::vector<std::string> found;
  for (const std::string_view name : kJobPrograms) {
    const std::string path = SiblingProgram(name);
    if (access(path.c_str(), X_OK) != 0)
      return {FailOf("programs", FileError(ErrorCode::kNotFound, "run", path, errno),
                     "install all programs of TonY into one folder")};
    found.emplace_back(name);
  }
  const std::string beside = StrCat(Join(found, ", "), " in the folder of tony");
  const auto home = TonyHome();
  if (!home.ok()) return {{"programs", Health::kOk, beside, ""}};
  const std::string store = (*home / "programs").string();
  if (AllowsExecution(store))
    return {{"programs", Health::kOk, StrCat(beside, "; jobs keep copies of them in ", store), ""}};
  return {{"programs", Health::kWarn,
           StrCat(beside, "; jobs keep no copies of them, because ", store, " is on a file system mounted noexec"),
           "replace programs only while no job runs, or set TONY_HOME to a folder in which programs may run"}};
}

std::string ServiceIn(const std::string& cgroups) {
  for (const std::string& line : Split(cgroups, '\n')) {
    if (!line.starts_with("0::") && line.find(":name=systemd:") == std::string::npos) continue;
    const fs::path path = line.substr(line.rfind(':', line.find('/')) + 1);
    std::string service;
    for (const fs::path& part : path) {
      const std::string name = part.string();
      if (name.ends_with(".scope")) service.clear();
      if (name.ends_with(".service") && !name.starts_with("user@")) service = name;
    }
    if (!service.empty()) return service;
  }
  return "";
}

Checks CheckService() {
  const auto cgroups = ReadFile("/proc/self/cgroup");
  const std::string service = cgroups.ok() ? ServiceIn(*cgroups) : "";
  std::error_code error;
  if (service.empty() || !fs::exists("/run/systemd/system", error))
    return {{"service", Health::kOk, "jobs submitted here are not part of a systemd service", ""}};
  return {{"service", Health::kWarn,
           StrCat("jobs submitted here are part of ", service,
                  ": systemd may kill them when the service stops or restarts, because a job ends when its supervisor "
                  "(keeper) gets SIGTERM"),
           StrCat("as root: mkdir -p /etc/systemd/system/", service,
                  ".d; printf '[Service]\\nKillMode=process\\nDelegate=yes\\n' >/etc/systemd/system/", service,
                  ".d/10-tony.conf; systemctl daemon-reload; or submit through systemd-run --scope")}};
}

int ReportChecks(const Checks& checks, bool as_json, const TableRoom& room) {
  const bool healthy = std::ranges::count(checks, Health::kFail, &Check::health) == 0;
  if (as_json) {
    PrintLine(Json(checks, healthy));
  } else {
    PrintAsIs(Text(checks, room));
  }
  return healthy ? 0 : 1;
}

Result<int> RunDoctor(const CommandLine& line) {
  TRY_ASSIGN(const TableRoom room, RoomOnStandardOutput(line));
  if (!line.Has("yarn")) return Report(line, AllChecks(), room);
  ParsedJobSpec job;
  job.spec.scheduler = "yarn";
  TRY_ASSIGN(const Backend* const yarn, BackendFor(job));
  Checks all = CheckHome();
  for (Check& check : yarn->operations().Doctor()) all.push_back(std::move(check));
  return Report(line, all, room);
}

}  // namespace tony
