#include "runtime/client/make_job.h"

#include <unistd.h>

#include <mutex>
#include <thread>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/os/sibling_program.h"
#include "runtime/os/start_program.h"
#include "runtime/records/user_home.h"
#include "runtime/spec/configuration_json.h"

namespace tony {
namespace {

// Work that ends sooner is not worth a word.
constexpr Duration kQuiet{700};
constexpr Duration kBetweenNotes{200};

// Takes progress from the thread that works, and notes it on the loop.
class ProgressNotes {
 public:
  ProgressNotes(EventLoop& loop, const ClientNotes& notes, std::string_view doing)
      : loop_(loop), notes_(notes), doing_(doing) {
    NoteAfter(kQuiet);
  }
  ~ProgressNotes() { notes_.moved(); }
  ProgressNotes(const ProgressNotes&) = delete;

  void Take(const StageProgress& progress) {  // from any thread
    const std::lock_guard lock(mutex_);
    newest_ = progress;
  }

 private:
  void NoteAfter(Duration delay) {
    timer_ = loop_.After(delay, [this] {
      const StageProgress newest = Newest();
      if (!newest.what.empty()) notes_.moving(doing_, newest);
      NoteAfter(kBetweenNotes);
    });
  }

  StageProgress Newest() const {
    const std::lock_guard lock(mutex_);
    return newest_;
  }

  EventLoop& loop_;
  const ClientNotes& notes_;
  const std::string_view doing_;
  mutable std::mutex mutex_;
  StageProgress newest_;
  EventLoop::Timer timer_;
};

}  // namespace

JobMaker::JobMaker(EventLoop& loop, Interrupts& interrupts, const RequestedJob& asked, const Backend& backend,
                   const JobStore& jobs, const ClientNotes& notes)
    : loop_(loop), interrupts_(interrupts), asked_(asked), backend_(backend), jobs_(jobs), notes_(notes) {}

JobMaker::~JobMaker() {
  if (is_made_) return;
  if (laid_) {
    jobs_.DiscardLaid(*laid_);
  } else if (!id_.value.empty()) {
    jobs_.DiscardLaid(NewJob{.id = id_});
  }
}

// Runs `work` on a thread of its own until it is done. A signal that comes meanwhile asks it to stop.
void JobMaker::RunBeside(std::string_view doing, const std::function<void(const StageWatch&)>& work) {
  doing_ = doing;
  ProgressNotes progress(loop_, notes_, doing);
  const auto note_damage = [this](const std::string& what, const std::string& damage) {
    loop_.Post([this, line = StrCat("tony: what was staged of ", what, " is damaged (", damage, "); it is made anew")] {
      notes_.note(line);
    });
  };
  std::jthread thread([&](const std::stop_token& stop) {
    work({.on_progress = [&](const StageProgress& made) { progress.Take(made); },
          .stop = stop,
          .on_damage = note_damage});
    loop_.Post([this] { loop_.Stop(); });
  });
  interrupts_.Listen([&](int caught) {
    signal_ = caught;
    thread.request_stop();
  });
  loop_.Run();
  thread.join();
  interrupts_.Listen(nullptr);
}

Status JobMaker::Stage() {
  if (!NeedsStaging(asked_.job.spec)) return Ok();
  Status staged;
  RunBeside("staging", [&](const StageWatch& watch) { staged = StageHere(watch); });
  return signal_ == 0 ? staged : Ok();
}

Status JobMaker::StageHere(const StageWatch& watch) {
  TRY_ASSIGN(const std::filesystem::path home, TonyHome());
  TRY_ASSIGN(store_, StagedStore::Open(home, watch.stop));
  const auto look = [&](const FileSpec& file) -> Result<std::vector<RemoteFile>> {
    const ClusterFiles* files = backend_.cluster_files();
    if (files) return files->LookAt(asked_.job.site_files, file);
    return Error{ErrorCode::kInvalid, "the job's scheduler has no file system of its own"};
  };
  TRY_ASSIGN(files_, tony::Stage(asked_.job.spec, *store_, watch, look, UnpackLimits(), asked_.job.is_of_tonys));
  return Ok();
}

// The job's own copy of this release's programs, whatever is installed while it runs. Where none can be kept it runs
// those beside this program.
Status JobMaker::KeepPrograms() {
  if (!backend_.keeps_programs()) return Ok();
  TRY_ASSIGN(const auto home, TonyHome());
  std::vector<std::filesystem::path> installed;
  for (const std::string_view name : kJobPrograms) installed.emplace_back(SiblingProgram(name));
  for (const std::string_view name : kGpuPrograms)
    if (const std::string file = SiblingProgram(name); access(file.c_str(), R_OK) == 0) installed.emplace_back(file);
  Result<KeptPrograms> kept = tony::KeepPrograms(home, installed, RealClock().Now());
  if (kept.ok()) {
    programs_ = *std::move(kept);
    return Ok();
  }
  programs_warning_ =
      StrCat("tony: warning: the job keeps no programs of its own: ", kept.error().message, "; it runs those in ",
             installed.front().parent_path().string(), ", which are not to be replaced before it has ended");
  return Ok();
}

// Before the request knows the job, so that nobody waits for what takes long.
Status JobMaker::Lay() {
  if (laid_) return Ok();
  TRY(KeepPrograms());
  NewJob job = {.spec = asked_.job.spec,
                .environment = OwnEnvironment(),
                .staged = files_,
                .id = id_,
                .request = asked_.order.request,
                .number = asked_.order.ask.number,
                .claim = asked_.order.claim,
                .configuration = ToJson(asked_.job.configuration),
                .secrets = asked_.job.secrets,
                .programs = programs_.hash};
  std::optional<Result<NewJob>> laid;
  RunBeside("sending",
            [&](const StageWatch& watch) { laid.emplace(jobs_.Lay(std::move(job), RealClock().Now(), watch)); });
  if (signal_ != 0 && laid->ok()) jobs_.DiscardLaid(**laid);
  if (signal_ != 0) return Ok();
  TRY(*laid);
  laid_ = **std::move(laid);
  return Ok();
}

Result<JobRecords> JobMaker::Create() {
  TRY_ASSIGN(JobRecords records, jobs_.Create(*laid_, RealClock().Now()));
  is_made_ = true;
  laid_.reset();  // it holds secrets
  if (!programs_warning_.empty()) notes_.note(programs_warning_);
  notes_.created(records.job(), files_);
  store_.reset();
  programs_.lock.Reset();
  return records;
}

Status JobMaker::Start(const JobRecords& records, AmLauncher& launcher) const {
  const auto started = launcher.Start(records);
  if (started.ok()) return Ok();
  jobs_.Discard(records);
  return Annotate(started.error(), StrCat("job ", records.job().value, " could not be started"));
}

}  // namespace tony
