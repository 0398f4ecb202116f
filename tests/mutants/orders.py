"""Orders that a promise depends on, each as a change that breaks it: (what then happens, file, old text, new text), and
perhaps another old and new text.

An old text must be in the file exactly once. When a file changes so that it is not, scripts/mutants says so and ends:
write the change anew, or take it out with the promise."""

MASTER = "am/application_master.cc"
MASTER_CLIENTS = "am/application_master_clients.cc"
MASTER_FILES = "am/application_master_files.cc"
MASTER_TROUBLE = "am/application_master_trouble.cc"
JOB = "am/job.cc"
JOURNAL = "am/journal.cc"
JOURNAL_FILE = "am/journal_file.cc"
RUN = "executor/task_run.cc"
LINK = "executor/task_run_link.cc"
EXECUTOR = "executor/executor.cc"
CONTAINERS = "runtime/scheduler/local/containers.cc"
CONTAINERS_END = "runtime/scheduler/local/containers_end.cc"
KEEPER_END = "runtime/scheduler/local/keeper_end.cc"
SUPERVISION = "runtime/scheduler/local/am_supervision.cc"

TELLS = "  if (!tells_.empty() && !tell_timer_) TellSome();\n"
ANSWERS = "  if (turn.answer) turn.answer(turn.result.refusal);\n"
PUSH = "  waiting_.push_back(std::move(turn));\n"
APPEND = """  journal_.Append(decisions, durable, [this, changed = !decisions.empty()] {
    FinishFirst();
    if (changed) StatusChanged();
  });
"""

TURNS = [
    ("acts before the journal has it", MASTER, PUSH,
     "  for (const Action& action : std::exchange(turn.result.actions, {})) Perform(action);\n" + PUSH),
    ("answers before the journal has it", MASTER, PUSH,
     "  if (turn.answer) std::exchange(turn.answer, nullptr)(turn.result.refusal);\n" + PUSH),
    ("tells watchers before the journal has it", MASTER, APPEND,
     "  if (!decisions.empty()) StatusChanged();\n  journal_.Append(decisions, durable, [this] { FinishFirst(); });\n"),
    ("a turn without decisions does not wait for those before it", MASTER,
     "if (decisions.empty() && waiting_.empty()) {", "if (decisions.empty()) {"),
    ("nothing is synced", MASTER, "std::ranges::any_of(decisions, MustBeDurable)", "false"),
    ("answers before it acts", MASTER,
     "  for (const Action& action : turn.result.actions) Perform(action);\n" + TELLS + ANSWERS,
     ANSWERS + "  for (const Action& action : turn.result.actions) Perform(action);\n" + TELLS),
    ("a turn still waits while it is finished", MASTER,
     "  const Turn turn = std::move(waiting_.front());\n  waiting_.pop_front();\n  Finish(turn);\n",
     "  const Turn turn = waiting_.front();\n  Finish(turn);\n  waiting_.pop_front();\n"),
    ("consequences come before the decisions of the call", JOB,
     "  for (DecisionBody& body : decided.decisions) evolve(std::move(body));\n",
     "  while (auto body = job.Consequence(now)) evolve(*std::move(body));\n"
     "  for (DecisionBody& body : decided.decisions) evolve(std::move(body));\n"),
    ("only one consequence is looked for", JOB, "    evolve(*std::move(body));\n", "    evolve(*std::move(body));\n    break;\n"),
    ("what a decision brings about comes after what the call brings about", JOB,
     "  Append(turn.actions, std::move(decided.actions));\n",
     "  turn.actions.insert(turn.actions.begin(), decided.actions.begin(), decided.actions.end());\n"),
    ("a command is told as decided, not as written", MASTER, "    Tell(now);\n",
     "    Tell({now.attempt, job_.CommandNumber(now.attempt)});\n"),
    ("an outcome is acknowledged before the journal has it", MASTER,
     "  Observe(OutcomeCall{caller, outcome}, [reply](const std::optional<Refusal>& refusal) {\n"
     "    if (refusal) return reply.Refuse(refusal->reason, refusal->message);\n    reply.Success({});\n  });\n",
     "  if (const auto refusal = Observe(OutcomeCall{caller, outcome})) return reply.Refuse(refusal->reason, refusal->message);\n"
     "  reply.Success({});\n"),
    ("a registration is answered before the journal has it", MASTER,
     "  Observe(RegisterCall{caller, what}, [this, reply](const std::optional<Refusal>& refusal) {\n"
     "    if (refusal) return reply.Refuse(refusal->reason, refusal->message);\n    reply.Success(epoch_);\n  });\n",
     "  if (const auto refusal = Observe(RegisterCall{caller, what})) return reply.Refuse(refusal->reason, refusal->message);\n"
     "  reply.Success(epoch_);\n"),
    ("a kill is answered before the journal has it", MASTER_CLIENTS,
     "  Observe(KillAsked{{.reason = reason, .grace = grace}},\n"
     "          [this, token, reply](const std::optional<Refusal>&) { GetStatus(token, reply); });\n",
     "  Observe(KillAsked{{.reason = reason, .grace = grace}});\n  GetStatus(token, reply);\n"),
    ("an owner is told that it owns before the journal has it", MASTER_CLIENTS,
     "  Observe(AttachAsked{claim}, [this, attached, reply](const std::optional<Refusal>&) {\n"
     "    reply.Success({attached, CurrentStatus()});\n  });\n",
     "  Observe(AttachAsked{claim});\n  reply.Success({attached, CurrentStatus()});\n"),
    ("back with its arbiter it renews before it hears what happened", MASTER,
     "  std::optional<Outcome> kept = KeptOutcome(event);\n"
     "  Observe(ContainerEvent{std::move(event), std::move(kept)});\n  if (!resumes) return;\n  Renew();\n",
     "  if (resumes) Renew();\n  std::optional<Outcome> kept = KeptOutcome(event);\n"
     "  Observe(ContainerEvent{std::move(event), std::move(kept)});\n  if (!resumes) return;\n"),
    ("an exit is judged before the kept outcome is read", MASTER,
     "  std::optional<Outcome> kept = KeptOutcome(event);\n", "  std::optional<Outcome> kept;\n"),
    ("a renewal counts before it is written", MASTER_FILES, "  if (WriteLease()) Observe(LeaseRenewed{});\n",
     "  Observe(LeaseRenewed{});\n  WriteLease();\n"),
]

