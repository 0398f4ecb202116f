#include "runtime/hadoop/aggregated_log.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/hadoop/gss_context.h"
#include "runtime/hadoop/indexed_log.h"

namespace tony::hadoop {
namespace {

constexpr Duration kHolds{10'000};
constexpr Duration kLimit{5000};
constexpr size_t kMostKnown = 256;
constexpr size_t kLongestUser = 256;

// Returns true if `user` has only characters that Java's URLEncoder writes, and is not too long.
bool IsEncoded(std::string_view user) {
  constexpr std::string_view kOthers = "._-*+%";
  return user.size() <= kLongestUser && std::ranges::all_of(user, [&](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  kOthers.find(c) != std::string_view::npos;
         });
}

// Returns whether the user may view the application. The ResourceManager answers every user with the application's id,
// but leaves out the link to the container logs for a user who may not view it.
Result<bool> MaySee(const Result<HttpResponse>& response) {
  TRY(response);
  if (response->status != 200) return UnavailableError("HTTP ", response->status);
  boost::system::error_code error;
  const boost::json::value document = boost::json::parse(response->body, error);
  if (error || !document.find_pointer("/app/id", error))
    return UnavailableError("the answer is not a ResourceManager's report of an application");
  return document.find_pointer("/app/amContainerLogs", error) != nullptr;
}

}  // namespace

ApplicationViewers::ApplicationViewers(EventLoop& loop, std::string rm_web, std::string application,
                                       std::shared_ptr<const HttpTrust> trust)
    : loop_(loop),
      url_(StrCat(std::move(rm_web), "/ws/v1/cluster/apps/", application)),
      trust_(std::move(trust)),
      http_(loop) {}

void ApplicationViewers::Ask(const std::string& user, Done done) {
  if (!IsEncoded(user)) return done(InvalidError("the user's name is not percent-encoded"));
  const auto known = known_.find(user);
  if (known != known_.end() && loop_.Now() < known->second.until) return done(known->second.may_see);
  HttpCall call{.url = user.empty() ? url_ : StrCat(url_, "?user.name=", user),
                .headers = {{"Accept", "application/json"}},
                .trust = trust_};
  call.limits.connect = call.limits.stalled = call.limits.whole = kLimit;
  const auto place = calls_.insert(calls_.end(), nullptr);
  *place =
      http_.Send(std::move(call), [this, user, place, done = std::move(done)](const Result<HttpResponse>& response) {
        const Call ended = std::move(*place);
        calls_.erase(place);
        const Result<bool> may_see = MaySee(response);
        if (known_.size() >= kMostKnown) known_.clear();
        if (may_see.ok()) known_.insert_or_assign(user, Known{*may_see, loop_.Now() + kHolds});
        done(may_see);
      });
}

Result<HttpResponse> GetFromDaemon(const HttpCall& call) {
  EventLoop loop;
  HttpClient http(loop);
  const auto send = [&](const HttpCall& request) {
    return RunUntilAnswer<Result<HttpResponse>>(loop, [&](auto done) { return http.Send(request, done); });
  };
  auto response = send(call);
  constexpr int kUnauthorized = 401;
  if (!response.ok() || response->status != kUnauthorized) return response;
  if (!HeaderOf(*response, "www-authenticate").starts_with("Negotiate")) return response;
  HttpCall proved = call;
  TRY_ASSIGN(std::string header, NegotiateHeader(HostOfUrl(call.url), call.limits.whole));
  proved.headers.emplace_back("Authorization", std::move(header));
  return send(proved);
}

namespace {

std::optional<boost::json::value> GetJson(const std::string& url, Duration limit,
                                          const std::shared_ptr<const HttpTrust>& trust) {
  // Without this header, some servers answer XML.
  HttpCall call{.url = url, .headers = {{"Accept", "application/json"}}, .trust = trust};
  call.limits.connect = call.limits.stalled = call.limits.whole = limit;
  const auto answer = GetFromDaemon(call);
  if (!answer.ok() || answer->status != 200) return std::nullopt;
  boost::system::error_code error;
  boost::json::value document = boost::json::parse(answer->body, error);
  if (error) return std::nullopt;
  return document;
}

// Adds each queue in the answer's tree that creates a child queue when a job names the child.
void AddMakers(const boost::json::value& value, std::set<std::string>& makers) {
  if (const auto* list = value.if_array()) {
    for (const auto& item : *list) AddMakers(item, makers);
  }
  const auto* object = value.if_object();
  if (!object) return;
  const auto* path = object->if_contains("queuePath");
  const auto* old = object->if_contains("autoCreateChildQueueEnabled");
  const auto* how = object->if_contains("autoCreationEligibility");  // since Hadoop 3.4
  const bool makes =
      (old && old->is_bool() && old->get_bool()) || (how && how->is_string() && how->get_string() != "off");
  if (makes && path && path->is_string()) makers.emplace(path->get_string());
  for (const char* name : {"scheduler", "schedulerInfo", "queues", "queue"})
    if (const auto* member = object->if_contains(name)) AddMakers(*member, makers);
}

}  // namespace

std::set<std::string> QueuesThatMakeQueues(const std::string& web, const std::shared_ptr<const HttpTrust>& trust,
                                           Duration limit) {
  std::set<std::string> makers;
  const auto document = web.empty() ? std::nullopt : GetJson(web + "/ws/v1/cluster/scheduler", limit, trust);
  if (document) AddMakers(*document, makers);
  return makers;
}

std::optional<std::string> WebText(const std::string& url, const std::string& pointer, Duration limit,
                                   const std::shared_ptr<const HttpTrust>& trust) {
  const auto document = GetJson(url, limit, trust);
  if (!document) return std::nullopt;
  boost::system::error_code error;
  const boost::json::value* value = document->find_pointer(pointer, error);
  if (error || value == nullptr || !value->is_string()) return std::nullopt;
  return std::string(value->as_string());
}

std::optional<std::string> RmSetting(const std::string& web, const std::shared_ptr<const HttpTrust>& trust,
                                     const std::string& key, Duration limit) {
  if (web.empty()) return std::nullopt;
  return WebText(StrCat(web, "/conf?name=", key), "/property/value", limit, trust);
}

std::string HostOfUrl(const std::string& url) {
  const size_t scheme = url.find("://");
  const size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  return url.substr(begin, url.find(':', begin) - begin);
}

namespace {

constexpr std::string_view kMagic("\xd1\x11\xd3\x68\x91\xb5\xd7\xb6\x39\xdf\x41\x40\x92\xba\xe1\x50", 16);
constexpr int64_t kFooter = 8 + 4 + 16;
// Limit of the number of blocks. NodeManagers begin a new block after 256 KiB. The regions of this many blocks take 16
// MB of memory.
constexpr int64_t kMostBlocks = 1 << 20;
constexpr int64_t kLongestName = 64 << 10;  // Java's own limit

Result<int64_t> SignedNumber(LogBytes& in, int64_t size) {
  TRY_ASSIGN(const std::string bytes, in.Take(size));
  return SignedBigEndian(bytes);
}

// Reads a number. The first byte encodes how many bytes follow. In a short number, the first byte also contains the
// highest bits.
Result<int64_t> TFileNumber(LogBytes& in) {
  TRY_ASSIGN(const int64_t first, SignedNumber(in, 1));
  if (first >= -32) return first;
  if (first < -120) {
    if (first < -125) return BadLogFile("a number is malformed");
    return SignedNumber(in, first + 129);
  }
  const int more = first >= -72 ? 1 : first >= -104 ? 2 : 3;
  const int64_t highest = first + (more == 1 ? 52 : more == 2 ? 88 : 112);
  TRY_ASSIGN(const std::string bytes, in.Take(more));
  return highest * (int64_t{1} << (8 * more)) + static_cast<int64_t>(BigEndian(bytes));
}

Result<std::string> TFileText(LogBytes& in) {
  TRY_ASSIGN(const int64_t length, TFileNumber(in));
  if (length < 0 || length > kLongestName) return BadLogFile("a name has a wrong length");
  return in.Take(length);
}

Result<std::string> JavaText(LogBytes& in) {
  TRY_ASSIGN(const std::string length, in.Take(2));
  return in.Take(static_cast<int64_t>(BigEndian(length)));
}

Result<LogRegion> ReadRegion(LogBytes& in, int64_t file_length) {
  TRY_ASSIGN(const int64_t begin, TFileNumber(in));
  TRY_ASSIGN(const int64_t size, TFileNumber(in));
  TRY(TFileNumber(in));  // inflated size, not used
  if (begin < 0 || size < 0 || begin > file_length || size > file_length - begin)
    return BadLogFile("a block lies outside the file");
  return LogRegion{begin, begin + size};
}

struct Blocks {
  std::string compression;
  std::vector<LogRegion> regions;
};

Result<Blocks> ReadBlockIndex(LogBytes& in, int64_t file_length) {
  Blocks blocks;
  TRY_ASSIGN(blocks.compression, TFileText(in));
  TRY_ASSIGN(const int64_t count, TFileNumber(in));
  if (count < 0 || count > std::min(kMostBlocks, file_length)) return BadLogFile("the number of blocks is wrong");
  for (int64_t i = 0; i < count; ++i) {
    TRY_ASSIGN(const LogRegion region, ReadRegion(in, file_length));
    if (!blocks.regions.empty() && region.begin < blocks.regions.back().end) return BadLogFile("blocks overlap");
    blocks.regions.push_back(region);
  }
  return blocks;
}

Result<Blocks> FindBlocks(const ReadRange& read, int64_t length, int64_t& budget) {
  if (length < kFooter) return BadLogFile("the file is too short");
  TRY_ASSIGN(const int64_t index, SignedNumber(*PlainLogBytes(read, {length - kFooter, length}), 8));
  const int64_t end = length - kFooter;
  if (index < 0 || index > end || end - index > kLargestLogIndex)
    return BadLogFile("the offset of the file's index is wrong");
  const auto meta_index = PlainLogBytes(read, {index, end});
  LogBytes& meta = *meta_index;
  TRY_ASSIGN(const int64_t count, TFileNumber(meta));
  for (int64_t i = 0; i < count; ++i) {
    TRY_ASSIGN(const std::string name, TFileText(meta));
    TRY_ASSIGN(const std::string compression, TFileText(meta));
    TRY_ASSIGN(const LogRegion region, ReadRegion(meta, length));
    if (name != "data:BCFile.index") continue;
    if (region.end - region.begin > kLargestLogIndex) return BadLogFile("the index of the file is too large");
    TRY_ASSIGN(const auto in, OpenLogBytes(read, region, compression, budget));
    return ReadBlockIndex(*in, length);
  }
  return BadLogFile("the file has no index");
}

// The bytes in the chunks of one value.
class ValueBytes : public LogBytes {
 public:
  explicit ValueBytes(LogBytes& in) : in_(in) {}

