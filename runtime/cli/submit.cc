// `tony submit`: properties to spec, files to the store, spec to job folder, job folder to keeper; then watch. The
// client's part of the way of a job (README.md). With a request id, submit_request.cc orders the same steps.
#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/output.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/contract_options.h"
#include "runtime/client/job_programs.h"
#include "runtime/client/source_report.h"
#include "runtime/client/spec_input.h"
#include "runtime/client/stage_files.h"
#include "runtime/client/submit_request.h"
#include "runtime/client/submit_watch.h"
#include "runtime/os/start_program.h"
#include "runtime/spec/configuration_json.h"

namespace tony {

Result<int> RunSubmit(const CommandLine& line) {
  TRY_ASSIGN(const SubmitShow show, ReadSubmitShow(line));
  TRY_ASSIGN(const SubmitOrder order, ReadSubmitOrder(line));
  TRY_ASSIGN(const ParsedJobSpec parsed, ReadJobSpec(line));
  TRY_ASSIGN(const Backend* const backend, BackendFor(parsed));
  for (const std::string& warning : parsed.warnings) Say(StrCat("tony: warning: ", warning));
  TRY_ASSIGN(const auto notes, backend->Check(parsed));
  for (const std::string& note : notes) Say(StrCat("tony: ", note));

  EventLoop loop;
  const auto launcher = backend->MakeLauncher(loop);
  Interrupts interrupts(loop);  // from here on a signal kills the job instead of leaving one that nobody rules
  if (!order.request.value.empty())
    return SubmitRequest(loop, interrupts, *launcher, {.order = order, .job = parsed}, show);

  TRY_ASSIGN(StagedForJob staged, StageFiles(loop, interrupts, *backend, parsed));
  if (staged.signal != 0) {
    Say("tony: interrupted while staging; nothing was submitted");
    return 128 + staged.signal;
  }
  TRY_ASSIGN(ProgramsOfJob programs, ProgramsForJob(*backend));
  const NewJob job = {.spec = parsed.spec,
                      .environment = OwnEnvironment(),
                      .staged = staged.files,
                      .claim = order.claim,
                      .configuration = ToJson(parsed.configuration),
                      .secrets = parsed.secrets,
                      .programs = programs.kept.hash};
  TRY_ASSIGN(const auto jobs, backend->JobsFor(parsed));
  TRY_ASSIGN(const LaidJob laid, LayJob(loop, interrupts, *jobs, job));
  if (laid.signal != 0) {
    Say("tony: interrupted while sending; nothing was submitted");
    return 128 + laid.signal;
  }
  TRY_ASSIGN(const JobRecords records, jobs->Create(*laid.job, RealClock().Now()));
  if (!programs.warning.empty()) Say(programs.warning);
  Announce(records.job(), show);
  SayStaged(staged.files);
  std::map<std::string, std::string> fields;
  if (const std::string sources = SourceJson(staged.files.sources); !sources.empty()) fields["sources"] = sources;
  TRY(StartJob(*jobs, records, *launcher));
  staged.store.reset();  // the job's folder refers to the entries now
  programs.kept.lock.Reset();
  if (!show.detach) return WatchToEnd(loop, interrupts, records, *launcher, {.show = show, .fields = fields});
  TellWhatNext(records, show);
  const std::string answer = StrCat(R"({"schema":1,"job":)", JsonString(records.job().value), "}");
  if (show.json) PrintLine(WithFields(answer, fields));
  return 0;
}

}  // namespace tony
