// Calls the key management servers (KMS) of a cluster's encryption zones, by their REST interface:
//
//   POST /kms/v1/keyversion/VERSION/_eek?eek_op=decrypt   {name, iv, material} -> {material}
//   GET /kms/v1/?op=GETDELEGATIONTOKEN                    -> {Token: {urlString}}
//   PUT /kms/v1/?op=RENEWDELEGATIONTOKEN&token=TEXT       -> {long: milliseconds since 1970}
//
// A provider such as "kms://https@kms1.example.org;kms2.example.org:9600/kms" may name several servers. All calls may
// be repeated, so a server that does not answer is followed by the next one.
//
// Loop thread only, with the rules of Hdfs for handles and `done`. Errors name the server: kUnavailable: no server
// answers; kNotPermitted: the user may not use the key, or his token is refused; kInvalid: `provider` is not a KMS, or
// an answer is not that of a KMS.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/hadoop/hdfs.h"
#include "runtime/hadoop/rpc_hdfs.h"
#include "runtime/net/http_client.h"

namespace tony::hadoop {

// Returns the servers of a provider, e.g. {"http://kms.example.org:9600/kms"}. kInvalid: it is not a KMS. Pure.
Result<std::vector<std::string>> KmsServersOf(const std::string& provider);

class KmsClient {
 public:
  // Uses the user, the KMS' tokens, the trust and the limits of `options`.
  KmsClient(EventLoop& loop, const Hdfs::Options& options) : loop_(loop), options_(options), http_(loop) {}

  [[nodiscard]] Hdfs::Handle Decrypt(const std::string& provider, const EncryptedFileKey& key,
                                     Hdfs::Done<Result<std::string>> done);
  // As Hdfs::GetToken().
  [[nodiscard]] Hdfs::Handle GetToken(const std::string& provider, const std::string& renewer,
                                      const std::string& proxied, Hdfs::Done<Result<Token>> done);
  // As Hdfs::RenewToken(). The token's service is its provider.
  [[nodiscard]] Hdfs::Handle RenewToken(const Token& token, Hdfs::Done<Result<Instant>> done);

 private:
  class Steps;
  struct Request {
    std::string method, target, subject, body;
    bool uses_ticket = false;
  };
  [[nodiscard]] Hdfs::Handle Ask(const std::string& provider, const Request& request,
                                 Hdfs::Done<Result<HttpResponse>> done);
  void AskNext(Steps& steps, const Request& request, const Hdfs::Done<Result<HttpResponse>>& done);
  Result<HttpCall> CallFor(const Request& request, const std::string& server) const;

  EventLoop& loop_;
  const Hdfs::Options options_;
  HttpClient http_;
};

}  // namespace tony::hadoop
