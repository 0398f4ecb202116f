#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/job/failure_rules.h"
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

constexpr int kMostRestarts = 1'000'000;
constexpr std::string_view kFrameworkScope = "framework";
constexpr size_t kLongestPath = 4095;  // PATH_MAX without the NUL

Result<RestartBudget> BudgetOf(const PropertyValues& values, std::string_view level) {
  RestartBudget budget;
  TRY_ASSIGN(budget.most, values.Count(StrCat("tony.restart.", level, ".budget"), 0, kMostRestarts));
  TRY_ASSIGN(budget.window, values.Millis(StrCat("tony.restart.", level, ".window-ms"), 0));
  return budget;
}

// Reads TonY's key for restarts, tony.am.retry-count. TonY restarted only whole jobs, so the key sets the budget for
// restarts of the whole job. Our own key for this budget takes precedence.
Status ReadTonyRetries(const PropertyValues& values, RestartRules& rules, Warnings& warnings) {
  if (!values.Has(kTonyRetries)) return Ok();
  TRY_ASSIGN(const int retries, values.Count(kTonyRetries, 0, kMostRestarts));
  if (values.Has(kJobBudget)) {
    values.Warn(kTonyRetries, StrCat("no effect, because ", kJobBudget, " is set"), warnings);
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
  if (const auto scope = FromName<RestartScope>(text)) return scope;
  return values.Bad(key, "expected framework, task, role, gang or job");
}

Result<std::string> ParseDirectory(const PropertyValues& values, const std::filesystem::path& directory) {
  const std::string text(Trim(values.Text(kDirectory)));
  if (text.find('\0') != std::string::npos) return values.Bad(kDirectory, "a path cannot contain a NUL character");
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
    if (values.Has(key)) values.Warn(key, StrCat("no effect, because ", kDirectory, " is not set"), warnings);
  }
}

constexpr std::string_view kHeartbeat = "tony.task.heartbeat-interval-ms";
constexpr std::string_view kSuspect = "tony.task.suspect-after-ms";
constexpr std::string_view kCutoff = "tony.task.cutoff-after-ms";
constexpr std::string_view kGrace = "tony.task.stop-grace-ms";
constexpr std::string_view kLost = "tony.task.lost-after-ms";
constexpr std::string_view kFresh = "tony.task.record-fresh-ms";
constexpr std::string_view kMissed = "tony.task.max-missed-heartbeats";

constexpr int kSuspectHeartbeats = 5;
// The smallest number of missed heartbeats after which a task is lost, as in TonY. With a smaller number, a late
// heartbeat would count as a death.
constexpr int64_t kLeastMissed = 3;
// The time until a change of a lease record is noticed.
constexpr Duration kLook{1000};
// The minimum time between the end of a cut-off task and the start of its successor.
constexpr Duration kMargin{5000};

// Returns `lost_after`. TonY's key for this time is max-missed-heartbeats; our own key takes precedence. LinkedIn's
// TonY had no cut-off, so a value that worked with it may be too short for this TonY. A value that is too short is
// raised to the shortest safe time.
Result<Duration> ParseLostAfter(const PropertyValues& values, const Timers& timers, Warnings& warnings) {
  const Duration least = timers.cutoff_after + timers.grace + kMargin + Duration(1);
  if (!values.Has(kMissed)) {
    TRY_ASSIGN(const Duration lost_after, values.Millis(kLost, 1));
    return values.Has(kLost) ? lost_after : std::max({lost_after, least, timers.heartbeat * kLeastMissed});
  }
  TRY_ASSIGN(const int64_t missed, values.Number(kMissed, 0, 1'000'000));
  if (values.Has(kLost)) {
    values.Warn(kMissed, StrCat("no effect, because ", kLost, " is set"), warnings);
    return values.Millis(kLost, 1);
  }
  const Duration asked = timers.heartbeat * std::max(kLeastMissed, missed);
  if (asked >= least) return asked;
  values.Warn(kMissed,
              StrCat("raised to ", least.count(), " ms, because a lost task may take ", kCutoff, " (",
                     timers.cutoff_after.count(), " ms) + ", kGrace, " (", timers.grace.count(), " ms) to stop"),
              warnings);
  return least;
}

// Returns the smallest valid `cutoff_after`: the time that an unanswered heartbeat takes, plus the time until an
// unchanged lease record is known to be stale. Only after both times does an executor know that its AM is dead. Before
// that, the executor could take the death of its AM for a lost connection.
Duration LeastCutoff(const Timers& timers) {
  return timers.heartbeat + CallTimeout(timers) + timers.record_fresh + kLook;
}

