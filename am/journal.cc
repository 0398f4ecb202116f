#include "am/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"
#include "runtime/records/journal_format.h"

namespace tony::am {
namespace {

// The first and the longest pause between repeated writes. The pauses are short, because a full disk may get room at
// any time, and a repeated write costs little.
constexpr Duration kFirstPause{200};
constexpr Duration kLongestPause{2000};

// Logs a decision. The line is cut, because an outcome's stderr tail would fill most of it.
void LogDecision(std::string_view json) {
  constexpr size_t kLongest = 400;
  LogInfo(json.size() > kLongest ? StrCat(json.substr(0, kLongest), "...") : std::string(json));
}

namespace fs = std::filesystem;

Status Failed(std::string_view what = "") { return Error{ErrorCode::kCannotWrite, StrCat(what, ErrnoText(errno))}; }

// Returns the number in decimal and with a fixed width, so that a shorter number overwrites a longer one completely.
std::string NumberText(size_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "%020zu\n", number);
  return text;
}

class LocalJournalFile : public JournalFile {
 public:
  LocalJournalFile(std::string path, UniqueFd journal, UniqueFd written)
      : path_(std::move(path)), journal_(std::move(journal)), written_(std::move(written)) {}

  Status Append(std::string_view bytes) override { return AppendTo(journal_.get(), bytes); }

  Status CutTo(size_t size) override {
    if (ftruncate(journal_.get(), static_cast<off_t>(size)) != 0) return Failed("cut off the incomplete last record: ");
    return Ok();
  }

  Status Sync() override {
    if (fdatasync(journal_.get()) != 0) return Failed("sync: ");
    return SyncName();
  }

  Status Replace(std::string_view content) override {
    const fs::path fresh = fs::path(path_).parent_path() / ".journal.new";
    UniqueFd fd(open(fresh.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
    if (!fd.valid()) return Failed("rewrite the journal: ");
    Status written = AppendTo(fd.get(), content);
    if (written.ok() && fsync(fd.get()) != 0) written = Failed("sync: ");
    if (written.ok() && rename(fresh.c_str(), path_.c_str()) != 0) written = Failed("rewrite the journal: ");
    if (!written.ok()) {
      unlink(fresh.c_str());  // frees the space on the disk
      return written;
    }
    journal_ = std::move(fd);
    name_is_synced_ = false;
    return SyncName();
  }

  // Overwrites the number in place, which needs no extra space on most file systems. If that fails, a later AM detects
  // fewer damaged journals.
  void NoteWritten(size_t size) override {
    const std::string text = NumberText(size);
    [[maybe_unused]] const ssize_t ignored = pwrite(written_.get(), text.data(), text.size(), 0);
  }

 private:
  Status SyncName() {
    if (!name_is_synced_) TRY(SyncPath(fs::path(path_).parent_path()));
    name_is_synced_ = true;
    return Ok();
  }

  static Status AppendTo(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = write(fd, bytes.data(), bytes.size());
      if (n != -1) {
        bytes.remove_prefix(static_cast<size_t>(n));
      } else if (errno != EINTR) {
        return Failed();
      }
    }
    return Ok();
  }

  const std::string path_;
  UniqueFd journal_;
  const UniqueFd written_;
  bool name_is_synced_ = false;
};

Result<UniqueFd> OpenFile(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd.valid()) return FileError(ErrorCode::kCannotWrite, "open", path, errno);
  return fd;
}

size_t ReadNumber(const std::string& path) {
  const auto text = ReadFile(path);
  const auto number = text.ok() ? ParseInt(Trim(*text)) : std::nullopt;
  return static_cast<size_t>(std::max<int64_t>(number.value_or(0), 0));
}

}  // namespace

std::string LogAndEncode(const std::vector<Decision>& decisions) {
  std::string lines;
  for (const Decision& decision : decisions) {
    const std::string json = ToJson(decision);
    // The log and the journal use the same JSON, so the JSON is made only once.
    LogDecision(json);
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

  void SetFailureCallback(OnTrouble fn) { on_trouble_ = std::move(fn); }

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
    kWhole,  // file holds content_
    // The file holds content_ and a torn tail.
    kTorn,
    // The whole file must be replaced: a sync failed, so its content is unknown, or its format is that of an earlier
    // version.
    kSpoiled,
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

  // Repeats the write until it succeeds. Returns false if the journal is being destroyed and the disk still fails.
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

  // Writes the whole batch or nothing, so a failed call can be repeated.
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
  OnTrouble on_trouble_;                                             // used only on the loop
  std::shared_ptr<Writer*> self_ = std::make_shared<Writer*>(this);  // expires with this Writer
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  // The mutex guards this member and the next two.
  Batch waiting_;
  bool stopping_ = false;
  Counts counts_;
  // Only the thread uses this member and the next two.
  const std::unique_ptr<JournalFile> file_;
  std::string content_;  // Everything that was written and acknowledged.
  FileState state_;
  // This member is the last, because the thread uses all members above from its start.
  std::thread thread_;
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

void LocalJournal::SetFailureCallback(OnTrouble fn) { writer_->SetFailureCallback(std::move(fn)); }

LocalJournal::Counts LocalJournal::counts() const { return writer_->counts(); }

Result<OpenedJournalFile> OpenJournalFile(const std::string& path) {
  TRY_ASSIGN(UniqueFd journal, OpenFile(path));
  TRY_ASSIGN(std::string content, ReadFile(path));
  Result<DecodedJournal> decoded = DecodeJournal(content);
  if (!decoded.ok()) return Annotate(decoded.error(), path);
  const std::string beside = path + ".written";
  if (const size_t written = ReadNumber(beside); decoded->valid_bytes < written) {
    return InvalidError(path, ": damaged at byte ", decoded->valid_bytes, ": the file ends here, but it had ", written,
                        " bytes");
  }
  // The file is opened without O_APPEND, because pwrite() would append in that mode. If the disk has no room for this
  // file, the AM runs without it.
  UniqueFd note(open(beside.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  OpenedJournalFile opened{.torn_bytes = content.size() - decoded->valid_bytes};
  content.resize(decoded->valid_bytes);
  opened.content = decoded->outdated ? Update(content) : std::move(content);
  opened.outdated = decoded->outdated;
  opened.decisions = std::move(decoded->decisions);
  opened.file = std::make_unique<LocalJournalFile>(path, std::move(journal), std::move(note));
  return opened;
}

}  // namespace tony::am
