#include "am/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "am/journal_format.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"

namespace tony::am {
namespace {

Error Failed(const std::string& what, const std::string& path) {
  return {ErrorCode::kCannotWrite, StrCat(what, " ", path, ": ", ErrnoText(errno))};
}

Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("append to", path);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return Ok();
}

Result<std::string> ReadAll(int fd, const std::string& path) {
  std::string bytes;
  char buffer[65536];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("read", path);
    if (n == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace

class LocalJournal::Writer {
 public:
  Writer(EventLoop& loop, UniqueFd fd, std::string path)
      : loop_(loop), fd_(std::move(fd)), path_(std::move(path)), thread_([this] { Run(); }) {}

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

  int64_t syncs() const {
    const std::lock_guard lock(mutex_);
    return syncs_;
  }

 private:
  struct Batch {
    std::string bytes;
    bool durable = false;
    std::vector<Done> done;
  };

  void Run() {
    for (;;) {
      Batch batch;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || !waiting_.done.empty(); });
        if (waiting_.done.empty()) return;
        batch = std::exchange(waiting_, {});
      }
      if (failure_.ok()) failure_ = Write(batch);
      loop_.Post([done = std::move(batch.done), status = failure_, alive = std::weak_ptr<int>(alive_)] {
        for (const Done& fn : done) {
          if (!alive.expired()) fn(status);
        }
      });
    }
  }

  Status Write(const Batch& batch) {
    TRY(WriteAll(fd_.get(), batch.bytes, path_));
    if (!batch.durable) return Ok();
    if (fdatasync(fd_.get()) != 0) return Failed("sync", path_);
    const std::lock_guard lock(mutex_);
    ++syncs_;
    return Ok();
  }

  EventLoop& loop_;
  const UniqueFd fd_;
  const std::string path_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Batch waiting_;  // guarded by mutex_, as are the next two
  bool stopping_ = false;
  int64_t syncs_ = 0;
  Status failure_;      // the thread's own
  std::thread thread_;  // last: everything above is there before it runs
};

LocalJournal::LocalJournal(std::unique_ptr<Writer> writer) : writer_(std::move(writer)) {}
LocalJournal::~LocalJournal() = default;

Result<std::unique_ptr<LocalJournal>> LocalJournal::Open(EventLoop& loop, const std::string& path,
                                                         std::vector<Decision>* decisions) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return Failed("open", path);
  TRY_ASSIGN(const std::string bytes, ReadAll(fd.get(), path));
  Result<DecodedJournal> decoded = DecodeJournal(bytes);
  if (!decoded.ok()) return Annotate(decoded.error(), path);
  if (ftruncate(fd.get(), static_cast<off_t>(decoded->valid_bytes)) != 0)
    return Failed("cut off the torn tail of", path);
  if (lseek(fd.get(), 0, SEEK_END) < 0) return Failed("seek in", path);
  if (decoded->valid_bytes == 0) TRY(WriteAll(fd.get(), EncodeHeader(), path));
  *decisions = std::move(decoded->decisions);
  return std::unique_ptr<LocalJournal>(new LocalJournal(std::make_unique<Writer>(loop, std::move(fd), path)));
}

void LocalJournal::Append(const std::vector<Decision>& decisions, bool durable, Done done) {
  std::string bytes;
  for (const Decision& decision : decisions) bytes += EncodeRecord(decision);
  writer_->Add(std::move(bytes), durable, std::move(done));
}

int64_t LocalJournal::syncs() const { return writer_->syncs(); }

}  // namespace tony::am
