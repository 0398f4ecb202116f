"""The order of operations that a promise depends on, each with a change that breaks it: (what then happens, file, old
text, new text), and optionally another old and new text.

An old text must be in the file exactly once. If the file changes and it is not, scripts/mutants reports that and ends:
write the change again, or remove it together with the promise.
"""

MASTER = "am/application_master.cc"
MASTER_CLIENTS = MASTER
MASTER_FILES = "am/application_master_files.cc"
MASTER_TROUBLE = "am/application_master_degraded.cc"
JOB = "am/core/job.cc"
JOURNAL = "am/journal.cc"
JOURNAL_FILE = JOURNAL
RUN = "executor/task_run.cc"
LINK = "executor/task_run_link.cc"
RUN_PROCESSES = "executor/task_run.cc"
EXECUTOR = "executor/executor.cc"
EXECUTOR_START = "executor/executor.cc"
CONTAINERS = "runtime/keeper/containers.cc"
CONTAINERS_END = "runtime/keeper/containers_end.cc"
LOCAL_SCHEDULER = "runtime/local/local_scheduler.cc"
KEEPER_END = "runtime/keeper/keeper_end.cc"
SUPERVISION = "runtime/keeper/am_supervision.cc"

TELLS = "  if (!tells_.empty() && !tell_timer_) SendQueuedCommands();\n"
ANSWERS = "  if (turn.answer) turn.answer(turn.result.refusal);\n"
PUSH = "  waiting_.push_back(std::move(turn));\n"
APPEND = """  journal_.Append(decisions, [this] {
    // A turn counts as written from then on.
    if (unwritten_) return;
    ++written_;
    FinishWritten();
  });
"""

