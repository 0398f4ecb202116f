#include "runtime/spec/configuration_json.h"

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"

namespace tony {

void Fields(auto& io, Is<ConfiguredValue> auto& value) {
  io.Field("key", value.key);
  io.Field("value", value.value);
  io.Field("source", value.source);
}

std::string ToJson(const Configuration& configuration) { return WriteJson(configuration); }

// All other documents are objects, and are read as such.
Result<Configuration> ConfigurationFromJson(std::string_view text) {
  Configuration configuration;
  TRY(ReadJsonObject(StrCat(R"({"values":)", text, "}"), "configuration",
                     [&](JsonReader& io) { io.Field("values", configuration); }));
  return configuration;
}

}  // namespace tony
