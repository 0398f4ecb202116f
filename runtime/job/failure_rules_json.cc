#include "runtime/job/failure_rules_json.h"

#include <boost/json.hpp>

namespace tony {

namespace json = boost::json;

namespace {

struct NumberField {
  std::string_view name;
  std::optional<int> FailureRule::*member;
  int64_t least, most;
};
constexpr NumberField kNumbers[] = {
    {"exit_code", &FailureRule::exit_code, 0, 255},
    {"signal", &FailureRule::signal, 1, 64},
    {"scheduler_status", &FailureRule::scheduler_status, -1'000'000, 1'000'000},
};

constexpr OomEvidence kOomEvidence[] = {OomEvidence::kUnknown, OomEvidence::kNone, OomEvidence::kMachine,
                                        OomEvidence::kCgroup};

std::optional<OomEvidence> ReadOom(JsonFields& fields) {
  if (!fields.Has("oom")) return std::nullopt;
  const std::string text = fields.String("oom");
  for (const OomEvidence evidence : kOomEvidence) {
    if (ToString(evidence) == text) return evidence;
  }
  fields.Fail("oom", "unknown, none, machine or cgroup");
  return std::nullopt;
}

Result<FailureRule> ReadRule(JsonFields fields) {
  FailureRule rule{.name = fields.String("name")};
  for (const auto& field : kNumbers) {
    if (fields.Has(field.name)) {
      rule.*field.member = static_cast<int>(fields.Int(field.name, field.least, field.most));
    }
  }
  rule.oom = ReadOom(fields);
  if (fields.Has("pattern")) rule.pattern = fields.String("pattern");
  const auto cls = OutcomeClassFromString(fields.String("class"));
  if (!cls) fields.Fail("class", "an outcome class");
  const auto advice = AdviceFromString(fields.String("advice"));
  if (!advice) fields.Fail("advice", "none, transient or permanent");
  rule.meaning = fields.String("meaning");
  rule.remedy = fields.String("remedy");
  TRY(fields.status());
  rule.cls = *cls;
  rule.advice = *advice;
  return rule;
}

}  // namespace

json::object FailureRuleJson(const FailureRule& rule) {
  json::object out;
  out["name"] = rule.name;
  for (const auto& field : kNumbers) {
    if (rule.*field.member) out[field.name] = *(rule.*field.member);
  }
  if (rule.oom) out["oom"] = ToString(*rule.oom);
  if (rule.full_disk) out["full_disk"] = true;
  if (!rule.pattern.empty()) out["pattern"] = rule.pattern;
  out["class"] = ToString(rule.cls);
  out["advice"] = ToString(rule.advice);
  if (rule.source != Source::kItself) out["source"] = ToString(rule.source);
  out["meaning"] = rule.meaning;
  out["remedy"] = rule.remedy;
  return out;
}

json::array FailureRulesJson(const std::vector<FailureRule>& rules) {
  json::array out;
  for (const auto& rule : rules) out.push_back(FailureRuleJson(rule));
  return out;
}

Result<std::vector<FailureRule>> ReadFailureRules(JsonFields& fields) {
  std::vector<FailureRule> rules;
  if (!fields.Has("failure_rules")) return rules;
  for (auto& item : fields.List("failure_rules")) {
    TRY_ASSIGN(FailureRule rule, ReadRule(std::move(item)));
    rules.push_back(std::move(rule));
  }
  TRY(fields.status());
  return rules;
}

}  // namespace tony
