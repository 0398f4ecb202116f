#include "runtime/client/submit_request.h"

#include <utility>

#include "runtime/base/strings.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/client/outputs.h"
#include "runtime/client/source_report.h"
#include "runtime/client/submit_steps.h"

namespace tony {
namespace {

// `existing` runs or has ended with the spec that it was submitted with.
Result<bool> SpecDiffers(const JobRecords& existing, const JobSpec& spec) {
  TRY_ASSIGN(const JobSpec its, existing.ReadSpec());
  return ToJson(its) != ToJson(spec);
}

Error WhyNotSubmitted(const SubmitStep& last, const SubmitOrder& order) {
  if (last.end == SubmitEnd::kRefusedDiffers)
    return {ErrorCode::kInvalid,
            StrCat("request ", order.request.value, ": job ", last.job.value, " runs with other ",
                   Join(last.differs_in, ", "), "; kill it first, or submit with a --submission above ",
                   order.ask.number, ", which replaces it; nothing was submitted")};
  const std::string why = last.end == SubmitEnd::kRefusedStale
                              ? StrCat("a submission newer than ", order.ask.number, " is known")
                              : StrCat("owner ", order.claim.owner.value, " was told to stop before it came");
  return {ErrorCode::kNotPermitted, StrCat("request ", order.request.value, ": ", why, "; nothing was submitted")};
}

std::string JsonList(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(JsonString(text));
  return StrCat("[", Join(quoted, ","), "]");
}

std::string Names(const RequestedJob& asked, const JobId& job) {
  return StrCat(R"({"schema":1,"job":)", JsonString(job.value), R"(,"request_id":)",
                JsonString(asked.order.request.value), R"(,"submission":)", asked.order.ask.number, "}");
}

Result<int> ReportAdopted(const JobRecords& records, const std::map<std::string, std::string>& fields, bool json) {
  TRY_ASSIGN(const JobStatus status, StoredStatus(records));
  if (json) {
    PrintLine(WithFields(StatusDocument(records, status), fields));
  } else {
    Print(VerdictText(status, records));
  }
  return 0;
}

}  // namespace

std::string DifferenceText(const SubmittedJob& job) {
  if (!job.spec_differs) return "";
  const std::string what = job.differs_in.empty() ? "settings" : Join(job.differs_in, ", ");
  return StrCat("job ", job.records->job().value, " was submitted with other ", what, ", and keeps them");
}

std::map<std::string, std::string> DecisionFields(const SubmittedJob& job, const std::vector<std::string>& warnings) {
  std::map<std::string, std::string> fields = {{"decision", JsonString(ToString(job.end))},
                                               {"spec_differs", job.spec_differs ? "true" : "false"},
                                               {"differs_in", JsonList(job.differs_in)},
                                               {"warnings", JsonList(warnings)}};
  if (const std::string sources = SourceJson(job.sources); !sources.empty()) fields["sources"] = sources;
  return fields;
}

Result<SubmittedJob> FindOrMakeJob(EventLoop& loop, Interrupts& interrupts, AmLauncher& launcher,
                                   const RequestedJob& asked) {
  TRY_ASSIGN(const Backend* const backend, BackendFor(asked.job));
  TRY_ASSIGN(const auto jobs, backend->JobsFor(asked.job));
  TRY_ASSIGN(const auto index, backend->RequestsFor(asked.job));
  CourseSteps steps(loop, interrupts, launcher, asked, *backend, *jobs, *index);
  TRY_ASSIGN(const auto last, steps.Walk());
  if (!last) return SubmittedJob{.signal = steps.signal()};
  if (last->end >= SubmitEnd::kRefusedStale) return WhyNotSubmitted(*last, asked.order);
  TRY_ASSIGN(const JobRecords records, FindJob(last->job.value));
  SubmittedJob submitted = {.records = records, .end = last->end, .differs_in = last->differs_in};
  submitted.sources = steps.files().sources;
  submitted.warnings = steps.files().warnings;
  if (submitted.end == SubmitEnd::kCreated) return submitted;
  TRY_ASSIGN(submitted.spec_differs, SpecDiffers(records, asked.job.spec));
  submitted.spec_differs |= !submitted.differs_in.empty();
  return submitted;
}

Result<int> SubmitRequest(EventLoop& loop, Interrupts& interrupts, AmLauncher& launcher, RequestedJob asked,
                          const SubmitShow& show) {
  asked.on_recorded = [&](const JobId& job) { Announce(job, show); };
  TRY_ASSIGN(const SubmittedJob submitted, FindOrMakeJob(loop, interrupts, launcher, asked));
  if (submitted.signal != 0) {
    Say("tony: interrupted; nothing was submitted");
    return 128 + submitted.signal;
  }
  const JobRecords& records = *submitted.records;
  if (submitted.end != SubmitEnd::kCreated) Announce(records.job(), show);
  if (const std::string text = DifferenceText(submitted); !text.empty()) {
    asked.job.warnings.push_back(text);
    Say(StrCat("tony: warning: ", text));
  }
  asked.job.warnings.insert(asked.job.warnings.end(), submitted.warnings.begin(), submitted.warnings.end());
  const auto fields = DecisionFields(submitted, asked.job.warnings);
  if (show.detach) {
    TellWhatNext(records, show);
    if (show.json) PrintLine(WithFields(Names(asked, records.job()), fields));
    return 0;
  }
  if (submitted.end == SubmitEnd::kAdopted) return ReportAdopted(records, fields, show.json);
  return WatchToEnd(loop, interrupts, records, launcher,
                    {.show = show, .kill_as = asked.order.claim.owner, .fields = fields});
}

}  // namespace tony
