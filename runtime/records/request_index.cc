#include "runtime/records/request_index.h"

#include <charconv>
#include <set>
#include <utility>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/sha256.h"

namespace tony {
namespace {

constexpr size_t kLongestId = 4096;

}  // namespace

Status RequestIndex::CheckId(const RequestId& request) {
  if (request.value.empty()) return Error{ErrorCode::kUsage, "the request id is empty"};
  if (request.value.size() > kLongestId)
    return Error{ErrorCode::kUsage,
                 StrCat("the request id has ", request.value.size(), " bytes, expected at most ", kLongestId)};
  if (request.value.find('\0') != std::string::npos)
    return Error{ErrorCode::kUsage, "the request id contains a NUL byte"};
  return Ok();
}

// The field lists of the records of a RequestIndex. Records of version 1, from earlier releases, have no digests and no
// runs.

namespace {

// The version of records with digests. An earlier release would lose the digests, so it refuses such a record with a
// message that names it.
constexpr int kRecordSchema = 2;

std::string TextOfBytes(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '%') {
      text.push_back(c);
    } else {
      text += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return text;
}

std::optional<std::string> BytesOfText(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes.push_back(text[i]);
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned char byte = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16).ptr;
    if (digits.size() != 2 || end != digits.data() + 2) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
    i += 2;
  }
  return bytes;
}

constexpr TextForm kBytes{[](const std::string& bytes) { return TextOfBytes(bytes); }, BytesOfText,
                          "two hexadecimal digits after each '%'"};

}  // namespace

void Fields(auto& io, Is<RequestRecord::Predecessor> auto& before) {
  io.Field("job", before.job);
  io.Field("submission", before.number, kAnyNumber);
  io.Field("adopter", before.adopter.value, kBytes);
  io.Later("digest", before.digest.parts);
  io.Later("run", before.run.value, kBytes);
}

void Fields(auto& io, Is<KeptRequest> auto& kept) {
  auto& record = kept.record;
  Schema(io, kRecordSchema);
  io.Field("request_id", kept.id.value, kBytes);
  io.Field("newest_submission", record.newest_number, kAnyNumber);
  if (io.Present("job", record.job.has_value())) {
    io.Field("job", Value(record.job));
    io.Field("submission", record.job_number, kAnyNumber);
  }
  io.IfSet("adopter", record.adopter.value, kBytes);
  io.IfSet("digest", record.digest.parts);
  io.IfSet("run", record.run.value, kBytes);
  io.IfSet("before", record.before);
  io.IfSet("written", kept.written);
}

struct Revocation {
  Instant until{};
};
void Fields(auto& io, Is<Revocation> auto& revocation) {
  Schema(io, 1);
  io.Field("until", revocation.until);
}

std::string ToJson(const KeptRequest& kept) { return WriteJson(kept); }

Result<KeptRequest> KeptRequestFromJson(std::string_view text) { return ReadJson<KeptRequest>(text, "request record"); }

std::string RevocationToJson(Instant until) { return WriteJson(Revocation{until}); }

Result<Instant> RevocationFromJson(std::string_view text) {
  TRY_ASSIGN(const Revocation revocation, ReadJson<Revocation>(text, "revocation"));
  return revocation.until;
}

namespace {

constexpr auto kDurable = Durability::kSurvivesPowerCut;
constexpr std::string_view kJson = ".json";
constexpr std::string_view kRevokedMark = "revoked-";
// The number of hash digits that name a folder. Two digits give 256 folders, so the list of each is short.
constexpr size_t kPrefix = 2;
// The maximum number of tries of a read. A try fails only if, between its two calls, a newer record is written and the
// older one is removed.
constexpr int kMostReads = 5;

// Returns "ab/12...", the folder and the beginning of the names of the request's records.
std::string StemOf(const RequestId& request) {
  const std::string hash = Sha256Hex(request.value);
  return StrCat(hash.substr(0, kPrefix), "/", hash.substr(kPrefix));
}

std::string RecordName(const std::string& name, int64_t number) { return StrCat(name, ".", number, kJson); }

std::string RevocationName(const std::string& name, const OwnerToken& owner) {
  return StrCat(name, ".", kRevokedMark, Sha256Hex(owner.value), kJson);
}

class NoLock : public RequestLock {};

}  // namespace

