#include "executor/evidence.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "executor/task_logs.h"
#include "runtime/base/strings.h"
#include "runtime/job/outputs.h"
#include "runtime/os/cgroup.h"
#include "runtime/os/files.h"

namespace tony::executor {
namespace {

constexpr std::string_view kMarker = "Model parameters: ";
constexpr size_t kPiece = 64 << 10;

std::string ReadAt(int fd, size_t offset, size_t size) {
  std::string text(size, '\0');
  const ssize_t got = pread(fd, text.data(), size, static_cast<off_t>(offset));
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

}  // namespace

std::optional<std::string> ReadModelParameters(const std::filesystem::path& stdout_file) {
  const auto opened = OpenRegularFile(stdout_file, O_RDONLY);
  if (!opened.ok()) return std::nullopt;
  const int fd = opened->fd.get();
  for (size_t offset = 0;;) {
    const std::string piece = ReadAt(fd, offset, kPiece);
    if (const size_t at = piece.find(kMarker); at != std::string::npos) {
      std::string rest = ReadAt(fd, offset + at + kMarker.size(), kLongestModelParams + 1);
      rest.resize(std::min(rest.size(), rest.find('\n')));
      if (rest.ends_with('\r')) rest.pop_back();
      return rest;
    }
    if (piece.size() < kPiece) return std::nullopt;
    offset += kPiece - kMarker.size();  // the marker may cross two pieces
  }
}

namespace {

// Returns the nearest cgroup that counts memory, from the executor's own upwards. A cgroup that only groups processes
// counts no memory.
std::optional<OwnCgroup> CountingCgroup(const std::filesystem::path& root) {
  auto own = OwnMemoryCgroup(root);
  while (own && own->folder != own->mount && !MemoryCgroupVersion(own->folder)) own->folder = own->folder.parent_path();
  return own;
}

std::optional<int64_t> CountInCgroup(const std::filesystem::path& root) {
  const auto own = CountingCgroup(root);
  return own ? OomKillsIn(own->version, own->folder) : std::nullopt;
}

bool Grew(const std::optional<int64_t>& before, const std::optional<int64_t>& after) {
  return before && after && *after > *before;
}

// Returns the text of the file; nullopt: the file does not exist.
Result<std::optional<std::string>> ReadErrorFile(const std::filesystem::path& file) {
  const auto fail = [](const std::string& why) { return InvalidError("error file: " + why); };
  const auto opened = OpenRegularFile(file, O_RDONLY);
  if (!opened.ok() && opened.error().code == ErrorCode::kNotFound) return std::optional<std::string>();
  if (!opened.ok()) return fail(opened.error().message);
  if (opened->size > static_cast<int64_t>(kLongestErrorFile))
    return fail(StrCat("the file is larger than ", kLongestErrorFile >> 10, " KiB"));
  std::string text(static_cast<size_t>(opened->size), '\0');
  const ssize_t got = pread(opened->fd.get(), text.data(), text.size(), 0);
  if (got < 0) return fail(ErrnoText(errno));
  text.resize(static_cast<size_t>(got));
  return std::optional(std::move(text));
}

Result<std::optional<ErrorReport>> ReadReport(const std::filesystem::path& file, const SecretMask& mask) {
  TRY_ASSIGN(const auto text, ReadErrorFile(file));
  if (!text) return std::optional<ErrorReport>();
  TRY_ASSIGN(ErrorReport report, ParseErrorReport(*text));
  report.message = LastLines(mask.Masked(report.message));
  return std::optional(std::move(report));
}

}  // namespace

OomKills CountOomKills(const std::filesystem::path& root) {
  return {CountInCgroup(root), NumberIn(root / "proc/vmstat", "oom_kill")};
}

OomEvidence Compare(const OomKills& before, const OomKills& after) {
  if (Grew(before.cgroup, after.cgroup)) return OomEvidence::kCgroup;
  if (Grew(before.machine, after.machine)) return OomEvidence::kMachine;
  const bool watched = (before.cgroup && after.cgroup) || (before.machine && after.machine);
  return watched ? OomEvidence::kNone : OomEvidence::kUnknown;
}

std::string DescribeOom(int64_t kills, const std::string& memory_key, const std::filesystem::path& root) {
  const auto own = CountingCgroup(root);
  const auto memory = own ? MemoryOf(own->version, own->folder) : MemoryOfCgroup();
  const bool ours = own && own->folder.filename().string().starts_with(kContainerCgroupPrefix);
  const std::string text = DescribeOom(memory, ours ? "the container's" : "the cgroup's", kills);
  return ours && ReachedItsLimit(memory) ? StrCat(text, "; ", memory_key, " sets the limit") : text;
}

std::string OomScoreOfTask(const std::filesystem::path& root) {
  constexpr int64_t kPoints = 1000;
  const auto self = root / "proc/self";
  const auto own_score = ReadFile(self / "oom_score_adj"), statm = ReadFile(self / "statm");
  const auto score = own_score.ok() ? ParseInt(Trim(*own_score)) : std::nullopt;
  const auto pages = statm.ok() ? Split(*statm, ' ') : std::vector<std::string>();
  const auto resident = pages.size() > 1 ? ParseInt(pages[1]) : std::nullopt;
  const auto own = CountingCgroup(root);
  const auto limit_mb = own ? MemoryOf(own->version, own->folder).limit_mb : std::nullopt;
  const int64_t page_kb = sysconf(_SC_PAGESIZE) >> 10;
  const int64_t room_kb = limit_mb ? *limit_mb << 10 : sysconf(_SC_PHYS_PAGES) * page_kb;
  if (!score || !resident || room_kb <= 0) return "";
  const int64_t wanted_kb = 2 * *resident * page_kb;
  return StrCat(std::min(*score + wanted_kb * kPoints / room_kb + 1, kPoints));
}

void RemoveLeftoverFile(const std::filesystem::path& file) { unlink(file.c_str()); }

std::string FullDiskUnder(const std::filesystem::path& folder) {
  // The disk counts as full if less than kNoRoom is free. The limit is above zero, because several files may be written
  // at the same time, and each needs at least a page. On a small disk the limit is a sixteenth of the disk's size, if
  // that is less.
  constexpr uint64_t kNoRoom = 64 << 10;
  constexpr uint64_t kPart = 16;
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0 || disk.f_blocks == 0) return "";
  const uint64_t room = uint64_t{geteuid() == 0 ? disk.f_bfree : disk.f_bavail} * disk.f_frsize;
  const bool no_room = room < std::min(kNoRoom, uint64_t{disk.f_blocks} * disk.f_frsize / kPart);
  const bool no_files = disk.f_files > 0 && disk.f_ffree == 0;
  return no_room || no_files ? folder.string() : "";
}

Evidence Gather(ExitStatus exit, const ProcessFiles& files, const OomKills& before, const std::string& memory_key,
                const SecretMask& mask) {
  Evidence evidence{.exit = exit};
  if (exit.Succeeded()) return evidence;
  const OomKills after = CountOomKills();
  evidence.oom = Compare(before, after);
  if (evidence.oom == OomEvidence::kCgroup)
    evidence.oom_detail = DescribeOom(*after.cgroup - *before.cgroup, memory_key);
  evidence.full_disk = FullDiskUnder(files.stderr_file.parent_path());
  LogTail on_stderr = ReadLogTail(files.stderr_file, mask), on_stdout = ReadLogTail(files.stdout_file, mask);
  evidence.stderr_tail = std::move(on_stderr.lines);
  evidence.stderr_text = std::move(on_stderr.text);
  evidence.stdout_tail = std::move(on_stdout.lines);
  evidence.stdout_text = std::move(on_stdout.text);
  auto report = ReadReport(files.error_file, mask);
  if (report.ok()) {
    evidence.report = *std::move(report);
  } else {
    evidence.report_problem = mask.Masked(report.error().message);
  }
  return evidence;
}

}  // namespace tony::executor
