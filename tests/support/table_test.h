// Tests as tables. Each row is a separate test with the row's name: Suite.Name, for --gtest_filter and scripts/try.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tony {

// An input and the expected result. The check of a table defines their words.
struct RowCase {
  std::string given, expected;
};
struct TestRow {
  const char* name;
  std::vector<RowCase> cases;
};

// "~TEXT": `actual` contains TEXT; "^TEXT": it begins with TEXT; otherwise it equals `expected`.
inline void ExpectText(std::string_view expected, std::string_view actual) {
  if (expected.starts_with('~')) {
    EXPECT_NE(actual.find(expected.substr(1)), std::string_view::npos) << actual << "\nlacks: " << expected.substr(1);
  } else if (expected.starts_with('^')) {
    EXPECT_TRUE(actual.starts_with(expected.substr(1))) << actual << "\nbegins otherwise: " << expected.substr(1);
  } else {
    EXPECT_EQ(actual, expected);
  }
}

// Returns the parts of a text between " | ".
inline std::vector<std::string> PartsOf(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t at = text.find(" | "); at != std::string_view::npos; at = text.find(" | ")) {
    parts.emplace_back(text.substr(0, at));
    text.remove_prefix(at + 3);
  }
  if (!text.empty()) parts.emplace_back(text);
  return parts;
}

// Expands "a{x||y}" to "ax", "a", "ay": one text for each alternative in the first braces that contain a "|".
inline std::vector<std::string> Alternatives(const std::string& text) {
  const size_t open = text.find('{'), close = text.find('}', open);
  if (close == std::string::npos || text.find('|', open) > close) return {text};
  std::vector<std::string> all;
  for (size_t from = open + 1, end; from <= close; from = end + 1) {
    end = std::min(text.find('|', from), close);
    all.push_back(text.substr(0, open) + text.substr(from, end - from) + text.substr(close + 1));
  }
  return all;
}

inline std::string Replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// Returns a check that compares `read` of each alternative with the expected text.
template <class Read>
auto Gives(Read read) {
  return [read](const RowCase& each) {
    for (const std::string& given : Alternatives(each.given)) {
      SCOPED_TRACE(given);
      ExpectText(each.expected, read(given));
    }
  };
}

template <class Row, size_t kCount, class Check>
bool AddTable(const char* suite, const char* file, int line, const Row (&rows)[kCount], Check check) {
  struct Test : testing::Test {
    Test(const Row& its_row, Check its_check) : row(its_row), check(std::move(its_check)) {}
    void TestBody() override {
      if constexpr (std::is_invocable_v<const Check&, const Row&>) {
        check(row);
      } else {
        for (const RowCase& each : row.cases) {
          SCOPED_TRACE(std::string(row.name) + ": " + each.given.substr(0, 300) + " => " + each.expected);
          check(each);
        }
      }
    }
    const Row& row;
    const Check check;
  };
  for (const Row& row : rows) {
    testing::RegisterTest(suite, row.name, nullptr, nullptr, file, line,
                          [&row, check]() -> testing::Test* { return new Test(row, check); });
  }
  return true;
}

// Makes each row of an array a test of `suite`. `check` takes a RowCase, or the whole row, which is a TestRow or
// another struct whose first member is its `name`. The macro must follow the array, because tests/lanes/test_names.py
// finds the names of the tests by it and by the first words of the rows.
#define TABLE_TEST(suite, rows, ...) \
  [[maybe_unused]] const bool suite##rows = AddTable(#suite, __FILE__, __LINE__, rows, __VA_ARGS__)

}  // namespace tony