// Checks that the timers fit together. A task without heartbeats must be dead before its successor starts. An executor
// must not mistake the death of its AM for a lost connection to the AM.
Status CheckOrder(const Timers& timers) {
  if (timers.cutoff_after + timers.grace + kMargin >= timers.lost_after) {
    return Error{ErrorCode::kInvalid,
                 StrCat(kCutoff, " (", timers.cutoff_after.count(), ") + ", kGrace, " (", timers.grace.count(), ") + ",
                        kMargin.count(), " must be less than ", kLost, " (", timers.lost_after.count(),
                        "): a lost task must have stopped before it is started again")};
  }
  if (timers.heartbeat * kLeastMissed > timers.lost_after) {
    return Error{ErrorCode::kInvalid, StrCat(kLost, " (", timers.lost_after.count(), ") must be at least three times ",
                                             kHeartbeat, " (", timers.heartbeat.count(), ")")};
  }
  if (LeastCutoff(timers) > timers.cutoff_after) {
    return Error{ErrorCode::kInvalid,
                 StrCat(kCutoff, " (", timers.cutoff_after.count(), ") must be at least ", LeastCutoff(timers).count(),
                        ", which is ", kHeartbeat, " (", timers.heartbeat.count(), ") + ", kFresh, " (",
                        timers.record_fresh.count(), ") + ", (CallTimeout(timers) + kLook).count(),
                        "; after a shorter time, an executor could take a dead application master for a lost "
                        "connection")};
  }
  return Ok();
}

constexpr std::string_view kFailurePrefix = "tony.failure.";
constexpr std::string_view kPatternPrefix = "tony.failure.pattern.";
constexpr std::string_view kExit = "tony.failure.exit.";
constexpr std::string_view kSignalPrefix = "tony.failure.signal.";

constexpr std::string_view kArrow = "=>";
// The largest number of rules. Each rule is matched against every line of a failed task's stderr tail, so many rules
// would cost much time.
constexpr size_t kMostRules = 64;
constexpr size_t kLongestMeaning = 200;

// Reads "CLASS[, transient|permanent][, MEANING]". The error says what was expected in place of `text`.
Result<FailureRule> ParseMeaning(std::string_view text, std::string_view name) {
  const auto cut = [&text] {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string word(Trim(text.substr(0, comma)));
    text.remove_prefix(std::min(comma + 1, text.size()));
    return word;
  };
  const auto cls = UserClassFromString(ToLower(cut()));
  if (!cls) return Error{ErrorCode::kInvalid, StrCat("expected one of the classes ", kUserClasses)};
  FailureRule rule{.name = std::string(name), .cls = *cls};
  const std::string_view behind_class = text;
  const auto advice = FromName<Advice>(ToLower(cut()));
  rule.advice = advice.value_or(Advice::kNone);
  rule.meaning = Trim(advice ? text : behind_class);
  // A single word is most likely a misspelt advice, so it is refused.
  if (!rule.meaning.empty() && rule.meaning.find(' ') == std::string::npos) {
    return Error{ErrorCode::kInvalid,
                 StrCat("expected transient, permanent or a meaning of several words, not ", Quoted(rule.meaning))};
  }
  if (rule.meaning.empty()) rule.meaning = StrCat("the key ", kFailurePrefix, name, " sets this class");
  if (rule.meaning.size() > kLongestMeaning) {
    return Error{ErrorCode::kInvalid, StrCat("expected a meaning of at most ", kLongestMeaning, " bytes")};
  }
  if (std::ranges::any_of(rule.meaning, [](char c) { return c >= 0 && c < ' '; })) {
    return Error{ErrorCode::kInvalid, "expected a meaning of one line"};
  }
  return rule;
}

Result<FailureRule> ParsePattern(std::string_view text, std::string_view name) {
  const size_t arrow = text.rfind(kArrow);
  if (arrow == std::string_view::npos) {
    return Error{ErrorCode::kInvalid, "expected REGEX => CLASS[, transient|permanent][, MEANING]"};
  }
  const std::string_view pattern = Trim(text.substr(0, arrow));
  const auto compiled = LinePattern::Parse(pattern);
  if (!compiled.ok()) {
    return Error{ErrorCode::kInvalid,
                 StrCat("expected a POSIX extended regular expression before =>: ", compiled.error().message)};
  }
  TRY_ASSIGN(FailureRule rule, ParseMeaning(text.substr(arrow + kArrow.size()), name));
  rule.pattern = pattern;
  return rule;
}

// Adds the rules of the keys that begin with `prefix`, in the order of the keys.
template <class Parse>
Status AddRules(const PropertyValues& values, std::string_view prefix, Parse parse, std::vector<FailureRule>& rules) {
  const auto& all = values.properties().all();
  for (auto it = all.lower_bound(prefix); it != all.end() && it->first.starts_with(prefix); ++it) {
    const std::string_view key = it->first;
    auto rule = parse(it->second.value, key.substr(kFailurePrefix.size()), key.substr(prefix.size()));
    if (!rule.ok()) return values.Bad(key, rule.error().message);
    rules.push_back(*std::move(rule));
  }
  return Ok();
}