TURNS = [
    ("acts before the journal has it", MASTER, PUSH,
     "  for (const Action& action : std::exchange(turn.result.actions, {})) Perform(action);\n" + PUSH),
    ("answers before the journal has it", MASTER, PUSH,
     "  if (turn.answer) std::exchange(turn.answer, nullptr)(turn.result.refusal);\n" + PUSH),
    ("tells watchers before the journal has it", MASTER, APPEND,
     "  if (!decisions.empty()) StatusChanged();\n" + APPEND),
    ("a turn without decisions does not wait for those before it", MASTER,
     "if (decisions.empty() && waiting_.empty()) {", "if (decisions.empty()) {"),
    ("nothing is synced", JOURNAL,
     "[](const Decision& decision) { return std::holds_alternative<JobEnded>(decision.body); }",
     "[](const Decision&) { return false; }"),
    ("answers before it acts", MASTER,
     "  for (const Action& action : turn.result.actions) Perform(action);\n" + TELLS + ANSWERS,
     ANSWERS + "  for (const Action& action : turn.result.actions) Perform(action);\n" + TELLS),
    ("a turn still waits while it is finished", MASTER,
     "    const Turn turn = std::move(waiting_.front());\n    waiting_.pop_front();\n    --written_;\n    Finish(turn);\n",
     "    const Turn turn = waiting_.front();\n    Finish(turn);\n    waiting_.pop_front();\n    --written_;\n"),
    ("consequences come before the decisions of the call", JOB,
     "  for (DecisionBody& body : decided.decisions) evolve(std::move(body));\n",
     "  while (auto body = job.Consequence(now)) evolve(*std::move(body));\n"
     "  for (DecisionBody& body : decided.decisions) evolve(std::move(body));\n"),
    ("only one consequence is looked for", JOB, "    evolve(*std::move(body));\n", "    evolve(*std::move(body));\n    break;\n"),
    ("what a decision brings about comes after what the call brings about", JOB,
     "  Append(turn.actions, std::move(decided.actions));\n",
     "  turn.actions.insert(turn.actions.begin(), decided.actions.begin(), decided.actions.end());\n"),
    ("a command is told as decided, not as written", MASTER, "    tells_.push_back(now);  // not if it does not rule by now\n",
     "    tells_.push_back(job_.Tell(now.attempt));\n"),
    ("an outcome is acknowledged before the journal has it", MASTER,
     "    Observe(OutcomeCall{caller, outcome}, [reply](const std::optional<Refusal>& refusal) {\n"
     "      if (refusal) return reply.Refuse(refusal->reason, refusal->message);\n      reply.Success({});\n    });\n",
     "    if (const auto refusal = Observe(OutcomeCall{caller, outcome})) return reply.Refuse(refusal->reason, refusal->message);\n"
     "    reply.Success({});\n"),
    ("an outcome that waited for its outputs is taken by who no longer rules", MASTER,
     "    if (!Admit(caller.token, reply)) return;\n    if (is_new", "    if (is_new"),
    ("values are acknowledged before the journal has them", MASTER,
     "  Observe(PublishCall{caller, values}, [reply](const std::optional<Refusal>& refusal) {\n"
     "    if (refusal) return reply.Refuse(refusal->reason, refusal->message);\n    reply.Success({});\n  });\n",
     "  if (const auto refusal = Observe(PublishCall{caller, values})) return reply.Refuse(refusal->reason, refusal->message);\n"
     "  reply.Success({});\n"),
    ("a registration is answered before the journal has it", MASTER,
     "  Observe(RegisterCall{caller, what}, [this, reply](const std::optional<Refusal>& refusal) {\n"
     "    if (refusal) return reply.Refuse(refusal->reason, refusal->message);\n    reply.Success(epoch_);\n  });\n",
     "  if (const auto refusal = Observe(RegisterCall{caller, what})) return reply.Refuse(refusal->reason, refusal->message);\n"
     "  reply.Success(epoch_);\n"),
    ("a kill is answered before the journal has it", MASTER_CLIENTS,
     "  if (trouble_.empty()) return (void)Observe(KillRequested{mine}, tell);\n", ""),
    ("an owner is told that it owns before the journal has it", MASTER_CLIENTS,
     "  Observe(AttachRequested{claim}, [this, attached, reply](const std::optional<Refusal>&) {\n"
     "    reply.Success({attached, CurrentStatus()});\n  });\n",
     "  Observe(AttachRequested{claim});\n  reply.Success({attached, CurrentStatus()});\n"),
    ("back with its arbiter it renews before it hears what happened", MASTER,
     "  Observe(ContainerEvent{std::move(event)});\n  if (!resumes) return;\n  Renew();\n",
     "  if (resumes) Renew();\n  Observe(ContainerEvent{std::move(event)});\n  if (!resumes) return;\n"),
    ("an exit is told before the kept outcome is read", LOCAL_SCHEDULER,
     "  told.kept = outcome_kept_in_(exited.container);\n  Tell(std::move(told));\n", "  Tell(std::move(told));\n"),
    ("a renewal counts before it is written", MASTER_FILES,
     "  WriteLease([this] {\n    if (IsLeader()) Observe(LeaseRenewed{});\n  });\n",
     "  Observe(LeaseRenewed{});\n  WriteLease([] {});\n"),
]

WRITE_LAST = "  calls_.Ask(\n      [last = JobAndSubmission()]"

ENDS = [
    ("the end is told before its status is written", MASTER_FILES, WRITE_LAST,
     "  end_told_ = true;\n  AnswerWatches();\n" + WRITE_LAST),
    ("the arbiter hears of the end before its status is written", MASTER_FILES, WRITE_LAST,
     "  scheduler_->Finish({}, [] {});\n" + WRITE_LAST),
    ("the last status is not synced", MASTER_FILES, "Durability::kSurvivesPowerCut", "Durability::kLostWithPower"),
    ("the arbiter hears of the end before those who watch", MASTER_FILES,
     "  end_told_ = true;\n  AnswerWatches();\n  scheduler_->Finish(*job_.verdict(), [this] {\n"
     "    if (auto on_end = std::exchange(on_end_, nullptr)) on_end();\n  });\n",
     "  scheduler_->Finish(*job_.verdict(), [this] {\n    if (auto on_end = std::exchange(on_end_, nullptr)) on_end();\n  });\n"
     "  end_told_ = true;\n  AnswerWatches();\n"),
    ("stops wait for a journal in trouble", MASTER,
     "    PerformUrgentActions(waiting_.back());\n", ""),
    ("stops that wait stay so when trouble comes", MASTER_TROUBLE,
     "  for (const Turn& turn : waiting_) PerformUrgentActions(turn);\n", ""),
    ("in trouble, a command is told that is not written", MASTER_TROUBLE, "  if (!unwritten || IsUrgent(now)) Tell(now);\n",
     "  static_cast<void>(unwritten);\n  Tell(now);\n"),
]

