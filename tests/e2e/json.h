// Reads the JSON that `tony` prints, for assertions. A missing member fails the test and does not crash it.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tony {

inline boost::json::value ParseJson(const std::string& text) {
  boost::json::error_code error;
  boost::json::value value = boost::json::parse(text, error);
  EXPECT_FALSE(error) << error.message() << " in: " << text;
  return value;
}

// The value at a JSON pointer, e.g. "/verdict/class"; null if the pointer leads nowhere.
inline boost::json::value At(const boost::json::value& value, const std::string& pointer) {
  boost::json::error_code error;
  const boost::json::value* found = value.find_pointer(pointer, error);
  return found == nullptr ? boost::json::value() : *found;
}

inline std::string Text(const boost::json::value& value, const std::string& pointer) {
  const boost::json::value found = At(value, pointer);
  return found.is_string() ? std::string(found.as_string()) : "(no string at " + pointer + ")";
}

inline int64_t Number(const boost::json::value& value, const std::string& pointer) {
  const boost::json::value found = At(value, pointer);
  return found.is_int64() ? found.as_int64() : found.is_uint64() ? static_cast<int64_t>(found.as_uint64()) : INT64_MIN;
}

struct ExpectedMember {
  template <class Value>
  ExpectedMember(const char* its_pointer, const Value& its_value) : pointer(its_pointer) {
    if constexpr (!std::is_null_pointer_v<Value> && std::is_convertible_v<const Value&, std::string_view>)
      value = boost::json::value(std::string_view(its_value));
    else
      value = boost::json::value(its_value);
  }
  const char* pointer;
  boost::json::value value;
};
// Compares the values at these JSON pointers. Each failure shows the whole document.
inline void ExpectJson(const boost::json::value& document, const std::vector<ExpectedMember>& expected) {
  for (const ExpectedMember& each : expected) {
    EXPECT_EQ(serialize(At(document, each.pointer)), serialize(each.value))
        << each.pointer << " in " << serialize(document);
  }
}

}  // namespace tony