struct RecordRequestIndex::Kept {
  std::set<int64_t> numbers;
  std::vector<std::string> revocations;  // record names
};

// Returns the records of a folder by request; the keys are results of StemOf().
Result<RecordRequestIndex::KeptByName> RecordRequestIndex::List(const std::string& folder) const {
  TRY_ASSIGN(const auto entries, place_.store->List(folder));
  KeptByName all;
  for (const std::string& entry : entries) {
    const size_t dot = entry.find('.');
    if (dot == std::string::npos || !entry.ends_with(kJson) || entry.size() <= dot + kJson.size()) continue;
    const std::string what = entry.substr(dot + 1, entry.size() - dot - 1 - kJson.size());
    Kept& kept = all[StrCat(folder, "/", entry.substr(0, dot))];
    if (what.starts_with(kRevokedMark)) {
      kept.revocations.push_back(StrCat(folder, "/", entry));
    } else if (const auto number = ParseInt(what); number && *number > 0) {
      kept.numbers.insert(*number);
    }
  }
  return all;
}

Result<int64_t> RecordRequestIndex::Newest(const std::string& name) const {
  TRY_ASSIGN(const KeptByName all, List(name.substr(0, kPrefix)));
  const auto found = all.find(name);
  return found == all.end() || found->second.numbers.empty() ? 0 : *found->second.numbers.rbegin();
}

Result<std::unique_ptr<RequestLock>> RecordRequestIndex::Lock(const RequestId& request, Duration) const {
  TRY(CheckId(request));
  return std::unique_ptr<RequestLock>(std::make_unique<NoLock>());
}

Result<std::optional<RequestRecord>> RecordRequestIndex::Read(const RequestId& request) const {
  TRY(CheckId(request));
  const std::string name = StemOf(request);
  for (int look = 1; look <= kMostReads; ++look) {
    TRY_ASSIGN(const int64_t number, Newest(name));
    if (number == 0) return place_.older ? place_.older->Read(request) : std::optional<RequestRecord>();
    const std::string record = RecordName(name, number);
    TRY_ASSIGN(auto kept, ReadOptional(*place_.store, record, KeptRequestFromJson));
    if (!kept) continue;
    if (kept->id != request)
      return InvalidError("the record ", place_.store->PlaceOf(record),
                          " belongs to another request id, so it is damaged or was copied there");
    kept->record.revision = number;
    TRY_ASSIGN(RequestRecord counts, EffectiveRecord(std::move(kept->record)));
    return std::optional(std::move(counts));
  }
  return UnavailableError("read ", place_.store->PlaceOf(name), ": the file was replaced each time it was read");
}

Result<RequestRecord> RecordRequestIndex::EffectiveRecord(RequestRecord record) const {
  if (!record.job) return record;
  TRY_ASSIGN(const JobPresence presence, place_.look(*record.job));
  if (presence == JobPresence::kMade) return record;
  if (presence == JobPresence::kNone) return WithoutItsJob(record);
  RequestRecord without = record.before ? WithoutItsJob(record) : RequestRecord{.newest_number = record.newest_number};
  without.revision = record.revision;
  without.coming = record.job;
  return without;
}

Result<bool> RecordRequestIndex::Write(const RequestId& request, const RequestRecord& record) const {
  TRY(CheckId(request));
  // The coming job may be this submit's own, because the answer to an earlier write may have been lost. Any other
  // coming job is given up.
  if (record.coming && record.job != record.coming) {
    TRY_ASSIGN(const bool is_given_up, place_.give_up(*record.coming));
    if (!is_given_up) return false;
  }
  const std::string name = StemOf(request);
  TRY(place_.make(name.substr(0, kPrefix)));
  const int64_t number = record.revision + 1;
  TRY_ASSIGN(const bool is_first, Put(name, number, ToJson(KeptRequest{request, record, WallNow()})));
  if (!is_first) return false;
  // The number may have been free only because a sweep had removed its record. Therefore a first record counts only if
  // no higher record exists. A later record counts only if the record before it still exists, and is removed otherwise.
  TRY_ASSIGN(const KeptByName all, List(name.substr(0, kPrefix)));
  const auto kept = all.find(name);
  const std::set<int64_t> numbers = kept == all.end() ? std::set<int64_t>() : kept->second.numbers;
  if (record.revision == 0) return !numbers.empty() && *numbers.rbegin() == number;
  if (numbers.contains(record.revision)) return true;
  TRY(place_.store->Remove(RecordName(name, number)));
  return false;
}

