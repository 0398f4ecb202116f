// Compiled at the beginning of each whole run of the tests, so that the seconds of two machines can be compared. The
// schedule and the budget count in seconds of the machine whose seconds are recorded.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

namespace {

using Value = std::variant<int, double, std::string, std::vector<int>, std::map<std::string, int>>;

struct Print {
  std::ostream& out;
  void operator()(const std::vector<int>& values) const {
    for (int value : values) out << value << ' ';
  }
  void operator()(const std::map<std::string, int>& values) const {
    for (const auto& [key, value] : values) out << key << '=' << value << ' ';
  }
  void operator()(const auto& value) const { out << value; }
};

}  // namespace

int main(int count, char** words) {
  std::vector<Value> values{1, 2.0, std::string("three"), std::vector{4, 5}, std::map<std::string, int>{{"six", 6}}};
  std::vector<std::function<void(const Value&, std::ostream&)>> printers;
  for (int i = 0; i < count; ++i) {
    printers.emplace_back([pattern = std::regex(words[i])](const Value& value, std::ostream& out) {
      std::ostringstream text;
      std::visit(Print{text}, value);
      if (std::regex_search(text.str(), pattern)) out << text.str() << '\n';
    });
  }
  std::sort(values.begin(), values.end(), [](const Value& a, const Value& b) { return a.index() > b.index(); });
  for (const auto& printer : printers) {
    for (const auto& value : values) printer(value, std::cout);
  }
}
