#include "runtime/history/ended_line.h"

#include <array>
#include <charconv>
#include <cstdio>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/base/utf8.h"
#include "runtime/history/crc32.h"

namespace tony {
namespace {

constexpr std::string_view kVersion = "1";
constexpr size_t kFields = 14;  // with the version, without the checksum
constexpr size_t kMostCause = 200;
constexpr size_t kChecksum = 9;  // with its tab
constexpr char kDigits[] = "0123456789abcdef";

using Fields = std::array<std::string_view, kFields>;

void AppendHex(std::string& out, uint32_t number, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out.push_back(kDigits[(number >> shift) & 0xF]);
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool MustBeEscaped(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '\\'; }

// Never within a character.
std::string Shortened(const std::string& text) {
  const std::string start = text.substr(0, kMostCause);
  return IsUtf8(text) ? start.substr(0, ValidUtf8Prefix(start)) : start;
}

std::optional<Fields> SplitFields(std::string_view text) {
  Fields fields;
  for (size_t i = 0; i < kFields; ++i) {
    const size_t tab = text.find('\t');
    if ((tab == std::string_view::npos) != (i + 1 == kFields)) return std::nullopt;
    fields[i] = text.substr(0, tab);
    text.remove_prefix(i + 1 == kFields ? text.size() : tab + 1);
  }
  return fields;
}

// In order; stops being ok at the first that is no number.
class Numbers {
 public:
  int64_t Read(std::string_view text) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    ok_ = ok_ && error == std::errc() && end == text.data() + text.size();
    return number;
  }
  bool ok() const { return ok_; }

 private:
  bool ok_ = true;
};

}  // namespace

EndedJob EndedJobOf(const JobStatus& status) {
  CHECK(status.verdict.has_value());
  const bool is_plain_success = status.verdict->state == FinalState::kSucceeded && status.tolerated_failures == 0;
  return {.job = status.job,
          .name = status.name,
          .user = status.user,
          .framework = status.framework,
          .state = status.verdict->state,
          .cls = status.verdict->cls,
          .request = status.request,
          .number = status.number,
          .submitted = status.submitted,
          .ended = status.ended.value_or(status.submitted),
          .tasks = static_cast<int64_t>(status.tasks.size()),
          .restarts = status.restart_count,
          .cause = is_plain_success ? "" : Shortened(status.verdict->message)};
}

std::string EscapeField(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (MustBeEscaped(c)) {
      out.push_back('\\');
      AppendHex(out, static_cast<unsigned char>(c), 2);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string UnescapeField(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '\\' && i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high < 0 ? -1 : HexDigit(text[i + 2]);
    if (low < 0) {
      out.push_back(text[i]);
    } else {
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    }
  }
  return out;
}

std::string ToLine(const EndedJob& job) {
  std::string line =
      StrCat(kVersion, '\t', EscapeField(job.job.value), '\t', EscapeField(job.name), '\t', EscapeField(job.user), '\t',
             EscapeField(job.framework), '\t', ToString(job.state), '\t', ToString(job.cls), '\t',
             EscapeField(job.request.value), '\t', job.number, '\t', ToMillis(job.submitted), '\t', ToMillis(job.ended),
             '\t', job.tasks, '\t', job.restarts, '\t', EscapeField(job.cause));
  const uint32_t checksum = Crc32(line);
  line.push_back('\t');
  AppendHex(line, checksum, 8);
  line.push_back('\n');
  return line;
}

bool IsWholeLine(std::string_view line) {
  if (line.size() < kChecksum || line[line.size() - kChecksum] != '\t') return false;
  uint32_t told = 0;
  for (const char c : line.substr(line.size() - kChecksum + 1)) {
    const int digit = HexDigit(c);
    if (digit < 0) return false;
    told = told << 4 | static_cast<uint32_t>(digit);
  }
  return Crc32(line.substr(0, line.size() - kChecksum)) == told;
}

std::optional<EndedLine> ReadEndedLine(std::string_view line) {
  if (!IsWholeLine(line)) return std::nullopt;
  const auto fields = SplitFields(line.substr(0, line.size() - kChecksum));
  if (!fields || (*fields)[0] != kVersion) return std::nullopt;
  const auto& f = *fields;
  const auto state = FinalStateFromString(f[5]);
  const auto cls = OutcomeClassFromString(f[6]);
  Numbers numbers;
  EndedLine read{.job = f[1], .name = f[2], .user = f[3], .framework = f[4], .request = f[7], .cause = f[13]};
  read.number = numbers.Read(f[8]);
  read.submitted = FromMillis(numbers.Read(f[9]));
  read.ended = FromMillis(numbers.Read(f[10]));
  read.tasks = numbers.Read(f[11]);
  read.restarts = numbers.Read(f[12]);
  if (!state || !cls || !numbers.ok()) return std::nullopt;
  read.state = *state;
  read.cls = *cls;
  return read;
}

EndedJob ToEndedJob(const EndedLine& line) {
  return {.job = {UnescapeField(line.job)},
          .name = UnescapeField(line.name),
          .user = UnescapeField(line.user),
          .framework = UnescapeField(line.framework),
          .state = line.state,
          .cls = line.cls,
          .request = {UnescapeField(line.request)},
          .number = line.number,
          .submitted = line.submitted,
          .ended = line.ended,
          .tasks = line.tasks,
          .restarts = line.restarts,
          .cause = UnescapeField(line.cause)};
}

}  // namespace tony
