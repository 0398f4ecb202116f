#include "am/checkpoint_reader.h"

#include <mutex>
#include <thread>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/records/journal_format.h"

namespace tony::am {
namespace {

// A checkpoint that changed less than this time ago is not used, because a task may still be writing it. The time is
// short compared with a restart's back-off.
constexpr Duration kSettle{200};

bool IsEnding(const JobRecords& records) {
  const auto status = records.ReadStatus();
  const auto killed = records.HasPlainKill();
  return (status.ok() && *status && (*status)->state == "STOPPING") || (killed.ok() && *killed);
}

Result<std::optional<CheckpointListing>> ListingIn(const JobRecords& job) {
  TRY_ASSIGN(const auto bytes, job.ReadJournal());
  if (!bytes) return NotFoundError(job.PlaceOfJournal(), ": the file does not exist any more");
  TRY_ASSIGN(const DecodedJournal decoded, DecodeJournal(*bytes));
  for (const Decision& decision : decoded.decisions) {
    if (const auto* listed = std::get_if<CheckpointsListed>(&decision.body)) return std::optional(listed->listing);
  }
  return std::optional<CheckpointListing>();
}

// Returns the checkpoint listing of the job `earlier`; nullopt if the new job does not continue the work of `earlier`.
Result<std::optional<CheckpointListing>> ListingToContinue(const JobRecords& earlier, const Submission& own,
                                                           const CheckpointSpec& spec) {
  TRY_ASSIGN(const Submission submission, earlier.ReadSubmission());
  TRY_ASSIGN(const auto status, earlier.ReadStatus());
  TRY_ASSIGN(const JobSpec earlier_spec, earlier.ReadSpec());
  const bool same_request =
      !own.request.value.empty() && submission.request == own.request && submission.number == own.number;
  // After a success the new job does the work again from the start, so it does not continue the earlier job. With
  // another pattern, the earlier listing names other files.
  const bool succeeded = status && status->verdict && status->verdict->state == FinalState::kSucceeded;
  if (!same_request || succeeded || earlier_spec.checkpoint.pattern != spec.pattern)
    return std::optional<CheckpointListing>();
  return ListingIn(earlier);
}

void ContinueFrom(const JobId& before, const CheckpointPlace& place, const Submission& own, const CheckpointSpec& spec,
                  CheckpointListing& listing) {
  const auto earlier = place.find_job(before);
  if (!earlier.ok()) return;
  const auto of_earlier = ListingToContinue(*earlier, own, spec);
  if (!of_earlier.ok()) return LogWarn(StrCat("job ", before.value, ": ", of_earlier.error().message));
  if (!*of_earlier || !(*of_earlier)->unknown.empty() || (*of_earlier)->folder != listing.folder) return;
  listing.earlier_job = before;
  listing.there = (*of_earlier)->Continued(std::move(listing.there));
}

CheckpointListing Unknown(const CheckpointSpec& spec, const Error& why) {
  return {.folder = spec.directory, .unknown = why.message};
}

}  // namespace

struct CheckpointReader::Shared {
  std::mutex mutex;
  EventLoop* loop;  // null once no caller waits
};

CheckpointReader::CheckpointReader(EventLoop& loop, CheckpointPlace place, Submission submission, CheckpointSpec spec)
    : place_(std::move(place)),
      submission_(std::move(submission)),
      spec_(std::move(spec)),
      shared_(std::make_shared<Shared>()) {
  shared_->loop = &loop;
}

CheckpointReader::~CheckpointReader() {
  const std::lock_guard lock(shared_->mutex);
  shared_->loop = nullptr;
}

template <class Look, class Done>
void CheckpointReader::Run(Look look, Done done) {
  std::thread([look = std::move(look), shared = shared_, done = std::move(done)]() mutable {
    auto seen = look();
    const std::lock_guard lock(shared->mutex);
    if (!shared->loop) return;
    shared->loop->Post([seen = std::move(seen), done = std::move(done), waits = std::weak_ptr(shared)] {
      if (!waits.expired()) done(seen);
    });
  }).detach();
}

void CheckpointReader::List(Listed listed) {
  Run([place = place_, submission = submission_, spec = spec_] { return LookFirst(place, submission, spec); },
      std::move(listed));
}

void CheckpointReader::Begin(const CheckpointListing& listing, Found found) {
  Run([place = place_, job = submission_.job, spec = spec_, listing] { return LookAgain(place, job, spec, listing); },
      std::move(found));
}

FirstLook LookFirst(const CheckpointPlace& place, const Submission& submission, const CheckpointSpec& spec) {
  const auto resolved = place.folder->Resolve();
  if (!resolved.ok()) return Unknown(spec, resolved.error());
  const auto holder = place.holders->Take(*resolved, submission.job);
  if (!holder.ok()) return Unknown(spec, holder.error());
  if (holder->job != submission.job) {
    const auto other = place.find_job(holder->job);
    return FolderInUse{holder->job, other.ok() && IsEnding(*other)};
  }
  CheckpointListing listing = tony::ListCheckpoints(*place.folder, spec);
  if (holder->before && listing.unknown.empty()) ContinueFrom(*holder->before, place, submission, spec, listing);
  if (!listing.earlier_job && !spec.resume_latest) return listing;
  auto newest = NewestCheckpoint(*place.folder, spec, listing);
  if (newest.ok()) listing.newest = *std::move(newest);
  if (!newest.ok()) LogWarn(newest.error().message);
  return listing;
}

Result<std::optional<Checkpoint>> LookAgain(const CheckpointPlace& place, const JobId& job, const CheckpointSpec& spec,
                                            const CheckpointListing& listing) {
  if (spec.resume_latest) return NewestCheckpoint(*place.folder, spec, listing, kSettle);
  TRY_ASSIGN(const auto holder, place.holders->Find(listing.folder));
  if (listing.unknown.empty() && (!holder || holder->job != job))
    return UnavailableError("the checkpoints in ", spec.directory, " are not used, because ",
                            holder ? StrCat("job ", holder->job.value, " uses the folder now")
                                   : "the record that names the folder's job is missing");
  return NewestCheckpoint(*place.folder, spec, listing, kSettle);
}

}  // namespace tony::am
