#include "runtime/cli/options.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>
#include <filesystem>
#include <map>
#include <system_error>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"
#include "runtime/cli/output.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/submit_job.h"
#include "runtime/config/job_document.h"
#include "runtime/config/properties.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

// The longest accepted time: about 30 years, far from an overflow in milliseconds.
constexpr double kLongestSeconds = 1e9;

Error NotA(const std::string& what, const CommandLine& line, const std::string& option) {
  return {ErrorCode::kUsage, StrCat(Dashed(option), " \"", line.Value(option), "\": expected ", what)};
}

constexpr size_t kLongestRequest = 4096;
constexpr size_t kLongestToken = 255;
// An error shows at most this many bytes of a value.
constexpr size_t kShown = 60;

Result<std::string> Token(const CommandLine& line, const std::string& option) {
  if (!line.Has(option)) return std::string();
  const std::string token = line.Value(option);
  const bool printable = std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; });
  if (!token.empty() && token.size() <= kLongestToken && printable) return token;
  return RefusedOption(line, option, "1 to 255 printable ASCII characters without blanks");
}

Result<Duration> WatchTimeout(const CommandLine& line) {
  constexpr Duration kLongest = std::chrono::hours(24 * 366);  // the longest time an AM accepts
  TRY_ASSIGN(const auto timeout, SecondsOption(line, "watch-timeout"));
  if (!timeout) return Duration(0);
  if (*timeout < std::chrono::seconds(1) || *timeout > kLongest)
    return RefusedOption(line, "watch-timeout", "a time from 1 second to 366 days");
  return *timeout;
}

// Fails if the word is not a spec file. Such a word is usually the rest of a command that the user did not quote.
Status CheckSpecWord(const std::string& word) {
  if (word == "-") return Ok();
  const std::string suffix = std::filesystem::path(word).extension();
  for (const char* known : {".xml", ".properties", ".job", ".yaml", ".yml", ".json"}) {
    if (suffix == known) return Ok();
  }
  return Error{ErrorCode::kUsage,
               StrCat("unexpected word \"", word,
                      "\"; a spec file ends in .xml, .properties, .job, .json or .yaml (- is standard input), and "
                      "a value of several words belongs in quotes")};
}

SubmitOptions ToSubmitOptions(const CommandLine& line) {
  std::vector<std::string> conf = line.Values("conf");
  for (const std::string& time : line.Values("hold")) conf.push_back("tony.task.hold=" + time);
  return {
      .spec_file = line.words().empty() ? "" : line.words().front(),
      .conf_file = line.Value("conf_file"),
      .conf = std::move(conf),
      .executes = line.Value("executes"),
      .src_dir = line.Value("src_dir"),
      .task_params = line.Value("task_params"),
      .python_binary_path = line.Value("python_binary_path"),
      .python_venv = line.Value("python_venv"),
      .hdfs_classpath = line.Value("hdfs_classpath"),
      .sidecar_tensorboard_log_dir = line.Value("sidecar_tensorboard_log_dir"),
      .shell_env = line.Values("shell_env"),
      .container_env = line.Values("container_env"),
  };
}

Result<int> SecretsDescriptor(const CommandLine& line) {
  if (!line.Has("secrets-fd")) return -1;
  const std::string word = line.Value("secrets-fd");
  const auto number = ParseInt(word);
  if (number && *number >= 0 && *number <= INT_MAX && fcntl(static_cast<int>(*number), F_GETFD) >= 0)
    return static_cast<int>(*number);
  return Error{ErrorCode::kUsage, StrCat("--secrets-fd ", word, ": expected the number of an open file descriptor")};
}

// Resolves relative sources. A source is searched first in the current folder, as in TonY, and then in the folder of
// the job file. If the source exists in the job file's folder, the command prints from which folder the source is
// taken.
void ResolveInJobFolder(const std::string& spec_file, const std::filesystem::path& directory, Properties& properties) {
  namespace fs = std::filesystem;
  const fs::path beside = (directory / spec_file).parent_path();
  std::error_code error;
  if (spec_file.empty() || spec_file == "-" || fs::equivalent(beside, directory, error)) return;
  for (const std::string key : {"tony.src-dir", "tony.python-venv"}) {
    const Property* property = properties.Find(key);
    if (!property || property->value.empty() || property->value.find("://") != std::string::npos) continue;
    const fs::path source = property->value;
    if (source.is_absolute() || !fs::exists(beside / source, error)) continue;
    const bool is_here = fs::exists(directory / source, error);
    Say(StrCat("tony: ", key, "=", source.string(), " is taken from ", is_here ? "this folder, not from " : "",
               "the folder of ", spec_file));
    if (is_here) continue;
    Property found = *property;
    found.value = (beside / source).lexically_normal().string();
    properties.Set(key, std::move(found));
  }
}

}  // namespace

