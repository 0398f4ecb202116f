// Makes the trials of a sweep from the keys tony.sweep.*, and the command that gets their parameters.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/config/job_document.h"
#include "runtime/config/keys.h"
#include "runtime/job/outputs.h"
#include "runtime/os/files.h"
#include "runtime/os/users.h"
#include "runtime/spec/parser_parts.h"

namespace tony {
namespace {

using Kind = DocumentNode::Kind;

constexpr const char* kParameters = "tony.sweep.parameters";
constexpr const char* kTrials = "tony.sweep.trials";
constexpr const char* kFile = "tony.sweep.file";
constexpr const char* kRandom = "tony.sweep.random";
constexpr const char* kSeed = "tony.sweep.seed";
constexpr const char* kMetric = "tony.sweep.metric";
constexpr const char* kTolerate = "tony.sweep.tolerate";
constexpr size_t kMostSweepValues = 2'000'000;
// The kernel accepts a variable of at most 131072 bytes.
constexpr size_t kLongestParameter = 100'000;

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNamePart(char c) { return IsNameStart(c) || (c >= '0' && c <= '9'); }

// Returns why a parameter cannot have this name; empty: it can. A parameter is a variable of the trial, and must not
// change how the trial's programs are found and started.
std::string WhyNotName(const std::string& name) {
  const bool is_name = !name.empty() && IsNameStart(name[0]) && std::ranges::all_of(name, IsNamePart);
  if (!is_name) return "expected letters, digits and _, because each parameter is a variable of the trial";
  static const std::set<std::string_view> kTaken = {"PATH", "HOME", "USER",  "LOGNAME", "SHELL", "PWD",  "OLDPWD",
                                                    "IFS",  "ENV",  "SHLVL", "TMPDIR",  "LANG",  "TERM", "_"};
  for (const std::string_view prefix : {"TONY_", "PYTHON", "LD_", "BASH", "LC_"})
    if (name.starts_with(prefix)) return StrCat("the variables ", prefix, "* have another meaning");
  return kTaken.contains(name) ? "this variable has another meaning" : "";
}

using Trial = std::vector<std::pair<std::string, std::string>>;  // name, JSON

class SweepReader {
 public:
  SweepReader(const PropertyValues& values, const std::filesystem::path& directory)
      : values_(values), directory_(directory) {}

  Result<Sweep> Read() {
    TRY(ReadTrials());
    if (sweep_.trials.empty()) return values_.Bad(key_, "the sweep has no trial");
    TRY(ReadMetric());
    return std::move(sweep_);
  }

 private:
  Status ReadTrials() {
    std::vector<const char*> given;
    for (const char* key : {kParameters, kTrials, kFile})
      if (values_.Has(key)) given.push_back(key);
    if (given.size() > 1) return values_.Bad(given[1], StrCat("set only one of this key and ", given[0]));
    key_ = given.front();
    if (key_ == kParameters) return ReadParameters();
    if (values_.Has(kRandom) && Trim(values_.Text(kRandom)) != "0")
      return values_.Bad(kRandom, StrCat("random trials need ", kParameters));
    if (key_ == kTrials) return ReadList(values_.Text(kTrials), kTrials);
    const std::string path = AbsolutePath(values_.Text(kFile), directory_).string();
    const auto text = ReadFile(path);
    if (!text.ok()) return values_.Bad(kFile, text.error().message);
    if (path.ends_with(".json")) return ReadList(*text, path);
    if (path.ends_with(".csv")) return ReadCsv(*text, path);
    return values_.Bad(kFile, "expected FILE.json or FILE.csv");
  }

  Result<DocumentNode> Document(const std::string& text, const std::string& name) const {
    return ParseDocumentJson(text, name, kMostSweepValues);
  }

  Status Add(const Trial& trial) {
    if (sweep_.trials.size() == kMostTrials)
      return values_.Bad(key_, StrCat("the sweep has more than ", kMostTrials, " trials"));
    std::vector<std::string> members;
    for (const auto& [name, value] : trial)
      members.push_back(StrCat(ToJson(DocumentNode{.kind = Kind::kText, .text = name}), ":", value));
    sweep_.trials.push_back(StrCat("{", Join(members, ","), "}"));
    return Ok();
  }

  Error Wrong(const std::string& place, std::string_view what) const {
    return Error{ErrorCode::kInvalid, StrCat(key_, ": ", place, ": ", what)};
  }

