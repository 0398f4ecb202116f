// The calls of executors and clients to the application master (AM). Framed transport, binary protocol.
// Only executors and clients connect; the AM never opens a connection. Instead of a push, the AM answers a call later
// (Await, Watch). Every call may be repeated with the same result.
namespace cpp tony.rpc
namespace py tony_rpc

const i32 PROTOCOL_VERSION = 1

enum RefusalReason {
  BAD_TOKEN = 1,       // not this job's token
  WRONG_JOB = 2,       // another job's AM
  UNKNOWN_ATTEMPT = 3, // never launched
  STALE_ATTEMPT = 4,   // ended or replaced: the executor stops its task and exits
  STALE_EPOCH = 5,     // the caller knows a newer AM than this one
  BAD_PROTOCOL = 6,    // PROTOCOL_VERSION differs
  BAD_REQUEST = 7,     // a field has no sensible value; the message names it
  NOT_RULING = 8,      // this AM is not the leader now; call again later
}

exception Refused {
  1: RefusalReason reason
  2: string message
}

// ---- executors ----

struct Caller {
  1: string job
  2: string role
  3: i32 index
  4: i32 attempt       // number of the attempt
  5: string container
  6: i64 generation    // newest that the executor knows; 0: none
  7: i64 epoch         // newest that the executor knows
  8: string token
  9: optional i64 tokens  // number of the newest ClusterTokens that the executor has
}

// Tokens with which the job's programs call the cluster.
struct ClusterTokens {
  1: i64 number        // newer tokens have a higher number
  2: i64 until_ms      // when the first of them ends, in ms since 1970
  3: binary bytes      // content of a Hadoop token file
}

enum Phase {
  WAITING = 1,  // no process yet
  RUNNING = 2,
  STOPPING = 3,
  ENDED = 4,    // the outcome is kept until ReportOutcome is answered
}

struct Registration {
  1: i32 protocol
  2: string host
  3: i32 port
  4: Phase phase
  5: i64 pid           // pid of the first user process; 0: none
  // Further ports of the task, by the names that its framework gives them.
  6: optional map<string, i32> ports
}

struct Registered {
  1: i64 epoch
}

enum CommandKind {
  NONE = 0,     // no command within the limit of one Await
  START = 1,    // start the user's process: generation, cluster_spec
  STOP = 2,     // stop the process: TERM, grace_ms, KILL
  RELEASE = 3,  // exit
  NEXT = 4,     // the attempt has ended: register again with the same address, as attempt number `attempt`
}

// Names a part of one log of a task.
struct LogWant {
  1: string role
  2: i32 index
  3: i32 attempt
  4: string stream     // "stdout", "stderr-1", "executor.log"
  5: i64 offset        // below 0: no text, only the fields that describe the log
}

// The bytes from `first` to `behind` - 1.
struct LogSpan {
  1: i64 first
  2: i64 behind
}

// The answer to a LogWant. changed_ms, parts and attempts are set only if the offset is below 0.
struct LogNews {
  1: bool there             // the log exists
  2: i64 cut                // bytes after the offset that are lost
  3: binary text            // the bytes after the cut; empty: none yet
  4: i64 size               // current size of the log
  5: bool ended             // the attempt writes no more
  6: i64 changed_ms
  7: list<LogSpan> parts    // the last 64 parts with text
  8: list<i32> attempts     // attempts of the task that have logs
  9: string problem         // why the log cannot be read; empty: none
}

// A request to an executor for logs of its own task. The executor answers with SendLog.
struct LogAsk {
  1: i64 id
  2: list<LogWant> wants
  3: i64 most          // limit in bytes for all texts together
  4: i64 wait_ms       // how long to wait for text
}

struct Command {
  1: i64 number           // grows; Await's `since`
  2: CommandKind kind
  3: i64 generation
  4: string cluster_spec  // JSON
  5: i64 grace_ms
  6: i32 attempt          // with NEXT
  7: string resume_from   // with START: the newest checkpoint; empty: none
  8: string reason        // with STOP for a reason of this task: an outcome class, "preempted"
  9: optional list<LogAsk> logs  // with NONE: requests of clients
  10: optional ClusterTokens tokens  // with NONE: replace those of the executor
}

struct GpuUsage {
  1: i64 memory_bytes
  2: i64 most_memory_bytes
  3: i32 percent
  4: i32 mean_percent
  5: i32 most_percent
}

// The usage of all processes of an attempt since its start.
struct Usage {
  1: i32 samples
  2: i64 memory_bytes      // resident
  3: i64 mean_memory_bytes
  4: i64 most_memory_bytes
  5: i64 cpu_ms
  6: i64 millicores
  7: i64 most_millicores
  8: i64 elapsed_ms
  9: optional GpuUsage gpu
  10: i64 quiet_ms         // since the last output to stdout or stderr
}

struct Progress {
  1: Phase phase
  2: i64 pid
  3: optional Usage usage  // absent: not measured yet
}