Result<std::optional<int64_t>> NumberOption(const CommandLine& line, const std::string& option) {
  if (!line.Has(option)) return std::optional<int64_t>();
  const auto number = ParseInt(line.Value(option));
  if (!number || *number < 0) return NotA("a number, 0 or more", line, option);
  return number;
}

Result<std::optional<Duration>> SecondsOption(const CommandLine& line, const std::string& option) {
  if (!line.Has(option)) return std::optional<Duration>();
  const std::string text = line.Value(option);
  if (const auto length = ParseAge(text)) return std::optional(*length);
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds, std::chars_format::fixed);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(seconds >= 0) || seconds > kLongestSeconds)
    return NotA("seconds, e.g. 30 or 0.5, or a time with a unit, e.g. 10m", line, option);
  return std::optional(Duration(std::llround(seconds * 1000)));
}

std::optional<Duration> ParseAge(std::string_view text) {
  constexpr int64_t kMostSeconds = int64_t{100} * 366 * 24 * 3600;
  const std::map<char, int64_t> seconds_in = {{'d', 24 * 3600}, {'h', 3600}, {'m', 60}, {'s', 1}};
  const auto unit = seconds_in.find(text.empty() ? '\0' : text.back());
  const auto number = unit == seconds_in.end() ? std::nullopt : ParseInt(text.substr(0, text.size() - 1));
  if (!number || *number < 0 || *number > kMostSeconds / unit->second) return std::nullopt;
  return Duration(std::chrono::seconds(*number * unit->second));
}

Result<std::optional<Instant>> TimeOption(const CommandLine& line, const std::string& option, Instant now) {
  if (!line.Has(option)) return std::optional<Instant>();
  std::string text = line.Value(option);
  if (const auto age = ParseAge(text)) return std::optional(now - *age);
  // A missing part of the time counts as zero, the beginning of the day, minute or second.
  if (text.ends_with('Z')) text.pop_back();
  constexpr std::string_view kMidnight = "0000-00-00T00:00:00.000Z";
  for (const size_t size : {10, 16, 19, 23}) {
    if (text.size() != size) continue;
    if (const auto time = InstantFromIso8601(text.append(kMidnight.substr(size)))) return std::optional(*time);
  }
  return NotA("an age with d, h, m or s, e.g. 14d, or a time in UTC, e.g. 2026-11-21 or 2026-11-21T09:30:15Z", line,
              option);
}

Error RefusedOption(const CommandLine& line, const std::string& option, std::string_view expected) {
  const std::string value = ReplaceInvalidUtf8(line.Value(option));
  const std::string shown = value.size() <= kShown ? value : ReplaceInvalidUtf8(value.substr(0, kShown)) + "...";
  return {ErrorCode::kUsage, StrCat(Dashed(option), " \"", shown, "\": expected ", expected)};
}

Result<RequestId> RequestIdOption(const CommandLine& line) {
  const std::string option = "request-id";
  if (!line.Has(option)) return RequestId();
  const std::string id = line.Value(option);
  // An id is returned in JSON, where bytes that are not UTF-8 would not come back unchanged.
  const bool text = id.find('\n') == std::string::npos && ReplaceInvalidUtf8(id) == id;
  if (!id.empty() && id.size() <= kLongestRequest && text) return RequestId{id};
  return RefusedOption(line, option, "1 to 4096 bytes of UTF-8 without a line end");
}

Result<OwnerToken> OwnerOption(const CommandLine& line, const std::string& option) {
  TRY_ASSIGN(std::string token, Token(line, option));
  return OwnerToken{std::move(token)};
}

Result<WatcherToken> WatcherOption(const CommandLine& line, const std::string& option) {
  TRY_ASSIGN(std::string token, Token(line, option));
  return WatcherToken{std::move(token)};
}

Result<SubmitOrder> ReadSubmitOrder(const CommandLine& line) {
  SubmitOrder order;
  TRY_ASSIGN(order.request, RequestIdOption(line));
  TRY_ASSIGN(order.claim.owner, OwnerOption(line, "owner"));
  TRY_ASSIGN(order.claim.watch_timeout, WatchTimeout(line));
  for (const char* option : {"submission", "on-existing", "first-try", "run"}) {
    if (line.Has(option) && order.request.value.empty())
      return Error{ErrorCode::kUsage, StrCat(Dashed(option), " needs --request-id")};
  }
  TRY_ASSIGN(const auto number, NumberOption(line, "submission"));
  order.ask.number = number.value_or(0);
  TRY_ASSIGN(order.ask.run.value, Token(line, "run"));
  if (line.Has("first-try")) {
    order.ask.asker = SubmitterKind::kFirstTry;
  } else if (!order.claim.owner.value.empty()) {
    order.ask.asker = SubmitterKind::kLaterTry;
  }
  if (!line.Has("on-existing")) return order;
  const auto policy = OnExistingFromString(line.Value("on-existing"));
  if (!policy) return RefusedOption(line, "on-existing", "adopt, attach or never");
  order.ask.on_existing = *policy;
  return order;
}

