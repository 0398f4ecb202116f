#include "runtime/hadoop/webhdfs.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/hadoop/aggregated_log.h"
#include "runtime/hadoop/default_fs.h"
#include "runtime/hadoop/gss_context.h"
#include "runtime/hadoop/webhdfs_answer.h"

namespace tony::hadoop {
namespace {

std::string OctalText(int permission) {
  std::string digits;
  for (int shift = 9; shift >= 0; shift -= 3) digits.push_back(static_cast<char>('0' + ((permission >> shift) & 7)));
  return digits;
}

std::string BoolText(bool value) { return value ? "true" : "false"; }

// Returns why an operation was not done; Ok if it was done. A second redirect is an error, because a job's bytes may go
// only to the server that the NameNode named.
Status Checked(const Result<HttpResponse>& response, std::string_view subject, bool writes) {
  if (!response.ok()) return response.error();
  if (const auto refusal = RefusalIn(*response)) return refusal->ToError(subject, writes);
  if (response->status == 307) return InvalidError(subject, ": the answer redirects to a second server");
  return Ok();
}

using OnResponse = std::function<void(Result<HttpResponse>)>;

// Returns a callback that calls `done` with the value that `parse` reads from the answer, or with an error.
template <class T, class Parse>
OnResponse Parsing(std::string subject, bool writes, Parse parse, std::function<void(Result<T>)> done) {
  return [=, done = std::move(done)](const Result<HttpResponse>& response) {
    const Status status = Checked(response, subject, writes);
    if (!status.ok()) return done(status.error());
    done(Annotate<T>(parse(*response), subject));
  };
}

OnResponse Finishing(std::string subject, std::function<void(Status)> done) {
  return [=, done = std::move(done)](const Result<HttpResponse>& response) { done(Checked(response, subject, true)); };
}

// Returns a callback that calls `done` with false if the target already exists, and otherwise with true or an error.
OnResponse Creating(std::string subject, std::function<void(Result<bool>)> done) {
  return [=, done = std::move(done)](const Result<HttpResponse>& response) {
    const auto refusal = response.ok() ? RefusalIn(*response) : std::nullopt;
    if (refusal && refusal->IsAlreadyThere()) return done(false);
    const Status status = Checked(response, subject, true);
    done(status.ok() ? Result<bool>(true) : status.error());
  };
}

// Returns the URL where the bytes are to be sent or read. A NameNode or a gateway sends this URL in a header or in the
// body.
Result<std::string> LocationIn(const HttpResponse& response, const std::string& base) {
  const std::string header = HeaderOf(response, "location");
  const bool is_redirect = response.status == 307 && !header.empty();
  TRY_ASSIGN(const std::string location, is_redirect ? Result<std::string>(header) : TextIn(response.body, "Location"));
  if (base.starts_with("https:") && !location.starts_with("https:"))
    return InvalidError("the answer redirects to a server without TLS");
  return location;
}

}  // namespace

// The handle of several calls that follow each other. It owns the call that is running.
class WebHdfs::Steps : public EventLoop::Handle {
 public:
  Hdfs::Handle running;
  // The token of the call that is running, and the token that a NameNode has refused. Empty: none.
  std::string token, refused;
  // The first answer that refused a token. An observer that is behind does not know a new token yet, so the other
  // NameNodes are asked, too. If they are in standby, this answer counts.
  std::optional<HttpResponse> token_refusal;
};

WebHdfs::WebHdfs(EventLoop& loop, Options options) : loop_(loop), options_(std::move(options)), http_(loop) {}

Result<HttpCall> WebHdfs::CallFor(Steps& steps, const Operation& operation, const std::string& base) const {
  HttpCall call;
  call.method = operation.method;
  call.url = StrCat(base, "/webhdfs/v1", EscapedPath(operation.path), "?op=", operation.name);
  if (operation.uses_ticket) {
    TRY_ASSIGN(std::string header, NegotiateHeader(HostOfUrl(base), options_.limits.stalled));
    call.headers.emplace_back("Authorization", std::move(header));
  } else if (options_.token) {
    TRY_ASSIGN(steps.token, options_.token(steps.refused));
    call.url += StrCat("&delegation=", steps.token);
  } else if (!options_.user.empty()) {
    call.url += StrCat("&user.name=", Escaped(options_.user));
  }
  for (const auto& [name, value] : operation.query) call.url += StrCat("&", name, "=", Escaped(value));
  call.trust = options_.trust;
  call.limits = options_.limits;
  call.limits.connect /= static_cast<int>(options_.bases.size());
  return call;
}

Hdfs::Handle WebHdfs::Ask(const Operation& operation, Done<Result<HttpResponse>> done) {
  auto steps = std::make_unique<Steps>();
  AskActive(*steps, operation, options_.bases.size(), done);
  return steps;
}

namespace {

// All clients of this process begin with the NameNode that was active last.
std::atomic<size_t> active_web = 0;
// The time for which a NameNode counts as active, because it has executed an operation that only the active one
// executes. A NameNode needs longer to become the standby, and then an observer that is behind.
constexpr Duration kIsActive{10'000};

// The NameNode that has last shown that it is active, for all threads.
struct ShownActive {
  std::mutex mutex;
  std::string base;
  Duration until{};  // since boot
} shown_active;

bool HasShown(const std::string& base) {
  const std::lock_guard lock(shown_active.mutex);
  return shown_active.base == base && SinceBoot() < shown_active.until;
}
void SetShown(const std::string& base) {
  const std::lock_guard lock(shown_active.mutex);
  shown_active.base = base;
  shown_active.until = SinceBoot() + kIsActive;
}

}  // namespace

// Sends a call to the active NameNode. If an observer would also answer this call, the NameNode must have shown before
// that it is active.
void WebHdfs::AskActive(Steps& steps, const Operation& operation, size_t tries,
                        const Done<Result<HttpResponse>>& done) {
  const auto is_known = [this] {
    return options_.bases.size() == 1 || HasShown(options_.bases[active_web % options_.bases.size()]);
  };
  if (operation.IsForActiveOnly() || is_known()) return AskNameNode(steps, operation, tries, done);
  const Operation prove{"GET", kActiveOperation, "/", {}};
  AskNameNode(steps, prove, tries, [=, this, &steps](Result<HttpResponse> response) {
    if (!is_known()) return done(std::move(response));
    AskNameNode(steps, operation, 1, done);
  });
}

// Sends a call to the NameNode that is probably active, and then to at most `tries` - 1 others. A NameNode that refuses
// the token gets the call once more if there is another token.
void WebHdfs::AskNameNode(Steps& steps, const Operation& operation, size_t tries,
                          const Done<Result<HttpResponse>>& done) {
  const size_t asked = active_web;
  const std::string& base = options_.bases[asked % options_.bases.size()];
  const auto sent = std::make_shared<bool>(false);
  auto call = CallFor(steps, operation, base);
  if (!call.ok()) {
    steps.running = loop_.After(Duration(0), [done, error = call.error()] { done(error); });
    return;
  }
  call->on_connected = [sent] { *sent = true; };
  const bool has_https = base.starts_with("https:");
  steps.running = http_.Send(*std::move(call), [=, this, &steps](Result<HttpResponse> response) {
    const auto refusal = response.ok() ? RefusalIn(*response) : std::nullopt;
    const bool is_standby = refusal && IsStandbyException(refusal->exception);
    const bool is_of_token = refusal && refusal->IsOfToken();
    if (is_standby || is_of_token || (!response.ok() && response.error().code == ErrorCode::kUnavailable)) {
      size_t expected = asked;
      active_web.compare_exchange_strong(expected, asked + 1);
    } else if (response.ok() && operation.IsForActiveOnly()) {
      SetShown(options_.bases[asked % options_.bases.size()]);
    }
    if (is_of_token && !steps.token_refusal) steps.token_refusal = *response;
    if (is_of_token && steps.refused.empty() && !steps.token.empty()) {
      steps.refused = steps.token;
      const auto other = options_.token(steps.refused);
      if (other.ok() && *other != steps.refused) return AskNameNode(steps, operation, options_.bases.size(), done);
    }
    // The call that looks for the active NameNode changes nothing, so a NameNode that hangs does not end the search.
    const bool may_go_on = !response.ok() && (!*sent || operation.name == kActiveOperation);
    if (tries > 1 && (is_standby || is_of_token || may_go_on)) return AskActive(steps, operation, tries - 1, done);
    if (is_standby && steps.token_refusal) return done(*steps.token_refusal);
    // No other error occurs before the first byte is sent.
    const bool is_of_certificate =
        has_https && !response.ok() && !*sent && response.error().code != ErrorCode::kUnavailable;
    const char* key = options_.gateway.empty() ? kHttpsAddressKey : kDefaultFsKey;
    done(is_of_certificate ? Annotate(std::move(response), key) : std::move(response));
  });
}

// A separate call finds the DataNode, because a client that follows redirects would first send the body to the
// NameNode.
Hdfs::Handle WebHdfs::AskDataNode(const Operation& operation, HttpCall data, Done<Result<HttpResponse>> done) {
  auto steps = std::make_unique<Steps>();
  Operation locate = operation;
  locate.query.emplace_back("noredirect", "true");
  locate.is_redirected = true;
  data.method = operation.method;
  steps->running = Ask(locate, [this, steps = steps.get(), data = std::move(data), done = std::move(done),
                                subject = operation.Subject()](Result<HttpResponse> located) {
    if (!located.ok() || RefusalIn(*located)) return done(std::move(located));
    const auto location = Annotate(LocationIn(*located, options_.bases.front()), subject);
    if (!location.ok()) return done(location.error());
    HttpCall call = data;
    call.url = *location;
    call.trust = options_.trust;
    steps->running = http_.Send(std::move(call), done);
  });
  return steps;
}

Hdfs::Handle WebHdfs::SendBytes(const Operation& operation, HdfsBody body, Done<Result<HttpResponse>> done) {
  HttpCall data;
  data.limits = options_.limits;
  data.limits.whole = options_.limits.whole + Duration(body.length() / kLeastBytesPerMillisecond);
  data.headers = {{"Content-Type", "application/octet-stream"}};  // required by HttpFS
  data.body = std::move(body.bytes);
  data.body_file = body.file;
  data.on_moved = std::move(body.on_moved);
  return AskDataNode(operation, std::move(data), std::move(done));
}

Hdfs::Handle WebHdfs::MakeFolders(const std::string& path, int permission, Done<Status> done) {
  const Operation operation{"PUT", "MKDIRS", path, {{"permission", OctalText(permission)}}};
  const auto parse = [](const HttpResponse& response) -> Result<bool> {
    TRY_ASSIGN(const bool made, BooleanIn(response.body));
    if (!made) return Error{ErrorCode::kCannotWrite, "the folder was not created"};
    return true;
  };
  const Done<Result<bool>> on_made = [done = std::move(done)](const Result<bool>& made) { done(made.status()); };
  return Ask(operation, Parsing<bool>(operation.Subject(), true, parse, on_made));
}

Hdfs::Handle WebHdfs::GetEntry(const std::string& path, Done<Result<HdfsEntry>> done) {
  const Operation operation{"GET", "GETFILESTATUS", path, {}};
  const auto parse = [](const HttpResponse& response) { return EntryIn(response.body); };
  return Ask(operation, Parsing<HdfsEntry>(operation.Subject(), false, parse, std::move(done)));
}

Hdfs::Handle WebHdfs::GetToken(const std::string& renewer, const std::string& proxied, Done<Result<Token>> done) {
  Operation operation{"GET", kActiveOperation, "/", {{"renewer", renewer}}, true};
  if (!proxied.empty()) operation.query.emplace_back("doas", proxied);
  const auto parse = [](const HttpResponse& response) { return TokenIn(response.body); };
  return Ask(operation, Parsing<Token>(operation.Subject(), false, parse, std::move(done)));
}

Hdfs::Handle WebHdfs::GetKeyProvider(Done<Result<std::string>> done) {
  const Operation operation{"GET", "GETSERVERDEFAULTS", "/", {}};
  const auto parse = [](const HttpResponse& response) { return KeyProviderIn(response.body); };
  return Ask(operation, Parsing<std::string>(operation.Subject(), false, parse, std::move(done)));
}

Hdfs::Handle WebHdfs::RenewToken(const Token& token, Done<Result<Instant>> done) {
  const Operation operation{"PUT", "RENEWDELEGATIONTOKEN", "/", {{"token", TextOf(token)}}, true};
  const auto parse = [](const HttpResponse& response) { return TimeIn(response.body); };
  return Ask(operation, Parsing<Instant>(operation.Subject(), true, parse, std::move(done)));
}

Hdfs::Handle WebHdfs::GetHomeFolder(Done<Result<std::string>> done) {
  const Operation operation{"GET", "GETHOMEDIRECTORY", "/", {}};
  const auto parse = [](const HttpResponse& response) { return TextIn(response.body, "Path"); };
  return Ask(operation, Parsing<std::string>(operation.Subject(), false, parse, std::move(done)));
}

Hdfs::Handle WebHdfs::CheckAccess(const std::string& path, const std::string& action, Done<Status> done) {
  const Operation operation{"GET", "CHECKACCESS", path, {{"fsaction", action}}};
  return Ask(operation, Finishing(operation.Subject(), std::move(done)));
}

Hdfs::Handle WebHdfs::List(const std::string& path, Done<Result<std::vector<HdfsEntry>>> done) {
  const auto ask = [this, path](const std::string& after, Done<Result<HdfsListing>> on_some) {
    Operation operation{"GET", "LISTSTATUS_BATCH", path, {}};
    if (!after.empty()) {
      // Hadoop calls the parameter `startAfter`, but version 3.5.0 reads only `startafter`, so both are sent.
      operation.query.emplace_back("startAfter", after);
      operation.query.emplace_back("startafter", after);
    }
    const auto parse = [](const HttpResponse& response) { return ListingIn(response.body); };
    return Ask(operation, Parsing<HdfsListing>(operation.Subject(), false, parse, std::move(on_some)));
  };
  return ListAll(path, ask, std::move(done));
}

Hdfs::Handle WebHdfs::Create(const std::string& path, HdfsBody body, const HdfsCreation& how, Done<Result<bool>> done) {
  const Operation operation{"PUT",
                            "CREATE",
                            path,
                            {{"overwrite", BoolText(how.overwrite)},
                             {"createparent", BoolText(how.make_parents)},
                             // Replicated, because an erasure-coded file takes at least three DataNodes.
                             {"createflag", "CREATE,SHOULD_REPLICATE"},
                             {"permission", OctalText(how.permission)}}};
  return SendBytes(operation, std::move(body), Creating(operation.Subject(), std::move(done)));
}

Hdfs::Handle WebHdfs::Append(const std::string& path, HdfsBody body, Done<Status> done) {
  const Operation operation{"POST", "APPEND", path, {}};
  return SendBytes(operation, std::move(body), Finishing(operation.Subject(), std::move(done)));
}

Hdfs::Handle WebHdfs::Read(const std::string& path, int64_t offset, int64_t length, Done<Result<std::string>> done) {
  const Operation operation{"GET", "OPEN", path, {{"offset", StrCat(offset)}, {"length", StrCat(length)}}};
  HttpCall data;
  data.limits = options_.limits;
  const auto parse = [](const HttpResponse& response) -> Result<std::string> { return response.body; };
  return AskDataNode(operation, std::move(data),
                     Parsing<std::string>(operation.Subject(), false, parse, std::move(done)));
}

// Options are always sent. Without them, HDFS would move `from` into an existing folder `to`. With them, the answer is
// empty or an exception.
Hdfs::Handle WebHdfs::Rename(const std::string& from, const std::string& to, HdfsRename how, Done<Result<bool>> done) {
  const char* options = how == HdfsRename::kIfNew ? "NONE" : "OVERWRITE";
  const Operation operation{"PUT", "RENAME", from, {{"destination", to}, {"renameoptions", options}}};
  if (how == HdfsRename::kIfNew) return Ask(operation, Creating(operation.Subject(), std::move(done)));
  const auto parse = [](const HttpResponse&) -> Result<bool> { return true; };
  return Ask(operation, Parsing<bool>(operation.Subject(), true, parse, std::move(done)));
}

Hdfs::Handle WebHdfs::Remove(const std::string& path, Done<Result<bool>> done) {
  const Operation operation{"DELETE", "DELETE", path, {{"recursive", "true"}}};
  const auto parse = [](const HttpResponse& response) { return BooleanIn(response.body); };
  return Ask(operation, Parsing<bool>(operation.Subject(), true, parse, std::move(done)));
}

Hdfs::Handle WebHdfs::SetPermission(const std::string& path, int permission, Done<Status> done) {
  const Operation operation{"PUT", "SETPERMISSION", path, {{"permission", OctalText(permission)}}};
  return Ask(operation, Finishing(operation.Subject(), std::move(done)));
}

Hdfs::Handle WebHdfs::SetXattr(const std::string& path, const std::string& name, std::string_view value, HdfsXattr how,
                               Done<Result<bool>> done) {
  Operation operation{"PUT", "SETXATTR", path, {{"xattr.name", name}, {"xattr.value", ToHexText(value)}}};
  operation.query.emplace_back("flag", how == HdfsXattr::kIfNew ? "CREATE" : "CREATE,REPLACE");
  return Ask(operation, Creating(operation.Subject(), std::move(done)));
}

Hdfs::Handle WebHdfs::GetXattrs(const std::string& path, Done<Result<std::map<std::string, std::string>>> done) {
  const Operation operation{"GET", "GETXATTRS", path, {{"encoding", "hex"}}};
  const auto parse = [](const HttpResponse& response) { return XattrsIn(response.body); };
  return Ask(operation,
             Parsing<std::map<std::string, std::string>>(operation.Subject(), false, parse, std::move(done)));
}

}  // namespace tony::hadoop
