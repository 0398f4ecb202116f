// Where each log of a job on YARN is read now: from its executor, by way of the job's master, while that is there; then
// what the master kept of it (records/kept_outputs.h); else from the pages of its node, or where that has moved it to. One
// thread.
//
// What cannot be read is as good as empty; of each attempt the log says once why, and where else it is read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/backend/arbiter.h"
#include "runtime/job/job_status.h"
#include "runtime/job/log_pieces.h"
#include "runtime/logs/log_source.h"
#include "runtime/yarn/node_logs.h"

namespace tony {

class YarnLogReader {
 public:
  // A log that its node shows no longer, by the link to it there.
  using FetchMoved = std::function<Result<LogExcerpt>(const std::string& link, const std::string& stream)>;

  YarnLogReader(JobRecords records, FindMaster find, FetchMoved fetch_moved)
      : records_(std::move(records)),
        find_(std::move(find)),
        fetch_moved_(std::move(fetch_moved)),
        master_(records_, find_) {}

  std::vector<AttemptId> Attempts(const std::optional<TaskId>& task);  // those that have logs, by task and number
  LogBytes Read(const AttemptId& attempt, const std::string& stream, int64_t offset, std::span<char> buffer);
  std::vector<LogPart> Parts(const AttemptId& attempt, const std::string& stream);
  std::optional<LogFile> Look(const AttemptId& attempt, const std::string& stream);
  int Processes(const TaskId& task);

  // For who follows.
  const JobRecords& records() const { return records_; }
  Result<WayToMaster> FindItsMaster() const { return find_(); }
  void Take(const JobStatus& status);
  // Of logs that have been read to their end, and are with their executors: what comes next.
  std::vector<LogWant> WhatIsNext() const;
  // What has come of one of them; whether there is something to read.
  bool Take(const LogWant& want, LogNews news);
  bool IsOver(const AttemptId& attempt) const;      // nothing more comes of what is read of it
  bool IsLost(const AttemptId& attempt) const;      // it runs, but nobody tells of its logs
  bool WasStarted(const AttemptId& attempt) const;  // its executor: only then it has logs
  bool IsWithExecutor(const AttemptId& attempt) const;
  void Find(const AttemptId& attempt) { places_[attempt] = Place::kExecutor; }  // with its executor

 private:
  enum class Place { kExecutor, kKept, kNode, kNowhere };
  using LogId = std::pair<AttemptId, std::string>;
  struct Seen {
    int64_t begin = 0;
    std::string text;      // of the newest pieces
    int64_t size = 0;      // of the log, as last heard
    bool is_read = false;  // somebody wants it
    bool ended = false;
    int64_t end() const { return begin + static_cast<int64_t>(text.size()); }
    bool IsWhole() const { return ended && end() >= size; }
  };

  Place PlaceOf(const AttemptId& attempt);
  void Locate(const std::vector<TaskId>& tasks);
  std::map<AttemptId, std::string> AskExecutors(const std::vector<TaskId>& tasks);
  Result<LogAnswer> AskMaster(const LogQuery& query);
  void LookForKept();
  Place PlaceWithoutExecutor(const AttemptId& attempt);
  void Leave(const AttemptId& attempt, const std::string& why);
  void Say(const AttemptId& attempt, const std::string& why);
  const TaskStatus* StatusOf(const TaskId& task) const;
  void ReadStatus();
  const LogExcerpt* ExcerptOf(const AttemptId& attempt, const std::string& stream);
  Result<LogExcerpt> Fetch(const AttemptId& attempt, const std::string& stream);
  Result<LogExcerpt> FetchFromNode(const std::string& link, const std::string& stream);
  std::optional<LogNews> Ask(const LogWant& want);

  const JobRecords records_;
  const FindMaster find_;
  const FetchMoved fetch_moved_;
  MasterLogs master_;
  std::optional<JobSpec> spec_;  // once it could be read; it never changes
  std::optional<JobStatus> status_;
  bool has_master_ = true;  // as far as is known
  std::set<AttemptId> kept_;
  std::map<AttemptId, Place> places_;
  std::map<LogId, Seen> seen_;
  std::map<LogId, LogExcerpt> excerpts_;
  std::set<AttemptId> said_;
};

// The logs of a job on YARN, of which no program but the executors' sees the files: yarn_log_reader.h.

// One thread. Reading waits for the job's master, for HDFS, or for a node, some seconds at most.
// The arbiter outlives it.
std::unique_ptr<LogSource> MakeYarnLogs(JobRecords records, const Arbiter& arbiter,
                                        YarnLogReader::FetchMoved fetch_moved);
// While its master runs, as that has them: nothing has been moved.
std::unique_ptr<LogSource> MakeYarnLogs(JobRecords records, FindMaster find);

}  // namespace tony