KEEP = "      if (!Keep(*batch)) return;\n"
RENAMED = '    if (written.ok() && rename(fresh.c_str(), path_.c_str()) != 0) written = Failed("rewrite the journal: ");\n'
SYNCED = '    if (written.ok() && fsync(fd.get()) != 0) written = Failed("sync: ");\n'
NOTED = "    file_->NoteWritten(content_.size());\n"
BYTES = "    const std::string bytes = content_.empty() ? EncodeHeader() + batch.bytes : batch.bytes;\n"
IF_DURABLE = "    if (batch.durable && state_ != FileState::kSpoiled) {\n"

WRITES = [
    ("done before it is written", JOURNAL, KEEP + "      OnLoop([done = std::move(batch->done)](const std::weak_ptr<Writer*>& alive) {\n"
     "        for (const Done& fn : done) {\n          if (!alive.expired()) fn();\n        }\n      });\n",
     "      OnLoop([done = std::move(batch->done)](const std::weak_ptr<Writer*>& alive) {\n"
     "        for (const Done& fn : done) {\n          if (!alive.expired()) fn();\n        }\n      });\n" + KEEP),
    ("the length is noted before it is written", JOURNAL, BYTES,
     BYTES + "    file_->NoteWritten(content_.size() + bytes.size());\n", NOTED, ""),
    ("the length is never noted", JOURNAL, NOTED, ""),
    ("synced before it is written", JOURNAL, BYTES,
     BYTES + "    if (batch.durable && state_ != FileState::kSpoiled) TRY(file_->Sync());\n", IF_DURABLE, "    if (false) {\n"),
    ("never synced", JOURNAL, IF_DURABLE, "    if (false) {\n"),
    ("what was appended is taken for written before the sync", JOURNAL, IF_DURABLE, "    content_ += bytes;\n" + IF_DURABLE,
     "    state_ = FileState::kWhole;\n    content_ += bytes;\n", "    state_ = FileState::kWhole;\n"),
    ("a failed sync is tried again on the same file", JOURNAL,
     "        state_ = FileState::kSpoiled;\n        return synced;\n", "        return synced;\n"),
    ("a tail counts as torn only after a whole append", JOURNAL,
     "      state_ = FileState::kTorn;\n      TRY(file_->Append(bytes));\n", "      TRY(file_->Append(bytes));\n      state_ = FileState::kTorn;\n"),
    ("a torn tail is not cut off", JOURNAL,
     "      if (state_ == FileState::kTorn) TRY(file_->CutTo(content_.size()));\n", ""),
    ("a torn tail is cut off after the append", JOURNAL,
     "      if (state_ == FileState::kTorn) TRY(file_->CutTo(content_.size()));\n      state_ = FileState::kTorn;\n"
     "      TRY(file_->Append(bytes));\n",
     "      const bool torn = std::exchange(state_, FileState::kTorn) == FileState::kTorn;\n      TRY(file_->Append(bytes));\n"
     "      if (torn) TRY(file_->CutTo(content_.size()));\n"),
    ("the last of a group says whether it is synced", JOURNAL, "waiting_.durable |= durable;", "waiting_.durable = durable;"),
    ("a journal written anew gets its name before its sync", JOURNAL_FILE, SYNCED + RENAMED, RENAMED + SYNCED),
    ("a journal written anew is not synced", JOURNAL_FILE, SYNCED, ""),
    ("the name of a journal written anew is not synced", JOURNAL_FILE, "    name_is_synced_ = false;\n", ""),
    ("a journal's name is not synced", JOURNAL_FILE, "    if (!name_is_synced_) TRY(SyncPath(fs::path(path_).parent_path()));\n", ""),
    ("the journal goes over to the new file before that has its name", JOURNAL_FILE,
     "    if (!written.ok()) {\n", "    journal_ = UniqueFd(dup(fd.get()));\n    if (!written.ok()) {\n"),
]

