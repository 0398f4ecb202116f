#include "tests/support/job_words.h"

#include <algorithm>

namespace tony {

Duration TimeOf(std::string_view text) {
  const size_t unit = text.find_first_not_of("-0123456789");
  const auto number = ParseInt(text.substr(0, unit));
  EXPECT_TRUE(number) << "not a time: " << text;
  const std::string_view name = unit == std::string_view::npos ? "" : text.substr(unit);
  const int64_t ms = name == "ms" ? 1 : name == "s" ? 1000 : name == "h" ? 3'600'000 : 0;
  EXPECT_TRUE(ms != 0 || text == "0") << "not a time: " << text;
  return Duration(number.value_or(0) * ms);
}

std::vector<std::string> PartsBetween(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  bool quoted = false;
  size_t from = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '`') quoted = !quoted;
    if (quoted || text.substr(at, separator.size()) != separator) continue;
    if (at > from) parts.emplace_back(text.substr(from, at - from));
    from = at + separator.size();
  }
  if (from < text.size()) parts.emplace_back(text.substr(from));
  return parts;
}

ExitStatus BySignal(const std::string& name) {
  const auto signal = SignalFromString(name);
  CHECK(signal.has_value());
  return {ExitStatus::Kind::kSignaled, *signal};
}

std::pair<std::string, std::string> Halves(const std::string& text, char between) {
  const size_t at = text.find(between);
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::string Chosen(std::string text, size_t number, size_t& most) {
  for (size_t open; (open = text.find('{')) != std::string::npos;) {
    const size_t close = text.find('}', open);
    const std::vector<std::string> all = Alternatives(text.substr(open, close + 1 - open));
    most = std::max(most, all.size());
    text.replace(open, close + 1 - open, all[std::min(number, all.size() - 1)]);
  }
  return text;
}

namespace {

int Int(const std::string& text) { return static_cast<int>(ParseInt(text).value()); }

RestartBudget BudgetOf(const std::string& text, Duration usual) {
  const auto [most, window] = Halves(text, '/');
  return {Int(most), window.empty() ? usual : TimeOf(window)};
}

void AddToRole(RoleSpec& role, const std::string& word) {
  const auto [name, value] = Halves(word, '=');
  if (const auto completion = FromName<Completion>(word)) return void(role.completion = *completion);
  if (name == "succeeds") return void(role.min_succeeded = Int(value));
  if (name == "fails") return void(role.min_failed = Int(value));
  if (name == "outlives") return void(role.outlives_restarts = true);
  if (name == "restarts") return void(role.restarts = Int(value));
  if (name == "gpus") return void(role.resources.gpus = Int(value));
  if (name == "parallel") return void(role.max_parallel = Int(value));
  if (name == "processes") return void(role.processes = Int(value));
  if (name == "scope") return void(role.restart_scope = FromName<RestartScope>(value));
  if (name == "waits") return void(role.depends_on.push_back({value}));
  if (name == "ready") return void(role.depends_on.push_back({value, Dependency::Until::kReady}));
  ASSERT_TRUE(name == "after" || name == "left") << "no such word of a role: " << word;
  const auto [others, limit] = Halves(value, '/');
  const std::string group(1, static_cast<char>('A' + role.outlives.size()));
  role.outlives.push_back({group, Split(others, '+'), TimeOf(limit), name == "left"});
}

void AddRole(JobSpec& spec, const std::string& word) {
  const std::vector<std::string> parts = Split(word, ':');
  const auto [name, instances] = Halves(parts[0], '*');
  RoleSpec role{.name = name, .instances = Int(instances), .command = "true"};
  for (size_t i = 1; i < parts.size(); ++i) AddToRole(role, parts[i]);
  std::ranges::sort(role.depends_on, {}, &Dependency::role);
  std::erase_if(spec.roles, [&](const RoleSpec& other) { return other.name == role.name; });
  spec.roles.push_back(std::move(role));
  std::ranges::sort(spec.roles, {}, &RoleSpec::name);
}

void UseTonysRule(JobSpec& spec) {
  spec.completion_rule = CompletionRule::kTony;
  for (RoleSpec& role : spec.roles)
    if (role.completion == Completion::kTracked) role.min_failed = 0;
}

void AddWord(JobSpec& spec, const std::string& word) {
  const auto [name, value] = Halves(word, '=');
  const auto [first, second] = Halves(value, '/');
  if (const auto framework = FromName<FrameworkKind>(word)) return void(spec.framework = *framework);
  if (const auto scope = FromName<RestartScope>(name))
    return void(spec.restart.levels[static_cast<size_t>(*scope)] = BudgetOf(value, Duration(0)));
  if (name == "lost") return void(spec.restart.lost = BudgetOf(value, spec.restart.lost.window));
  if (name == "backoff")
    return void((spec.restart.backoff = TimeOf(first), spec.restart.longest_backoff = TimeOf(second)));
  if (name == "settle") return void(spec.restart.settle = TimeOf(value));
  if (name == "checkpoints") return void(spec.checkpoint = {.directory = "/ckpt", .most_fruitless = Int(value)});
  if (name == "timeout") return void(spec.timeout = TimeOf(value));
  if (name == "registration") return void(spec.registration_timeout = TimeOf(value));
  if (name == "registry") return void(spec.registry_timeout = TimeOf(value));
  if (name == "allocation") return void(spec.allocation_timeout = TimeOf(value));
  if (name == "suspect") return void(spec.timers.suspect_after = TimeOf(value));
  if (name == "lost-after") return void(spec.timers.lost_after = TimeOf(value));
  if (name == "grace") return void(spec.timers.grace = TimeOf(value));
  if (name == "fresh") return void(spec.timers.record_fresh = TimeOf(value));
  if (name == "hold") return void(spec.yarn.gang_hold = TimeOf(value));
  if (name == "keep-failed") return void(spec.hold = TimeOf(value));
  if (word == "staged") return void(spec.framework = FrameworkKind::kStaged);
  if (word == "fcfs") return void(spec.mode = DistributedMode::kFcfs);
  if (word == "yarn") return void(spec.scheduler = kYarnScheduler);
  if (word == "tonys-rule") return UseTonysRule(spec);
  ASSERT_NE(word.find('*'), std::string::npos) << "no such word of a job: " << word;
  AddRole(spec, word);
}

}  // namespace

void AddToJob(JobSpec& spec, std::string_view words) {
  for (const std::string& word : PartsBetween(words, " ")) AddWord(spec, word);
}

JobSpec JobOf(std::string_view text) {
  JobSpec spec = {.restart = {.settle = Duration(0)}};
  AddToJob(spec, text);
  return spec;
}

}  // namespace tony
