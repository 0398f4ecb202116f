#include "runtime/base/json_text.h"

#include <boost/json/serialize.hpp>
#include <boost/json/string_view.hpp>

#include "runtime/base/strings.h"

namespace tony {

std::string JsonString(std::string_view text) {
  const std::string valid = ReplaceInvalidUtf8(text);
  return boost::json::serialize(boost::json::string_view(valid.data(), valid.size()));
}

std::string WithFields(std::string object, const std::map<std::string, std::string>& fields) {
  object.erase(object.rfind('}'));
  for (const auto& [name, value] : fields) {
    const bool first = object.find_last_not_of(" \n") == object.find('{');
    object += StrCat(first ? "" : ",", JsonString(name), ":", value);
  }
  return object + "}";
}

}  // namespace tony
