#include "runtime/records/checkpoints.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"
#include "runtime/records/local_job_store.h"

namespace tony {

CheckpointPlace CheckpointsOnThisMachine(const std::filesystem::path& home, const CheckpointSpec& spec) {
  return {.folder = std::make_shared<LocalCheckpointFolder>(spec.directory),
          .holders = std::make_shared<LocalCheckpointHolders>(home),
          .find_job = [home](const JobId& job) { return LocalJobStore(home).Find(job); }};
}

namespace {

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

Directory ToDirectory(UniqueFd fd) {
  Directory directory(fd.valid() ? fdopendir(fd.get()) : nullptr, closedir);
  if (directory) fd.Release();
  return directory;
}

int64_t NanosOf(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

// A folder that the job's user may not read (lost+found) is skipped, because no job can resume from it.
Status AddContentAt(int parent, const std::string& name, ListedCheckpoint& sum, FolderContent& content, size_t& left) {
  const Directory folder =
      ToDirectory(UniqueFd(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
  if (!folder && (errno == ENOENT || errno == EACCES)) return Ok();
  if (!folder) return FileError(ErrorCode::kUnavailable, "open", name, errno);
  for (errno = 0; const dirent* entry = readdir(folder.get()); errno = 0) {
    const std::string_view inside = entry->d_name;
    if (inside == "." || inside == "..") continue;
    struct stat found {};
    if (fstatat(dirfd(folder.get()), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (left-- == 0) return TooManyIn(kMaxEntriesRead, "files");
    sum.modified_ns = std::max(sum.modified_ns, NanosOf(found.st_mtim));
    if (S_ISREG(found.st_mode)) sum.bytes += found.st_size;
    if (S_ISREG(found.st_mode)) content.Add(inside, NanosOf(found.st_mtim));
    if (S_ISDIR(found.st_mode)) TRY(AddContentAt(dirfd(folder.get()), entry->d_name, sum, content, left));
  }
  return errno == 0 ? Ok() : FileError(ErrorCode::kUnavailable, "read", name, errno);
}

class LocalSight : public CheckpointView {
 public:
  LocalSight(std::string path, Directory directory) : path_(std::move(path)), directory_(std::move(directory)) {}

  Result<std::vector<std::string>> Names() override {
    std::vector<std::string> names;
    for (;;) {
      errno = 0;
      const dirent* entry = readdir(directory_.get());
      if (!entry && errno != 0) return FileError(ErrorCode::kUnavailable, "read", path_, errno);
      if (!entry) return names;
      const bool may_be = entry->d_type == DT_REG || entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
      if (may_be) names.emplace_back(entry->d_name);
    }
  }

  std::optional<CheckpointEntry> At(const std::string& name) override {
    struct stat found {};
    if (fstatat(dirfd(directory_.get()), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
    const bool is_file = S_ISREG(found.st_mode);
    if (!is_file && !S_ISDIR(found.st_mode)) return std::nullopt;
    return CheckpointEntry{
        {name, static_cast<int64_t>(found.st_ino), is_file ? found.st_size : 0, NanosOf(found.st_mtim)}, !is_file};
  }

  Status AddContent(ListedCheckpoint& folder, FolderContent& content, size_t& left) override {
    return AddContentAt(dirfd(directory_.get()), folder.name, folder, content, left);
  }

 private:
  const std::string path_;
  const Directory directory_;
};

}  // namespace

Result<std::string> LocalCheckpointFolder::Resolve() const {
  std::error_code error;
  const auto folder = std::filesystem::weakly_canonical(path_, error);
  if (error) return FileError(ErrorCode::kUnavailable, "open", path_, error.value());
  return folder.string();
}

Result<std::unique_ptr<CheckpointView>> LocalCheckpointFolder::Look() const {
  Directory directory = ToDirectory(UniqueFd(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!directory && errno != ENOENT) {
    const auto code = errno == EACCES ? ErrorCode::kNotPermitted : ErrorCode::kUnavailable;
    return FileError(code, "open", path_, errno);
  }
  if (!directory) return std::unique_ptr<CheckpointView>();
  return std::unique_ptr<CheckpointView>(std::make_unique<LocalSight>(path_, std::move(directory)));
}

namespace {

constexpr std::array<std::string_view, 5> kEndingsWithDigit = {".h5", ".hdf5", ".pt2", ".bz2", ".lz4"};
constexpr std::array<std::string_view, 4> kWordsOfUnfinished = {"tmp", "temp", "partial", "incomplete"};
// Folders that TensorBoard, Hugging Face, Lightning and wandb make among the checkpoints.
constexpr std::array<std::string_view, 8> kFoldersOfLogs = {"logs",  "runs",       "tensorboard", "lightning_logs",
                                                            "wandb", "lost+found", "__pycache__", "mlruns"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetterOrDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z'); }

// Returns whether the name contains a word for unfinished files, as "100.orbax-checkpoint-tmp-17" and "x.tmp.npz" do.
// "template" is a different word.
bool HasUnfinishedWord(std::string_view name) {
  std::string word;
  for (const char c : ToLower(name) + ".") {
    if (IsLetterOrDigit(c)) {
      word.push_back(c);
      continue;
    }
    if (std::ranges::find(kWordsOfUnfinished, word) != kWordsOfUnfinished.end()) return true;
    word.clear();
  }
  return false;
}

bool IsFolderOfLogs(std::string_view name) { return std::ranges::find(kFoldersOfLogs, name) != kFoldersOfLogs.end(); }

struct Named {
  int64_t step = -1;
  std::string name;
};

std::vector<Named> CheckpointsAmong(std::vector<std::string> names, const std::string& pattern) {
  std::vector<Named> found;
  for (std::string& name : names)
    if (IsCheckpointName(name, pattern)) found.push_back({StepOf(name), std::move(name)});
  return found;
}

struct WholeEntry {
  ListedCheckpoint entry;
  FolderContent content;
};

Result<WholeEntry> Whole(CheckpointView& sight, const CheckpointEntry& seen, size_t& left) {
  WholeEntry whole{seen.entry, {}};
  if (left-- == 0) return TooManyIn(kMaxEntriesRead, "files");
  if (seen.is_folder) TRY(sight.AddContent(whole.entry, whole.content, left));
  return whole;
}

Result<std::vector<ListedCheckpoint>> ListEntries(const CheckpointFolder& folder, const CheckpointSpec& spec) {
  std::vector<ListedCheckpoint> entries;
  TRY_ASSIGN(const auto sight, folder.Look());
  if (!sight) return entries;
  TRY_ASSIGN(std::vector<std::string> all, sight->Names());
  const std::vector<Named> names = CheckpointsAmong(std::move(all), spec.pattern);
  if (names.size() > kMostCheckpoints) return TooManyIn(kMostCheckpoints, "checkpoints");
  size_t left = kMaxEntriesRead;
  for (const Named& named : names) {
    const auto seen = sight->At(named.name);
    if (!seen) continue;
    TRY_ASSIGN(WholeEntry whole, Whole(*sight, *seen, left));
    entries.push_back(std::move(whole.entry));
  }
  std::ranges::sort(entries, {}, &ListedCheckpoint::name);
  return entries;
}

// Returns the kind of a name that matches the pattern. The name counts as data if the pattern has the same ending, or
// if both contain a word for unfinished files. A text file without a step number is not a checkpoint, except a name
// without an ending, such as `latest`.
FileKind KindOf(const Named& named, const std::string& pattern) {
  const FileKind kind = tony::KindOf(named.name);
  const size_t dot = named.name.rfind('.');
  const bool is_asked_for = dot != std::string::npos && pattern.ends_with(named.name.substr(dot));
  if (is_asked_for || kind == FileKind::kUnfinished) return FileKind::kData;
  const bool is_text_without_step = kind == FileKind::kWeak && dot != std::string::npos && named.step < 0;
  return is_text_without_step ? FileKind::kOther : kind;
}

struct Candidate {
  Checkpoint checkpoint;
  ListedCheckpoint entry;  // the entry when first read
  bool is_weak = false;
};

bool IsBetter(const Candidate& left, const Candidate& right) {
  if (left.is_weak != right.is_weak) return right.is_weak;
  return IsNewer(left.checkpoint, right.checkpoint);
}

CheckpointWriter WriterOf(const CheckpointEntry& seen, const ListedCheckpoint& now, const CheckpointListing& listing) {
  if (!listing.unknown.empty()) return CheckpointWriter::kUnknown;
  return seen.is_foreign ? CheckpointWriter::kOthers : listing.WriterOf(now);
}

// Returns nullopt if the entry is not a checkpoint, or if the job does not resume from it.
Result<std::optional<Candidate>> Look(CheckpointView& sight, const Named& named, const CheckpointSpec& spec,
                                      const CheckpointListing& listing, size_t& left) {
  const auto seen = sight.At(named.name);
  if (!seen) return std::optional<Candidate>();
  const FileKind kind = seen->is_folder ? FileKind::kData : KindOf(named, spec.pattern);
  if (kind == FileKind::kOther) return std::optional<Candidate>();
  // The folder may have more files than may be read. An entry that is not in the listing is then judged without its
  // content, because the entry's own time is good enough.
  auto all = left > 0 ? Whole(sight, *seen, left) : Result<WholeEntry>(TooManyIn(kMaxEntriesRead, "files"));
  if (!all.ok() && listing.Find(named.name)) return all.error();
  if (!all.ok()) left = 0;
  const WholeEntry whole = all.ok() ? *std::move(all) : WholeEntry{seen->entry, {seen->entry.modified_ns, true}};
  const CheckpointWriter writer = WriterOf(*seen, whole.entry, listing);
  if (writer == CheckpointWriter::kOthers && !spec.resume_latest) return std::optional<Candidate>();
  const FolderContent& content = whole.content;
  const bool has_data = content.written_ns > 0;
  if (content.has_files && !has_data && !content.has_text) return std::optional<Candidate>();
  const bool is_weak = kind == FileKind::kWeak || content.has_unfinished || (content.has_files && !has_data) ||
                       (seen->is_folder ? !content.has_files || IsFolderOfLogs(named.name) : whole.entry.bytes == 0);
  const int64_t written = has_data ? content.written_ns : seen->entry.modified_ns;
  const std::string& path = spec.directory;
  return std::optional(
      Candidate{{StrCat(path, path.ends_with('/') ? "" : "/", named.name), named.step,
                 Instant(std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(written))), writer},
                whole.entry,
                is_weak});
}

// Returns all candidates, sorted from the best to the worst.
Result<std::vector<Candidate>> Candidates(CheckpointView& sight, const CheckpointSpec& spec,
                                          const CheckpointListing& listing) {
  TRY_ASSIGN(std::vector<std::string> all, sight.Names());
  std::vector<Candidate> found;
  size_t left = kMaxEntriesRead;
  std::vector<Named> names = CheckpointsAmong(std::move(all), spec.pattern);
  std::ranges::sort(names, std::ranges::greater(), &Named::step);
  for (const Named& named : names) {
    TRY_ASSIGN(auto candidate, Look(sight, named, spec, listing, left));
    if (candidate) found.push_back(*std::move(candidate));
  }
  std::ranges::sort(found, IsBetter);
  return found;
}

Result<bool> IsUnchanged(const CheckpointFolder& place, const ListedCheckpoint& entry) {
  TRY_ASSIGN(const auto sight, place.Look());
  const auto seen = sight ? sight->At(entry.name) : std::nullopt;
  if (!seen) return false;
  size_t left = kMaxEntriesRead;
  TRY_ASSIGN(const WholeEntry now, Whole(*sight, *seen, left));
  return now.entry == entry;
}

// Fails if the listing does not know the writers, or was made of another directory.
Status CheckListing(const CheckpointFolder& place, const CheckpointSpec& spec, const CheckpointListing& listing) {
  if (!listing.unknown.empty())
    return UnavailableError("checkpoints in ", spec.directory,
                            ": the job that wrote them is unknown: ", listing.unknown);
  TRY_ASSIGN(const std::string folder, place.Resolve());
  if (folder == listing.folder) return Ok();
  return UnavailableError("checkpoints in ", spec.directory, ": the path leads to ", folder, " now, and led to ",
                          listing.folder, " when the job began");
}

}  // namespace

int64_t StepOf(std::string_view name) {
  for (const auto ending : kEndingsWithDigit) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  const auto digit_at = [&](size_t at) { return at < name.size() && IsDigit(name[at]); };
  size_t end = name.size();
  while (end > 0) {
    while (end > 0 && !IsDigit(name[end - 1])) --end;
    size_t start = end;
    while (start > 0 && IsDigit(name[start - 1])) --start;
    // A number with a decimal point, such as 0.50, is a metric and not a step, so it is skipped.
    const bool is_fraction = start > 1 && name[start - 1] == '.' && IsDigit(name[start - 2]);
    const bool has_fraction = end < name.size() && name[end] == '.' && digit_at(end + 1);
    if (!is_fraction && !has_fraction) return ParseInt(name.substr(start, end - start)).value_or(-1);
    end = start;
  }
  return -1;
}

FileKind KindOf(std::string_view name) {
  constexpr std::array<std::string_view, 40> kOthers = {
      ".log",  ".out",  ".err", ".py",   ".pyc",  ".ipynb", ".sh",   ".pl",    ".r",      ".c",
      ".cc",   ".cpp",  ".h",   ".java", ".md",   ".rst",   ".html", ".css",   ".js",     ".png",
      ".jpg",  ".jpeg", ".gif", ".svg",  ".pdf",  ".csv",   ".tsv",  ".jsonl", ".yaml",   ".yml",
      ".toml", ".ini",  ".cfg", ".conf", ".lock", ".pid",   ".done", ".md5",   ".sha256", ".sha1"};
  constexpr std::array<std::string_view, 3> kText = {".json", ".txt", ".xml"};
  constexpr std::array<std::string_view, 5> kPointers = {"latest", "checkpoint", "last_checkpoint", "latest_universal",
                                                         "latest_checkpointed_iteration.txt"};
  constexpr std::array<std::string_view, 4> kMarks = {"_success", "commit_success.txt", "makefile", "dockerfile"};
  const std::string lower = ToLower(name);
  const auto is_one_of = [&](const auto& names) { return std::ranges::find(names, lower) != names.end(); };
  const auto has_one_of = [&](const auto& endings) {
    return std::ranges::any_of(endings, [&](std::string_view ending) { return lower.ends_with(ending); });
  };
  if (lower.find("tfevents") != std::string::npos || has_one_of(kOthers) || is_one_of(kMarks)) return FileKind::kOther;
  if (HasUnfinishedWord(name)) return FileKind::kUnfinished;
  return is_one_of(kPointers) || has_one_of(kText) ? FileKind::kWeak : FileKind::kData;
}

void FolderContent::Add(std::string_view name, int64_t modified_ns) {
  has_files = true;
  const FileKind kind = KindOf(name);
  has_text = has_text || kind == FileKind::kWeak;
  has_unfinished = has_unfinished || kind == FileKind::kUnfinished;
  if (kind == FileKind::kData) written_ns = std::max(written_ns, modified_ns);
}

bool IsCheckpointName(const std::string& name, const std::string& pattern) {
  if (name == "." || name == ".." || !IsUtf8(name)) return false;
  if (fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) != 0) return false;
  return !HasUnfinishedWord(name) || HasUnfinishedWord(pattern);
}

Error TooManyIn(size_t most, std::string_view what) {
  return UnavailableError("the folder has more than ", most, " ", what,
                          "; set tony.checkpoint.pattern so that fewer names match");
}

CheckpointListing ListCheckpoints(const CheckpointFolder& place, const CheckpointSpec& spec) {
  CheckpointListing listing;
  const auto folder = place.Resolve();
  auto entries = folder.ok() ? ListEntries(place, spec) : folder.error();
  listing.folder = folder.ok() ? *folder : spec.directory;
  if (entries.ok()) listing.there = *std::move(entries);
  if (!entries.ok()) listing.unknown = entries.error().message;
  return listing;
}

Result<std::optional<Checkpoint>> NewestCheckpoint(const CheckpointFolder& place, const CheckpointSpec& spec,
                                                   const CheckpointListing& listing, Duration settle) {
  if (!spec.resume_latest) TRY(CheckListing(place, spec, listing));
  TRY_ASSIGN(const auto sight, place.Look());
  if (!sight) return std::optional<Checkpoint>();
  TRY_ASSIGN(const auto candidates, Candidates(*sight, spec, listing));
  if (settle > Duration(0) && !candidates.empty()) std::this_thread::sleep_for(settle);
  for (const Candidate& candidate : candidates) {
    const auto is_whole = settle > Duration(0) ? IsUnchanged(place, candidate.entry) : Result<bool>(true);
    TRY(is_whole);
    if (*is_whole) return std::optional(candidate.checkpoint);
  }
  return std::optional<Checkpoint>();
}

}  // namespace tony
