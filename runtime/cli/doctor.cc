// `tony doctor`: what of this machine, or of a cluster, stands in the way of jobs, and what to do about it.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/doctor_checks.h"
#include "runtime/cli/next_steps.h"
#include "runtime/cli/output.h"
#include "runtime/cli/text_table.h"
#include "runtime/client/choose_backend.h"
#include "runtime/job/json_fields.h"

namespace tony {
namespace {

namespace json = boost::json;

std::string_view ToString(Health health) {
  switch (health) {
    case Health::kOk:
      return "ok";
    case Health::kWarn:
      return "warn";
    case Health::kFail:
      return "fail";
  }
  return "";
}

Checks AllChecks() {
  Checks all;
  for (const Checks& some :
       {CheckHome(), CheckOldJobs(), DefaultBackend().operations().Doctor(), CheckPrograms(), CheckService()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

std::string Text(const Checks& checks, const TableRoom& room) {
  constexpr size_t kHead = 6, kAdvice = 9;
  const auto clean = [&](const std::string& line) { return room.columns > 0 ? SafeLine(line) : line; };
  std::string text;
  for (const Check& check : checks) {
    const std::string health(ToString(check.health));
    const std::string head = FitToWidth(health, kHead);
    const std::string line = Wrapped(StrCat(head, clean(StrCat(check.name, ": ", check.text))), room.columns, kHead);
    text += StrCat(Styled(health, StyleOfState(health), room.colour), line.substr(health.size()), "\n");
    if (!check.advice.empty())
      text += StrCat(Wrapped(StrCat("      -> ", clean(check.advice)), room.columns, kAdvice), "\n");
  }
  return text;
}

std::string Json(const Checks& checks, bool healthy) {
  json::array all;
  for (const Check& check : checks) {
    const std::string_view health = ToString(check.health);
    all.push_back(json::object{{"name", check.name},
                               {"health", json::string_view(health.data(), health.size())},
                               {"text", check.text},
                               {"advice", check.advice}});
  }
  return SerializeJson(json::object{{"schema", 1}, {"healthy", healthy}, {"checks", all}});
}

// Of what fails the checks have said what mends it.
int Report(const CommandLine& line, const Checks& checks, const TableRoom& room) {
  const int exit = ReportChecks(checks, line.Has("json"), room);
  if (exit == 0) SayNext(line, {"init pytorch", "run -- COMMAND"});
  return exit;
}

}  // namespace

int ReportChecks(const Checks& checks, bool as_json, const TableRoom& room) {
  const bool healthy = std::ranges::count(checks, Health::kFail, &Check::health) == 0;
  if (as_json) {
    PrintLine(Json(checks, healthy));
  } else {
    PrintAsIs(Text(checks, room));
  }
  return healthy ? 0 : 1;
}

Result<int> RunDoctor(const CommandLine& line) {
  TRY_ASSIGN(const TableRoom room, RoomOnStandardOutput(line));
  if (!line.Has("yarn")) return Report(line, AllChecks(), room);
  ParsedJobSpec job;
  job.spec.scheduler = "yarn";
  TRY_ASSIGN(const Backend* const yarn, BackendFor(job));
  Checks all = CheckHome();
  for (Check& check : yarn->operations().Doctor()) all.push_back(std::move(check));
  return Report(line, all, room);
}

}  // namespace tony
