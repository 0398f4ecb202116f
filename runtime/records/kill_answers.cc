#include "runtime/records/kill_answers.h"

#include <boost/json.hpp>

#include "runtime/job/json_fields.h"
#include "runtime/records/record_store.h"

namespace tony {
namespace {

namespace json = boost::json;

constexpr int kAnswerSchema = 1;

struct NamedAnswer {
  const char* name;
  std::optional<KillAnswer> answer;
};
constexpr NamedAnswer kAnswers[] = {{"taken", KillAnswer::kTaken},
                                    {"planned", KillAnswer::kPlanned},
                                    {"fenced", KillAnswer::kFenced},
                                    {"ended", KillAnswer::kEnded},
                                    {"refused", std::nullopt}};

std::string NameOf(const std::string& request) { return StrCat("kill-requests/", request, ".answer"); }

Result<FiledAnswer> FromJson(std::string_view text) {
  TRY_ASSIGN(const json::value document, ParseJson(text, "answer"));
  JsonReader fields(document);
  fields.Int("schema", kAnswerSchema, kAnswerSchema);
  const std::string name = fields.String("answer");
  FiledAnswer filed{.why = fields.String("why")};
  for (const auto& [known, answer] : kAnswers) {
    filed.answer = answer;
    if (name == known) return fields.status().ok() ? Result<FiledAnswer>(filed) : fields.status().error();
  }
  fields.Fail("answer", "taken, planned, fenced, ended or refused");
  return fields.status().error();
}

}  // namespace

Status WriteFiledAnswer(const JobRecords& records, const std::string& name, const FiledAnswer& filed) {
  json::object out{{"schema", kAnswerSchema}, {"why", filed.why}};
  for (const auto& [known, answer] : kAnswers)
    if (answer == filed.answer) out["answer"] = known;
  return records.store().Replace(NameOf(name), SerializeJson(out), Durability::kLostWithPower);
}

Result<std::optional<FiledAnswer>> ReadFiledAnswer(const JobRecords& records, const std::string& name) {
  return ReadOptional(records.store(), NameOf(name), FromJson);
}

void RemoveFiledAnswer(const JobRecords& records, const std::string& name) {
  (void)records.store().Remove(NameOf(name));
}

}  // namespace tony
