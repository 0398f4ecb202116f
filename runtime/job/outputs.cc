#include "runtime/job/outputs.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"

namespace tony {

bool IsValueName(std::string_view name) {
  constexpr size_t kLongestName = 64;
  const auto is_letter = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (name.empty() || name.size() > kLongestName || !is_letter(name.front())) return false;
  return std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

size_t LongestValue(std::string_view name) {
  return name == kModelParams ? kLongestModelParams : kLongestPublishedValue;
}

bool IsPublishable(std::string_view name, std::string_view value) {
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
  return value.size() <= LongestValue(name) && std::ranges::none_of(value, is_control) && IsUtf8(value);
}

PublishedValues ParsePublished(std::string_view text, const std::vector<std::string>& names) {
  PublishedValues values;
  for (size_t end = text.find('\n'); end != text.npos; text.remove_prefix(end + 1), end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    const size_t equals = line.find('=');
    if (equals == line.npos) continue;
    std::string name(line.substr(0, equals));
    if (!IsPublishable(name, line.substr(equals + 1))) continue;
    if (std::ranges::find(names, name) != names.end()) values.emplace(std::move(name), line.substr(equals + 1));
  }
  return values;
}

void Outputs::Add(OutputProblem problem) {
  constexpr size_t kMostProblems = 20;
  if (problems.size() < kMostProblems) return problems.push_back(std::move(problem));
  if (unnamed++ == 0) problems.emplace_back();
  problems.back().why = StrCat("and ", unnamed, " more");
}

bool IsOutputTask(const JobSpec& spec, const TaskId& task) {
  if (spec.sweep) return task.role == kTrialRole;
  if (spec.FindRole("chief") || spec.FindRole("worker")) return spec.IsChief(task);
  const RoleSpec* role = spec.FindRole(task.role);
  return role && role->completion == Completion::kTracked && spec.TrackedTasks() == 1;
}

void TrimOutputs(Outputs& outputs, size_t most) {
  std::vector<OutputMember*> by_size;
  for (OutputMember& member : outputs.members) by_size.push_back(&member);
  std::ranges::stable_sort(by_size, {}, [](const OutputMember* member) { return member->json.size(); });
  size_t bytes = 2;
  for (OutputMember* member : by_size) {
    bytes += member->json.size() + 1;
    if (bytes <= most) continue;
    std::erase_if(outputs.problems, [&](const OutputProblem& p) { return !p.left_out && p.name == member->name; });
    outputs.Add({member->name, StrCat("the member takes ", member->json.size(),
                                      " bytes, and all members together may take at most ", most)});
    member->json.clear();
  }
  std::erase_if(outputs.members, [](const OutputMember& member) { return member.json.empty(); });
}

std::string ObjectOf(const Outputs& outputs) {
  std::vector<std::string> members;
  for (const OutputMember& member : outputs.members) members.push_back(member.json);
  return StrCat("{", Join(members, ","), "}");
}

std::string Describe(const OutputProblem& problem) {
  if (problem.name.empty()) return problem.why;
  return StrCat(JsonString(problem.name), problem.left_out ? " is left out (" : " is passed on as text (", problem.why,
                ")");
}

void Fields(auto& io, Is<OutputProblem> auto& problem) {
  io.IfSet("name", problem.name);
  io.Field("why", problem.why);
  io.Field("left_out", problem.left_out);
}

std::string ToJson(const std::vector<OutputProblem>& problems) { return WriteJson(problems); }

Result<std::vector<OutputProblem>> OutputProblemsFromJson(std::string_view text) {
  TRY_ASSIGN(const boost::json::value document, ParseJson(text, "problems of outputs"));
  JsonReader fields(document);
  std::vector<OutputProblem> problems;
  fields.Field("problems", problems);
  TRY(fields.status());
  return problems;
}

namespace {

// The deepest nesting that is read. People write about 5 levels. Some readers allow only 32 levels by default, and in
// others deep nesting overflows the stack.
constexpr int kDeepest = 100;
// The largest number of members. People write a few dozen.
constexpr size_t kMostMembers = 10'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Reads the text and collects two kinds of mistakes. An Error ends the reading, because the rest of the text cannot be
// understood. Spoil() leaves out only the member that is being read.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Result<Outputs> Run() {
    SkipBlanks();
    if (Next() != '{') return Bad(at_, "expected a JSON object");
    const Status read = Members();
    if (!read.ok() && outputs_.members.empty()) return read.error();
    if (!read.ok()) outputs_.Add({name_, StrCat(read.error().message, "; the text after this place is not read")});
    LeaveOutTwins();
    return std::move(outputs_);
  }

 private:
  Error Bad(size_t at, std::string_view what) const {
    const auto lines = std::ranges::count(text_.substr(0, at), '\n');
    return {ErrorCode::kInvalid, StrCat("line ", lines + 1, ", offset ", at, ": ", what)};
  }
  void Spoil(size_t at, std::string_view what) {
    if (spoiled_.empty()) spoiled_ = Bad(at, what).message;
  }

  // Returns 0 at the end of the text. A zero byte is not allowed anywhere, so it cannot be mistaken for the end.
  char Next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool NextIs(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  void SkipBlanks() {
    while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
  }
  void Take() { out_.push_back(text_[at_++]); }
  bool TakeIf(char c) {
    if (Next() != c) return false;
    Take();
    return true;
  }

  Status Members() {
    do {
      ++at_;
      SkipBlanks();
      name_.clear(), out_.clear(), spoiled_.clear(), as_text_.clear();
      if (Next() == '}' && names_.empty()) break;
      if (names_.size() == kMostMembers) return Bad(at_, StrCat("more than ", kMostMembers, " members"));
      TRY(Member());
    } while (Next() == ',');
    name_.clear();
    ++at_;
    SkipBlanks();
    return at_ == text_.size() ? Ok() : Status(Bad(at_, "text follows the JSON object"));
  }

  Status Member() {
    const size_t begin = at_;
    TRY_ASSIGN(name_, Name());
    const size_t value = out_.size();
    TRY(Value(1));
    SkipBlanks();
    // The reading ends here, because the text after an unexpected character may belong to another value.
    if (Next() != ',' && Next() != '}') return Bad(at_, "expected , or } after the member");
    if (++names_[name_] == 2) outputs_.Add({name_, Bad(begin, "the name occurs twice").message});
    if (names_[name_] > 1) return Ok();
    if (!spoiled_.empty()) {
      outputs_.Add({name_, spoiled_});
      return Ok();
    }
    if (!as_text_.empty()) outputs_.Add({name_, as_text_, /*left_out=*/false});
    outputs_.members.push_back({name_, MeaningOf(std::string_view(out_).substr(value)), out_});
    return Ok();
  }

  // Reads a member's name and the colon after it.
  Result<std::string> Name() {
    if (Next() != '"') return Bad(at_, "expected a name in double quotes");
    TRY_ASSIGN(std::string name, String());
    SkipBlanks();
    if (!TakeIf(':')) return Bad(at_, "expected : after the name");
    SkipBlanks();
    return name;
  }

  // Leaves out members with a repeated name, because the right one of them is unknown.
  void LeaveOutTwins() {
    const auto is_twin = [this](const std::string& name) { return names_[name] > 1; };
    std::erase_if(outputs_.members, [&](const OutputMember& member) { return is_twin(member.name); });
    std::erase_if(outputs_.problems, [&](const OutputProblem& p) { return !p.left_out && is_twin(p.name); });
  }

  Status Value(int depth) {
    const char first = Next();
    if ((first == '{' || first == '[') && depth > kDeepest) return SkipDeep();
    if (first == '{') return Object(depth);
    if (first == '[') return Array(depth);
    if (first == '"') {
      TRY_ASSIGN(last_string_, String());
      return Ok();
    }
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (NextIs(word)) return TakeAsText(word);
    }
    if (first == '-' || IsDigit(first)) return Number();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (!NextIs(word)) continue;
      out_.append(word);
      at_ += word.size();
      return Ok();
    }
    return Bad(at_, at_ == text_.size() ? "the text ends where a value is expected" : "expected a value");
  }