KEEP_OUTCOME = "  Do(KeepOutcome{*outcome_});\n  if (departure_) {\n    ReportThenLeave();\n  } else {\n    Report();\n  }\n"

EXECUTORS = [
    ("an outcome is reported before it is kept", RUN, KEEP_OUTCOME,
     "  if (departure_) {\n    ReportThenLeave();\n  } else {\n    Report();\n  }\n  Do(KeepOutcome{*outcome_});\n"),
    ("an outcome is not kept", RUN, "  Do(KeepOutcome{*outcome_});\n", ""),
    ("leaves before its outcome is acknowledged", RUN, "leave_at) : leave_at;\n  Report();\n",
     "leave_at) : leave_at;\n  Report();\n  LeaveWith(departure_->exit_code);\n"),
    ("reports the next attempt before that has begun", RUN, "  Do(BeginAttempt{identity_.attempt});\n  RegisterAgain();\n",
     "  RegisterAgain();\n  Do(BeginAttempt{identity_.attempt});\n"),
    ("tells of a stop before it stops", RUN, "      Do(SignalTree{SIGTERM});\n      Go(Trigger::kStop);\n",
     "      Go(Trigger::kStop);\n      Do(SignalTree{SIGTERM});\n"),
    ("the end of the process is the end of the attempt", RUN_PROCESSES, "    Go(Trigger::kExited);\n    CheckTreeSoon(SIGKILL);\n",
     "    Go(Trigger::kExited);\n    End(Trigger::kTreeGone, *ending_);\n"),
    ("the end of one process is the end of all", RUN_PROCESSES, "    if (!AllReaped() && own.Succeeded()) return;\n", ""),
    ("a later failure is the outcome", RUN_PROCESSES, "    if (!ending_->exit && !ending_->process) ending_->exit = event.exit;\n",
     "    ending_ = own;\n"),
    ("asks for the next command before it obeys", LINK,
     "  if (event.command.number > since_ && event.command.kind != Command::Kind::kNone) {\n"
     "    since_ = event.command.number;\n    ExecuteCommand(event.command);\n  }\n",
     "  Do(SendAwait{Self(), event.command.number});\n"
     "  if (event.command.number > since_ && event.command.kind != Command::Kind::kNone) {\n"
     "    since_ = event.command.number;\n    ExecuteCommand(event.command);\n    return;\n  }\n"),
    ("registers before it turns to the new AM", LINK,
     "  Do(UseAm{link_number_, lease.am});\n  Do(SendRegister{Self(), {endpoint_, phase(), pid_}});\n",
     "  Do(SendRegister{Self(), {endpoint_, phase(), pid_}});\n  Do(UseAm{link_number_, lease.am});\n"),
    ("searches before it has noted the loss", LINK, "  if (is_lost_now) Lose();\n  link_ = Link::kSearching;\n",
     "  link_ = Link::kSearching;\n  if (is_lost_now && false) Lose();\n"),
    ("an outcome is reported before the values are acknowledged", LINK,
     "  if (link_ != Link::kLinked || values_.size() > values_acknowledged_) return;\n",
     "  if (link_ != Link::kLinked) return;\n"),
    ("values count as acknowledged by whoever answers", LINK,
     "  if (!IsCurrent(event.link) || link_ != Link::kLinked || values_sent_ == 0) return;\n",
     "  if (values_sent_ == 0) return;\n"),
    ("the last values of a process are not looked for", EXECUTOR_START,
     "    if (published_) published_->Look();\n", ""),
    ("the next attempt is not locked", EXECUTOR, "  attempt_lock_ = *std::move(lock);\n", ""),
    ("the next attempt's folders are those of the last", EXECUTOR,
     "  place_.folder = AttemptFolder(records_.place(), action.attempt);\n", ""),
    ("what an event brings about is done before it is over", EXECUTOR,
     "    for (const auto& action : actions) std::visit([this](const auto& what) { Perform(what); }, action);\n"
     "    events_.pop_front();\n",
     "    events_.pop_front();\n"
     "    for (const auto& action : actions) std::visit([this](const auto& what) { Perform(what); }, action);\n"),
    ("a tree is gone when the process is", EXECUTOR,
     "  if (surroundings_.processes.ReapAllChildren()) return FeedTreeGone();\n", "  return FeedTreeGone();\n"),
    ("an error file left by others is taken for the task's", EXECUTOR_START,
     "RemoveLeftoverFile(ErrorFile(place_.folder.work, i));\n", "(void)i;\n"),
]

