#include "runtime/job/error_report.h"

#include <boost/json.hpp>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"

namespace tony {

namespace json = boost::json;

namespace {

constexpr size_t kLongestMessage = 4096;

std::string Shortened(std::string text) {
  if (text.size() > kLongestMessage) text.resize(ValidUtf8Prefix(std::string_view(text).substr(0, kLongestMessage)));
  return text;
}

// Reads the inner object of TorchElastic's format. Only its "message" is used. Its other members are ignored:
// "extraInfo", which has the call stack, and "errorCode".
Result<ErrorReport> ReadTorchElastic(JsonReader fields) {
  ErrorReport report{.message = Shortened(fields.String("message"))};
  TRY(fields.status());
  return report;
}

Result<ErrorReport> ReadOurs(JsonReader fields) {
  ErrorReport report;
  if (fields.Has("class")) {
    report.cls = UserClassFromString(fields.String("class"));
    if (!report.cls) fields.Fail("class", kUserClasses);
  }
  if (fields.Has("advice")) {
    const auto advice = FromName<Advice>(fields.String("advice"));
    if (!advice) fields.Fail("advice", "transient or permanent");
    report.advice = advice.value_or(Advice::kNone);
  }
  if (fields.Has("message")) report.message = Shortened(fields.String("message"));
  TRY(fields.status());
  if (report == ErrorReport()) return Error{ErrorCode::kInvalid, "expected class, advice or message"};
  return report;
}

}  // namespace

Result<ErrorReport> ParseErrorReport(std::string_view text) {
  TRY_ASSIGN(const json::value document, ParseJson(text, "error file"));
  const json::object* object = document.if_object();
  const json::value* message = object ? object->if_contains("message") : nullptr;
  auto report = message && message->is_object() ? ReadTorchElastic(JsonReader(*message, "message"))
                                                : ReadOurs(JsonReader(document));
  if (!report.ok()) return Annotate(report.error(), "error file");
  return report;
}

std::optional<OutcomeClass> UserClassFromString(std::string_view text) {
  const auto cls = FromName<OutcomeClass>(text);
  if (cls == OutcomeClass::kSuccess || cls == OutcomeClass::kKilled || cls == OutcomeClass::kAbandoned) {
    return std::nullopt;
  }
  return cls;
}

}  // namespace tony
