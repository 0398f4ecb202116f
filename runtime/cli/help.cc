// `tony help`: the help texts, generated from the table of verbs that the parser reads.
#include "runtime/cli/help.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/output.h"
#include "runtime/cli/text_table.h"
#include "runtime/config/keys.h"

namespace tony {
namespace {

constexpr size_t kIndent = 2;

// Returns the restriction of a key: where the key has an effect, or why it has none. The result is empty if the key has
// an effect everywhere.
std::string Restriction(const Key& key) {
  switch (key.effect) {
    case KeyEffect::kImplemented:
      return {};
    case KeyEffect::kLocal:
      return "only with tony.scheduler=local";
    case KeyEffect::kYarn:
      return "only with tony.scheduler=yarn";
    case KeyEffect::kNone:
    case KeyEffect::kNotNeeded:
      return WhyNoEffect(key, "");
  }
  CHECK(false);
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '<' || c == '_') out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

std::string Code(std::string_view text) { return text.empty() ? "" : StrCat("`", text, "`"); }

std::string_view SecretMark(const Key& key) { return key.secrecy == KeySecrecy::kSecret ? ", secret" : ""; }

// Returns `text` escaped for roff. The result does not begin with a control character of roff.
std::string Roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out.starts_with('.') || out.starts_with('\'') ? StrCat("\\&", out) : out;
}

std::string RoffQuoted(std::string_view text) {
  std::string out;
  for (const char c : Roff(text)) out += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return StrCat("\"", out, "\"");
}

std::string OptionEntry(const OptionSpec& option) {
  const std::string letter = option.letter.empty() ? "" : StrCat(Dashed(option.letter), ", ");
  const bool repeated = option.kind == OptionSpec::Kind::kRepeated;
  std::string entry = StrCat(".TP\n.B ", RoffQuoted(StrCat(letter, Dashed(option.name))), "\n");
  if (!option.value.empty())
    entry = StrCat(".TP\n.BI ", RoffQuoted(StrCat(letter, Dashed(option.name), " ")), " ",
                   RoffQuoted(StrCat(option.value, repeated ? "..." : "")), "\n");
  return StrCat(entry, Roff(option.text), "\n");
}

std::string VerbSection(const VerbSpec& verb) {
  std::string section =
      StrCat(".SS ", RoffQuoted(StrCat("tony ", verb.name, verb.words.empty() ? "" : " ", verb.words)), "\n",
             Roff(verb.text), ".\n");
  for (const OptionSpec& option : verb.options) section += OptionEntry(option);
  return section;
}

constexpr std::string_view kExits[][2] = {
    {"0", "success; for submit, run, wait and logs -f: the job succeeded"},
    {"1", "the job did not succeed; for doctor: something prevents jobs from running"},
    {"64", "wrong use of the command line"},
    {"65", "a spec, property or file that cannot be accepted"},
    {"66", "an unknown job, task or file"},
    {"69", "something cannot be reached, or the job has not ended yet: try again"},
    {"70", "a bug of tony"},
    {"73", "a file cannot be written"},
    {"77", "not permitted"},
    {"129, 130, 143", "interrupted"},
};

constexpr int64_t kYear10000 = 253'402'300'800;  // seconds since 1970

std::string Overview() {
  std::string text = "tony runs distributed machine-learning jobs\n\n";
  for (const Verb& command : Verbs())
    text += HelpRow(StrCat(command.verb.name, " ", command.verb.words), command.verb.text);
  const std::string notes =
      "\n" + std::string(kJobWords) +
      "\n"
      "\"tony help COMMAND\" lists the options of a command; -name V, --name V and --name=V are the same\n"
      "\"tony help keys\" lists the keys of a job's properties; \"tony help keys PART\" lists the keys whose names\n"
      "contain PART\n"
      "exit codes: 0 success; 1 the job did not succeed; 64 usage; 65 spec or properties invalid;\n"
      "66 unknown job; 69 not reachable or not ended, try again; 70 a bug; 73 cannot write; 77 not permitted;\n"
      "129, 130, 143 interrupted\n";
  return text + Fitted(notes, {ColumnsOfStandardOutput()});
}

Result<int> HelpWithKeys(const CommandLine& line) {
  if (line.Has("markdown")) {
    Print(KeyRowsInMarkdown());
    return 0;
  }
  const std::string part = line.words().size() > 1 ? line.words()[1] : "";
  const std::string list = KeyList(part);
  if (list.empty())
    return Error{ErrorCode::kUsage, StrCat("no key has \"", part, "\" in its name; \"tony help keys\" lists all keys")};
  Print(list);
  return 0;
}

// Returns the date of the manual: $SOURCE_DATE_EPOCH if that is set, so that two builds of the same sources make the
// same page, otherwise the current time.
Result<Instant> DateOfManual() {
  const char* const epoch = getenv("SOURCE_DATE_EPOCH");
  if (epoch == nullptr || *epoch == '\0') return RealClock().Now();
  const auto seconds = ParseInt(epoch);
  if (seconds && *seconds >= 0 && *seconds < kYear10000) return FromMillis(*seconds * 1000);
  return Error{ErrorCode::kUsage, StrCat("SOURCE_DATE_EPOCH \"", epoch, "\": expected seconds since 1970")};
}

}  // namespace