LAUNCHING = "  TRY(records_.Launching(id, container.gpus, container.cgroup));\n"
STARTED = ("  TRY_ASSIGN(container.pid, runner_.Start(executor, [this, id](ExitStatus status) { OnExecutorEnded(id, status); "
           "}));\n")
EXITED = "  if (IsContainerName(id)) WarnUnless(records_.Exited(container.exited));\n"
IS_IT = ('  const bool is_it = record.pid == 0 ? HasEnvironmentSetting(container.pid, StrCat(kContainerMark, "=", mark))\n'
         "                                     : StartTime(container.pid) == record.start_time;\n")
TOLD_EXITED = "  listener_.on_exited(container.exited);\n"
EPOCH = '  TRY(WriteFileByRename(records_.place() / "epoch", StrCat(next.value, "\\n"), /*durable=*/false));\n'
AM_STARTED = "  TRY_ASSIGN(pid_, runner_.Start(am, [this](ExitStatus status) { OnEnded(status); }));\n"

KEEPERS = [
    ("an executor is started before that is recorded", CONTAINERS,
     LAUNCHING, "", STARTED, STARTED + LAUNCHING),
    ("the start of an executor is not recorded", CONTAINERS, "  return records_.Started(id, container.pid, StartTime(container.pid));\n",
     "  return Ok();\n"),
    ("an executor is said to run before it is started", CONTAINERS, "  const Status started = StartIn(launch, container);\n",
     "  listener_.on_started(id);\n  const Status started = StartIn(launch, container);\n"),
    ("an exit is told before it is recorded", CONTAINERS_END,
     EXITED + '  if (!container.exited.error.empty()) LogWarn(StrCat("container ", id.value, ": ", container.exited.error));\n' + TOLD_EXITED,
     TOLD_EXITED + EXITED),
    ("a cgroup is removed after the end of its container is recorded", CONTAINERS_END,
     "  RemoveCgroupOf(container);\n" + EXITED, EXITED + "  RemoveCgroupOf(container);\n"),
    ("what lives in a cgroup is not looked for", CONTAINERS_END,
     "    if (ending && !container.cgroup.empty() && KillCgroup(container.cgroup)) victims.containers.insert(id);\n",
     "    (void)ending;\n"),
    ("the kernel's list of children is not asked", CONTAINERS_END, "  AddStrayChildren(victims);\n  return victims;\n",
     "  return victims;\n"),
    ("executors do not hold the claim", CONTAINERS,
     "  if (admission_->lock >= 0) executor.inherited = {admission_->lock};\n", ""),
    ("an exit is not recorded", CONTAINERS_END, EXITED, ""),
    ("an exit is told before the sweep", CONTAINERS_END,
     '  LogInfo(StrCat("executor of container ", id.value, " ended: ", status ? ToString(*status) : "cause unknown"));\n',
     "  End(id, container);\n"),
    ("a container is over before what it left is killed", CONTAINERS_END,
     "  (void)runner_.ReapAllChildren();\n  Victims victims",
     "  for (auto& [id, container] : containers_)\n    if (container.state == State::kSweeping) End(id, container);\n"
     "  Victims victims"),
    ("who a process is is looked at before it is held", CONTAINERS,
     "  if (container.pid > 0) container.process = HeldProcess(container.pid);\n"
     "  // Held first, then looked at: the pid cannot change hands in between.\n"
     + IS_IT,
     IS_IT +
     "  if (container.pid > 0) container.process = HeldProcess(container.pid);\n"),
    ("the AM hears that the job is finished before that is recorded", KEEPER_END,
     '  const Status recorded = WriteFileByRename(JobFolder(records_).finished(), "", /*durable=*/false);\n',
     '  Report(JobFinished{});\n  const Status recorded = WriteFileByRename(JobFolder(records_).finished(), "", /*durable=*/false);\n'),
    ("the job is finished before its verdict is written", KEEPER_END,
     "  if (!written.ok()) return TryAgain(&Keeper::WriteVerdict, written.error());\n  Finish();\n", "  Finish();\n"),
    ("the epoch is written after its AM has started", SUPERVISION, EPOCH, "", AM_STARTED, AM_STARTED + EPOCH),
    ("an AM's death is not recorded", SUPERVISION,
     "  if (const Status recorded = RecordDeath(records_, death); !recorded.ok()) LogWarn(recorded.error().message);\n", ""),
    ("silence is judged before what has arrived is read", SUPERVISION, "  listener_.before_judging();\n", ""),
    ("an AM is started before the one of an earlier epoch is killed", SUPERVISION,
     '  if (JobFolder(records_).IsLocked("am.lock")) KillMarked();\n', ""),
]

