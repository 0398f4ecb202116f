#include "runtime/cli/manual.h"

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/verb_help.h"

namespace tony {
namespace {

// As text of roff: no line of ours begins with a control character.
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

std::string Quoted(std::string_view text) {
  std::string out;
  for (const char c : Roff(text)) out += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return StrCat("\"", out, "\"");
}

std::string OptionEntry(const OptionSpec& option) {
  const std::string letter = option.letter.empty() ? "" : StrCat(Dashed(option.letter), ", ");
  const bool repeated = option.kind == OptionSpec::Kind::kRepeated;
  std::string entry = StrCat(".TP\n.B ", Quoted(StrCat(letter, Dashed(option.name))), "\n");
  if (!option.value.empty())
    entry = StrCat(".TP\n.BI ", Quoted(StrCat(letter, Dashed(option.name), " ")), " ",
                   Quoted(StrCat(option.value, repeated ? "..." : "")), "\n");
  return StrCat(entry, Roff(option.text), "\n");
}

std::string VerbSection(const VerbSpec& verb) {
  std::string section = StrCat(".SS ", Quoted(StrCat("tony ", verb.name, verb.words.empty() ? "" : " ", verb.words)),
                               "\n", Roff(verb.text), ".\n");
  for (const OptionSpec& option : verb.options) section += OptionEntry(option);
  return section;
}

constexpr std::string_view kExits[][2] = {
    {"0", "done; of submit, run, wait and logs -f: the job succeeded"},
    {"1", "the job ended otherwise; of doctor: something stands in the way of jobs"},
    {"64", "the command line"},
    {"65", "a spec, property or file that cannot be accepted"},
    {"66", "an unknown job, task or file"},
    {"69", "not reachable, or not ended: worth another try"},
    {"70", "a bug of tony"},
    {"73", "a file cannot be written"},
    {"77", "not permitted"},
    {"129, 130, 143", "interrupted"},
};

}  // namespace

std::string ManualPage(Instant date) {
  constexpr size_t kDay = std::string_view("2026-11-26").size();
  std::string page = StrCat(".TH TONY 1 ", ToIso8601(date).substr(0, kDay), " ", Quoted(StrCat("tony ", TONY_VERSION)),
                            " ", Quoted("User Commands"), "\n");
  page += ".SH NAME\ntony \\- run distributed machine-learning jobs\n";
  page += ".SH SYNOPSIS\n.B tony\n.I COMMAND\n.RI [ OPTION ...]\n";
  page +=
      StrCat(".SH DESCRIPTION\n", Roff(kJobWords), "\n.PP\n",
             Roff("An option NAME with a VALUE is given as -NAME VALUE, --NAME VALUE or --NAME=VALUE. With --json a "
                  "command prints one JSON object on standard output."),
             "\n.SH COMMANDS\n");
  for (const Verb& command : Verbs()) page += VerbSection(command.verb);
  page += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExits) page += StrCat(".TP\n.B ", Quoted(code), "\n", Roff(meaning), "\n");
  page += StrCat(".SH FILES\n.TP\n.I ", Quoted("~/.tony"), "\n",
                 Roff("jobs, what is staged for them, and their history; elsewhere with $TONY_HOME"), "\n");
  page += StrCat(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\n", Roff("if it is set and not empty, nothing is coloured"), "\n");
  return page;
}

}  // namespace tony
