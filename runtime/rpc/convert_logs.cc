// Pieces of logs between the wire's types and ours.
#include <algorithm>
#include <limits>

#include "runtime/base/strings.h"
#include "runtime/rpc/convert.h"
#include "tony_types.h"

namespace tony {
namespace {

constexpr size_t kMostAsks = 64;  // a master gives far fewer at a time
constexpr size_t kMostParts = 64;
constexpr size_t kMostAttempts = 1024;
constexpr size_t kMostExcerpts = 4;
constexpr size_t kLongestProblem = 1024;
constexpr size_t kLongestStreamName = 32;
constexpr int64_t kLargestLog = int64_t{1} << 56;  // sums with it do not overflow

Error NotALog(std::string_view field, const std::string& what) {
  return Error{ErrorCode::kInvalid, StrCat(field, ": ", what)};
}

Status InRange(std::string_view field, int64_t value, int64_t lowest, int64_t highest) {
  if (value >= lowest && value <= highest) return Ok();
  return NotALog(field, StrCat(value, ", expected ", lowest, " to ", highest));
}

Status AtMost(std::string_view field, size_t number, size_t most) {
  return number <= most ? Ok() : Status(NotALog(field, StrCat(number, ", expected at most ", most)));
}

// What becomes a name of a file, and stands in messages.
Result<std::string> StreamName(const std::string& name) {
  TRY(AtMost("stream", name.size(), kLongestStreamName));
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  if (name.empty() || !std::ranges::all_of(name, is_plain)) return NotALog("stream", "no name of a log");
  return name;
}

Result<LogWant> FromThrift(const rpc::LogWant& wire) {
  TRY_ASSIGN(const TaskId task, ParseTaskId(StrCat(wire.role, ":", wire.index)));
  TRY(InRange("attempt", wire.attempt, 1, std::numeric_limits<int32_t>::max()));
  TRY(InRange("offset", wire.offset, std::numeric_limits<int64_t>::min(), kLargestLog));
  TRY_ASSIGN(std::string stream, StreamName(wire.stream));
  return LogWant{{task, wire.attempt}, std::move(stream), std::max<int64_t>(wire.offset, -1)};
}

Result<std::vector<LogWant>> FromThrift(const std::vector<rpc::LogWant>& wire) {
  TRY(AtMost("wants", wire.size(), kMostLogWants));
  std::vector<LogWant> wants;
  for (const rpc::LogWant& one : wire) {
    TRY_ASSIGN(wants.emplace_back(), FromThrift(one));
  }
  return wants;
}

Result<LogNews> FromThrift(const rpc::LogNews& wire) {
  LogNews news{.is_there = wire.there, .cut = wire.cut, .text = wire.text, .size = wire.size, .ended = wire.ended};
  TRY(InRange("cut", wire.cut, 0, kLargestLog));
  TRY(InRange("size", wire.size, 0, kLargestLog));
  TRY(InRange("changed_ms", wire.changed_ms, 0, kLargestLog));
  TRY(AtMost("parts", wire.parts.size(), kMostParts));
  TRY(AtMost("attempts", wire.attempts.size(), kMostAttempts));
  news.changed = FromMillis(wire.changed_ms);
  for (const rpc::LogSpan& part : wire.parts) {
    TRY(InRange("parts.first", part.first, 0, kLargestLog));
    TRY(InRange("parts.behind", part.behind, part.first, kLargestLog));
    news.parts.push_back({part.first, part.behind});
  }
  for (const int32_t number : wire.attempts) {
    TRY(InRange("attempts", number, 1, std::numeric_limits<int32_t>::max()));
    news.attempts.push_back(number);
  }
  news.problem = wire.problem.substr(0, kLongestProblem);
  return news;
}

rpc::LogWant ToThrift(const LogWant& want) {
  rpc::LogWant wire;
  wire.__set_role(want.attempt.task.role);
  wire.__set_index(want.attempt.task.index);
  wire.__set_attempt(want.attempt.number);
  wire.__set_stream(want.stream);
  wire.__set_offset(want.offset);
  return wire;
}

rpc::LogNews ToThrift(const LogNews& news) {
  rpc::LogNews wire;
  wire.__set_there(news.is_there);
  wire.__set_cut(news.cut);
  wire.__set_text(news.text);
  wire.__set_size(news.size);
  wire.__set_ended(news.ended);
  wire.__set_changed_ms(news.changed == Instant{} ? 0 : ToMillis(news.changed));
  for (const LogSpan& part : news.parts) {
    wire.parts.emplace_back();
    wire.parts.back().__set_first(part.begin);
    wire.parts.back().__set_behind(part.end);
  }
  wire.__set_attempts(news.attempts);
  wire.__set_problem(news.problem);
  return wire;
}

}  // namespace

Result<std::vector<LogAsk>> LogAsksFromThrift(const rpc::Command& wire) {
  std::vector<LogAsk> asks;
  if (!wire.__isset.logs) return asks;
  TRY(AtMost("logs", wire.logs.size(), kMostAsks));
  for (const rpc::LogAsk& one : wire.logs) {
    TRY(InRange("most", one.most, 0, kMostLogBytes));
    TRY(InRange("wait_ms", one.wait_ms, 0, kLongestLogWait.count()));
    TRY_ASSIGN(auto wants, FromThrift(one.wants));
    asks.push_back({one.id, std::move(wants), one.most, Duration(one.wait_ms)});
  }
  return asks;
}

void AddLogAsks(rpc::Command& wire, const std::vector<LogAsk>& asks) {
  std::vector<rpc::LogAsk> logs;
  for (const LogAsk& ask : asks) {
    rpc::LogAsk& one = logs.emplace_back();
    one.__set_id(ask.id);
    one.__set_wants(WantsToThrift(ask.wants));
    one.__set_most(ask.most);
    one.__set_wait_ms(ask.wait.count());
  }
  wire.__set_logs(logs);
}

std::vector<rpc::LogWant> WantsToThrift(const std::vector<LogWant>& wants) {
  std::vector<rpc::LogWant> wire;
  for (const LogWant& want : wants) wire.push_back(ToThrift(want));
  return wire;
}

Result<LogQuery> CheckedQuery(const std::vector<rpc::LogWant>& wants, int64_t most, int64_t wait_ms) {
  LogQuery query;
  TRY_ASSIGN(query.wants, FromThrift(wants));
  TRY(InRange("most", most, 0, std::numeric_limits<int64_t>::max()));
  TRY(InRange("wait_ms", wait_ms, 0, std::numeric_limits<int64_t>::max()));
  query.most = std::min(most, kMostLogBytes);
  query.wait = Duration(std::min<int64_t>(wait_ms, kLongestLogWait.count()));
  return query;
}

Result<std::vector<LogNews>> CheckedNews(const std::vector<rpc::LogNews>& wire) {
  TRY(AtMost("news", wire.size(), kMostLogWants));
  std::vector<LogNews> news;
  for (const rpc::LogNews& one : wire) {
    TRY_ASSIGN(news.emplace_back(), FromThrift(one));
  }
  return news;
}

std::vector<rpc::LogNews> NewsToThrift(const std::vector<LogNews>& news) {
  std::vector<rpc::LogNews> wire;
  for (const LogNews& one : news) wire.push_back(ToThrift(one));
  return wire;
}

Result<LogAnswer> FromThrift(const rpc::LogReply& wire) {
  LogAnswer answer;
  for (const auto& [index, one] : wire.news) {
    TRY(InRange("news", index, 0, static_cast<int64_t>(kMostLogWants) - 1));
    TRY_ASSIGN(LogNews news, FromThrift(one));
    answer.emplace_back(index, std::move(news));
  }
  return answer;
}

rpc::LogReply ToThrift(const LogAnswer& answer) {
  rpc::LogReply wire;
  for (const auto& [index, news] : answer) wire.news[index] = ToThrift(news);
  wire.__isset.news = true;
  return wire;
}

Result<std::vector<LogExcerpt>> ExcerptsFromThrift(const rpc::TaskOutcome& wire) {
  std::vector<LogExcerpt> excerpts;
  if (!wire.__isset.logs) return excerpts;
  TRY(AtMost("logs", wire.logs.size(), kMostExcerpts));
  size_t bytes = 0;
  for (const rpc::LogExcerpt& one : wire.logs) {
    TRY_ASSIGN(std::string stream, StreamName(one.stream));
    LogExcerpt& excerpt = excerpts.emplace_back(LogExcerpt{.stream = std::move(stream), .size = one.size});
    TRY(InRange("logs.size", one.size, 0, kLargestLog));
    TRY(AtMost("logs.parts", one.parts.size(), kMostParts));
    int64_t end = 0;
    for (const rpc::LogPart& part : one.parts) {
      TRY(InRange("logs.first", part.first, end, one.size));
      end = part.first + static_cast<int64_t>(part.text.size());
      TRY(InRange("logs.text", end, part.first, one.size));
      bytes += part.text.size();
      excerpt.parts.push_back({part.first, part.text});
    }
  }
  TRY(AtMost("logs.text", bytes, static_cast<size_t>(2 * (kExcerptHead + kExcerptTail))));
  return excerpts;
}

void AddExcerpts(rpc::TaskOutcome& wire, const std::vector<LogExcerpt>& excerpts) {
  std::vector<rpc::LogExcerpt> logs;
  for (const LogExcerpt& excerpt : excerpts) {
    rpc::LogExcerpt& one = logs.emplace_back();
    one.__set_stream(excerpt.stream);
    one.__set_size(excerpt.size);
    for (const LogExcerpt::Part& part : excerpt.parts) {
      one.parts.emplace_back();
      one.parts.back().__set_first(part.begin);
      one.parts.back().__set_text(part.text);
    }
  }
  wire.__set_logs(logs);
}

}  // namespace tony
