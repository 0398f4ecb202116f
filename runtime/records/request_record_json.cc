// The lists of fields of what RequestIndex keeps. Records of version 1, of earlier releases, have no digests and no
// runs.
#include "runtime/records/request_record_json.h"

#include <charconv>
#include <optional>

#include "runtime/job/json_fields.h"

namespace tony {
namespace {

// 2 since there are digests: an earlier release, which would lose them, refuses the record by its name.
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

}  // namespace tony
