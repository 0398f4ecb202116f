#include "runtime/records/request_record_json.h"

#include <boost/json.hpp>
#include <charconv>
#include <limits>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"

namespace tony {
namespace {

namespace json = boost::json;

// 2 since there are digests: an earlier release, which would lose them, refuses the record by its name.
constexpr int kRecordSchema = 2;
constexpr int kFirstSchema = 1;

std::string ToText(std::string_view bytes) {
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

Result<std::string> ToBytes(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes.push_back(text[i]);
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned char byte = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16).ptr;
    if (digits.size() != 2 || end != digits.data() + 2)
      return Error{ErrorCode::kInvalid, StrCat("\"", text, "\": '%' without two hexadecimal digits")};
    bytes.push_back(static_cast<char>(byte));
    i += 2;
  }
  return bytes;
}

// Bytes, but an unreadable text fails `fields`.
std::string Bytes(JsonFields& fields, const char* name) {
  auto bytes = ToBytes(fields.String(name));
  if (!bytes.ok()) fields.Fail(name, "two hexadecimal digits after each '%'");
  return bytes.ok() ? *std::move(bytes) : "";
}

json::object ToObject(const SubmitDigest& digest) {
  json::object parts;
  for (const auto& [name, hash] : digest.parts) parts[name] = hash;
  return parts;
}

Result<SubmitDigest> Digest(JsonFields& fields) {
  SubmitDigest digest;
  if (!fields.Has("digest")) return digest;
  JsonFields parts = fields.Fields("digest");
  for (const std::string& name : parts.Names()) digest.parts[name] = parts.String(name);
  TRY(parts.status());
  return digest;
}

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

}  // namespace

std::string ToJson(const KeptRequest& kept) {
  json::object out = {{"schema", kRecordSchema},
                      {"request_id", ToText(kept.id.value)},
                      {"newest_submission", kept.record.newest_number}};
  if (kept.record.job) {
    out["job"] = kept.record.job->value;
    out["submission"] = kept.record.job_number;
  }
  if (!kept.record.adopter.value.empty()) out["adopter"] = ToText(kept.record.adopter.value);
  if (!kept.record.digest.parts.empty()) out["digest"] = ToObject(kept.record.digest);
  if (!kept.record.run.value.empty()) out["run"] = ToText(kept.record.run.value);
  if (const auto& before = kept.record.before) {
    out["before"] = {{"job", before->job.value},
                     {"submission", before->number},
                     {"adopter", ToText(before->adopter.value)},
                     {"digest", ToObject(before->digest)},
                     {"run", ToText(before->run.value)}};
  }
  if (kept.written != Instant{}) out["written"] = ToMillis(kept.written);
  return json::serialize(out);
}

Result<KeptRequest> KeptRequestFromJson(std::string_view text) {
  TRY_ASSIGN(const json::value document, ParseJson(text, "request record"));
  JsonFields fields(document);
  fields.Int("schema", kFirstSchema, kRecordSchema);
  KeptRequest kept;
  kept.id.value = Bytes(fields, "request_id");
  kept.record.newest_number = fields.Int("newest_submission", kLeast);
  if (fields.Has("job")) {
    kept.record.job = JobId{fields.String("job")};
    kept.record.job_number = fields.Int("submission", kLeast);
  }
  if (fields.Has("adopter")) kept.record.adopter.value = Bytes(fields, "adopter");
  TRY_ASSIGN(kept.record.digest, Digest(fields));
  if (fields.Has("run")) kept.record.run.value = Bytes(fields, "run");
  if (fields.Has("before")) {
    JsonFields before = fields.Fields("before");
    kept.record.before = {JobId{before.String("job")}, before.Int("submission", kLeast), {Bytes(before, "adopter")}};
    TRY_ASSIGN(kept.record.before->digest, Digest(before));
    if (before.Has("run")) kept.record.before->run.value = Bytes(before, "run");
    TRY(before.status());
  }
  if (fields.Has("written")) kept.written = FromMillis(fields.Int("written"));
  TRY(fields.status());
  return kept;
}

std::string RevocationToJson(Instant until) {
  return json::serialize(json::object{{"schema", kFirstSchema}, {"until", ToMillis(until)}});
}

Result<Instant> RevocationFromJson(std::string_view text) {
  TRY_ASSIGN(const json::value document, ParseJson(text, "revocation"));
  JsonFields fields(document);
  fields.Int("schema", kFirstSchema, kFirstSchema);
  const Instant until = FromMillis(fields.Int("until"));
  TRY(fields.status());
  return until;
}

}  // namespace tony
