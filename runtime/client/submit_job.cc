#include "runtime/client/submit_job.h"

#include <utility>

#include "runtime/base/strings.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/client/submit_steps.h"
#include "runtime/framework/framework.h"
#include "runtime/job/json_fields.h"
#include "runtime/spec/property_values.h"

namespace tony {

Result<ParsedJobSpec> CheckedJobSpec(const Properties& properties, const std::filesystem::path& directory) {
  TRY_ASSIGN(ParsedJobSpec parsed, ParseJobSpec(properties, directory));
  Problems problems;
  for (const Status& checked : {CheckFramework(parsed.spec), CheckEnvironment(parsed.spec, parsed.secrets)})
    if (!checked.ok()) problems.Note(checked.error());
  TRY(problems.All(parsed.warnings));
  if (parsed.spec.HasMaxParallel()) {
    TRY_ASSIGN(const Backend* const backend, BackendFor(parsed));
    TRY(backend->LimitParallel(parsed.spec));
  }
  for (std::string& warning : ScopeWarnings(parsed.spec)) parsed.warnings.push_back(std::move(warning));
  for (std::string& warning : ToleranceWarnings(parsed.spec)) parsed.warnings.push_back(std::move(warning));
  return parsed;
}

namespace {

Error WhyNotSubmitted(const SubmitStep& last, const SubmitOrder& order) {
  if (last.end == SubmitEnd::kRefusedDiffers)
    return {ErrorCode::kInvalid,
            StrCat("request ", order.request.value, ": job ", last.job.value, " runs with other ",
                   Join(last.differs_in, ", "), "; nothing was submitted; kill the job first, or submit with a ",
                   "--submission above ", order.ask.number, " to replace the job")};
  const std::string why = last.end == SubmitEnd::kRefusedStale
                              ? StrCat("a submission newer than ", order.ask.number, " exists")
                              : StrCat("owner ", order.claim.owner.value, " was revoked by a kill before this submit");
  return {ErrorCode::kNotPermitted, StrCat("request ", order.request.value, ": ", why, "; nothing was submitted")};
}

Result<SubmittedJob> MakeJob(JobCreator& maker, AmLauncher& launcher) {
  TRY(maker.Stage());
  if (maker.signal() == 0) TRY(maker.UploadJob());
  if (maker.signal() != 0) return SubmittedJob{.signal = maker.signal(), .stopped_work = maker.stopped_work()};
  TRY_ASSIGN(const JobRecords records, maker.Create());
  TRY(maker.Start(records, launcher));
  return SubmittedJob{.records = records, .sources = maker.files().sources};
}

}  // namespace

std::string DifferenceText(const SubmittedJob& job) {
  if (!job.spec_differs) return "";
  const std::string what = job.differs_in.empty() ? "settings" : Join(job.differs_in, ", ");
  return StrCat("job ", job.records->job().value, " was submitted before with other ", what, "; it keeps those");
}

std::map<std::string, std::string> DecisionFields(const SubmittedJob& job, const std::vector<std::string>& warnings) {
  std::map<std::string, std::string> fields = SourceFields(job);
  fields["decision"] = JsonString(ToString(job.end));
  fields["spec_differs"] = job.spec_differs ? "true" : "false";
  fields["differs_in"] = WriteJson(job.differs_in);
  fields["warnings"] = WriteJson(warnings);
  return fields;
}

std::map<std::string, std::string> SourceFields(const SubmittedJob& job) {
  const std::string sources = SourceJson(job.sources);
  if (sources.empty()) return {};
  return {{"sources", sources}};
}

std::string SourceJson(const SourceSummary& sources) {
  if (sources.folder.empty()) return "";
  std::vector<RawJson> rules;
  for (const LeftOut& left : sources.left_out) {
    rules.push_back({WriteJsonObject([&](JsonWriter& io) {
      io.Field("rule", left.rule);
      io.Field("paths", left.paths);
      io.Field("files", left.files);
      io.Field("bytes", left.bytes);
    })});
  }
  return WriteJsonObject([&](JsonWriter& io) {
    io.Field("files", sources.files);
    io.Field("bytes", sources.bytes);
    io.Field("left_out", rules);
  });
}

Result<SubmittedJob> FindOrMakeJob(EventLoop& loop, Interrupts& interrupts, AmLauncher& launcher,
                                   const ClientNotes& notes, const RequestedJob& asked) {
  TRY_ASSIGN(const Backend* const backend, BackendFor(asked.job));
  TRY_ASSIGN(const auto jobs, backend->Jobs(asked.job.site_files));
  if (asked.order.request.value.empty()) {
    JobCreator maker(loop, interrupts, asked, *backend, *jobs, notes);
    return MakeJob(maker, launcher);
  }
  TRY_ASSIGN(const auto index, backend->Requests(asked.job.site_files));
  CourseSteps steps(loop, interrupts, launcher, notes, asked, *backend, *jobs, *index);
  TRY_ASSIGN(const auto last, steps.Walk());
  if (!last) return SubmittedJob{.signal = steps.signal()};
  if (last->end >= SubmitEnd::kRefusedStale) return WhyNotSubmitted(*last, asked.order);
  TRY_ASSIGN(const JobRecords records, FindJob(last->job.value));
  SubmittedJob submitted = {.records = records, .end = last->end, .differs_in = last->differs_in};
  if (steps.maker().is_made()) {
    submitted.sources = steps.maker().files().sources;
    submitted.warnings = steps.maker().files().warnings;
  }
  if (submitted.end == SubmitEnd::kCreated) return submitted;
  TRY_ASSIGN(const JobSpec its, records.ReadSpec());  // spec of the first submit
  submitted.spec_differs = !submitted.differs_in.empty() || ToJson(its) != ToJson(asked.job.spec);
  return submitted;
}

}  // namespace tony
