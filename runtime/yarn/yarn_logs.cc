#include "runtime/yarn/yarn_logs.h"

#include <algorithm>
#include <utility>

#include "runtime/yarn/yarn_log_watch.h"

namespace tony {
namespace {

class YarnLog : public LogStream {
 public:
  YarnLog(YarnLogReader& reader, AttemptId attempt, std::string_view stream)
      : reader_(reader), attempt_(std::move(attempt)), stream_(stream) {}
  LogBytes Read(int64_t offset, std::span<char> buffer) const override {
    return reader_.Read(attempt_, stream_, offset, buffer);
  }
  std::vector<LogPart> Parts() const override { return reader_.Parts(attempt_, stream_); }
  int64_t Size() const override {
    const auto file = reader_.Look(attempt_, stream_);
    return file ? file->size : 0;
  }
  std::optional<Instant> Changed() const override {
    const auto file = reader_.Look(attempt_, stream_);
    return file && file->changed != Instant() ? std::optional(file->changed) : std::nullopt;
  }

 private:
  YarnLogReader& reader_;
  const AttemptId attempt_;
  const std::string stream_;
};

class YarnLogs : public LogSource {
 public:
  YarnLogs(JobRecords records, FindMaster find, YarnLogReader::FetchMoved fetch_moved)
      : reader_(std::make_unique<YarnLogReader>(std::move(records), std::move(find), std::move(fetch_moved))) {}

  std::vector<AttemptId> Attempts(const std::optional<TaskId>& task) const override { return reader_->Attempts(task); }
  std::unique_ptr<LogStream> Open(const AttemptId& attempt, std::string_view stream) const override {
    return std::make_unique<YarnLog>(*reader_, attempt, stream);
  }
  int Processes(const TaskId& task) const override { return reader_->Processes(task); }
  std::optional<Files> List(const AttemptId& attempt) const override {
    Files files;
    for (const std::string& name : LogNames(Processes(attempt.task))) files.push_back(reader_->Look(attempt, name));
    const bool any = std::ranges::any_of(files, [](const auto& file) { return file.has_value(); });
    return any ? std::optional(std::move(files)) : std::nullopt;
  }
  std::unique_ptr<LogWatch> Watch(EventLoop& loop, const std::optional<TaskId>& task,
                                  LogWatchSink sink) const override {
    return std::make_unique<YarnLogWatch>(loop, *reader_, task, std::move(sink));
  }

 private:
  const std::unique_ptr<YarnLogReader> reader_;
};

}  // namespace

std::unique_ptr<LogSource> MakeYarnLogs(JobRecords records, FindMaster find) {
  const auto nowhere = [](const std::string&, const std::string&) -> Result<LogExcerpt> {
    return Error{ErrorCode::kNotFound, "the job runs"};
  };
  return std::make_unique<YarnLogs>(std::move(records), std::move(find), nowhere);
}

std::unique_ptr<LogSource> MakeYarnLogs(JobRecords records, const Arbiter& arbiter,
                                        YarnLogReader::FetchMoved fetch_moved) {
  FindMaster find = [records, &arbiter]() -> Result<WayToMaster> {
    TRY_ASSIGN(const auto lease, records.ReadLease());
    if (!lease) return Error{ErrorCode::kUnavailable, "no application master has ruled yet"};
    WayToMaster way{.am = lease->am.own};
    TRY_ASSIGN(way.token, records.ReadToken());
    TRY_ASSIGN(way.tls, arbiter.WayToAm(records));
    return way;
  };
  return std::make_unique<YarnLogs>(std::move(records), std::move(find), std::move(fetch_moved));
}

}  // namespace tony
