#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/spec/parser_parts.h"

namespace tony {
namespace {

constexpr std::string_view kScope = "tony.restart.scope";
constexpr std::string_view kBackoff = "tony.restart.backoff-ms";
constexpr std::string_view kLongestBackoff = "tony.restart.longest-backoff-ms";
constexpr std::string_view kJobBudget = "tony.restart.job.budget";
constexpr std::string_view kTonyRetries = "tony.am.retry-count";
constexpr std::string_view kDirectory = "tony.checkpoint.dir";
constexpr std::string_view kCheckpointPattern = "tony.checkpoint.pattern";
constexpr std::string_view kFruitless = "tony.checkpoint.fruitless-restarts";
constexpr std::string_view kResume = "tony.checkpoint.resume";

constexpr int64_t kMostRestarts = 1'000'000;
constexpr std::string_view kFrameworkScope = "framework";
constexpr size_t kLongestPath = 4095;  // PATH_MAX without the NUL

Result<int> Budget(const PropertyValues& values, std::string_view key) {
  TRY_ASSIGN(const int64_t most, values.Number(key, 0, kMostRestarts));
  return static_cast<int>(most);
}

Result<RestartBudget> BudgetOf(const PropertyValues& values, std::string_view level) {
  RestartBudget budget;
  TRY_ASSIGN(budget.most, Budget(values, StrCat("tony.restart.", level, ".budget")));
  TRY_ASSIGN(budget.window, values.Millis(StrCat("tony.restart.", level, ".window-ms"), 0));
  return budget;
}

// TonY restarted nothing less than the whole job, and counted it here. Our own key goes before it.
Status TakeTonysRetries(const PropertyValues& values, RestartRules& rules, Warnings& warnings) {
  if (!values.Has(kTonyRetries)) return Ok();
  TRY_ASSIGN(const int retries, Budget(values, kTonyRetries));
  if (values.Has(kJobBudget)) {
    warnings.push_back(values.Bad(kTonyRetries, StrCat("no effect, as ", kJobBudget, " is set")).message);
    return Ok();
  }
  rules.levels[static_cast<size_t>(RestartScope::kJob)].most = retries;
  return Ok();
}

Status ParseBackoff(const PropertyValues& values, RestartRules& rules) {
  const size_t problems_before = values.problems().count();
  TRY_ASSIGN(rules.backoff, values.Millis(kBackoff, 0));
  TRY_ASSIGN(rules.longest_backoff, values.Millis(kLongestBackoff, 0));
  TRY_ASSIGN(rules.settle, values.Millis("tony.restart.settle-ms", 0));
  if (!values.Has(kLongestBackoff)) rules.longest_backoff = std::max(rules.longest_backoff, rules.backoff);
  const bool all_good = values.problems().count() == problems_before;
  if (!all_good || rules.longest_backoff >= rules.backoff) return Ok();
  return values.Bad(kLongestBackoff, StrCat("expected at least ", kBackoff, " (", rules.backoff.count(), ")"));
}

Result<std::optional<RestartScope>> ScopeOf(const PropertyValues& values, std::string_view key) {
  const std::string text = ToLower(Trim(values.Text(key)));
  if (text == kFrameworkScope) return std::optional<RestartScope>();
  if (const auto scope = RestartScopeFromString(text)) return scope;
  return values.Bad(key, "expected framework, task, role, gang or job");
}

Result<std::string> ParseDirectory(const PropertyValues& values, const std::filesystem::path& directory) {
  const std::string text(Trim(values.Text(kDirectory)));
  if (text.find('\0') != std::string::npos) return values.Bad(kDirectory, "a path cannot hold a NUL character");
  if (IsInHdfs(text)) {
    const auto place = ParseInHdfs(values, text);
    return place.ok() ? Result<std::string>(ToString(*place)) : values.Bad(kDirectory, place.error().message);
  }
  if (text.find("://") != std::string::npos) {
    return values.Bad(kDirectory, "expected the path of a folder, or on YARN hdfs://HOST:PORT/PATH");
  }
  const auto path = AbsolutePath(text, directory);
  if (path.native().size() > kLongestPath) return values.Bad(kDirectory, "the path is too long");
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  const bool free = type == std::filesystem::file_type::directory || type == std::filesystem::file_type::not_found;
  if (!free && !error) return values.Bad(kDirectory, StrCat(path.string(), " is not a folder"));
  return path.string();
}

Result<std::string> ParsePattern(const PropertyValues& values) {
  if (!values.Has(kCheckpointPattern)) return CheckpointSpec().pattern;
  std::string pattern(Trim(values.Text(kCheckpointPattern)));
  const bool is_of_names = pattern.find('/') == std::string::npos && pattern.find('\0') == std::string::npos;
  if (is_of_names && pattern.size() <= kLongestPath) return pattern;
  return values.Bad(kCheckpointPattern, StrCat("expected a pattern of names in ", kDirectory, ", without /"));
}

Result<bool> ParseResumeLatest(const PropertyValues& values) {
  const std::string text = ToLower(Trim(values.Text(kResume)));
  if (text == "own" || text == "latest") return text == "latest";
  return values.Bad(kResume, "expected own or latest");
}

void WarnOfNoDirectory(const PropertyValues& values, Warnings& warnings) {
  for (const auto key : {kCheckpointPattern, kFruitless, kResume}) {
    if (values.Has(key))
      warnings.push_back(values.Bad(key, StrCat("no effect, as ", kDirectory, " is not set")).message);
  }
}

}  // namespace

Result<RestartRules> ParseRestartRules(const PropertyValues& values, Warnings& warnings) {
  RestartRules rules;
  for (size_t level = 0; level < kRestartScopes; ++level) {
    TRY_ASSIGN(rules.levels[level], BudgetOf(values, ToString(static_cast<RestartScope>(level))));
  }
  TRY_ASSIGN(rules.lost, BudgetOf(values, "lost"));
  TRY(TakeTonysRetries(values, rules, warnings));
  TRY(ParseBackoff(values, rules));
  return rules;
}

Status ParseRoleRestart(const PropertyValues& values, RoleSpec& role) {
  const auto key_of = [&](std::string_view what) { return StrCat("tony.", role.name, ".", what); };
  const bool has_own = values.Has(key_of("instances"));  // a role that was asked for
  const std::string scope = key_of("restart.scope"), budget = key_of("restart.budget");
  TRY_ASSIGN(role.restart_scope, ScopeOf(values, has_own && values.Has(scope) ? scope : std::string(kScope)));
  if (!has_own || !values.Has(budget)) return Ok();
  TRY_ASSIGN(role.restarts, Budget(values, budget));
  return Ok();
}

Result<CheckpointSpec> ParseCheckpoint(const PropertyValues& values, const std::filesystem::path& directory,
                                       Warnings& warnings) {
  CheckpointSpec checkpoint;
  TRY_ASSIGN(checkpoint.pattern, ParsePattern(values));
  TRY_ASSIGN(const int64_t fruitless, values.Number(kFruitless, 1, kMostRestarts));
  checkpoint.most_fruitless = static_cast<int>(fruitless);
  TRY_ASSIGN(checkpoint.resume_latest, ParseResumeLatest(values));
  if (!values.Has(kDirectory)) {
    WarnOfNoDirectory(values, warnings);
    return checkpoint;
  }
  TRY_ASSIGN(checkpoint.directory, ParseDirectory(values, directory));
  return checkpoint;
}

}  // namespace tony