  Status TakeAsText(std::string_view word) {
    if (as_text_.empty()) as_text_ = Bad(at_, StrCat(word, " is not a JSON number")).message;
    last_string_ = word;
    out_.append(StrCat("\"", word, "\""));
    at_ += word.size();
    return Ok();
  }

  // Skips a value that is nested too deeply. The loop does not recurse, because text that consists of [ must not
  // exhaust the stack.
  Status SkipDeep() {
    Spoil(at_, StrCat("nested deeper than ", kDeepest, " levels"));
    size_t open = 0;
    do {
      if (at_ == text_.size()) return Bad(at_, "the text ends where a value is expected");
      const char c = Next();
      if (c == '"') {
        TRY(String());
        continue;
      }
      if (c == '[' || c == '{') ++open;
      if (c == ']' || c == '}') --open;
      ++at_;
    } while (open > 0);
    return Ok();
  }

  Status Object(int depth) {
    std::set<std::string> names;
    Take();
    SkipBlanks();
    if (TakeIf('}')) return Ok();
    do {
      SkipBlanks();
      const size_t begin = at_;
      TRY_ASSIGN(const std::string name, Name());
      if (!names.insert(name).second) Spoil(begin, StrCat("the name \"", name, "\" occurs twice"));
      TRY(Value(depth + 1));
      SkipBlanks();
    } while (TakeIf(','));
    return TakeIf('}') ? Ok() : Status(Bad(at_, "expected , or } after the member"));
  }