Result<KillRequest> ReadKillRequest(const CommandLine& line, Instant now) {
  KillRequest request = {.reason = line.Has("reason") ? line.Value("reason") : "tony kill"};
  TRY_ASSIGN(request.if_owner, OwnerOption(line, "if-owner"));
  TRY_ASSIGN(request.if_watcher, WatcherOption(line, "if-watcher"));
  TRY_ASSIGN(const auto delay, SecondsOption(line, "delay"));
  if (delay && *delay > Duration(0)) {
    request.due = now + *delay;
    request.delay = *delay;
  }
  return request;
}

std::vector<OptionSpec> SpecOptions() {
  using enum OptionSpec::Kind;
  return {
      {"executes", kFirst, "COMMAND",
       "command of each task; if it begins with a Python file in -src_dir, the job's Python runs it"},
      {"src_dir", kFirst, "PATH",
       "folder or archive of the program; its content is copied into each task's working folder; on YARN also "
       "hdfs://..."},
      {"task_params", kFirst, "WORDS", "words added to the command"},
      {"python_binary_path", kFirst, "PATH",
       "interpreter that runs the command; a relative path starts in -python_venv"},
      {"python_venv", kFirst, "PATH",
       "a virtual environment (archive or folder), or a lock file from which uv or conda makes one; each task finds "
       "it as venv in its folder; on YARN also an archive at hdfs://..."},
      {"shell_env", kRepeated, "NAME=VALUE[,...]", "environment of the tasks' processes"},
      {"container_env", kRepeated, "NAME=VALUE[,...]", "environment of executors and tasks"},
      {"secrets-fd", kValue, "FD", "read secret variables of the tasks as a JSON object from this file descriptor"},
      {"conf", kRepeated, "KEY=VALUE", "one property; overrides the properties in files"},
      {"hold", kValue, "TIME",
       "keep the container of a failed task for this time (10m), for tony shell; the job ends after it"},
      {"conf_file", kFirst, "FILE",
       "a file of properties, e.g. tony.xml or job.properties; hdfs://... is read from the cluster"},
      {"hdfs_classpath", kFirst, "PATHS", "Hadoop's jars; has no effect, because TonY in C++ runs no Java"},
      {"sidecar_tensorboard_log_dir", kFirst, "PATH", "run TensorBoard on this folder; only for a job with roles"},
      {"debug", kFlag, "", "no effect; in LinkedIn's TonY, this option kept temporary files"},
      {"strict", kFlag, "", "treat warnings about keys and values as errors"},
  };
}

Result<std::map<std::string, std::string>> SecretsOption(const CommandLine& line) {
  TRY_ASSIGN(const int number, SecretsDescriptor(line));
  if (number < 0) return std::map<std::string, std::string>();
  const UniqueFd fd(number);
  TRY_ASSIGN(const std::string text, ReadAll(fd.get(), "--secrets-fd"));
  return ReadSecrets(text, "--secrets-fd");
}

Result<ParsedJobSpec> ReadJobSpec(const CommandLine& line) {
  if (!line.words().empty()) TRY(CheckSpecWord(line.words().front()));
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::current_path(error);
  if (error) return Error{ErrorCode::kInvalid, StrCat("the current folder cannot be found: ", error.message())};
  SubmitOptions options = ToSubmitOptions(line);
  TRY_ASSIGN(options.secrets_fd, SecretsDescriptor(line));
  TRY_ASSIGN(Properties properties, LoadProperties(options, directory, ReadFromCluster));
  ResolveInJobFolder(options.spec_file, directory, properties);
  TRY_ASSIGN(ParsedJobSpec parsed, CheckedJobSpec(properties, directory));
  for (const std::string& option : line.given_again())
    parsed.warnings.push_back(
        StrCat("-", option, ": given more than once; the first value is used, as in LinkedIn's TonY"));
  if (line.Has("strict")) TRY(NoWarnings(parsed.warnings));
  return parsed;
}

Status NoWarnings(const std::vector<std::string>& warnings) {
  if (warnings.empty()) return Ok();
  return Error{ErrorCode::kInvalid, StrCat(Join(warnings, "\n"), "\nwarnings are errors with --strict")};
}

}  // namespace tony