SECRET = "runtime/base/secret.h"
MASTER_TOKEN = "am/application_master.h"
PAGE_ADDRESS = "runtime/page/page_address.cc"
CHANNEL = "runtime/keeper/message_channel.cc"
KEEPER = "runtime/keeper/keeper.cc"
CGROUP = "runtime/keeper/container_cgroup.cc"
OWN_CGROUP = "runtime/os/cgroup.cc"
OWN_TREE = "runtime/os/process_tree.cc"
PROCESS_TREE = "runtime/os/process_tree.cc"
SWEEP = "runtime/records/entry_store.cc"
ENDED_LOG = "runtime/history/ended_log.cc"
TLS = "runtime/net/tls.cc"
RPC_SERVER = "runtime/rpc/rpc_server.cc"

RENAMES = "    TRY_ASSIGN(old, Rename(folder, going));\n  }\n  lock.Reset();\n"

GUARDS = [
    ("a secret is compared in part", SECRET, "i < a.size(); ++i)", "i < a.size() && i < 32; ++i)"),
    ("the job's token is compared in part", MASTER_TOKEN, "return SameSecret(token, token_);",
     "return SameSecret(token.substr(0, 32), token_.substr(0, 32));"),
    ("the page's token is compared in part", PAGE_ADDRESS, "SameSecret(request.path.front(), token)",
     "SameSecret(request.path.front().substr(0, 16), token.substr(0, 16))"),
    ("every user counts as the keeper's own", CHANNEL, "peer.ok() && peer->uid == geteuid()", "peer.ok()"),
    ("the keeper hears every user", KEEPER, "  if (!peers_[peer]->PeerIsOurUser()) Drop(peer);\n", ""),
    ("no cgroup with limits is ever found", CGROUP, "  if (!own) return UnavailableError(\"this system has no cgroups\");\n",
     "  return UnavailableError(\"this system has no cgroups\");\n"),
    ("no cgroup without limits is ever found", CGROUP, "  if (!own) return UnavailableError(\"this system has no cgroups v2\");\n",
     "  return UnavailableError(\"this system has no cgroups v2\");\n"),
    ("this process is in no cgroup", OWN_CGROUP, "  CgroupPaths paths;\n", "  return {};\n  CgroupPaths paths;\n"),
    ("each of a tree is signalled as soon as it is met", OWN_TREE, "  Walk look(0, spared);\n",
     "  if (signal != 0) return SignalOnTheWay(signal, spared);\n  Walk look(0, spared);\n"),
    ("a process whose main thread has ended is taken for dead", PROCESS_TREE,
     ' && ParseInt(fields[17]).value_or(1) <= 1;', ";"),
    ("gc lets others stage before it has decided what goes", SWEEP,
     "  TRY_ASSIGN(const std::set<std::string> kept, find_kept());\n",
     "  lock.Reset();\n  TRY_ASSIGN(const std::set<std::string> kept, find_kept());\n"),
    ("gc lets others stage before what goes has other names", SWEEP, "  std::vector<fs::path> old;\n",
     "  lock.Reset();\n  std::vector<fs::path> old;\n", RENAMES, RENAMES.replace("  lock.Reset();\n", "")),
    ("a log of ended jobs is appended to without a second look", ENDED_LOG,
     "if (try_lock(fd.get()) && IsUnchanged(fd.get(), path)) return fd;", "if (try_lock(fd.get())) return fd;"),
    ("every role of a job may be at the other end of TLS", TLS, "    right_role_ = std::ranges::any_of(",
     "    right_role_ = true || std::ranges::any_of("),
    ("a hello may be of any length", TLS, "BigEndian(bytes.substr(6, 3)) <= kLongestHello", "bytes.size() > 6"),
    ("a second hello may be asked for", TLS, "std::ranges::count(kGroupIds, group) > 0", "group > 0"),
    ("a peer that updates its keys for ever is read for ever", TLS,
     "  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);\n  SSL_CTX_set_max_cert_list", "  SSL_CTX_set_max_cert_list"),
    ("a plain port may be anywhere", RPC_SERVER, "if (!options_.tls && !IsLoopback(endpoint.host))\n", "if (false)\n"),
]

