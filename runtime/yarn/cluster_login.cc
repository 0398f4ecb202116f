#include "runtime/yarn/cluster_login.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/base/event_loop.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/hadoop/auth_to_local.h"
#include "runtime/hadoop/gss_context.h"
#include "runtime/hadoop/kms_client.h"
#include "runtime/hadoop/webhdfs.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/job/job_spec.h"
#include "runtime/net/host_resolver.h"
#include "runtime/os/files.h"
#include "runtime/yarn/cluster_tokens.h"
#include "runtime/yarn/hdfs_location.h"

namespace tony {
namespace {

constexpr char kTokenFile[] = "HADOOP_TOKEN_FILE_LOCATION";
constexpr char kProxyUser[] = "HADOOP_PROXY_USER";
// The limit of a login, in which a KDC that does not answer is given up.
constexpr HttpCallLimits kLoginLimits{.stalled = Duration(20'000), .whole = Duration(40'000)};

using Tokens = std::map<std::string, hadoop::Token>;

std::string VariableText(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the tokens of $HADOOP_TOKEN_FILE_LOCATION; none if the variable is not set.
Result<Tokens> TokensOfFile() {
  const std::string file = VariableText(kTokenFile);
  if (file.empty()) return Tokens();
  TRY_ASSIGN(const std::string bytes, Annotate(ReadFile(file), kTokenFile));
  TRY_ASSIGN(hadoop::Credentials credentials,
             Annotate(hadoop::DecodeCredentials(bytes), StrCat(kTokenFile, ": ", file)));
  return std::move(credentials.tokens);
}

std::optional<hadoop::Token> TokenOfKind(const Tokens& tokens, std::string_view kind) {
  for (const auto& [alias, token] : tokens)
    if (token.kind == kind) return token;
  return std::nullopt;
}

// A site may write the NameNode's name instead of its address into tokens (hadoop.security.token.service.use_ip).
std::optional<hadoop::Token> HdfsTokenIn(const Tokens& tokens, const YarnCluster& cluster) {
  return hadoop::HdfsTokenIn(tokens, {HdfsServiceOf(cluster), HdfsAuthority(cluster.name_node)});
}

// The principal that may renew a job's tokens. The NameNode reduces it to a short name, so any ResourceManager's host
// has the same meaning.
std::string RenewerOf(const YarnCluster& cluster) {
  return hadoop::PrincipalOn(cluster.rm_principal, cluster.rms.front().host);
}

template <class T, class Ask>
Result<T> AskHdfs(const hadoop::Hdfs::Options& options, Ask ask) {
  EventLoop loop;
  const auto hdfs = hadoop::MakeHdfs(loop, options);
  return RunUntilAnswer<Result<T>>(loop, [&](auto done) { return ask(*hdfs, std::move(done)); });
}

// The options of a call that uses the ticket.
hadoop::Hdfs::Options TicketOptionsOf(const YarnCluster& cluster) {
  hadoop::Hdfs::Options options{
      .bases = cluster.webhdfs, .rpc = cluster.hdfs_rpc, .trust = cluster.trust, .user = "", .limits = kLoginLimits};
  if (!UsesWebHdfs(cluster)) options.rpc.name_nodes = RpcServersOf(cluster);
  return options;
}

Result<hadoop::GssContext::User> OwnerOfTicket() {
  TRY_ASSIGN(const auto context, hadoop::GssContext::Start("HTTP@localhost", kLoginLimits.stalled));
  return context->WhoAmI();
}

Result<hadoop::Token> NewHdfsToken(const YarnCluster& cluster, const std::string& renewer) {
  if (!UsesWebHdfs(cluster) && cluster.hdfs_rpc.principal.empty())
    return InvalidError("Hadoop's site files: dfs.namenode.kerberos.principal is not set");
  auto token = AskHdfs<hadoop::Token>(TicketOptionsOf(cluster), [&](hadoop::Hdfs& hdfs, auto done) {
    return hdfs.GetToken(renewer, VariableText(kProxyUser), std::move(done));
  });
  if (!token.ok()) return WithLoginAdvice(token.error());
  token->service = HdfsServiceOf(cluster);
  return token;
}

hadoop::RpcIdentity TicketFor(const YarnCluster& cluster) {
  return hadoop::KerberosUser{cluster.rm_principal, VariableText(kProxyUser)};
}

Result<hadoop::Token> NewRmToken(const YarnCluster& cluster, const std::string& renewer) {
  TRY_ASSIGN(hadoop::Token token, RmCalls(cluster, kLoginLimits.stalled, TicketFor(cluster)).NewToken(renewer));
  token.service = ToText(cluster.rms);
  return token;
}

// Returns a token for the key management server of the cluster's encryption zones; nullopt: the cluster has none.
// `hdfs` is the text of a token for HDFS.
Result<std::optional<hadoop::Token>> NewKmsToken(const YarnCluster& cluster, const std::string& renewer,
                                                 const std::string& hdfs) {
  hadoop::Hdfs::Options options = TicketOptionsOf(cluster);
  options.token = [hdfs](const std::string&) { return hdfs; };
  TRY_ASSIGN(const std::string provider, AskHdfs<std::string>(options, [](hadoop::Hdfs& calls, auto done) {
               return calls.GetKeyProvider(std::move(done));
             }));
  if (provider.empty()) return std::optional<hadoop::Token>();
  EventLoop loop;
  hadoop::KmsClient kms(loop, TicketOptionsOf(cluster));
  auto token = RunUntilAnswer<Result<hadoop::Token>>(loop, [&](auto done) {
    return kms.GetToken(provider, renewer, VariableText(kProxyUser), std::move(done));
  });
  if (!token.ok()) return WithLoginAdvice(token.error());
  return std::optional(*std::move(token));
}

// A token that this process has fetched for itself. The token is not renewed, so it ends after a day by default.
struct OwnToken {
  std::string text;
  Duration renew_at{};  // since boot
};
constexpr Duration kTokenIsUsed = std::chrono::hours(1);
constexpr Duration kRetryPause = std::chrono::minutes(1);

// Returns the text of a token of this process for the server with the name `server`. All threads use the same token. If
// no new token can be fetched, for example because the ticket has ended, the old token is used until it ends, too. A
// token that the server has refused is replaced at once.
Result<std::string> OwnTokenText(const std::string& server, const std::string& refused,
                                 const std::function<Result<hadoop::Token>()>& fetch) {
  static std::mutex mutex;
  static std::map<std::string, OwnToken> known;
  const std::lock_guard lock(mutex);
  OwnToken& own = known[server];
  if (!own.text.empty() && own.text != refused && SinceBoot() < own.renew_at) return own.text;
  const auto token = fetch();
  if (!token.ok() && own.text.empty()) return token.error();
  if (token.ok()) own.text = TextOf(*token);
  own.renew_at = SinceBoot() + (token.ok() ? kTokenIsUsed : kRetryPause);
  return own.text;
}

// Returns the text of the token with which this process calls the cluster's HDFS.
Result<std::string> HdfsTokenTextOf(const YarnCluster& cluster, const std::string& refused) {
  TRY_ASSIGN(const Tokens tokens, TokensOfFile());
  if (const auto token = HdfsTokenIn(tokens, cluster)) return TextOf(*token);
  return OwnTokenText(HdfsAuthority(cluster.name_node), refused,
                      [&] { return NewHdfsToken(cluster, RenewerOf(cluster)); });
}

// A gateway issues tokens of its own, for which the process needs a ticket.
Result<std::string> GatewayTokenTextOf(const YarnCluster& cluster, const std::string& refused) {
  return OwnTokenText(cluster.gateway, refused, [&]() -> Result<hadoop::Token> {
    hadoop::Hdfs::Options options = TicketOptionsOf(cluster);
    options.bases = {cluster.gateway};
    options.rpc.name_nodes.clear();
    const auto token = AskHdfs<hadoop::Token>(options, [&](hadoop::Hdfs& hdfs, auto done) {
      return hdfs.GetToken(RenewerOf(cluster), VariableText(kProxyUser), std::move(done));
    });
    if (!token.ok()) return WithLoginAdvice(token.error());
    return token;
  });
}

// Returns the text of the token with which this process calls the cluster's key management server.
Result<std::string> KmsTokenTextOf(const YarnCluster& cluster) {
  TRY_ASSIGN(const Tokens tokens, TokensOfFile());
  if (const auto token = TokenOfKind(tokens, hadoop::kKmsTokenKind)) return TextOf(*token);
  TRY_ASSIGN(const std::string hdfs, HdfsTokenTextOf(cluster, ""));
  return OwnTokenText("kms of " + HdfsAuthority(cluster.name_node), "", [&]() -> Result<hadoop::Token> {
    TRY_ASSIGN(auto token, NewKmsToken(cluster, RenewerOf(cluster), hdfs));
    return token ? Result<hadoop::Token>(*std::move(token)) : InvalidError("the NameNode names no KMS");
  });
}

// Adds a token for the key management server, unless a launcher has given this process one. A job that uses no
// encryption zone needs none, so an error is only logged.
void AddKmsToken(const YarnCluster& cluster, const std::string& renewer, hadoop::Credentials& credentials) {
  const auto hdfs = HdfsTokenIn(credentials.tokens, cluster);
  if (!hdfs || TokenOfKind(credentials.tokens, hadoop::kKmsTokenKind)) return;
  const auto token = NewKmsToken(cluster, renewer, TextOf(*hdfs));
  if (token.ok() && *token) credentials.tokens[(*token)->service] = **token;
  if (!token.ok()) LogWarn(StrCat("the job cannot use encryption zones: ", token.error().message));
}

}  // namespace

std::string HdfsServiceOf(const YarnCluster& cluster) {
  if (cluster.name_node.port < 0) return StrCat("ha-hdfs:", cluster.name_node.host);
  const auto address = ResolveHost(cluster.name_node.host);
  return ToString(Endpoint{address.ok() ? *address : cluster.name_node.host, cluster.name_node.port});
}

Result<hadoop::RpcIdentity> RmIdentityOf(const YarnCluster& cluster) {
  if (cluster.rm_principal.empty()) return hadoop::RpcIdentity(hadoop::SimpleUser{cluster.user});
  TRY_ASSIGN(const Tokens tokens, TokensOfFile());
  if (auto token = TokenOfKind(tokens, hadoop::kRmTokenKind)) return hadoop::RpcIdentity(*std::move(token));
  return TicketFor(cluster);
}

Error WithLoginAdvice(Error error) {
  const std::string file = VariableText(kTokenFile);
  const std::string of_file = StrCat("the tokens in ", file, " (", kTokenFile, ")");
  const std::pair<std::string_view, std::string> all[] = {
      {"Mechanism level: Clock skew", "synchronize the clocks of this machine and of the server"},
      {"GSS initiate failed",
       "the server refused the Kerberos ticket, for example because its clock differs from this machine's"},
      {"user not authenticated by filter",
       "WebHDFS does not accept Kerberos: set hadoop.http.authentication.type to kerberos for the NameNode"},
      {"InvalidToken",
       file.empty() ? "" : StrCat(of_file, " have ended: fetch new ones, or unset the variable and run kinit")},
      {"Failed to renew token",
       file.empty() ? "" : StrCat(of_file, " must be valid, and have the ResourceManager as their renewer")}};
  for (const auto& [said, advice] : all) {
    const bool is_said = error.message.find(said) != std::string::npos;
    if (is_said && !advice.empty() && !error.message.ends_with(advice)) error.message += "; " + advice;
  }
  return error;
}

Result<std::string> DescribeLogin() {
  TRY_ASSIGN(const Tokens tokens, TokensOfFile());
  if (TokenOfKind(tokens, hadoop::kRmTokenKind)) return StrCat("the tokens in ", VariableText(kTokenFile));
  TRY_ASSIGN(const auto user, OwnerOfTicket());
  const std::string proxied = VariableText(kProxyUser);
  return StrCat("the ticket of ", user.principal, ", which ends in ", HumanDuration(user.left),
                proxied.empty() ? "" : StrCat(", and acts for user ", proxied));
}

hadoop::Hdfs::Options HdfsOptionsOf(const YarnCluster& cluster, const HttpCallLimits& limits) {
  hadoop::Hdfs::Options options{.bases = cluster.webhdfs,
                                .rpc = cluster.hdfs_rpc,
                                .trust = cluster.trust,
                                .user = cluster.user,
                                .limits = limits};
  if (!cluster.gateway.empty()) {
    options.rpc.name_nodes = RpcServersOf(cluster);
    options.gateway = cluster.gateway;
  }
  if (cluster.rm_principal.empty()) return options;
  options.token = [cluster](const std::string& refused) { return HdfsTokenTextOf(cluster, refused); };
  options.gateway_token = [cluster](const std::string& refused) { return GatewayTokenTextOf(cluster, refused); };
  options.kms_token = [cluster] { return KmsTokenTextOf(cluster); };
  return options;
}

Result<std::string> HomeFolderOf(const YarnCluster& cluster, const std::string& rules) {
  if (!UsesWebHdfs(cluster)) {
    TRY_ASSIGN(const std::string text, HdfsTokenTextOf(cluster, ""));
    TRY_ASSIGN(const hadoop::Token token, hadoop::TokenFromText(text));
    const auto owner = hadoop::OwnerOf(token);
    if (!owner) return InvalidError("the NameNode's token cannot be read, so the user's name is not known");
    TRY_ASSIGN(
        const std::string user,
        hadoop::UserOf(*owner, rules, cluster.hdfs_rpc.principal.substr(cluster.hdfs_rpc.principal.rfind('@') + 1)));
    return StrCat(cluster.home.substr(0, cluster.home.rfind('/') + 1), user);
  }
  EventLoop loop;
  hadoop::WebHdfs hdfs(loop, HdfsOptionsOf(cluster, kLoginLimits));
  auto home = RunUntilAnswer<Result<std::string>>(loop, [&](auto done) { return hdfs.GetHomeFolder(std::move(done)); });
  if (!home.ok()) return WithLoginAdvice(home.error());
  return home;
}

bool HasTokenFile() { return !VariableText(kTokenFile).empty(); }

namespace {

// Adds a token for another HDFS of a job, unless a launcher has given this process one.
Status AddTokenOf(const std::string& other_hdfs, const JobSpec& spec, const YarnCluster& cluster,
                  const std::string& renewer, hadoop::Credentials& credentials) {
  TRY_ASSIGN(const YarnCluster other, WithOtherHdfs(cluster, other_hdfs, kOtherNameNodesKey));
  const std::string service = HdfsServiceOf(other);
  if (std::ranges::any_of(credentials.tokens, [&](const auto& each) { return each.second.service == service; }))
    return Ok();
  const auto token = NewHdfsToken(other, renewer);
  const bool has_key = std::ranges::count(spec.yarn.other_name_nodes, other_hdfs) > 0;
  if (!token.ok())
    return Annotate(token.error(), has_key ? StrCat(kOtherNameNodesKey, ": ", other_hdfs) : other_hdfs);
  credentials.tokens[token->service] = *token;
  return Ok();
}

// Adds a new token for the cluster's HDFS, and returns its end. The token does not contain its end; only its renewer
// learns the end, when it renews the token.
Result<Instant> AddFreshToken(const YarnCluster& cluster, const std::string& renewer, hadoop::Credentials& fresh) {
  TRY_ASSIGN(const hadoop::Token token, NewHdfsToken(cluster, renewer));
  TRY_ASSIGN(const Instant end, AskHdfs<Instant>(TicketOptionsOf(cluster), [&](hadoop::Hdfs& hdfs, auto done) {
               return hdfs.RenewToken(token, std::move(done));
             }));
  fresh.tokens[token.service] = token;
  return end;
}

// Does the same for the token of the key management server.
Result<Instant> RenewKmsToken(const YarnCluster& cluster, const hadoop::Token& token) {
  EventLoop loop;
  hadoop::KmsClient kms(loop, TicketOptionsOf(cluster));
  return RunUntilAnswer<Result<Instant>>(loop, [&](auto done) { return kms.RenewToken(token, std::move(done)); });
}

}  // namespace

Result<hadoop::Credentials> TokensForJob(const YarnCluster& cluster, const JobSpec& spec) {
  hadoop::Credentials credentials;
  if (cluster.rm_principal.empty()) return credentials;
  TRY_ASSIGN(credentials.tokens, TokensOfFile());
  // The ResourceManager's web server issues tokens without a service. It cannot renew such a token.
  for (auto& [alias, token] : credentials.tokens)
    if (token.kind == hadoop::kRmTokenKind && token.service.empty()) token.service = ToText(cluster.rms);
  if (!HdfsTokenIn(credentials.tokens, cluster)) {
    TRY_ASSIGN(hadoop::Token token, NewHdfsToken(cluster, RenewerOf(cluster)));
    credentials.tokens[token.service] = token;
  }
  if (!TokenOfKind(credentials.tokens, hadoop::kRmTokenKind)) {
    TRY_ASSIGN(hadoop::Token token, NewRmToken(cluster, RenewerOf(cluster)));
    credentials.tokens[token.service] = token;
  }
  AddKmsToken(cluster, RenewerOf(cluster), credentials);
  TRY_ASSIGN(const auto others, OtherHdfsOf(cluster, spec));
  for (const std::string& other : others) TRY(AddTokenOf(other, spec, cluster, RenewerOf(cluster), credentials));
  return credentials;
}

Result<ClusterTokens> FreshTokens(const YarnCluster& cluster, const JobSpec& spec) {
  if (cluster.rm_principal.empty()) return InvalidError("the cluster has no Kerberos, so its jobs use no tokens");
  TRY_ASSIGN(const auto user, OwnerOfTicket());
  hadoop::Credentials fresh;
  TRY_ASSIGN(const hadoop::Token rm, NewRmToken(cluster, user.principal));
  fresh.tokens[rm.service] = rm;
  TRY_ASSIGN(Instant until, AddFreshToken(cluster, user.principal, fresh));
  const auto take = [&until](const std::string& name, const Result<Instant>& end) {
    if (end.ok()) until = std::min(until, *end);
    if (!end.ok()) LogWarn(StrCat(name, ": ", end.error().message));
  };
  AddKmsToken(cluster, user.principal, fresh);
  if (const auto kms = TokenOfKind(fresh.tokens, hadoop::kKmsTokenKind))
    take("encryption zones", RenewKmsToken(cluster, *kms));
  TRY_ASSIGN(const auto others, OtherHdfsOf(cluster, spec));
  for (const std::string& name : others) {
    const auto other = WithOtherHdfs(cluster, name, kOtherNameNodesKey);
    take(name, other.ok() ? AddFreshToken(*other, user.principal, fresh) : Result<Instant>(other.error()));
  }
  ClusterTokens tokens = FreshClusterTokens(std::move(fresh), until);
  if (tokens.number == 0) return InvalidError("the NameNode's token cannot be read, so its age is not known");
  return tokens;
}

Status CheckKeytab(const YarnCluster& cluster, const std::string& file) {
  if (file.empty()) return Ok();
  if (cluster.rm_principal.empty()) return InvalidError(kKeytabKey, ": the cluster has no Kerberos, so remove the key");
  if (!VariableText(kProxyUser).empty())
    return NotPermittedError(kKeytabKey, ": the tasks of user ", cluster.user, " could read this keytab of another ",
                             "user (", kProxyUser, "), so remove the key; commands that follow the job push tokens");
  const auto readable = ReadFile(file);
  if (!readable.ok()) return Annotate(readable.error(), kKeytabKey);
  TRY(hadoop::CheckKeytabFile(kKeytabKey, file));
  const auto context = hadoop::GssContext::Start("HTTP@localhost", kLoginLimits.stalled, file);
  const auto user = context.ok() ? (*context)->WhoAmI() : Result<hadoop::GssContext::User>(context.error());
  if (!user.ok()) return Annotate(user.error(), StrCat(kKeytabKey, ": ", file));
  const auto owner = OwnerOfTicket();
  const bool is_owners = owner.ok() && owner->principal == user->principal;
  if (is_owners || user->principal.substr(0, user->principal.find_first_of("/@")) == cluster.user) return Ok();
  return NotPermittedError(kKeytabKey, ": ", file, " is a keytab of ", user->principal,
                           ", and the job belongs to user ", cluster.user);
}

Status UseKeytab(const std::string& bytes) {
  // The file has no name, so no other file of this container holds the keytab. It stays open for tony-gss.
  const int file = memfd_create("keytab", MFD_CLOEXEC);
  if (file < 0 || fchmod(file, 0600) != 0 ||
      write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return UnavailableError("the keytab cannot be kept in memory: ", ErrnoText(errno));
  setenv("KRB5_CLIENT_KTNAME", StrCat("FILE:/proc/", getpid(), "/fd/", file).c_str(), 1);
  setenv("KRB5CCNAME", "MEMORY:", 1);
  return Ok();
}

}  // namespace tony
