#include "runtime/records/job_records_json.h"

#include <boost/json.hpp>

#include "runtime/base/strings.h"
#include "runtime/os/machine_boot.h"

namespace tony {
namespace {

namespace json = boost::json;
using std::string_view_literals::operator""sv;

constexpr int kFolderSchema = 1;

Result<json::object> ParseObject(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse(json::string_view(text.data(), text.size()), error);
  if (error) return Error{ErrorCode::kInvalid, "not JSON: " + error.message()};
  if (!value.is_object()) return Error{ErrorCode::kInvalid, "not a JSON object"};
  return std::move(value.as_object());
}

Result<int64_t> Int(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  if (value && value->is_int64()) return value->as_int64();
  return Error{ErrorCode::kInvalid, StrCat("\"", name, "\": expected a whole number")};
}

Result<std::string> Text(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  if (value && value->is_string()) return std::string(value->as_string().c_str(), value->as_string().size());
  return Error{ErrorCode::kInvalid, StrCat("\"", name, "\": expected a string")};
}

void WriteEndpoint(json::object& out, const Endpoint& endpoint) {
  out["host"] = endpoint.host;
  out["port"] = endpoint.port;
}

Result<Endpoint> ReadEndpoint(const json::object& object) {
  Endpoint endpoint;
  TRY_ASSIGN(endpoint.host, Text(object, "host"));
  TRY_ASSIGN(const int64_t port, Int(object, "port"));
  if (port < 0 || port > 65535) return Error{ErrorCode::kInvalid, StrCat("\"port\": ", port, " is none")};
  endpoint.port = static_cast<int>(port);
  return endpoint;
}

Result<SocketName> ReadSocket(const json::object& object) {
  TRY_ASSIGN(std::string name, Text(object, "socket"));
  constexpr size_t kLongest = 80;
  if (name.empty() || name.size() > kLongest || name[0] == '.' || name.find_first_of("/\0"sv) != std::string::npos)
    return Error{ErrorCode::kInvalid, "\"socket\": expected the name of a socket in the job's folder"};
  return SocketName{std::move(name)};
}

}  // namespace

std::string ToJson(const LeaseRecord& record) {
  json::object out{{"schema", kFolderSchema}, {"epoch", record.epoch.value}, {"renewal", record.renewal}};
  if (const auto* socket = std::get_if<SocketName>(&record.am.own)) out["socket"] = socket->value;
  if (const auto* endpoint = std::get_if<Endpoint>(&record.am.own)) WriteEndpoint(out, *endpoint);
  if (record.am.for_old_executors) WriteEndpoint(out, *record.am.for_old_executors);
  return json::serialize(out);
}

std::string ToJson(const Submission& submission) {
  json::object out = {{"schema", kFolderSchema},
                      {"job", submission.job.value},
                      {"user", submission.user},
                      {"host", submission.host},
                      {"time", ToMillis(submission.time)},
                      {"boot", submission.boot},
                      {"open_files", submission.open_files},
                      {"request_id", submission.request.value},
                      {"submission", submission.number},
                      {"owner", submission.claim.owner.value},
                      {"watch_timeout", submission.claim.watch_timeout.count()}};
  if (!submission.programs.empty()) out["programs"] = submission.programs;
  return json::serialize(out);
}

std::string JoinVariables(const std::vector<std::string>& variables) {
  std::string text;
  for (const auto& variable : variables) text.append(variable).push_back('\0');
  return text;
}

std::string ToJson(const KillRequest& request) {
  json::object out = {{"schema", kFolderSchema}, {"reason", request.reason}, {"grace", request.grace.count()}};
  if (!request.if_owner.value.empty()) out["if_owner"] = request.if_owner.value;
  if (!request.if_watcher.value.empty()) out["if_watcher"] = request.if_watcher.value;
  if (request.due != Instant{}) out["due"] = ToMillis(request.due);
  if (request.delay > Duration(0)) {
    out["delay_ms"] = request.delay.count();
    out["asked"] = ToMillis(WallNow());
    out["asked_boot"] = BootId();
    out["asked_since_boot"] = SinceBoot().count();
  }
  return json::serialize(out);
}

Result<LeaseRecord> LeaseRecordFromJson(std::string_view text) {
  TRY_ASSIGN(const auto object, ParseObject(text));
  LeaseRecord record;
  TRY_ASSIGN(record.epoch.value, Int(object, "epoch"));
  TRY_ASSIGN(record.renewal, Int(object, "renewal"));
  if (!object.contains("socket")) {  // the release before sockets
    TRY_ASSIGN(record.am.own, ReadEndpoint(object));
    return record;
  }
  TRY_ASSIGN(record.am.own, ReadSocket(object));
  if (object.contains("port")) {
    TRY_ASSIGN(record.am.for_old_executors, ReadEndpoint(object));
  }
  return record;
}

Result<Submission> SubmissionFromJson(std::string_view text) {
  TRY_ASSIGN(const auto object, ParseObject(text));
  Submission submission;
  TRY_ASSIGN(submission.job.value, Text(object, "job"));
  TRY_ASSIGN(submission.user, Text(object, "user"));
  TRY_ASSIGN(submission.host, Text(object, "host"));
  TRY_ASSIGN(const int64_t time, Int(object, "time"));
  submission.time = FromMillis(time);
  // Folders of 0.1 have neither.
  if (object.contains("boot")) {
    TRY_ASSIGN(submission.boot, Text(object, "boot"));
  }
  if (object.contains("open_files")) {
    TRY_ASSIGN(submission.open_files, Int(object, "open_files"));
  }
  if (object.contains("request_id")) {
    TRY_ASSIGN(submission.request.value, Text(object, "request_id"));
    TRY_ASSIGN(submission.number, Int(object, "submission"));
    TRY_ASSIGN(submission.claim.owner.value, Text(object, "owner"));
    TRY_ASSIGN(const int64_t watch_timeout, Int(object, "watch_timeout"));
    submission.claim.watch_timeout = Duration(watch_timeout);
  }
  if (object.contains("programs")) {
    TRY_ASSIGN(submission.programs, Text(object, "programs"));
  }
  return submission;
}

Result<KillRequest> KillRequestFromJson(std::string_view text) {
  TRY_ASSIGN(const auto object, ParseObject(text));
  KillRequest request;
  TRY_ASSIGN(request.reason, Text(object, "reason"));
  TRY_ASSIGN(const int64_t grace, Int(object, "grace"));
  request.grace = Duration(grace);
  if (object.contains("if_owner")) {
    TRY_ASSIGN(request.if_owner.value, Text(object, "if_owner"));
  }
  if (object.contains("if_watcher")) {
    TRY_ASSIGN(request.if_watcher.value, Text(object, "if_watcher"));
  }
  if (object.contains("due")) {
    TRY_ASSIGN(const int64_t due, Int(object, "due"));
    request.due = FromMillis(due);
  }
  if (object.contains("delay_ms")) {
    TRY_ASSIGN(const int64_t delay, Int(object, "delay_ms"));
    TRY_ASSIGN(const int64_t asked, Int(object, "asked"));
    const Duration whole = std::max(Duration(0), Duration(delay));
    TRY_ASSIGN(const std::string boot, Text(object, "asked_boot"));
    TRY_ASSIGN(const int64_t since_boot, Int(object, "asked_since_boot"));
    const bool same_boot = !boot.empty() && boot == BootId();
    const Duration passed = same_boot ? SinceBoot() - Duration(since_boot) : WallNow() - FromMillis(asked);
    request.delay = std::max(Duration(1), whole - std::clamp(passed, Duration(0), whole));  // what is left
  }
  return request;
}

}  // namespace tony
