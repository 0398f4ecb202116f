#include "runtime/spec/configuration_json.h"

#include <boost/json.hpp>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"

namespace tony {

namespace json = boost::json;

std::string ToJson(const Configuration& configuration) {
  json::array out;
  for (const ConfiguredValue& value : configuration)
    out.push_back({{"key", value.key}, {"value", value.value}, {"source", value.source}});
  return SerializeJson(out);
}

// All other documents are objects, and are read as such.
Result<Configuration> ConfigurationFromJson(std::string_view text) {
  TRY_ASSIGN(const json::value document, ParseJson(StrCat(R"({"values":)", text, "}"), "configuration"));
  JsonFields all(document);
  Configuration configuration;
  for (JsonFields& fields : all.List("values")) {
    ConfiguredValue value;
    value.key = fields.String("key");
    value.value = fields.String("value");
    value.source = fields.String("source");
    TRY(fields.status());
    configuration.push_back(std::move(value));
  }
  TRY(all.status());
  return configuration;
}

}  // namespace tony