  Result<std::string> ValueOf(const DocumentNode& node, const std::string& place) const {
    if (node.kind != Kind::kText && node.kind != Kind::kNumber && node.kind != Kind::kBool)
      return Wrong(place, StrCat("expected a text, a number, true or false, not ", ToString(node.kind)));
    if (node.text.find('\0') != std::string::npos) return Wrong(place, "a variable cannot contain a NUL character");
    if (node.text.size() > kLongestParameter)
      return Wrong(place, StrCat("expected at most ", kLongestParameter, " bytes; put the value into a file"));
    return ToJson(node);
  }

  Status CheckName(const std::string& name) const {
    if (const std::string why = WhyNotName(name); !why.empty()) return Wrong(StrCat("parameter ", InQuotes(name)), why);
    return Ok();
  }

  Status ReadList(const std::string& text, const std::string& name) {
    TRY_ASSIGN(const DocumentNode root, Document(text, name));
    if (root.kind != Kind::kArray) return Wrong(name, StrCat("expected a list of objects, not ", ToString(root.kind)));
    for (const DocumentNode& item : root.items) {
      const std::string place = StrCat("trial ", sweep_.trials.size());
      if (item.kind != Kind::kObject) return Wrong(place, StrCat("expected an object, not ", ToString(item.kind)));
      Trial trial;
      for (size_t i = 0; i < item.items.size(); ++i) {
        TRY(CheckName(item.names[i]));
        TRY_ASSIGN(std::string value, ValueOf(item.items[i], StrCat(place, ", ", item.names[i])));
        trial.emplace_back(item.names[i], std::move(value));
      }
      TRY(Add(trial));
    }
    return Ok();
  }

  // Reads a line's cells. A cell in quotes may contain commas, line ends and doubled quotes.
  static std::vector<std::string> NextCells(std::string_view& text) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    while (!text.empty()) {
      const char c = text.front();
      text.remove_prefix(1);
      if (c == '"' && quoted && text.starts_with('"')) {
        cells.back().push_back(c);
        text.remove_prefix(1);
      } else if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        cells.emplace_back();
      } else if (c == '\n' && !quoted) {
        break;
      } else if (c != '\r' || quoted) {
        cells.back().push_back(c);
      }
    }
    return cells;
  }

  // A cell that is a number, true or false in JSON is one; any other cell is a text.
  std::string CellValue(const std::string& cell) const {
    const auto node = Document(cell, "cell");
    const bool is_value = node.ok() && (node->kind == Kind::kNumber || node->kind == Kind::kBool);
    return is_value ? node->text : ToJson(DocumentNode{.kind = Kind::kText, .text = cell});
  }