Result<FailureRule> ParseExit(std::string_view text, std::string_view name, std::string_view code) {
  const auto number = ParseInt(code);
  if (!number || *number < 1 || *number > 255) {
    return Error{ErrorCode::kInvalid, StrCat("expected an exit code from 1 to 255 in the key, not ", Quoted(code))};
  }
  TRY_ASSIGN(FailureRule rule, ParseMeaning(text, name));
  rule.exit_code = static_cast<int>(*number);
  return rule;
}

Result<FailureRule> ParseSignal(std::string_view text, std::string_view name, std::string_view signal) {
  const auto number = SignalFromString(signal);
  if (!number) {
    return Error{ErrorCode::kInvalid,
                 StrCat("expected a signal such as 9 or SIGKILL in the key, not ", Quoted(signal))};
  }
  TRY_ASSIGN(FailureRule rule, ParseMeaning(text, name));
  rule.signal = *number;
  return rule;
}

}  // namespace

Result<RestartRules> ParseRestartRules(const PropertyValues& values, Warnings& warnings) {
  RestartRules rules;
  for (size_t level = 0; level < kRestartScopes; ++level) {
    TRY_ASSIGN(rules.levels[level], BudgetOf(values, ToString(static_cast<RestartScope>(level))));
  }
  TRY_ASSIGN(rules.lost, BudgetOf(values, "lost"));
  TRY(ReadTonyRetries(values, rules, warnings));
  TRY(ParseBackoff(values, rules));
  return rules;
}

Status ParseRoleRestart(const PropertyValues& values, RoleSpec& role) {
  const auto key_of = [&](std::string_view what) { return StrCat("tony.", role.name, ".", what); };
  // `has_own` is true if the role has keys of its own. It is false for a role that RoleOfAm() made (role_parser.cc).
  const bool has_own = values.Has(key_of("instances"));
  const std::string scope = key_of("restart.scope"), budget = key_of("restart.budget");
  TRY_ASSIGN(role.restart_scope, ScopeOf(values, has_own && values.Has(scope) ? scope : std::string(kScope)));
  if (!has_own || !values.Has(budget)) return Ok();
  TRY_ASSIGN(role.restarts, values.Count(budget, 0, kMostRestarts));
  return Ok();
}

Result<CheckpointSpec> ParseCheckpoint(const PropertyValues& values, const std::filesystem::path& directory,
                                       Warnings& warnings) {
  CheckpointSpec checkpoint;
  TRY_ASSIGN(checkpoint.pattern, ParsePattern(values));
  TRY_ASSIGN(checkpoint.most_fruitless, values.Count(kFruitless, 1, kMostRestarts));
  TRY_ASSIGN(checkpoint.resume_latest, ParseResumeLatest(values));
  if (!values.Has(kDirectory)) {
    WarnOfNoDirectory(values, warnings);
    return checkpoint;
  }
  TRY_ASSIGN(checkpoint.directory, ParseDirectory(values, directory));
  return checkpoint;
}

Result<Timers> ParseTimers(const PropertyValues& values, Warnings& warnings) {
  Timers timers;
  const size_t problems_before = values.problems().count();
  TRY_ASSIGN(timers.heartbeat, values.Millis(kHeartbeat, 10));
  timers.suspect_after = timers.heartbeat * kSuspectHeartbeats;
  if (values.Has(kSuspect)) {
    TRY_ASSIGN(timers.suspect_after, values.Millis(kSuspect, 1));
  }
  TRY_ASSIGN(timers.record_fresh, values.Millis(kFresh, 1));
  TRY_ASSIGN(timers.cutoff_after, values.Millis(kCutoff, 1));
  TRY_ASSIGN(timers.grace, values.Millis(kGrace, 0));
  // Defaults adapt to the values that are set, e.g. to the slow heartbeats of a job that was written for TonY.
  if (!values.Has(kCutoff)) timers.cutoff_after = std::max(timers.cutoff_after, LeastCutoff(timers));
  TRY_ASSIGN(timers.lost_after, ParseLostAfter(values, timers, warnings));
  TRY_ASSIGN(timers.am_lease, values.Millis("tony.am.lease-ms", 1));
  TRY_ASSIGN(timers.orphan_timeout, values.Millis("tony.task.orphan-timeout-ms", 1));
  // The order of the timers is only checked if each of them is valid.
  const bool all_good = values.problems().count() == problems_before;
  if (all_good) TRY(CheckOrder(timers));
  return timers;
}

Result<std::vector<FailureRule>> ParseFailureRules(const PropertyValues& values) {
  std::vector<FailureRule> rules;
  const auto pattern = [](std::string_view text, std::string_view name, std::string_view) {
    return ParsePattern(text, name);
  };
  TRY(AddRules(values, kPatternPrefix, pattern, rules));
  TRY(AddRules(values, kExit, ParseExit, rules));
  TRY(AddRules(values, kSignalPrefix, ParseSignal, rules));
  if (rules.size() <= kMostRules) return rules;
  return Error{ErrorCode::kInvalid, StrCat("tony.failure.*: ", rules.size(), " rules; expected at most ", kMostRules)};
}

}  // namespace tony
