#include "runtime/job/outputs.h"

#include <algorithm>
#include <boost/json.hpp>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"

namespace tony {
namespace {

constexpr size_t kMostProblems = 20;

}  // namespace

void Outputs::Add(OutputProblem problem) {
  if (problems.size() < kMostProblems) return problems.push_back(std::move(problem));
  if (unnamed++ == 0) problems.emplace_back();
  problems.back().why = StrCat("and ", unnamed, " more");
}

bool LeavesOutputs(const JobSpec& spec, const TaskId& task) {
  if (spec.FindRole("chief") || spec.FindRole("worker")) return spec.IsChief(task);
  const RoleSpec* role = spec.FindRole(task.role);
  return role && role->completion == Completion::kTracked && spec.TrackedTasks() == 1;
}

void FitOutputs(Outputs& outputs, size_t most) {
  std::vector<OutputMember*> by_size;
  for (OutputMember& member : outputs.members) by_size.push_back(&member);
  std::ranges::stable_sort(by_size, {}, [](const OutputMember* member) { return member->json.size(); });
  size_t bytes = 2;
  for (OutputMember* member : by_size) {
    bytes += member->json.size() + 1;
    if (bytes <= most) continue;
    std::erase_if(outputs.problems, [&](const OutputProblem& p) { return !p.left_out && p.name == member->name; });
    outputs.Add(
        {member->name, StrCat("it takes ", member->json.size(), " bytes, and all together may have at most ", most)});
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
  const std::string name = SerializeJson(boost::json::value(problem.name));
  return StrCat(name, problem.left_out ? " is left out (" : " is passed on as text (", problem.why, ")");
}

std::string ToJson(const std::vector<OutputProblem>& problems) {
  boost::json::array out;
  for (const OutputProblem& problem : problems) {
    boost::json::object item;
    if (!problem.name.empty()) item["name"] = problem.name;
    item["why"] = problem.why;
    item["left_out"] = problem.left_out;
    out.push_back(std::move(item));
  }
  return SerializeJson(out);
}

Result<std::vector<OutputProblem>> OutputProblemsFromJson(std::string_view text) {
  TRY_ASSIGN(const boost::json::value document, ParseJson(text, "problems of outputs"));
  JsonReader fields(document);
  std::vector<OutputProblem> problems;
  for (JsonReader& item : fields.List("problems")) {
    problems.push_back({item.Has("name") ? item.String("name") : "", item.String("why"), item.Bool("left_out")});
    TRY(item.status());
  }
  TRY(fields.status());
  return problems;
}

}  // namespace tony