  Status ReadCsv(std::string_view text, const std::string& path) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (!IsUtf8(text)) return Wrong(path, "not valid UTF-8");
    const std::vector<std::string> names = NextCells(text);
    std::set<std::string> seen;
    for (const std::string& name : names) {
      TRY(CheckName(name));
      if (!seen.insert(name).second) return Wrong(path, StrCat("two columns have the name ", name));
    }
    for (int row = 1; !text.empty(); ++row) {
      const std::vector<std::string> cells = NextCells(text);
      if (cells.size() == 1 && cells[0].empty()) continue;
      if (cells.size() != names.size())
        return Wrong(path, StrCat("row ", row, " has ", cells.size(), " cells, and the first line has ", names.size()));
      Trial trial;
      for (size_t i = 0; i < cells.size(); ++i) trial.emplace_back(names[i], CellValue(cells[i]));
      TRY(Add(trial));
    }
    return Ok();
  }

  struct Range {
    double low = 0, high = 0;
    bool is_log = false, is_whole = false;
  };
  struct Parameter {
    std::string name;
    std::vector<std::string> choices;
    std::optional<Range> range;
  };

  // "1..8" and "0.1..0.9" are ranges, and with "log:" before them the logarithm is uniform.
  static std::optional<Range> RangeIn(std::string_view text) {
    Range range{.is_log = text.starts_with("log:")};
    if (range.is_log) text.remove_prefix(4);
    const size_t dots = text.find("..");
    if (dots == std::string_view::npos) return std::nullopt;
    const auto number = [](std::string_view from, double& into) {
      const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), into);
      return error == std::errc() && end == from.data() + from.size() && std::isfinite(into);
    };
    const std::string_view low = text.substr(0, dots), high = text.substr(dots + 2);
    if (!number(low, range.low) || !number(high, range.high)) return std::nullopt;
    range.is_whole = !range.is_log && ParseInt(low) && ParseInt(high);
    return range;
  }

  Result<std::vector<Parameter>> Parameters() const {
    TRY_ASSIGN(const DocumentNode root, Document(values_.Text(kParameters), kParameters));
    if (root.kind != Kind::kObject)
      return Wrong("the whole value",
                   StrCat("expected an object {NAME: [VALUE, ...], ...}, not ", ToString(root.kind)));
    std::vector<Parameter> parameters;
    for (size_t i = 0; i < root.items.size(); ++i) {
      const DocumentNode& node = root.items[i];
      Parameter parameter{.name = root.names[i]};
      TRY(CheckName(parameter.name));
      if (node.kind == Kind::kText) parameter.range = RangeIn(node.text);
      if (parameter.range &&
          (parameter.range->low > parameter.range->high || (parameter.range->is_log && parameter.range->low <= 0)))
        return Wrong(parameter.name, StrCat(InQuotes(node.text), ": expected LOW..HIGH, above 0 with log:"));
      const std::vector<DocumentNode> one = {node};
      if (!parameter.range)
        for (const DocumentNode& choice : node.kind == Kind::kArray ? node.items : one) {
          TRY_ASSIGN(std::string value, ValueOf(choice, parameter.name));
          parameter.choices.push_back(std::move(value));
        }
      if (!parameter.range && parameter.choices.empty()) return Wrong(parameter.name, "the list of values is empty");
      parameters.push_back(std::move(parameter));
    }
    if (parameters.empty()) return Wrong("the whole value", "no parameter is given");
    return parameters;
  }

  Status ReadParameters() {
    TRY_ASSIGN(const auto parameters, Parameters());
    TRY_ASSIGN(const int random, values_.Count(kRandom, 0, static_cast<int>(kMostTrials)));
    if (random > 0) return ReadRandom(parameters, random);
    for (const Parameter& parameter : parameters)
      if (parameter.range) return Wrong(parameter.name, StrCat("a range needs ", kRandom, ", the number of trials"));
    // The last parameter changes with each trial, the first one last.
    std::vector<size_t> at(parameters.size());
    for (;;) {
      Trial trial;
      for (size_t i = 0; i < at.size(); ++i) trial.emplace_back(parameters[i].name, parameters[i].choices[at[i]]);
      TRY(Add(trial));
      size_t next = at.size();
      while (next > 0 && ++at[next - 1] == parameters[next - 1].choices.size()) at[--next] = 0;
      if (next == 0) return Ok();
    }
  }

  // SplitMix64, so that a seed gives the same trials with each library and on each machine.
  double Uniform() {
    uint64_t mixed = state_ += 0x9E3779B97F4A7C15;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return static_cast<double>((mixed ^ (mixed >> 31)) >> 11) * 0x1.0p-53;
  }

  std::string Draw(const Parameter& parameter) {
    const double at = Uniform();
    if (!parameter.range)
      return parameter.choices[static_cast<size_t>(at * static_cast<double>(parameter.choices.size()))];
    const auto& [low, high, is_log, is_whole] = *parameter.range;
    if (is_whole) return StrCat(static_cast<int64_t>(low + std::floor(at * (high - low + 1))));
    const double value =
        is_log ? std::exp(std::log(low) + at * (std::log(high) - std::log(low))) : low + at * (high - low);
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.6g", value);
    return text;
  }

  Status ReadRandom(const std::vector<Parameter>& parameters, int count) {
    TRY_ASSIGN(const int64_t seed, values_.Number(kSeed, 0, INT64_MAX));
    state_ = static_cast<uint64_t>(seed);
    for (int left = count; left > 0; --left) {
      Trial trial;
      for (const Parameter& parameter : parameters) trial.emplace_back(parameter.name, Draw(parameter));
      TRY(Add(trial));
    }
    return Ok();
  }

  Status ReadMetric() {
    sweep_.metric = std::string(Trim(values_.Text(kMetric)));
    for (const auto& [suffix, maximize] : {std::pair(":min", false), std::pair(":max", true)}) {
      if (!sweep_.metric.ends_with(suffix)) continue;
      sweep_.metric.resize(sweep_.metric.size() - 4);
      sweep_.maximize = maximize;
      if (sweep_.metric.empty()) return values_.Bad(kMetric, "expected NAME, NAME:min or NAME:max");
      break;
    }
    return Ok();
  }

  const PropertyValues& values_;
  const std::filesystem::path& directory_;
  const char* key_ = kParameters;
  uint64_t state_ = 0;
  Sweep sweep_;
};

