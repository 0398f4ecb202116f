#include "runtime/portal/compare.h"

#include <algorithm>
#include <set>

#include "runtime/base/strings.h"
#include "runtime/client/job_access.h"
#include "runtime/client/outputs.h"
#include "runtime/config/configuration.h"
#include "runtime/job/json_fields.h"
#include "runtime/page/html.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {

void Fields(auto& io, Is<FactSection> auto& section) {
  io.Field("title", section.title);
  io.Field("values", section.values);
}

void Fields(auto& io, Is<JobFacts> auto& facts) {
  io.Field("job", facts.job);
  io.Field("name", facts.name);
  io.Field("state", facts.state);
  io.Field("sections", facts.sections);
}

std::string ToJson(const JobFacts& facts) { return WriteJson(facts); }
Result<JobFacts> JobFactsFromJson(std::string_view json) { return ReadJson<JobFacts>(json, "facts of a job"); }

namespace {

using Values = std::map<std::string, std::string>;

Values CourseOf(const JobStatus& status) {
  Values values{{"state", status.state},
                {"submitted", ToIso8601(status.submitted)},
                {"tasks", StrCat(status.tasks.size())},
                {"restarts", StrCat(status.restart_count)},
                {"application masters", StrCat(status.epoch.value)}};
  if (status.ended) values["took"] = ClockText(*status.ended - status.submitted);
  if (status.verdict) values["class"] = ToString(status.verdict->cls);
  if (status.verdict && status.verdict->state != FinalState::kSucceeded)
    values["first cause"] = status.verdict->message;
  return values;
}

Values OwnProperties(const JobRecords& records) {
  Values values;
  const auto json = records.ReadConfiguration();
  const auto configuration =
      json.ok() && *json ? ConfigurationFromJson(**json) : Result<Configuration>(Configuration());
  if (!configuration.ok()) return values;
  for (const ConfiguredValue& value : *configuration)
    if (value.source != kDefaultSource) values[value.key] = value.value;
  return values;
}

Values OutputsOf(const JobRecords& records, const JobStatus& status) {
  Values values;
  const auto outputs = HasEnded(status) ? ReadOutputs(records, status) : Result<JobOutputs>(JobOutputs());
  if (!outputs.ok()) return {{"(problem)", outputs.error().message}};
  for (const OutputMember& member : outputs->members) values[member.name] = member.text.value_or("null");
  return values;
}

Values UsageByRole(const JobStatus& status) {
  std::map<std::string, JobStatus> roles;
  for (const TaskStatus& task : status.tasks) {
    roles[task.id.role].tasks.push_back(task);
    roles[task.id.role].verdict = status.verdict;
  }
  Values values;
  for (const auto& [role, tasks] : roles) {
    const TaskStatus all = TotalUsage(tasks);
    values[StrCat(role, ": peak memory")] = PeakMemoryText(all);
    values[StrCat(role, ": CPU")] = CpuText(all);
  }
  return values;
}

// Returns the digests of the job's files. Equal digests mean equal contents.
Values DigestsOf(const JobRecords& records) {
  Values values;
  const auto staged = records.ReadStaged();
  if (!staged.ok() || !*staged) return values;
  const auto add = [&](const std::string& before, const std::vector<StagedEntry>& entries) {
    for (const StagedEntry& entry : entries)
      values[before + (entry.name.empty() ? "source folder" : entry.name)] =
          entry.path.filename().string().substr(0, 16);
  };
  add("", (*staged)->job);
  for (const auto& [role, entries] : (*staged)->roles) add(role + ": ", entries);
  return values;
}

}  // namespace

Result<JobFacts> ReadJobFacts(const JobRecords& records) {
  TRY_ASSIGN(const JobStatus status, StoredStatus(records));
  JobFacts facts{.job = status.job.value, .name = status.name, .state = status.state, .sections = {}};
  facts.sections = {{"Course", CourseOf(status)},
                    {"Parameters", OwnProperties(records)},
                    {"Outputs", OutputsOf(records, status)},
                    {"Resources", UsageByRole(status)},
                    {"Code and files", DigestsOf(records)}};
  return facts;
}

namespace {

const Values& SectionOf(const JobFacts& facts, const std::string& title) {
  static const Values kNone;
  const auto found = std::ranges::find(facts.sections, title, &FactSection::title);
  return found == facts.sections.end() ? kNone : found->values;
}

std::string ValueCell(const Values& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? "<td class=\"none\">not set</td>" : Element("td", found->second);
}

std::string ComparedSection(const std::string& title, const Values& a, const Values& b) {
  std::set<std::string> keys;
  for (const Values* values : {&a, &b})
    for (const auto& [key, value] : *values) keys.insert(key);
  std::string different, equal;
  int64_t equal_count = 0;
  for (const std::string& key : keys) {
    const auto in_a = a.find(key), in_b = b.find(key);
    const bool is_equal = in_a != a.end() && in_b != b.end() && in_a->second == in_b->second;
    equal_count += is_equal ? 1 : 0;
    (is_equal ? equal : different) +=
        StrCat("<tr>", Element("th", key), ValueCell(a, key), is_equal ? "" : ValueCell(b, key), "</tr>\n");
  }
  std::string html = StrCat("<section class=\"compared\">\n", Element("h2", title), "\n");
  if (keys.empty()) html += "<p>Both jobs have none.</p>\n";
  if (!keys.empty() && different.empty()) html += "<p>The jobs do not differ here.</p>\n";
  if (!different.empty()) html += StrCat("<div class=\"wide\"><table>\n", different, "</table></div>\n");
  if (equal_count > 0)
    html += StrCat("<details>\n", Element("summary", Counted(equal_count, "equal value")),
                   "\n<div class=\"wide\"><table>\n", equal, "</table></div>\n</details>\n");
  return html + "</section>\n";
}

std::string JobHeading(const JobFacts& job, const std::string& path) {
  return StrCat("<li>", Link(path, job.name.empty() ? job.job : job.name), " ", StateBadge(job.state), "<br>",
                Element("small", job.job), "</li>\n");
}

}  // namespace

std::string CompareHtml(const std::pair<JobFacts, JobFacts>& jobs, const std::pair<std::string, std::string>& paths) {
  std::string content =
      StrCat("<h1>Two jobs</h1>\n<p class=\"links\">", Link("./", "All jobs"), "</p>\n<header><ol>\n",
             JobHeading(jobs.first, paths.first), JobHeading(jobs.second, paths.second), "</ol></header>\n");
  std::vector<std::string> titles;
  for (const JobFacts* job : {&jobs.first, &jobs.second})
    for (const FactSection& section : job->sections)
      if (std::ranges::count(titles, section.title) == 0) titles.push_back(section.title);
  for (const std::string& title : titles)
    content += ComparedSection(title, SectionOf(jobs.first, title), SectionOf(jobs.second, title));
  return WholePage({"Two jobs · TonY", "", ""}, content);
}

}  // namespace tony
