#include "tests/corpus/golden.h"

#include <algorithm>
#include <boost/json.hpp>
#include <fstream>
#include <regex>
#include <sstream>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "tests/support/places.h"

namespace tony {

namespace json = boost::json;

namespace {

constexpr std::string_view kSetSuffix = ".properties", kGoldenSuffix = ".json";

std::filesystem::path GoldenFile(std::string_view set) { return CorpusFolder() / StrCat(set, kGoldenSuffix); }

std::vector<std::string> NamesWith(std::string_view suffix) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(CorpusFolder())) {
    if (entry.path().extension() == suffix) names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name == kBaseSet; });
  return names;
}

// Returns the members of `spec` that `base` lacks or has with another value; objects in both are compared member by
// member. A member that only `base` has could not be shown, but a spec lacks none.
json::object Difference(const json::object& base, const json::object& spec) {
  json::object out;
  for (const auto& [name, value] : base) CHECK(spec.contains(name));
  for (const auto& [name, value] : spec) {
    const json::value* other = base.if_contains(name);
    if (other && *other == value) continue;
    const bool both = other && other->is_object() && value.is_object();
    out[name] = both ? Difference(other->get_object(), value.get_object()) : value;
  }
  return out;
}

bool IsLeaf(const json::value& value) {
  if (const auto* object = value.if_object()) return object->empty();
  if (const auto* array = value.if_array()) return array->empty();
  return true;
}

void Indent(std::string& out, size_t depth) {
  if (depth > 0) out.append("\n").append(2 * (depth - 1), ' ');
}

// Formats like Python's json.dumps(indent=2).
void Pretty(const json::value& value, size_t depth, std::string& out) {
  if (IsLeaf(value)) {
    out += json::serialize(value);
    return;
  }
  std::string_view separator;
  out += value.is_object() ? "{" : "[";
  const auto add = [&](const std::string& name, const json::value& member) {
    out += separator;
    Indent(out, depth + 2);
    out += name;
    Pretty(member, depth + 1, out);
    separator = ",";
  };
  if (const auto* object = value.if_object()) {
    for (const auto& [name, member] : *object) add(StrCat(json::serialize(json::string(name)), ": "), member);
  } else {
    for (const auto& item : value.get_array()) add("", item);
  }
  Indent(out, depth + 1);
  out += value.is_object() ? "}" : "]";
}

json::object SpecJson(std::string_view set, const JobSpec& spec) {
  json::object whole = json::parse(ToJson(spec)).as_object();
  if (set == kBaseSet) return whole;
  return Difference(json::parse(ReadWhole(GoldenFile(kBaseSet))).at("spec").as_object(), whole);
}

json::object AnswerJson(std::string_view set, const Result<ParsedJobSpec>& answer) {
  json::object out;
  if (!answer.ok()) {
    const int code = static_cast<int>(answer.error().code);
    out["error"] = json::object{{"code", code}, {"message", answer.error().message}};
    return out;
  }
  out["warnings"] = json::array(answer->warnings.begin(), answer->warnings.end());
  out["spec"] = SpecJson(set, answer->spec);
  return out;
}

std::string Replaced(std::string text, const std::string& from, std::string_view to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace

std::filesystem::path CorpusFolder() { return std::filesystem::path(SourceFolder()) / "tests/corpus"; }
std::vector<std::string> SetNames() { return NamesWith(kSetSuffix); }
std::vector<std::string> GoldenNames() { return NamesWith(kGoldenSuffix); }

std::string AnswerText(std::string_view set, const Result<ParsedJobSpec>& answer, const std::string& directory,
                       const std::string& file) {
  std::string text;
  Pretty(AnswerJson(set, answer), 0, text);
  return Replaced(Replaced(std::move(text), directory, "${DIR}"), file, "${SET}") + "\n";
}

std::string WithoutLines(const std::string& text) {
  static const std::regex line(R"(\$\{SET\}:[0-9]+)");
  return std::regex_replace(text, line, "$${SET}");
}

std::string ReadWhole(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

void WriteWhole(const std::filesystem::path& file, std::string_view text) {
  std::ofstream(file, std::ios::binary) << text;
}

}  // namespace tony
