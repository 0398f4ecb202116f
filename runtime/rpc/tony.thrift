// How executors and clients talk to the application master (AM). Framed transport, binary protocol, one Unix socket.
// Only executors and clients connect; the AM never dials out. Push is a call that is answered later (Await, Watch).
// Every call may be repeated with the same result.
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
  NOT_RULING = 8,      // this AM has lost its arbiter; ask again later
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
  6: i64 generation    // newest the executor knows; 0: none
  7: i64 epoch         // newest the executor knows
  8: string token
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
  5: i64 pid           // of the user's process, the first of several; 0: none
  6: optional map<string, i32> ports  // besides its own, by the names that its framework gives them
}

struct Registered {
  1: i64 epoch
}

enum CommandKind {
  NONE = 0,     // no news within the limit of one Await
  START = 1,    // start the user's process: generation, cluster_spec
  STOP = 2,     // stop it: TERM, grace_ms, KILL
  RELEASE = 3,  // nothing more to do: exit
  NEXT = 4,     // the attempt has ended; register again, with the same address, as number `attempt` of the task
}

// What is wanted of one log of a task.
struct LogWant {
  1: string role
  2: i32 index
  3: i32 attempt
  4: string stream     // "stdout", "stderr-1", "executor.log"
  5: i64 offset        // below 0: a look at it, no text
}

// The bytes first to behind - 1.
struct LogSpan {
  1: i64 first
  2: i64 behind
}

struct LogNews {
  1: bool there
  2: i64 cut           // so many bytes from the offset on are gone
  3: binary text       // what follows them; empty: no more yet
  4: i64 size          // of the log, now
  5: bool ended        // its attempt writes no more
  6: i64 changed_ms    // with a look, as are the two below
  7: list<LogSpan> parts    // where it has text: the last 64
  8: list<i32> attempts     // of the task, whose logs are there
  9: string problem    // why nobody can tell; empty: somebody can
}

// A question to an executor, about logs of its own task. Answered by SendLog.
struct LogAsk {
  1: i64 id
  2: list<LogWant> wants
  3: i64 most          // bytes of text, of all together
  4: i64 wait_ms       // for text where there is none yet
}

struct Command {
  1: i64 number        // grows; what Await's `since` refers to
  2: CommandKind kind
  3: i64 generation
  4: string cluster_spec  // JSON
  5: i64 grace_ms
  6: i32 attempt          // with NEXT
  7: string resume_from   // with START: the newest checkpoint; empty: none, or the first start
  8: string reason        // with STOP of this task alone: an outcome class, "preempted"; empty: not for its own sake
  9: optional list<LogAsk> logs  // with NONE: somebody reads the task's logs
}

struct GpuUsage {
  1: i64 memory_bytes
  2: i64 most_memory_bytes
  3: i32 percent
  4: i32 mean_percent
  5: i32 most_percent
}

// Of the attempt's processes together, from its start on.
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
  10: i64 quiet_ms         // since it last wrote to stdout or stderr
}

struct Progress {
  1: Phase phase
  2: i64 pid
  3: optional Usage usage  // not measured yet: none
}

// What a chief has left in $TONY_OUTPUT_FILE.
struct KeptOutputs {
  1: binary text          // one JSON object, at most 1 MiB
  2: string left_out      // {"problems":[...]}: what is not in it; empty: nothing
  3: string problem       // why there is none; empty: there is
}

// The beginning and the end of a log.
struct LogPart {
  1: i64 first
  2: binary text
}
struct LogExcerpt {
  1: string stream
  2: i64 size             // of the whole log
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
  8: string stdout_tail   // where stderr does not say what was wrong
  9: string source        // "itself", "peer", "signal"; empty: "itself"
  10: optional KeptOutputs outputs  // of a chief that has succeeded, and has left some
  11: optional i32 process  // which one failed, of a task with several processes; counted from 0
  12: optional list<LogExcerpt> logs  // of a chief, or of an attempt that failed, where they stay on its node: 512 KiB of text
}

service ExecutorService {
  Registered Register(1: Caller caller, 2: Registration registration) throws (1: Refused refused)
  // Answered when there is a command with a number above `since`, or with NONE after about 30 s.
  Command Await(1: Caller caller, 2: i64 since) throws (1: Refused refused)
  void Heartbeat(1: Caller caller, 2: Progress progress) throws (1: Refused refused)
  // Answered when they are in the journal. Of a value that this attempt has published before, the first counts.
  void Publish(1: Caller caller, 2: map<string, string> values) throws (1: Refused refused)
  // Answered when the outcome is in the journal.
  void ReportOutcome(1: Caller caller, 2: TaskOutcome outcome) throws (1: Refused refused)
  // The answer to a LogAsk, want by want. Of one that nobody waits for any more it is dropped.
  void SendLog(1: Caller caller, 2: i64 id, 3: list<LogNews> news) throws (1: Refused refused)
}

// ---- clients ----

struct StatusReply {
  1: i64 seq
  2: i64 epoch
  3: bool ended
  4: string status     // the JSON document of `tony status --json`
}

// What became of a kill.
enum KillAnswer {
  TAKEN = 1,    // the job is being ended
  PLANNED = 2,  // it will be when it is due, unless its condition fails before
  FENCED = 3,   // its condition does not hold: nothing was done
  TOO_LATE = 4, // the job has ended already
}

struct KillOrder {
  1: string reason
  2: i64 grace_ms      // below 0: the job's own
  3: string if_owner   // only while this one owns the job; empty: whoever
  4: string if_watcher // only while nobody has looked later than this one; empty: whoever
  5: i64 due_ms        // not before, in ms since 1970; 0: at once
  6: i64 delay_ms      // above 0: not before so long after it has come; due_ms is the asker's clock then
}

struct KillReply {
  1: KillAnswer answer
  2: StatusReply status
}

struct AttachReply {
  1: bool attached     // false: the job is being ended, or has ended otherwise than well
  2: StatusReply status
}

// Want by want, those of which something is known by then.
struct LogReply {
  1: map<i32, LogNews> news
}

service ClientService {
  StatusReply GetStatus(1: string token) throws (1: Refused refused)
  // Answered when the job's seq is above `since`, when it has ended, or after `timeout_ms` (at most 60 s).
  // `watcher` becomes the newest one; empty: somebody who has no name.
  StatusReply Watch(1: string token, 2: i64 since, 3: i64 timeout_ms, 4: string watcher) throws (1: Refused refused)
  // A kill without a condition, as clients of 0.1 send it.
  StatusReply Kill(1: string token, 2: string reason, 3: i64 grace_ms) throws (1: Refused refused)
  // Answered when the journal has what became of the kill. A second kill may only shorten the grace of the first.
  KillReply KillIf(1: string token, 2: KillOrder order) throws (1: Refused refused)
  // The job goes on under a new owner. Answered when that is recorded.
  AttachReply Attach(1: string token, 2: string owner, 3: i64 watch_timeout_ms) throws (1: Refused refused)
  // Of at most 256 logs, at most `most` bytes of text (512 KiB). Answered when there is text of any, at the latest after
  // `wait_ms` (20 s); at once where that is 0. An executor that does not answer is a problem of its logs alone, some
  // seconds later. Does not count as a look at the job.
  LogReply ReadLogs(1: string token, 2: list<LogWant> wants, 3: i64 most, 4: i64 wait_ms) throws (1: Refused refused)
}
