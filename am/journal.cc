#include "am/journal.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/records/journal_format.h"

namespace tony::am {
namespace {

// Somebody makes room now and then; looking costs one failing write.
constexpr Duration kFirstPause{200};
constexpr Duration kLongestPause{2000};

// The outcome's stderr tail would be most of the line.
void LogDecision(std::string_view json) {
  constexpr size_t kLongest = 400;
  LogInfo(json.size() > kLongest ? StrCat(json.substr(0, kLongest), "...") : std::string(json));
}

}  // namespace

std::string LogAndEncode(const std::vector<Decision>& decisions) {
  std::string lines;
  for (const Decision& decision : decisions) {
    const std::string json = ToJson(decision);
    LogDecision(json);  // the journal's own words, put into JSON once
    lines += (lines.empty() ? "" : "\n") + json;
  }
  return lines.empty() ? "" : EncodeRecord(lines);
}

class LocalJournal::Writer {
 public:
  Writer(EventLoop& loop, OpenedJournalFile opened)
      : loop_(loop),
        file_(std::move(opened.file)),
        content_(std::move(opened.content)),
        state_(opened.outdated          ? FileState::kSpoiled
               : opened.torn_bytes != 0 ? FileState::kTorn
                                        : FileState::kWhole),
        thread_([this] { Run(); }) {}

  ~Writer() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  void Add(std::string bytes, bool durable, Done done) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.bytes += bytes;
      waiting_.durable |= durable;
      waiting_.done.push_back(std::move(done));
    }
    wake_.notify_one();
  }

  void TellOfTrouble(OnTrouble fn) { on_trouble_ = std::move(fn); }

  Counts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  struct Batch {
    std::string bytes;
    bool durable = false;
    std::vector<Done> done;
  };
  enum class FileState {
    kWhole,    // holds content_
    kTorn,     // holds content_ and a part of something more
    kSpoiled,  // a sync failed, and nobody knows what it holds; or it is of an earlier version
  };

  void Run() {
    while (std::optional<Batch> batch = NextBatch()) {
      if (!Keep(*batch)) return;
      OnLoop([done = std::move(batch->done)](const std::weak_ptr<Writer*>& alive) {
        for (const Done& fn : done) {
          if (!alive.expired()) fn();
        }
      });
    }
  }

  std::optional<Batch> NextBatch() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return stopping_ || !waiting_.done.empty(); });
    if (waiting_.done.empty()) return std::nullopt;
    return std::exchange(waiting_, {});
  }

  // Until it is written. False: the journal goes away, and the disk still does not take it.
  bool Keep(const Batch& batch) {
    std::string trouble;
    Duration pause = kFirstPause;
    for (Status written = Write(batch); !written.ok(); written = Write(batch)) {
      if (written.error().message != trouble) Tell(trouble = written.error().message);
      if (!Rest(pause)) return false;
      pause = std::min(pause * 2, kLongestPause);
    }
    if (!trouble.empty()) Tell("");
    return true;
  }

  // All of it or nothing; may be repeated.
  Status Write(const Batch& batch) {
    const std::string bytes = content_.empty() ? EncodeHeader() + batch.bytes : batch.bytes;
    if (state_ == FileState::kSpoiled) {
      TRY(file_->Replace(content_ + bytes));
      Count(&Counts::writes);
      Count(&Counts::syncs);
    } else if (!bytes.empty()) {
      if (state_ == FileState::kTorn) TRY(file_->CutTo(content_.size()));
      state_ = FileState::kTorn;
      TRY(file_->Append(bytes));
      Count(&Counts::writes);
    }
    if (batch.durable && state_ != FileState::kSpoiled) {
      const Status synced = file_->Sync();
      if (!synced.ok()) {
        state_ = FileState::kSpoiled;
        return synced;
      }
      Count(&Counts::syncs);
    }
    state_ = FileState::kWhole;
    content_ += bytes;
    file_->NoteWritten(content_.size());
    return Ok();
  }

  bool Rest(Duration pause) {
    std::unique_lock lock(mutex_);
    return !wake_.wait_for(lock, pause, [this] { return stopping_; });
  }

  void Tell(const std::string& trouble) {
    OnLoop([trouble](const std::weak_ptr<Writer*>& alive) {
      const auto writer = alive.lock();
      if (writer && (*writer)->on_trouble_) (*writer)->on_trouble_(trouble);
    });
  }

  template <class Fn>
  void OnLoop(Fn fn) {
    loop_.Post([fn = std::move(fn), alive = std::weak_ptr<Writer*>(self_)] { fn(alive); });
  }

  void Count(int64_t Counts::*what) {
    const std::lock_guard lock(mutex_);
    ++(counts_.*what);
  }

  EventLoop& loop_;
  OnTrouble on_trouble_;                                             // the loop's
  std::shared_ptr<Writer*> self_ = std::make_shared<Writer*>(this);  // expires with us
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Batch waiting_;  // guarded by mutex_, as are the next two
  bool stopping_ = false;
  Counts counts_;
  const std::unique_ptr<JournalFile> file_;  // the thread's own, as are the next two
  std::string content_;                      // all that is written, and was told to be
  FileState state_;
  std::thread thread_;  // last: everything above is there before it runs
};

LocalJournal::LocalJournal(EventLoop& loop, OpenedJournalFile opened)
    : writer_(std::make_unique<Writer>(loop, std::move(opened))) {}
LocalJournal::~LocalJournal() = default;

Result<OpenedJournal> LocalJournal::Open(EventLoop& loop, const std::string& path) {
  TRY_ASSIGN(OpenedJournalFile opened, OpenJournalFile(path));
  OpenedJournal journal{
      .decisions = std::exchange(opened.decisions, {}), .torn_bytes = opened.torn_bytes, .outdated = opened.outdated};
  journal.journal = std::make_unique<LocalJournal>(loop, std::move(opened));
  return journal;
}

void LocalJournal::Append(const std::vector<Decision>& decisions, Done done) {
  const bool durable = std::ranges::any_of(
      decisions, [](const Decision& decision) { return std::holds_alternative<JobEnded>(decision.body); });
  writer_->Add(LogAndEncode(decisions), durable, std::move(done));
}

void LocalJournal::TellOfTrouble(OnTrouble fn) { writer_->TellOfTrouble(std::move(fn)); }

LocalJournal::Counts LocalJournal::counts() const { return writer_->counts(); }

}  // namespace tony::am