// Writes a record under this number. An existing record with exactly this text counts as written, because it is from an
// earlier try whose answer was lost.
Result<bool> RecordRequestIndex::Put(const std::string& name, int64_t number, std::string_view text) const {
  const auto put = place_.store->PutNew(RecordName(name, number), text, kDurable);
  if (put.ok() && *put) return true;
  const auto there = place_.store->Get(RecordName(name, number));
  if (there.ok() && *there) return (**there).bytes == text;
  if (!put.ok()) return put.error();
  TRY(there);
  return false;
}

Status RecordRequestIndex::Revoke(const RequestId& request, const OwnerToken& owner, Instant now) const {
  TRY(CheckId(request));
  if (owner.value.empty()) return Error{ErrorCode::kUsage, "the owner is empty"};
  const std::string name = StemOf(request);
  TRY(place_.make(name.substr(0, kPrefix)));
  return place_.store->Replace(RevocationName(name, owner), RevocationToJson(now + kRevocationLasts), kDurable);
}

Result<bool> RecordRequestIndex::IsRevoked(const RequestId& request, const OwnerToken& owner, Instant now) const {
  TRY(CheckId(request));
  if (owner.value.empty()) return false;
  TRY_ASSIGN(const auto until, ReadOptional(*place_.store, RevocationName(StemOf(request), owner), RevocationFromJson));
  return until && now < *until;
}

Result<int> RecordRequestIndex::Sweep(Instant before, Instant now, bool dry_run) const {
  TRY_ASSIGN(const std::vector<std::string> folders, place_.store->List(""));
  int forgotten = 0;
  for (const std::string& folder : folders) {
    if (folder.size() != kPrefix) continue;
    TRY_ASSIGN(const KeptByName all, List(folder));
    for (const auto& [name, kept] : all) {
      const auto swept = SweepOne(name, kept, before, now, dry_run);
      if (!swept.ok() && swept.error().code == ErrorCode::kUnavailable) return swept.error();
      if (!swept.ok()) LogWarn(swept.error().message);
      if (swept.ok() && *swept) ++forgotten;
    }
  }
  return forgotten;
}

// Returns true if all records of the request were removed, or with `dry_run` would be.
Result<bool> RecordRequestIndex::SweepOne(const std::string& name, const Kept& kept, Instant before, Instant now,
                                          bool dry_run) const {
  TRY_ASSIGN(bool counts, Counts(name, kept, before));
  std::vector<std::string> useless;
  for (const std::string& revocation : kept.revocations) {
    TRY_ASSIGN(const auto until, ReadOptional(*place_.store, revocation, RevocationFromJson));
    if (until && now < *until) {
      counts = true;
    } else {
      useless.push_back(revocation);
    }
  }
  for (const int64_t number : kept.numbers)  // lowest number first
    if (!counts || number != *kept.numbers.rbegin()) useless.push_back(RecordName(name, number));
  if (dry_run) return !counts;
  for (const std::string& record : useless) TRY(place_.store->Remove(record));
  return !counts;
}

Result<bool> RecordRequestIndex::Counts(const std::string& name, const Kept& kept, Instant before) const {
  if (kept.numbers.empty()) return false;
  TRY_ASSIGN(const auto newest,
             ReadOptional(*place_.store, RecordName(name, *kept.numbers.rbegin()), KeptRequestFromJson));
  // The newest record may be missing by now, because another sweep has removed it.
  if (!newest || newest->written >= before) return true;
  const RequestRecord& record = newest->record;
  for (const auto& job : {record.job, record.before ? std::optional(record.before->job) : std::nullopt}) {
    if (!job) continue;
    TRY_ASSIGN(const JobPresence presence, place_.look(*job));
    if (presence != JobPresence::kNone) return true;
  }
  return false;
}

}  // namespace tony