  Status Array(int depth) {
    Take();
    SkipBlanks();
    if (TakeIf(']')) return Ok();
    do {
      SkipBlanks();
      TRY(Value(depth + 1));
      SkipBlanks();
    } while (TakeIf(','));
    return TakeIf(']') ? Ok() : Status(Bad(at_, "expected , or ] after the element"));
  }

  bool TakeDigits() {
    const size_t begin = at_;
    while (IsDigit(Next())) Take();
    return at_ != begin;
  }

  Status Number() {
    const size_t begin = at_;
    const size_t out_begin = out_.size();
    TakeIf('-');
    const bool whole = TakeIf('0') || TakeDigits();
    bool good = whole && !IsDigit(Next());
    if (good && TakeIf('.')) good = TakeDigits();
    if (good && (Next() == 'e' || Next() == 'E')) {
      Take();
      if (!TakeIf('+')) TakeIf('-');
      good = TakeDigits();
    }
    if (!good) return Bad(begin, "expected a number");
    if (!std::isfinite(std::strtod(out_.c_str() + out_begin, nullptr))) Spoil(begin, "a number out of range");
    return Ok();
  }

  // Returns the string with its escapes resolved. The text as it was written is added to `out_`.
  Result<std::string> String() {
    const size_t begin = at_;
    std::string meaning;
    Take();
    while (Next() != '"') {
      if (at_ == text_.size()) return Bad(begin, "a string without its end");
      if (static_cast<unsigned char>(Next()) < 0x20) Spoil(at_, "a control character in a string");
      if (Next() == '\\') {
        Escape(meaning);
      } else {
        meaning.push_back(Next());
        Take();
      }
    }
    Take();
    const std::string_view written = text_.substr(begin, at_ - begin);
    if (const size_t valid = ValidUtf8Prefix(written); valid != written.size()) Spoil(begin + valid, "not UTF-8");
    return meaning;
  }

  void Escape(std::string& meaning) {
    const size_t begin = at_;
    Take();
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (const size_t which = kLetters.find(Next()); Next() != '\0' && which != std::string_view::npos) {
      meaning.push_back(kMeanings[which]);
      return Take();
    }
    if (Next() != 'u') return Spoil(begin, "an unknown escape in a string");
    const int64_t high = CodeUnit();
    if (high < 0) return Spoil(begin, "expected \\u and four hexadecimal digits");
    if (high < 0xD800 || high > 0xDFFF) return AppendUtf8(meaning, static_cast<uint32_t>(high));
    const int64_t low = high < 0xDC00 && NextIs("\\u") && TakeIf('\\') ? CodeUnit() : -1;
    if (low < 0xDC00 || low > 0xDFFF) return Spoil(begin, "the escape is only half of a surrogate pair");
    AppendUtf8(meaning, static_cast<uint32_t>(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)));
  }

  // Reads "uXXXX" and returns its number; -1 if the text is something else.
  int64_t CodeUnit() {
    const std::string_view digits = text_.substr(std::min(at_ + 1, text_.size()), 4);
    unsigned unit = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    if (digits.size() < 4 || error != std::errc() || end != digits.data() + 4) return -1;
    out_.append(text_.substr(at_, 5));
    at_ += 5;
    return unit;
  }

  // Returns OutputMember::text for the value that was read last.
  std::optional<std::string> MeaningOf(std::string_view written) const {
    if (written == "null") return std::nullopt;
    return written.starts_with('"') ? last_string_ : std::string(written);
  }

  const std::string_view text_;
  size_t at_ = 0;
  // The member that is being read: its name, its JSON so far, and the newest string in it.
  std::string name_, out_, last_string_;
  // The reason why the member is left out; empty: the member is kept.
  std::string spoiled_;
  // The message that a NaN or an Infinity was replaced with a text. Empty: the member has no such value.
  std::string as_text_;
  std::map<std::string, int> names_;
  Outputs outputs_;
};

}  // namespace

Result<Outputs> ParseOutputs(std::string_view text) { return Scanner(text).Run(); }

}  // namespace tony
