#include "runtime/yarn/cluster_tokens.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

constexpr char kTokensSecret[] = "tony.tokens";

bool IsForCluster(const hadoop::Token& token) {
  return token.kind == hadoop::kHdfsTokenKind || token.kind == hadoop::kRmTokenKind ||
         token.kind == hadoop::kKmsTokenKind;
}

// Returns tokens without bytes. The dates are those that the tokens themselves contain.
ClusterTokens DatesIn(const hadoop::Credentials& credentials) {
  ClusterTokens tokens;
  Instant ends = Instant::max();
  for (const auto& [alias, token] : credentials.tokens) {
    const auto dates = DatesOf(token);
    if (!dates) continue;
    ends = std::min(ends, dates->longest);
    if (token.kind == hadoop::kHdfsTokenKind) tokens.number = std::max(tokens.number, ToMillis(dates->issued));
  }
  if (tokens.number != 0) tokens.until = ends;
  return tokens;
}

void SetDates(hadoop::Credentials& credentials, const ClusterTokens& pushed) {
  credentials.secrets[kTokensSecret] = StrCat(pushed.number, " ", ToMillis(pushed.until));
}

}  // namespace

ClusterTokens FreshClusterTokens(hadoop::Credentials fresh, Instant until) {
  ClusterTokens tokens = DatesIn(fresh);
  if (tokens.number == 0) return {};
  tokens.until = std::min(tokens.until, until);
  SetDates(fresh, tokens);
  tokens.bytes = EncodeCredentials(fresh);
  return tokens;
}

ClusterTokens ClusterTokensIn(const hadoop::Credentials& credentials) {
  ClusterTokens tokens = DatesIn(credentials);
  if (tokens.number == 0) return {};
  hadoop::Credentials chosen;
  for (const auto& [alias, token] : credentials.tokens)
    if (IsForCluster(token)) chosen.tokens[alias] = token;
  tokens.bytes = EncodeCredentials(chosen);
  const auto pushed = credentials.secrets.find(kTokensSecret);
  if (pushed == credentials.secrets.end()) return tokens;
  const std::vector<std::string> words = Split(pushed->second, ' ');
  const auto number = ParseInt(words.front()), until = ParseInt(words.back());
  if (!number || !until) return tokens;
  tokens.number = *number;
  tokens.until = FromMillis(*until);
  return tokens;
}

Status AddTo(hadoop::Credentials& credentials, const ClusterTokens& pushed) {
  TRY_ASSIGN(const hadoop::Credentials fresh, hadoop::DecodeCredentials(pushed.bytes));
  for (const auto& [alias, token] : fresh.tokens)
    if (IsForCluster(token)) credentials.tokens[alias] = token;
  SetDates(credentials, pushed);
  return Ok();
}

Status ReplaceTokens(const std::filesystem::path& file, const ClusterTokens& pushed) {
  TRY_ASSIGN(const std::string bytes, ReadFile(file));
  TRY_ASSIGN(hadoop::Credentials credentials, Annotate(hadoop::DecodeCredentials(bytes), file.string()));
  TRY(AddTo(credentials, pushed));
  return WriteFileByRename(file, EncodeCredentials(credentials), /*durable=*/false);
}

}  // namespace tony