ENDS = [
    ("the end is told before its status is written", MASTER_FILES, "  const JobStatus last = ",
     "  end_told_ = true;\n  AnswerWatches();\n  const JobStatus last = "),
    ("the arbiter hears of the end before its status is written", MASTER_FILES, "  const JobStatus last = ",
     "  scheduler_->Finish([] {});\n  const JobStatus last = "),
    ("the last status is not synced", MASTER_FILES, "/*durable=*/true", "/*durable=*/false"),
    ("the arbiter hears of the end before those who watch", MASTER_FILES,
     "  end_told_ = true;\n  AnswerWatches();\n  scheduler_->Finish([this] {\n"
     "    if (auto on_end = std::exchange(on_end_, nullptr)) on_end();\n  });\n",
     "  scheduler_->Finish([this] {\n    if (auto on_end = std::exchange(on_end_, nullptr)) on_end();\n  });\n"
     "  end_told_ = true;\n  AnswerWatches();\n"),
    ("stops wait for a journal in trouble", MASTER,
     "    PerformWhatMayNotWait(waiting_.back());\n", ""),
    ("stops that wait stay so when trouble comes", MASTER_TROUBLE,
     "  for (const Turn& turn : waiting_) PerformWhatMayNotWait(turn);\n", ""),
    ("in trouble, a command is told that is not written", MASTER_TROUBLE, "  if (!unwritten || MayNotWait(now)) Tell(now);\n",
     "  static_cast<void>(unwritten);\n  Tell(now);\n"),
]

KEEP = "      if (!Keep(*batch)) return;\n"
RENAMED = '    if (written.ok() && rename(fresh.c_str(), path_.c_str()) != 0) written = Failed("write it anew: ");\n'
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
    ("the name of a journal written anew is not synced", JOURNAL_FILE,
     "    return SyncPath(fs::path(path_).parent_path());\n", "    return Ok();\n"),
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
    ("reports the next attempt before that has begun", RUN, "  Do(BeginAttempt{identity_.attempt});\n  Rejoin();\n",
     "  Rejoin();\n  Do(BeginAttempt{identity_.attempt});\n"),
    ("tells of a stop before it stops", RUN, "      Do(SignalTree{SIGTERM});\n      Go(Trigger::kStop);\n",
     "      Go(Trigger::kStop);\n      Do(SignalTree{SIGTERM});\n"),
    ("the end of the process is the end of the attempt", RUN, "    if (event.judged) ending_ = event.judged;\n    LookAgain(SIGKILL);\n",
     "    if (event.judged) ending_ = event.judged;\n    End(Trigger::kTreeGone, *ending_);\n"),
    ("asks for the next command before it obeys", LINK,
     "  if (event.command.number > since_ && event.command.kind != Command::Kind::kNone) {\n"
     "    since_ = event.command.number;\n    Obey(event.command);\n  }\n",
     "  Do(SendAwait{Self(), event.command.number});\n"
     "  if (event.command.number > since_ && event.command.kind != Command::Kind::kNone) {\n"
     "    since_ = event.command.number;\n    Obey(event.command);\n    return;\n  }\n"),
    ("registers before it turns to the new AM", LINK,
     "  Do(UseAm{link_number_, lease.am});\n  Do(SendRegister{Self(), {endpoint_, phase(), pid_}});\n",
     "  Do(SendRegister{Self(), {endpoint_, phase(), pid_}});\n  Do(UseAm{link_number_, lease.am});\n"),
    ("searches before it has noted the loss", LINK, "  if (link_ == Link::kLinked) Lose();\n  link_ = Link::kSearching;\n",
     "  const bool linked = link_ == Link::kLinked;\n  link_ = Link::kSearching;\n  if (linked && false) Lose();\n"),
    ("the next attempt is not locked", EXECUTOR, "  attempt_lock_ = *std::move(lock);\n", ""),
    ("the next attempt's folders are those of the last", EXECUTOR,
     "  place_.work_folder = folder_.WorkFolder(action.attempt);\n  place_.log_folder = folder_.LogFolder(action.attempt);\n", ""),
    ("what an event brings about is done before it is over", EXECUTOR,
     "    for (const auto& action : actions) std::visit([this](const auto& what) { Perform(what); }, action);\n"
     "    events_.pop_front();\n",
     "    events_.pop_front();\n"
     "    for (const auto& action : actions) std::visit([this](const auto& what) { Perform(what); }, action);\n"),
    ("a tree is gone when the process is", EXECUTOR,
     "  if (surroundings_.processes.ReapStrangers()) return SayTreeGone();\n", "  return SayTreeGone();\n"),
    ("an error file left by others is taken for the task's", EXECUTOR, "    ForgetFile(file);\n", "    (void)file;\n"),
]

