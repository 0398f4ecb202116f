#include "runtime/client/submit_request.h"

#include <utility>

#include "runtime/base/strings.h"
#include "runtime/client/job_access.h"
#include "runtime/client/output.h"
#include "runtime/client/outputs.h"
#include "runtime/client/progress.h"
#include "runtime/client/submit_steps.h"
#include "runtime/client/submit_watch.h"
#include "runtime/store/job_store.h"

namespace tony {
namespace {

// `existing` runs or has ended with the spec that it was submitted with.
Result<bool> SpecDiffers(const JobFolder& existing, const JobSpec& spec) {
  TRY_ASSIGN(const JobSpec its, existing.ReadSpec());
  return ToJson(its) != ToJson(spec);
}

Error Refusal(SubmitEnd end, const SubmitOrder& order) {
  const std::string why = end == SubmitEnd::kRefusedStale
                              ? StrCat("a submission newer than ", order.ask.number, " is known")
                              : StrCat("owner ", order.claim.owner.value, " was told to stop before it came");
  return {ErrorCode::kNotPermitted, StrCat("request ", order.request.value, ": ", why, "; nothing was submitted")};
}

// The job is there, new, taken over or adopted.
class Submitted {
 public:
  Submitted(const RequestedJob& asked, SubmitEnd end, JobFolder folder)
      : asked_(asked), end_(end), folder_(std::move(folder)), warnings_(asked.job.warnings) {}

  Status Compare() {
    if (end_ == SubmitEnd::kCreated) return Ok();  // announced when it was recorded
    Announce(folder_.job(), asked_.json, asked_.detach);
    TRY_ASSIGN(spec_differs_, SpecDiffers(folder_, asked_.job.spec));
    if (!spec_differs_) return Ok();
    warnings_.push_back(StrCat("job ", folder_.job().value, " was submitted with another spec, and keeps it"));
    Say(StrCat("tony: warning: ", warnings_.back()));
    return Ok();
  }

  Result<int> Report(EventLoop& loop, Interrupts& interrupts, AmLauncher& launcher) const {
    const auto fields = DecisionFields(end_, spec_differs_, warnings_);
    if (asked_.detach) {
      if (asked_.json) PrintLine(WithFields(Names(), fields));
      return 0;
    }
    if (end_ == SubmitEnd::kAdopted) return ReportAdopted(fields);
    return WatchToEnd(loop, interrupts, folder_, launcher,
                      {.json = asked_.json, .kill_as = asked_.order.claim.owner, .fields = fields});
  }

 private:
  std::string Names() const {
    return StrCat(R"({"schema":1,"job":)", JsonString(folder_.job().value), R"(,"request_id":)",
                  JsonString(asked_.order.request.value), R"(,"submission":)", asked_.order.ask.number, "}");
  }

  Result<int> ReportAdopted(const std::map<std::string, std::string>& fields) const {
    TRY_ASSIGN(const JobStatus status, StoredStatus(folder_));
    if (asked_.json) {
      PrintLine(WithFields(StatusDocument(folder_, status), fields));
    } else {
      Print(VerdictText(status, folder_));
    }
    return 0;
  }

  const RequestedJob& asked_;
  const SubmitEnd end_;
  const JobFolder folder_;
  std::vector<std::string> warnings_;
  bool spec_differs_ = false;
};

}  // namespace

std::map<std::string, std::string> DecisionFields(SubmitEnd end, bool spec_differs,
                                                  const std::vector<std::string>& warnings) {
  std::vector<std::string> quoted;
  for (const std::string& warning : warnings) quoted.push_back(JsonString(warning));
  return {{"decision", JsonString(ToString(end))},
          {"spec_differs", spec_differs ? "true" : "false"},
          {"warnings", StrCat("[", Join(quoted, ","), "]")}};
}

Result<int> SubmitRequest(EventLoop& loop, Interrupts& interrupts, AmLauncher& launcher, const RequestedJob& asked) {
  TRY_ASSIGN(const auto home, TonyHome());
  CourseSteps steps(loop, interrupts, launcher, asked, home);
  TRY_ASSIGN(const auto last, steps.Walk());
  if (!last) {
    Say("tony: interrupted; nothing was submitted");
    return 128 + steps.signal();
  }
  if (last->end == SubmitEnd::kRefusedStale || last->end == SubmitEnd::kRefusedRevoked)
    return Refusal(last->end, asked.order);
  TRY_ASSIGN(JobFolder folder, FindJob(last->job.value));
  Submitted submitted(asked, last->end, std::move(folder));
  TRY(submitted.Compare());
  return submitted.Report(loop, interrupts, launcher);
}

}  // namespace tony
