#include "runtime/yarn/lease_reader.h"

#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/hadoop/rpc_hdfs.h"
#include "runtime/hadoop/webhdfs_answer.h"
#include "runtime/net/http_client.h"
#include "runtime/net/tls.h"
#include "runtime/os/files.h"
#include "runtime/records/hdfs/hdfs_calls.h"

namespace tony {

LeaseReader::LeaseReader(EventLoop& loop, LeasePlace place, LeaseRecord first, Duration limit)
    : loop_(loop),
      place_(std::move(place)),
      limit_(limit / static_cast<int>(place_.name_nodes.size())),
      first_(std::move(first)) {
  CHECK(!place_.name_nodes.empty());
}

void LeaseReader::Read(OnLease done) {
  if (call_) return;
  done_ = std::move(done);
  if (first_) {
    call_ = loop_.After(Duration(0), [this] { Tell(std::exchange(first_, std::nullopt)); });
    return;
  }
  unasked_ = place_.name_nodes.size();
  Ask();
}

std::string LeaseReader::Subject() const {
  return looks_for_folder_ ? place_.folder : StrCat(place_.folder, "/", kLeaseName);
}

// The file is read each time, because its tokens may be replaced.
Result<std::string> LeaseReader::TokenText() const {
  TRY_ASSIGN(const std::string file, VariableOfContainer("HADOOP_TOKEN_FILE_LOCATION"));
  TRY_ASSIGN(const std::string bytes, ReadFile(file));
  TRY_ASSIGN(const hadoop::Credentials credentials, hadoop::DecodeCredentials(bytes));
  const auto token = hadoop::HdfsTokenIn(credentials.tokens, {place_.token_service});
  if (!token) return NotPermittedError(file, ": the file has no token for HDFS");
  return hadoop::TextOf(*token);
}

// Reads the trusted certificates for each call, because an executor seldom makes a call.
Result<HttpServerAddress> LeaseReader::NameNode() const {
  const Endpoint& at = place_.name_nodes[name_node_];
  if (place_.hosts.empty()) return HttpServerAddress{at};
  const std::string& host = place_.hosts[name_node_ % place_.hosts.size()];
  TRY_ASSIGN(MakeChannel tls, MakeHttpsClient(place_.trust, host));
  return HttpServerAddress{at, ToString(Endpoint{host, at.port}), std::move(tls)};
}

namespace {

Result<std::map<std::string, std::string>> AttributesIn(const Result<HttpResponse>& response,
                                                        const std::string& subject) {
  if (!response.ok()) return response.error();
  if (const auto refusal = hadoop::RefusalIn(*response)) return refusal->ToError(subject, false);
  return hadoop::XattrsIn(response->body);
}

}  // namespace

void LeaseReader::Ask() {
  if (place_.uses_rpc) return AskByRpc();
  --unasked_;
  const auto token = place_.token_service.empty() ? Result<std::string>("") : TokenText();
  const auto server = NameNode();
  if (!token.ok() || !server.ok()) {
    const Error error = token.ok() ? server.error() : token.error();
    call_ = loop_.After(Duration(0), [this, error] { Tell(error); });
    return;
  }
  const std::string identity =
      token->empty() ? StrCat("user.name=", hadoop::Escaped(place_.user)) : StrCat("delegation=", *token);
  const std::string target =
      StrCat("/webhdfs/v1", hadoop::EscapedPath(Subject()), "?op=GETXATTRS&encoding=hex&", identity);
  const bool is_only_one = place_.name_nodes.size() == 1;
  const Duration limit = is_only_one ? limit_ : limit_ / 2;
  const auto read = [this, server = *server, target, limit] {
    call_ = GetByAddress(loop_, server, target, limit,
                         [this](const Result<HttpResponse>& response) { Take(AttributesIn(response, Subject())); });
  };
  if (is_only_one) return read();
  const std::string prove = StrCat("/webhdfs/v1/?op=", hadoop::kActiveOperation, "&", identity);
  call_ = GetByAddress(loop_, *server, prove, limit, [this, read](const Result<HttpResponse>& response) {
    const auto refusal = response.ok() ? hadoop::RefusalIn(*response) : std::nullopt;
    if (!response.ok()) return Take(response.error());
    if (refusal && hadoop::IsStandbyException(refusal->exception)) return Take(refusal->ToError(Subject(), false));
    read();
  });
}

// An executor seldom makes a call, so the connection lasts for a single call. RpcHdfs asks all NameNodes.
void LeaseReader::AskByRpc() {
  unasked_ = 0;
  hadoop::Hdfs::Options options{.rpc = {.name_nodes = place_.name_nodes}, .user = place_.user};
  options.limits.connect = limit_ * static_cast<int>(place_.name_nodes.size());
  options.limits.stalled = options.limits.whole = limit_;
  if (!place_.token_service.empty()) options.token = [this](const std::string&) { return TokenText(); };
  const auto resolve_nothing = [](const std::string& host) -> Result<std::string> {
    return InvalidError(host, ": expected a numeric address");
  };
  hdfs_ = std::make_unique<hadoop::RpcHdfs>(loop_, std::move(options), resolve_nothing);
  call_ = hdfs_->GetXattrs(Subject(), [this](const Result<Xattrs>& attributes) { Take(attributes); });
}

// Asks the next NameNode if this one is in standby or does not answer.
void LeaseReader::Take(const Result<Xattrs>& attributes) {
  const auto lease = LeaseIn(attributes);
  const bool is_answer = lease.ok() || lease.error().code == ErrorCode::kNotFound;
  if (!is_answer) name_node_ = (name_node_ + 1) % place_.name_nodes.size();
  if (!is_answer && unasked_ > 0) return Ask();
  Tell(lease);
}

Result<std::optional<LeaseRecord>> LeaseReader::LeaseIn(const Result<Xattrs>& attributes) {
  const std::string subject = Subject();
  const bool is_missing = !attributes.ok() && IsMissing(attributes.error());
  if (is_missing && looks_for_folder_) return NotFoundError(subject, ": the job's folder was removed");
  if (!attributes.ok() && !is_missing) return attributes.error();
  const bool looked_for_folder = std::exchange(looks_for_folder_, is_missing);
  if (is_missing || looked_for_folder) return std::optional<LeaseRecord>();
  const auto bytes = attributes->find(kBytesAttribute);
  if (bytes == attributes->end())
    return UnavailableError(subject, ": the file has no attribute ", kBytesAttribute,
                            ", which should contain the record");
  TRY_ASSIGN(LeaseRecord lease, LeaseRecordFromJson(bytes->second));
  return std::optional(std::move(lease));
}

// A reason is logged only if it differs from the last one, because the record may be unreadable for minutes.
void LeaseReader::Tell(const Result<std::optional<LeaseRecord>>& lease) {
  const std::string error = lease.ok() ? "" : lease.error().message;
  if (std::exchange(last_error_, error) != error && !error.empty())
    LogInfo(StrCat("the lease record cannot be read: ", error));
  call_ = nullptr;
  hdfs_ = nullptr;
  const OnLease done = std::move(done_);
  done(lease);
}

}  // namespace tony