  Result<std::string> Take(int64_t count) override {
    std::string taken;
    while (static_cast<int64_t>(taken.size()) < count) {
      TRY_ASSIGN(const int64_t some, Some(count - static_cast<int64_t>(taken.size())));
      TRY_ASSIGN(const std::string more, in_.Take(some));
      taken += more;
      left_ -= some;
    }
    return taken;
  }
  Status Skip(int64_t count) override {
    while (count > 0) {
      TRY_ASSIGN(const int64_t some, Some(count));
      TRY(in_.Skip(some));
      left_ -= some;
      count -= some;
    }
    return Ok();
  }
  Result<bool> AtEnd() override {
    while (left_ == 0 && !is_last_) {
      TRY_ASSIGN(const int64_t length, TFileNumber(in_));
      if (length == INT64_MIN) return BadLogFile("a chunk has a wrong length");
      is_last_ = length >= 0;
      left_ = is_last_ ? length : -length;
    }
    return left_ == 0;
  }
  Status SkipRest() {
    for (;;) {
      TRY_ASSIGN(const bool is_over, AtEnd());
      if (is_over) return Ok();
      TRY(Skip(left_));
    }
  }

 private:
  Result<int64_t> Some(int64_t wanted) {
    TRY_ASSIGN(const bool is_over, AtEnd());
    if (is_over) return BadLogFile("an entry ends early");
    return std::min(wanted, left_);
  }