FILES = "runtime/os/files.cc"
INDEX = "runtime/records/local_request_index.cc"
JOB_STORE = "runtime/records/local_job_store.cc"
ENTRIES = "runtime/records/entry_store.cc"
HOLDER = "runtime/records/checkpoint_holder.cc"
RECORDS = "runtime/records/job_records.cc"
PROGRAMS = "runtime/staging/programs.cc"
GC = "runtime/cli/gc.cc"
LOST_JOB = "runtime/keeper/lost_job.cc"

SYNCS = [
    ("a new file is not synced", FILES, "  return durable ? Sync(fd.get(), path) : Ok();\n", "  return Ok();\n"),
    ("a replaced file's name is not synced", FILES, "  return durable ? SyncPath(path.parent_path()) : Ok();\n", "  return Ok();\n"),
    ("a path is not synced", FILES, "  return Sync(fd.get(), path);\n", "  return Ok();\n"),
    ("of several paths none is synced", FILES, "  threads.clear();  // joins\n",
     "  threads.clear();  // joins\n  return Ok();\n", "synced[i] = SyncPath(paths[i]);", "synced[i] = Ok();"),
    ("a job's files are not synced", JOB_STORE, "  return SyncInParallel(files);\n", "  return Ok();\n"),
    ("a job's folder is not synced", JOB_STORE, "  TRY(SyncHome(home_, {jobs}));\n", ""),
    ("the folder of all jobs is not synced", JOB_STORE, "SyncHome(home_, {jobs})", "SyncPath(jobs)"),
    ("the folder of all requests is not synced", INDEX,
     "  TRY(SyncHome(home_, {home_ / \"requests\"}));\n  return true;\n", "  return true;\n"),
    ("the folder of all requests is not synced after a revocation", INDEX,
     "  return SyncHome(home_, {home_ / \"requests\"});\n", "  return Ok();\n"),
    ("home is not synced", FILES, "  folders.push_back(home);\n", ""),
    ("home's own name is not synced", FILES, "access(above.c_str(), R_OK) == 0) folders.push_back(above);", "false) folders.push_back(above);"),
    ("a record of who uses a folder of checkpoints is not synced", HOLDER,
     "ToJson(holder, folder), /*durable=*/true)", "ToJson(holder, folder), /*durable=*/false)"),
    ("the folder of these records is not synced", HOLDER, "  TRY(SyncHome(home, {}));\n", ""),
    ("a kept program is not synced", PROGRAMS, " || fsync(to.get()) != 0)", ")"),
    ("the names of kept programs are not synced", PROGRAMS,
     "  // The names of the copies become durable before the manifest that lists them.\n  TRY(SyncPath(entry));\n", ""),
    ("gc does not sync the history before it removes jobs", GC, "    if (!going.empty() && !dry_run_) TRY(history_.Sync());\n", ""),
    ("gc removes jobs before it syncs the history", GC,
     "    if (!going.empty() && !dry_run_) TRY(history_.Sync());\n"
     "    for (const JobRecords& records : going) Remove(records.place(), removed_jobs_);\n",
     "    for (const JobRecords& records : going) Remove(records.place(), removed_jobs_);\n"
     "    if (!going.empty() && !dry_run_) TRY(history_.Sync());\n"),
    ("the verdict on a lost job is not synced", LOST_JOB, "Durability::kSurvivesPowerCut", "Durability::kLostWithPower"),
    ("the journal's end is not synced", JOURNAL_FILE, '    if (fdatasync(journal_.get()) != 0) return Failed("sync: ");\n', ""),
    ("an acknowledgement is not synced", RECORDS, "PutNew(kAcked, document, Durability::kSurvivesPowerCut)",
     "PutNew(kAcked, document, Durability::kLostWithPower)"),
    ("an entry is made where the last try was", ENTRIES, 'AsideName("new", name)', '(".new-" + name)'),
    ("a staged entry's content is not synced", ENTRIES, "  if (made.ok()) made = Sync(temporary);\n", ""),
    ("a staged entry's name is not synced", ENTRIES, "  if (made.ok()) return SyncPath(folder_);\n", "  if (made.ok()) return Ok();\n"),
]

