#include "runtime/store/checkpoints.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/utf8.h"

namespace tony {
namespace {

constexpr std::array<std::string_view, 5> kEndingsWithDigit = {".h5", ".hdf5", ".pt2", ".bz2", ".lz4"};
constexpr std::array<std::string_view, 2> kWordsOfUnfinished = {"tmp", "temp"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetterOrDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z'); }

// "100.orbax-checkpoint-tmp-17" and "x.tmp.npz" have such a word, "template" has not.
bool SaysUnfinished(std::string_view name) {
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

Result<ListedCheckpoint> Whole(CheckpointSight& sight, const SeenCheckpoint& seen, size_t& left) {
  ListedCheckpoint entry = seen.entry;
  if (left-- == 0) return TooManyIn(kMostLookedAt, "files");
  if (seen.is_folder) TRY(sight.AddContent(entry, left));
  return entry;
}

Result<std::vector<ListedCheckpoint>> ListEntries(const CheckpointFolder& folder, const CheckpointSpec& spec) {
  std::vector<ListedCheckpoint> entries;
  TRY_ASSIGN(const auto sight, folder.Look());
  if (!sight) return entries;
  TRY_ASSIGN(std::vector<std::string> all, sight->Names());
  const std::vector<Named> names = CheckpointsAmong(std::move(all), spec.pattern);
  if (names.size() > kMostCheckpoints) return TooManyIn(kMostCheckpoints, "checkpoints");
  size_t left = kMostLookedAt;
  for (const Named& named : names) {
    const auto seen = sight->At(named.name);
    if (!seen) continue;
    TRY_ASSIGN(ListedCheckpoint entry, Whole(*sight, *seen, left));
    entries.push_back(std::move(entry));
  }
  std::ranges::sort(entries, {}, &ListedCheckpoint::name);
  return entries;
}

Result<CheckpointWriter> WriterOf(CheckpointSight& sight, const SeenCheckpoint& seen,
                                  const CheckpointListing& listing) {
  if (!listing.unknown.empty()) return CheckpointWriter::kUnknown;
  if (seen.is_foreign) return CheckpointWriter::kOthers;
  if (!listing.Find(seen.entry.name)) return CheckpointWriter::kThisJob;
  size_t left = kMostLookedAt;
  TRY_ASSIGN(const ListedCheckpoint now, Whole(sight, seen, left));
  return listing.WriterOf(now);
}

Result<std::optional<Checkpoint>> Look(CheckpointSight& sight, const Named& named, const CheckpointSpec& spec,
                                       const CheckpointListing& listing) {
  const auto seen = sight.At(named.name);
  if (!seen) return std::optional<Checkpoint>();
  TRY_ASSIGN(const CheckpointWriter writer, WriterOf(sight, *seen, listing));
  if (writer == CheckpointWriter::kOthers && !spec.resume_latest) return std::optional<Checkpoint>();
  const auto modified = std::chrono::nanoseconds(seen->entry.modified_ns);
  const std::string& path = spec.directory;
  return std::optional(Checkpoint{StrCat(path, path.ends_with('/') ? "" : "/", named.name), named.step,
                                  Instant(std::chrono::duration_cast<Duration>(modified)), writer});
}

// What makes the listing say nothing about what is in the directory now.
Status CheckListing(const CheckpointFolder& place, const CheckpointSpec& spec, const CheckpointListing& listing) {
  if (!listing.unknown.empty())
    return Error{ErrorCode::kUnavailable,
                 StrCat("checkpoints in ", spec.directory, ": whose they are is not known: ", listing.unknown)};
  TRY_ASSIGN(const std::string folder, place.Resolve());
  if (folder == listing.folder) return Ok();
  return Error{ErrorCode::kUnavailable, StrCat("checkpoints in ", spec.directory, ": it is ", folder, " now, and was ",
                                               listing.folder, " when the job began")};
}

}  // namespace

int64_t StepOf(std::string_view name) {
  for (const auto ending : kEndingsWithDigit) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  while (!name.empty() && !IsDigit(name.back())) name.remove_suffix(1);
  size_t start = name.size();
  while (start > 0 && IsDigit(name[start - 1])) --start;
  return ParseInt(name.substr(start)).value_or(-1);
}

bool IsCheckpointName(const std::string& name, const std::string& pattern) {
  if (name == "." || name == ".." || !IsUtf8(name)) return false;
  if (fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) != 0) return false;
  return !SaysUnfinished(name) || SaysUnfinished(pattern);
}

Error TooManyIn(size_t most, std::string_view what) {
  return {ErrorCode::kUnavailable, StrCat("more than ", most, " ", what, " (tony.checkpoint.pattern may say which)")};
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
                                                   const CheckpointListing& listing) {
  if (!spec.resume_latest) TRY(CheckListing(place, spec, listing));
  std::optional<Checkpoint> newest;
  TRY_ASSIGN(const auto sight, place.Look());
  if (!sight) return newest;
  TRY_ASSIGN(std::vector<std::string> all, sight->Names());
  std::vector<Named> names = CheckpointsAmong(std::move(all), spec.pattern);
  std::ranges::sort(names, std::ranges::greater(), &Named::step);
  for (const auto& named : names) {
    if (newest && named.step < newest->step) break;
    TRY_ASSIGN(const auto checkpoint, Look(*sight, named, spec, listing));
    if (checkpoint && (!newest || IsNewer(*checkpoint, *newest))) newest = checkpoint;
  }
  return newest;
}

}  // namespace tony