  LogBytes& in_;
  int64_t left_ = 0;
  bool is_last_ = false;
};

Result<AggregatedLog> FindLog(ValueBytes& value, const std::string& stream, int64_t most) {
  for (;;) {
    TRY_ASSIGN(const bool is_over, value.AtEnd());
    if (is_over) return AggregatedLog();
    TRY_ASSIGN(const std::string name, JavaText(value));
    TRY_ASSIGN(const std::string digits, JavaText(value));
    const auto size = ParseInt(digits);
    if (!size || *size < 0) return BadLogFile("a log has a wrong length");
    const int64_t tail = name == stream ? std::min(*size, most) : 0;
    TRY(value.Skip(*size - tail));
    if (name != stream) continue;
    AggregatedLog log{.size = *size, .tail = "", .is_log = true};
    TRY_ASSIGN(log.tail, value.Take(tail));
    return log;
  }
}

// Reads the key of an entry. The value of the entry follows.
Result<std::string> ReadKey(LogBytes& in) {
  TRY_ASSIGN(const std::string key, TFileText(in));
  return key.size() < 2 ? std::string() : key.substr(2);
}

Result<std::optional<AggregatedLog>> FindInBlock(LogBytes& in, const std::string& container,
                                                 const std::string& stream, int64_t most) {
  for (;;) {
    TRY_ASSIGN(const bool is_over, in.AtEnd());
    if (is_over) return std::optional<AggregatedLog>();
    TRY_ASSIGN(const std::string key, ReadKey(in));
    ValueBytes value(in);
    if (key == container) {
      TRY_ASSIGN(AggregatedLog log, FindLog(value, stream, most));
      return std::optional(std::move(log));
    }
    TRY(value.SkipRest());
  }
}

Result<AggregatedLog> ReadTFile(const ReadRange& read, int64_t length, const std::string& container,
                                const std::string& stream, int64_t most) {
  int64_t budget = kMostInflated;
  TRY_ASSIGN(const Blocks blocks, FindBlocks(read, length, budget));
  for (const LogRegion& region : blocks.regions) {
    TRY_ASSIGN(const auto in, OpenLogBytes(read, region, blocks.compression, budget));
    TRY_ASSIGN(auto log, FindInBlock(*in, container, stream, most));
    if (log) return *std::move(log);
  }
  return NotFoundError("the file has no entry for ", container);
}

}  // namespace

// Most indexes lie in the last window, so this window is read only once.
Result<AggregatedLog> ReadAggregatedLog(const ReadRange& read, int64_t length, const std::string& container,
                                        const std::string& stream, int64_t most) {
  const int64_t begin = std::max<int64_t>(0, length - kLogWindow);
  TRY_ASSIGN(const std::string end, PlainLogBytes(read, {begin, length})->Take(length - begin));
  const ReadRange read_once = [&](int64_t offset, int64_t count) -> Result<std::string> {
    if (offset < begin) return read(offset, count);
    return end.substr(static_cast<size_t>(offset - begin), static_cast<size_t>(count));
  };
  return end.ends_with(kMagic) ? ReadTFile(read_once, length, container, stream, most)
                               : ReadIndexedLog(read_once, length, container, stream, most);
}

}  // namespace tony::hadoop