// The content of a chief's $TONY_OUTPUT_FILE.
struct KeptOutputs {
  1: binary text          // one JSON object, at most 1 MiB
  2: string left_out      // {"problems":[...]}: omitted members; empty: none
  3: string problem       // why `text` is missing; empty: no problem
}

// The beginning and the end of a log.
struct LogPart {
  1: i64 first
  2: binary text
}
struct LogExcerpt {
  1: string stream
  2: i64 size             // size of the whole log
  3: list<LogPart> parts
}

struct TaskOutcome {
  1: string outcome_class
  2: optional i32 exit_code
  3: optional i32 signal
  4: string message
  5: string stderr_tail
  6: string advice        // "none", "transient", "permanent"; empty: "none"
  7: optional Usage usage
  8: string stdout_tail   // if stderr does not show the cause
  9: string source        // "itself", "peer", "signal"; empty: "itself"
  10: optional KeptOutputs outputs  // set if a chief succeeded and wrote outputs
  11: optional i32 process          // number of the process that failed, from 0
  // At most 512 KiB of text of a chief or of a failed attempt, if the logs stay on its node.
  12: optional list<LogExcerpt> logs
  13: string trial_outputs          // JSON object; set if a trial of a sweep succeeded and wrote outputs
}

service ExecutorService {
  Registered Register(1: Caller caller, 2: Registration registration) throws (1: Refused refused)
  // Answered when there is a command with a number above `since`, or with NONE after about 30 s.
  Command Await(1: Caller caller, 2: i64 since) throws (1: Refused refused)
  void Heartbeat(1: Caller caller, 2: Progress progress) throws (1: Refused refused)
  // Answered when the values are in the journal. If the attempt publishes a value twice, the first one counts.
  void Publish(1: Caller caller, 2: map<string, string> values) throws (1: Refused refused)
  // Answered when the outcome is in the journal.
  void ReportOutcome(1: Caller caller, 2: TaskOutcome outcome) throws (1: Refused refused)
  // The answer to a LogAsk, with one LogNews for each LogWant. Ignored if no client waits for the answer any more.
  void SendLog(1: Caller caller, 2: i64 id, 3: list<LogNews> news) throws (1: Refused refused)
}

// ---- clients ----

struct StatusReply {
  1: i64 seq
  2: i64 epoch
  3: bool ended
  4: string status     // the JSON document of `tony status --json`
}

// The result of a kill.
enum KillAnswer {
  TAKEN = 1,    // the job is being killed
  PLANNED = 2,  // the job is killed when the kill is due, unless the condition fails before
  FENCED = 3,   // the condition does not hold: no effect
  TOO_LATE = 4, // the job has ended already
}

struct KillOrder {
  1: string reason
  2: i64 grace_ms      // below 0: the grace of the job's spec
  3: string if_owner   // condition: this owner owns the job; empty: none
  4: string if_watcher // condition: this watcher is the newest; empty: none
  5: i64 due_ms        // earliest time, in ms since 1970; 0: at once
  6: i64 delay_ms      // above 0: earliest time after the arrival; due_ms is then by the caller's clock
}

struct KillReply {
  1: KillAnswer answer
  2: StatusReply status
}

struct AttachReply {
  1: bool attached     // false: the job is being ended, or has ended without success
  2: StatusReply status
}

struct TokensReply {
  1: bool taken        // false: the job has newer tokens
  2: i64 until_ms      // end of the job's newest tokens
}

// The LogNews by the index of their LogWant. Logs without news are absent.
struct LogReply {
  1: map<i32, LogNews> news
}

service ClientService {
  StatusReply GetStatus(1: string token) throws (1: Refused refused)
  // Answered when the job's seq is above `since`, when it has ended, or after `timeout_ms` (at most 60 s).
  // `watcher` becomes the newest watcher; empty: the caller is not a watcher.
  StatusReply Watch(1: string token, 2: i64 since, 3: i64 timeout_ms, 4: string watcher) throws (1: Refused refused)
  // A kill without a condition. Clients of version 0.1 send it.
  StatusReply Kill(1: string token, 2: string reason, 3: i64 grace_ms) throws (1: Refused refused)
  // Answered when the result of the kill is in the journal. A second kill can only shorten the grace of the first.
  KillReply KillIf(1: string token, 2: KillOrder order) throws (1: Refused refused)
  // The job continues under a new owner. Answered when the new owner is recorded.
  AttachReply Attach(1: string token, 2: string owner, 3: i64 watch_timeout_ms) throws (1: Refused refused)
  // Reads at most 256 logs and `most` bytes of text (at most 512 KiB). Answered when one log has text, or after
  // `wait_ms` (at most 20 s; 0: at once). If an executor does not answer within some seconds, only its logs have a
  // `problem`. The call does not count as client activity.
  LogReply ReadLogs(1: string token, 2: list<LogWant> wants, 3: i64 most, 4: i64 wait_ms) throws (1: Refused refused)
  // Gives the job fresh tokens. Answered when the AM has stored them; its executors get them with their next Await.
  TokensReply PushTokens(1: string token, 2: ClusterTokens tokens) throws (1: Refused refused)
}
