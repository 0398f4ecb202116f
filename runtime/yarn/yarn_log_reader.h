// Reads each log of a job on YARN from its current place. While an executor runs, its logs are read through the AM.
// Later they are read from the AM's copy (records/kept_outputs.h), from the pages of the container's node, or from the
// place to which the node has moved them. One thread.
//
// The journal names the container of each attempt. It is read only if a task has had several attempts.
//
// A log that cannot be read counts as empty. Unread() then gives the reason and another way to the log. An attempt
// whose executor does not serve its logs is reported once, in a warning.
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
#include "runtime/base/result.h"
#include "runtime/job/job_status.h"
#include "runtime/job/log_pieces.h"
#include "runtime/logs/log_source.h"
#include "runtime/yarn/node_logs.h"

namespace tony {

class YarnLogReader {
 public:
  // Fetches a log that its node no longer shows. `link` is the link that led to the log on its node.
  using FetchMoved = std::function<Result<LogExcerpt>(const std::string& link, const std::string& stream)>;

  YarnLogReader(JobRecords records, FindMaster find, FetchMoved fetch_moved, FindTrust find_trust)
      : records_(std::move(records)),
        find_(std::move(find)),
        fetch_moved_(std::move(fetch_moved)),
        find_trust_(std::move(find_trust)),
        master_(records_, find_) {}

  // Returns the attempts that have logs, sorted by task and number.
  std::vector<AttemptId> Attempts(const std::optional<TaskId>& task);
  LogBytes Read(const AttemptId& attempt, const std::string& stream, int64_t offset, std::span<char> buffer);
  std::vector<LogPart> Parts(const AttemptId& attempt, const std::string& stream);
  std::optional<LogFile> Look(const AttemptId& attempt, const std::string& stream);
  int Processes(const TaskId& task);
  // Returns an error that names the attempts whose program ran and whose logs could not be read.
  tony::Status Unread() const { return UnreadError(unread_); }

  // The methods below are for callers that follow the logs.
  const JobRecords& records() const { return records_; }
  Result<AmAccess> FindItsMaster() const { return find_(); }
  void Take(const JobStatus& status);
  // Returns the next request for each log that a caller reads, that is not complete, and that is still with its
  // executor.
  std::vector<LogWant> NextRequests() const;
  // Takes `news`, the answer to the request `want`. Returns true if the log has something new to read.
  bool Take(const LogWant& want, LogNews news);
  // Returns true if all logs of the attempt that callers read are complete.
  bool IsOver(const AttemptId& attempt) const;
  // Returns true if the attempt runs, but its logs cannot be reached.
  bool IsLost(const AttemptId& attempt) const;
  // Returns true if the attempt's executor was started. Other attempts have no logs.
  bool WasStarted(const AttemptId& attempt) const;
  bool IsWithExecutor(const AttemptId& attempt) const;
  // Notes that the logs of the attempt are with its executor.
  void Find(const AttemptId& attempt) { places_[attempt] = Place::kExecutor; }

 private:
  enum class Place { kExecutor, kKept, kNode, kNowhere };
  using LogId = std::pair<AttemptId, std::string>;
  struct Seen {
    int64_t begin = 0;
    std::string text;      // text of the newest pieces
    int64_t size = 0;      // size of the log, last known
    bool is_read = false;  // true: a caller reads this log
    bool ended = false;
    int64_t end() const { return begin + static_cast<int64_t>(text.size()); }
    bool IsWhole() const { return ended && end() >= size; }
  };

  // Where the node of an attempt shows its logs.
  struct NodeLogs {
    // The form is in yarn_ends.h. Empty: not known.
    std::string link;
    // True if no earlier attempt ran in the container.
    bool is_first = true;
    // True if the program was started, so that logs exist.
    bool has_run = false;
  };

  Place PlaceOf(const AttemptId& attempt);
  void Locate(const std::vector<TaskId>& tasks);
  std::map<AttemptId, std::string> AskExecutors(const std::vector<TaskId>& tasks);
  Result<LogAnswer> AskMaster(const LogQuery& query);
  void LookForKept();
  const NodeLogs* NodeLogsOf(const AttemptId& attempt);
  void ReadJournal();
  // Returns true if the attempt's program was started.
  bool HasRun(const AttemptId& attempt) const;
  Place PlaceWithoutExecutor(const AttemptId& attempt);
  void Leave(const AttemptId& attempt, const Error& why);
  void SayGone(const AttemptId& attempt, const Error& why);
  std::string WithAdvice(const AttemptId& attempt, const Error& why);
  void NoteUnread(const AttemptId& attempt, const std::string& stream, const Error& why);
  const TaskStatus* StatusOf(const TaskId& task) const;
  void ReadStatus();
  Error WhyNowhere(const AttemptId& attempt) const;
  const LogExcerpt* ExcerptOf(const AttemptId& attempt, const std::string& stream);
  Result<LogExcerpt> Fetch(const AttemptId& attempt, const std::string& stream);
  Result<LogExcerpt> FetchFromNode(const AttemptId& attempt, const std::string& stream);
  std::optional<LogNews> Ask(const LogWant& want);

  const JobRecords records_;
  const FindMaster find_;
  const FetchMoved fetch_moved_;
  const FindTrust find_trust_;
  AmLogs master_;
  // Set when the spec has been read. A spec never changes.
  std::optional<JobSpec> spec_;
  std::optional<JobStatus> status_;
  bool has_master_ = true;  // false: no AM to query
  std::set<AttemptId> kept_;
  std::map<AttemptId, Place> places_;
  std::map<LogId, Seen> seen_;
  std::map<LogId, LogExcerpt> excerpts_;
  // Attempts whose executor does not serve the logs, and why.
  std::map<AttemptId, Error> gone_;
  std::map<AttemptId, std::string> unread_;
  std::set<LogId> lost_;  // fetched in vain
  std::map<AttemptId, NodeLogs> node_logs_;
  // Nodes that did not answer. They are not called for each log.
  std::set<std::string> silent_nodes_;
  // Attempts for which the journal was read already. It is not read for them again, because that takes several calls.
  std::set<AttemptId> not_journalled_;
  tony::Status journal_ = Ok();  // result of the newest read
};

// Makes the log source of a job on YARN. Only the executors can read the log files, so the source uses a YarnLogReader.

// Returns a source for use by one thread. Reading waits for the job's AM, for HDFS or for a node, a few seconds at
// most. `arbiter` must outlive the source.
std::unique_ptr<LogSource> MakeYarnLogs(JobRecords records, const Arbiter& arbiter,
                                        YarnLogReader::FetchMoved fetch_moved, FindTrust find_trust = nullptr);
// Returns a source for use while the job's AM runs. During that time nodes do not move logs.
std::unique_ptr<LogSource> MakeYarnLogs(JobRecords records, FindMaster find, FindTrust find_trust);

}  // namespace tony