COURSE = "runtime/records/submit_machine.cc"
STEPS = "runtime/client/submit_steps.cc"
RECORD = "  Plan({.kind = SubmitStepKind::kRecord, .record = record});\n"
CREATE = "  Plan(OfJob(SubmitStepKind::kCreate, new_job_));\n"
REVOKED = "  Plan(OfJob(SubmitStepKind::kReadRevocation, new_job_));\n"

REQUESTS = [
    ("a job is made before its request is recorded", COURSE, RECORD + CREATE, CREATE + RECORD),
    ("a revocation is looked for before the job is made", COURSE, CREATE + REVOKED, REVOKED + CREATE),
    ("the lock is let go before the job is made", COURSE, CREATE, "  Plan({.kind = SubmitStepKind::kUnlock});\n" + CREATE),
    ("a successor does not wait for its predecessor's last processes", COURSE,
     "  if (kill || runs) Plan(OfJob(SubmitStepKind::kAwaitGone, *seen.record.job));\n", "  static_cast<void>(runs);\n"),
    ("a predecessor is waited for under the lock", COURSE,
     "  Plan({.kind = SubmitStepKind::kUnlock});\n  if (!prepared_)", "  if (!prepared_)"),
    ("a job is killed after the lock was let go", COURSE,
     "    Plan(std::move(step));\n  }\n  Plan({.kind = SubmitStepKind::kUnlock});\n",
     "    Plan({.kind = SubmitStepKind::kUnlock});\n    Plan(std::move(step));\n  } else {\n"
     "    Plan({.kind = SubmitStepKind::kUnlock});\n  }\n"),
    ("a revoked submit leaves its job alone", COURSE, "  if (seen.revoked) Plan(std::move(kill));\n", ""),
    ("a lock that was not had counts", STEPS, "      lock_ = *std::move(lock);\n", ""),
    ("what a replaced job is killed for is not recorded", STEPS,
     "  const auto recorded = records->WriteKill(kill);\n", "  const Result<RecordedKill> recorded = RecordedKill{\"\", kill};\n"),
    ("staged files are let go before the job refers to them", STEPS,
     "  TRY(StorePrograms());\n", "  store_.reset();\n  TRY(StorePrograms());\n"),
    ("an ended job of an earlier boot is not settled first", STEPS, "  TRY(launcher_.Settle(*records));\n", ""),
]

ALL = TURNS + ENDS + WRITES + EXECUTORS + KEEPERS + GUARDS + SYNCS + REQUESTS