// The part of a shell's command in which a character stands.
enum class Quotes { kNone, kSingle, kDouble };

// Returns the length of "{NAME}" at the beginning of the text, if NAME is a parameter; 0 otherwise.
size_t ParameterAt(std::string_view text, const std::set<std::string, std::less<>>& names) {
  const size_t end = text.find('}');
  if (end == std::string_view::npos || !names.contains(text.substr(1, end - 1))) return 0;
  return end + 1;
}

}  // namespace

Result<std::optional<Sweep>> ParseSweep(const Properties& properties, const std::filesystem::path& directory) {
  Problems problems;
  const PropertyValues values(properties, problems);
  if (!values.Has(kParameters) && !values.Has(kTrials) && !values.Has(kFile)) {
    for (const char* key : {kMetric, kRandom, kSeed, kTolerate})
      if (values.Has(key) && !IsDefault(*FindKey(key), values.Text(key)))
        return values.Bad(key, StrCat("the job is not a sweep; set ", kParameters));
    return std::optional<Sweep>();
  }
  auto sweep = SweepReader(values, directory).Read();
  TRY(problems.All({}));
  if (!sweep.ok()) return sweep.error();
  return std::optional(*std::move(sweep));
}

Properties WithTrials(const Properties& properties, const Sweep& sweep) {
  Properties with = properties;
  const std::pair<std::string, std::string> defaults[] = {
      {"tony.trial.max-parallel", "auto"},
      {"tony.application.distributed-mode", "FCFS"},
      {"tony.application.framework", "standalone"},
  };
  for (const auto& [key, value] : defaults)
    if (!with.Has(key)) with.Set(key, value, "the sweep");
  with.Set("tony.trial.instances", StrCat(sweep.trials.size()), "the sweep");
  return with;
}

Status CompleteTrials(const Properties& properties, const Sweep& sweep, JobSpec& spec) {
  Problems problems;
  const PropertyValues values(properties, problems);
  TRY_ASSIGN(const int tolerated, values.Count(kTolerate, -1, static_cast<int>(kMostTrials)));
  TRY(problems.All({}));
  for (RoleSpec& role : spec.roles) {
    if (role.name != kTrialRole) continue;
    role.command = WithParameters(role.command, sweep);
    if (role.min_failed || role.min_succeeded > 0) continue;
    role.min_failed = tolerated < 0 ? role.instances : std::min(tolerated + 1, role.instances);
  }
  return Ok();
}

std::string WithParameters(const std::string& command, const Sweep& sweep) {
  std::set<std::string, std::less<>> names;
  for (const std::string& trial : sweep.trials)
    if (const auto parameters = ParseOutputs(trial); parameters.ok())
      for (const OutputMember& parameter : parameters->members) names.insert(parameter.name);
  std::string out;
  Quotes quotes = Quotes::kNone;
  for (size_t at = 0; at < command.size(); ++at) {
    const char c = command[at];
    const bool is_after_dollar = at > 0 && command[at - 1] == '$';
    const size_t length = c == '{' && !is_after_dollar ? ParameterAt(std::string_view(command).substr(at), names) : 0;
    if (length > 0) {
      const std::string reference = StrCat("${", command.substr(at + 1, length - 2), "}");
      out += quotes == Quotes::kNone     ? StrCat("\"", reference, "\"")
             : quotes == Quotes::kDouble ? reference
                                         : StrCat("'\"", reference, "\"'");
      at += length - 1;
      continue;
    }
    out.push_back(c);
    if (c == '\\' && quotes != Quotes::kSingle && at + 1 < command.size()) {
      out.push_back(command[++at]);
    } else if (c == '\'' && quotes != Quotes::kDouble) {
      quotes = quotes == Quotes::kSingle ? Quotes::kNone : Quotes::kSingle;
    } else if (c == '"' && quotes != Quotes::kSingle) {
      quotes = quotes == Quotes::kDouble ? Quotes::kNone : Quotes::kDouble;
    }
  }
  return out;
}

}  // namespace tony
