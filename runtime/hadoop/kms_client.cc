#include "runtime/hadoop/kms_client.h"

#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/aggregated_log.h"
#include "runtime/hadoop/gss_context.h"
#include "runtime/hadoop/webhdfs_answer.h"

namespace tony::hadoop {

Result<std::vector<std::string>> KmsServersOf(const std::string& provider) {
  constexpr std::string_view kScheme = "kms://";
  const size_t at = provider.find('@'), path = provider.find('/', kScheme.size());
  const std::string scheme = provider.starts_with(kScheme) && at < path ? provider.substr(6, at - 6) : "";
  if ((scheme == "http" || scheme == "https") && path != std::string::npos) {
    const std::string hosts = provider.substr(at + 1, path - at - 1);
    const size_t colon = hosts.rfind(':');
    const std::string port = colon == std::string::npos ? "" : hosts.substr(colon);
    std::vector<std::string> servers;
    for (const std::string& host : Split(hosts.substr(0, colon), ';'))
      if (!host.empty()) servers.push_back(StrCat(scheme, "://", host, port, provider.substr(path)));
    if (!servers.empty()) return servers;
  }
  return InvalidError("the NameNode's key provider is \"", provider, "\", expected kms://http@HOST:PORT/kms");
}

// The servers that remain, the first of which is asked.
class KmsClient::Steps : public EventLoop::Handle {
 public:
  std::vector<std::string> servers;
  Hdfs::Handle running;
};

Result<HttpCall> KmsClient::CallFor(const Request& request, const std::string& server) const {
  HttpCall call;
  call.method = request.method;
  call.url = StrCat(server, "/v1/", request.target);
  call.body = request.body;
  call.trust = options_.trust;
  call.limits = options_.limits;
  if (!request.body.empty()) call.headers.emplace_back("Content-Type", "application/json");
  if (request.uses_ticket) {
    TRY_ASSIGN(std::string header, NegotiateHeader(HostOfUrl(server), options_.limits.stalled));
    call.headers.emplace_back("Authorization", std::move(header));
  } else if (options_.kms_token) {
    TRY_ASSIGN(std::string token, options_.kms_token());
    call.headers.emplace_back("X-Hadoop-Delegation-Token", std::move(token));
  } else {
    call.url += StrCat("&user.name=", Escaped(options_.user));
  }
  return call;
}

Hdfs::Handle KmsClient::Ask(const std::string& provider, const Request& request,
                            Hdfs::Done<Result<HttpResponse>> done) {
  auto servers = KmsServersOf(provider);
  if (!servers.ok()) return loop_.After(Duration(0), [=, done = std::move(done)] { done(servers.error()); });
  auto steps = std::make_unique<Steps>();
  steps->servers = *std::move(servers);
  AskNext(*steps, request, done);
  return steps;
}

void KmsClient::AskNext(Steps& steps, const Request& request, const Hdfs::Done<Result<HttpResponse>>& done) {
  const std::string server = steps.servers.front();
  steps.servers.erase(steps.servers.begin());
  const std::string subject = StrCat("KMS ", server, ": ", request.subject);
  auto call = CallFor(request, server);
  if (!call.ok()) {
    steps.running = loop_.After(Duration(0), [=, error = Annotate(call.error(), subject)] { done(error); });
    return;
  }
  steps.running = http_.Send(*std::move(call), [=, this, &steps](Result<HttpResponse> response) {
    if (!response.ok() && !steps.servers.empty()) return AskNext(steps, request, done);
    if (!response.ok()) return done(Annotate(std::move(response), subject));
    if (const auto refusal = RefusalIn(*response)) return done(refusal->ToError(subject, false));
    done(std::move(response));
  });
}

Hdfs::Handle KmsClient::Decrypt(const std::string& provider, const EncryptedFileKey& key,
                                Hdfs::Done<Result<std::string>> done) {
  const Request request{"POST", StrCat("keyversion/", Escaped(key.version), "/_eek?eek_op=decrypt"),
                        StrCat("decrypt a key with ", key.version),
                        StrCat("{\"name\":", JsonString(key.zone_key), ",\"iv\":", JsonString(UrlTextOf(key.iv)),
                               ",\"material\":", JsonString(UrlTextOf(key.bytes)), "}")};
  return Ask(provider, request, [provider, done = std::move(done)](const Result<HttpResponse>& response) {
    if (!response.ok()) return done(response.error());
    const auto text = TextIn(response->body, "material");
    const auto bytes = text.ok() ? BytesFromUrlText(*text) : std::nullopt;
    if (!bytes) return done(InvalidError(provider, ": the answer is not from a KMS: it has no material"));
    done(*bytes);
  });
}

Hdfs::Handle KmsClient::GetToken(const std::string& provider, const std::string& renewer, const std::string& proxied,
                                 Hdfs::Done<Result<Token>> done) {
  const Request request{"GET",
                        StrCat("?op=GETDELEGATIONTOKEN&renewer=", Escaped(renewer),
                               proxied.empty() ? "" : StrCat("&doAs=", Escaped(proxied))),
                        "get a token", "", true};
  return Ask(provider, request, [provider, done = std::move(done)](const Result<HttpResponse>& response) {
    if (!response.ok()) return done(response.error());
    auto token = TokenIn(response->body);
    if (token.ok()) token->kind = kKmsTokenKind;
    if (token.ok()) token->service = provider;
    done(std::move(token));
  });
}

Hdfs::Handle KmsClient::RenewToken(const Token& token, Hdfs::Done<Result<Instant>> done) {
  const Request request{"PUT", StrCat("?op=RENEWDELEGATIONTOKEN&token=", Escaped(TextOf(token))), "renew a token", "",
                        true};
  return Ask(token.service, request, [done = std::move(done)](const Result<HttpResponse>& response) {
    done(response.ok() ? TimeIn(response->body) : Result<Instant>(response.error()));
  });
}

}  // namespace tony::hadoop