bool RequestsHelp(const std::vector<std::string>& arguments) {
  return std::ranges::any_of(
      arguments, [](const std::string& word) { return word == "--help" || word == "-help" || word == "-h"; });
}

std::string HelpOf(std::string_view program, const VerbSpec& verb) {
  std::string text = StrCat(program, " ", verb.name, verb.words.empty() ? "" : " ", verb.words,
                            verb.options.empty() ? "" : " [OPTIONS]", "\n",
                            Wrapped(StrCat("  ", verb.text), ColumnsOfStandardOutput(), kIndent), "\n\n");
  for (const OptionSpec& option : verb.options) {
    const bool repeated = option.kind == OptionSpec::Kind::kRepeated;
    const std::string letter = option.letter.empty() ? "" : StrCat(Dashed(option.letter), ", ");
    text += HelpRow(
        StrCat(letter, Dashed(option.name), option.value.empty() ? "" : " ", option.value, repeated ? "..." : ""),
        option.text);
  }
  return text;
}

std::string HelpRow(std::string left, std::string_view right) {
  constexpr size_t kLeft = 32;
  left.resize(std::max<size_t>(left.size() + 2, kLeft), ' ');
  return StrCat(Wrapped(StrCat("  ", left, right), ColumnsOfStandardOutput(), kIndent + kLeft), "\n");
}

std::string KeyList(std::string_view part) {
  std::string list;
  for (const Key& key : AllKeys()) {
    if (key.name.find(part) == key.name.npos) continue;
    const std::string value = key.default_value.empty() ? "" : StrCat(", ", key.default_value, " if not set");
    const std::string restriction = Restriction(key);
    list += StrCat(key.name, "  (", ToString(key.type), value, SecretMark(key), ")\n    ", key.text, "\n");
    if (!restriction.empty()) list += StrCat("    ", restriction, "\n");
  }
  return list;
}

std::string KeyRowsInMarkdown() {
  std::string rows;
  for (const Key& key : AllKeys()) {
    rows += StrCat("| ", Code(key.name), " | ", ToString(key.type), SecretMark(key), " | ", Code(key.default_value),
                   " | ", Escaped(key.text), " | ", Escaped(Restriction(key)), " |\n");
  }
  return rows;
}

std::string ManualPage(Instant date) {
  constexpr size_t kDay = std::string_view("2026-11-26").size();
  std::string page = StrCat(".TH TONY 1 ", ToIso8601(date).substr(0, kDay), " ",
                            RoffQuoted(StrCat("tony ", TONY_VERSION)), " ", RoffQuoted("User Commands"), "\n");
  page += ".SH NAME\ntony \\- run distributed machine-learning jobs\n";
  page += ".SH SYNOPSIS\n.B tony\n.I COMMAND\n.RI [ OPTION ...]\n";
  page +=
      StrCat(".SH DESCRIPTION\n", Roff(kJobWords), "\n.PP\n",
             Roff("An option NAME with a VALUE is given as -NAME VALUE, --NAME VALUE or --NAME=VALUE. With --json a "
                  "command prints one JSON object on standard output."),
             "\n.SH COMMANDS\n");
  for (const Verb& command : Verbs()) page += VerbSection(command.verb);
  page += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExits) page += StrCat(".TP\n.B ", RoffQuoted(code), "\n", Roff(meaning), "\n");
  page += StrCat(".SH FILES\n.TP\n.I ", RoffQuoted("~/.tony"), "\n",
                 Roff("jobs, their staged content and their history; $TONY_HOME may name another folder"), "\n");
  page += StrCat(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\n", Roff("if set and not empty, output has no colours"), "\n");
  return page;
}

Result<int> RunHelp(const CommandLine& line) {
  if (line.Has("man")) {
    TRY_ASSIGN(const Instant date, DateOfManual());
    PrintAsIs(ManualPage(date));
    return 0;
  }
  if (line.words().empty()) {
    Print(Overview());
    return 0;
  }
  if (line.words().front() == "keys") return HelpWithKeys(line);
  if (line.words().size() > 1)
    return Error{ErrorCode::kUsage, StrCat("help: unexpected word \"", line.words()[1], "\"")};
  for (const Verb& command : Verbs()) {
    if (command.verb.name != line.words().front()) continue;
    Print(HelpOf("tony", command.verb));
    return 0;
  }
  return Error{ErrorCode::kUsage,
               StrCat("unknown command \"", line.words().front(), "\"; \"tony help\" lists all commands")};
}

}  // namespace tony
