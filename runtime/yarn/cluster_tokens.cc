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

}  // namespace

ClusterTokens ClusterTokensIn(const hadoop::Credentials& credentials) {
  ClusterTokens tokens;
  hadoop::Credentials chosen;
  for (const auto& [alias, token] : credentials.tokens) {
    if (IsForCluster(token)) chosen.tokens[alias] = token;
    const auto dates = DatesOf(token);
    if (!dates) continue;
    tokens.until = tokens.number == 0 ? dates->longest : std::min(tokens.until, dates->longest);
    tokens.number = std::max(tokens.number, ToMillis(dates->issued));
  }
  if (tokens.number == 0) return {};
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
  credentials.secrets[kTokensSecret] = StrCat(pushed.number, " ", ToMillis(pushed.until));
  return Ok();
}

Status ReplaceTokens(const std::filesystem::path& file, const ClusterTokens& pushed) {
  TRY_ASSIGN(const std::string bytes, ReadFile(file));
  TRY_ASSIGN(hadoop::Credentials credentials, Annotate(hadoop::DecodeCredentials(bytes), file.string()));
  TRY(AddTo(credentials, pushed));
  return WriteFileByRename(file, EncodeCredentials(credentials), /*durable=*/false);
}

}  // namespace tony
