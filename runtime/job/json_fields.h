// How our .cc files read and write JSON. Boost.JSON is behind it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"

namespace boost::json {
class array;
class object;
class value;
}  // namespace boost::json

namespace tony {

// The document of `what` ("job spec"); kInvalid says why it is none.
Result<boost::json::value> ParseJson(std::string_view text, std::string_view what);

// Compact text. Strings become valid UTF-8 first: a task's stderr may hold anything.
std::string SerializeJson(const boost::json::value& value);

// Reads one JSON object field by field. The first field that is missing or of another kind is remembered and named by
// its path ("roles[2].instances"); all getters then return empty values. Look at status() before using any of them.
class JsonFields {
 public:
  // `value` is borrowed. `path` is empty for the whole document.
  explicit JsonFields(const boost::json::value& value, std::string path = "");

  bool Has(std::string_view name) const;
  bool IsNull(std::string_view name) const;  // there, and null
  std::string String(std::string_view name);
  bool Bool(std::string_view name);
  int64_t Int(std::string_view name, int64_t least = 0, int64_t most = std::numeric_limits<int64_t>::max());
  Duration Millis(std::string_view name);
  JsonFields Fields(std::string_view name);             // a missing object fails here, not there
  std::vector<JsonFields> List(std::string_view name);  // of objects
  std::vector<std::string> Strings(std::string_view name);
  std::vector<int64_t> Ints(std::string_view name, int64_t least, int64_t most);
  std::vector<std::string> Names() const;  // of all fields, in the order of the document

  void Fail(std::string_view name, std::string_view expected);
  Status status() const { return status_; }

 private:
  const boost::json::value* Find(std::string_view name, std::string_view expected);
  const boost::json::array* FindArray(std::string_view name);
  std::string PathOf(std::string_view name) const;

  const boost::json::object* object_ = nullptr;
  std::string path_;
  Status status_;
};

}  // namespace tony