LAUNCHING = "  TRY(records_.Launching(id, container.gpus, container.cgroup));\n"
STARTED = ("  TRY_ASSIGN(container.pid, runner_.Start(executor, [this, id](ExitStatus status) { OnExecutorEnded(id, status); "
           "}));\n")
EXITED = "  if (IsContainerName(id)) WarnUnless(records_.Exited(container.exited));\n"
IS_IT = ('  const bool is_it = record.pid == 0 ? IsMarked(container.pid, StrCat(kContainerMark, "=", mark))\n'
         "                                     : StartTime(container.pid) == record.start_time;\n")
TOLD_EXITED = "  listener_.on_exited(container.exited);\n"
EPOCH = '  TRY(WriteFileByRename(folder_.path() / "epoch", StrCat(next.value, "\\n"), /*durable=*/false));\n'
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
     "  RemoveCgroupOf(container);  // first: a container whose end is recorded is not looked at again\n", "",
     EXITED, EXITED + "  RemoveCgroupOf(container);\n"),
    ("what lives in a cgroup is not looked for", CONTAINERS_END,
     "    if (ending && !container.cgroup.empty() && KillCgroup(container.cgroup)) victims.containers.insert(id);\n",
     "    (void)ending;\n"),
    ("the kernel's list of children is not asked", CONTAINERS_END, "  AddStrayChildren(victims);\n  return victims;\n",
     "  return victims;\n"),
    ("executors do not hold the claim", CONTAINERS,
     "  if (admission_->lock >= 0) executor.inherited = {admission_->lock};\n", ""),
    ("an exit is not recorded", CONTAINERS_END, EXITED, ""),
    ("an exit is told before the sweep", CONTAINERS_END,
     '  LogInfo(StrCat("executor of container ", id.value, " ended: ", status ? ToString(*status) : "not seen how"));\n',
     "  End(id, container);\n"),
    ("a container is over before what it left is killed", CONTAINERS_END,
     "  (void)runner_.ReapStrangers();  // what has been reaped is no stray child\n",
     "  for (auto& [id, container] : containers_)\n    if (container.state == State::kSweeping) End(id, container);\n"),
    ("who a process is is looked at before it is held", CONTAINERS,
     "  container.pidfd = container.pid > 0 ? OpenProcess(container.pid) : UniqueFd();\n"
     "  // The descriptor first, then the look at who it is: the pid cannot change hands in between.\n"
     + IS_IT,
     IS_IT +
     "  container.pidfd = container.pid > 0 ? OpenProcess(container.pid) : UniqueFd();\n"),
    ("the AM hears that the job is finished before that is recorded", KEEPER_END,
     '  const Status recorded = WriteFileByRename(folder_.finished(), "", /*durable=*/false);\n',
     '  Report(JobFinished{});\n  const Status recorded = WriteFileByRename(folder_.finished(), "", /*durable=*/false);\n'),
    ("the job is finished before its verdict is written", KEEPER_END,
     "  if (!written.ok()) return TryAgain(&Keeper::WriteVerdict, written.error());\n  Finish();\n", "  Finish();\n"),
    ("the epoch is written after its AM has started", SUPERVISION, EPOCH, "", AM_STARTED, AM_STARTED + EPOCH),
    ("an AM's death is not recorded", SUPERVISION,
     "  if (const Status recorded = RecordDeath(folder_, death); !recorded.ok()) LogWarn(recorded.error().message);\n", ""),
    ("silence is judged before what has arrived is read", SUPERVISION, "  listener_.before_judging();\n", ""),
    ("an AM is started before the one of an earlier epoch is killed", SUPERVISION,
     '  if (folder_.IsLocked("am.lock")) KillMarked();\n', ""),
]

ALL = TURNS + ENDS + WRITES + EXECUTORS + KEEPERS
