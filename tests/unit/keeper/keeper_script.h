// Runs scripts with a real keeper, shell scripts as executors, and this test as the AM's scheduler. "@" is the job's
// folder and "#" the job's id. A word that checks for something that comes later waits for it.
#pragma once

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "runtime/base/exit_status.h"
#include "runtime/base/strings.h"
#include "runtime/job/environment.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "runtime/records/job_folder.h"
#include "tests/support/script.h"
#include "tests/unit/keeper/keeper_fixture.h"

namespace tony {

class KeeperWorld : public KeeperFixture {
 public:
  explicit KeeperWorld(const std::string& am_script = kSleepingAm) : KeeperFixture(am_script) {}
  void TestBody() override {}

  void Begin() {
    keeper_ = StartKeeper();
    BecomeAm({1});
  }
  std::filesystem::path At(const std::string& name) const { return records_.place() / name; }
  pid_t PidIn(const std::string& file) {
    EXPECT_TRUE(WaitFor([&] { return Content(file).ends_with("\n"); })) << file;
    return static_cast<pid_t>(ParseInt(Trim(Content(file))).value_or(0));
  }
  // Returns how the container ended: "code 3", "signal 9", or "unseen" if the keeper did not see the end. Class, "left"
  // and the error message follow if they are set.
  std::string EndOf(const std::string& container) {
    if (!WaitFor([&] { return Exit(container); })) return "no end";
    const ContainerExited& its = *Exit(container);
    std::string text =
        !its.status ? "unseen"
                    : StrCat(its.status->kind == ExitStatus::Kind::kExited ? "code " : "signal ", its.status->value);
    if (its.cls) text += StrCat(" ", ToString(*its.cls));
    if (its.left) text += " left";
    return its.error.empty() ? text : StrCat(text, ": ", its.error);
  }
  std::string VerdictText() const {
    const auto status = records_.ReadStatus();
    if (!status.ok() || !*status || !(*status)->verdict) return "no verdict";
    const Verdict& verdict = *(*status)->verdict;
    return StrCat((*status)->state, " ", ToString(verdict.cls), ": ", verdict.message);
  }
  // Returns "yes" if the condition becomes true within 300 ms, which is longer than a premature event takes.
  std::string WithinAMoment(const std::function<bool()>& condition) {
    return RunUntil(loop_, condition, Duration(300)) ? "yes" : "no";
  }
  pid_t Newest() const {
    for (const auto& [pid, status] : keepers_)
      if (!status) return pid;
    return 0;
  }
  static std::string Have(bool it) { return it ? "yes" : "no"; }
  template <class Change>
  void ChangeSpec(Change change) {
    JobSpec spec = *records_.ReadSpec();
    change(spec);
    EXPECT_TRUE(WriteFileByRename(At("spec.json"), ToJson(spec), /*durable=*/false).ok());
  }
  void Hear(const std::function<bool()>& condition) {
    EXPECT_TRUE(WaitFor(condition)) << "in vain; keeper.log:\n" << Content("keeper.log");
  }
  std::string Text(const Words& its, size_t from) const {
    return Replaced(Replaced(its.From(from), "@", records_.place().string()), "#", records_.job().value);
  }
  // Returns the words of this world together with the words in `more`.
  template <class World>
  static Deeds<World> WordsOf(Deeds<World> more = {});
  static Deeds<KeeperWorld> Its() { return WordsOf<KeeperWorld>(); }

  pid_t keeper_ = 0;
  bool finished_ = false;
  std::vector<pid_t> before_;
};

template <class World>
Deeds<World> KeeperWorld::WordsOf(Deeds<World> more) {
  Deeds<World> deeds = {
      // ---- before the keeper starts
      {"master",
       [](auto& w, auto& its) { std::ofstream(w.temp_.path() / "bin/tony-am") << "#!/bin/sh\n"
                                                                              << its.From(1); }},
      {"limit", [](auto& w, auto& its) { w.SetLimits({"QUICK_KEEPER_" + its[1]}); }},
      {"start-limit",
       [](auto& w, auto& its) {
         w.ChangeSpec([&](JobSpec& spec) { spec.startup_timeout = Duration(its.Number(1)); });
       }},
      {"grace",
       [](auto& w, auto& its) { w.ChangeSpec([&](JobSpec& spec) { spec.timers.grace = Duration(its.Number(1)); }); }},
      {"no-master", [](auto& w, auto&) { std::filesystem::remove(w.temp_.path() / "bin/tony-am"); }},
      {"boot", [](auto& w, auto& its) { EXPECT_TRUE(JobFolder(w.records_).WriteBoot(its[1]).ok()); }},
      // ---- the keeper
      {"keeper", [](auto& w, auto&) { w.keeper_ = w.StartKeeper(); }},
      {"begin", [](auto& w, auto&) { w.Begin(); }},
      {"second-keeper",
       [](auto& w, auto&) {
         EXPECT_TRUE(w.Start(w.records_).ok());
         w.Hear([&] { return std::ranges::any_of(w.keepers_, [](const auto& k) { return k.second.has_value(); }); });
       }},
      {"kill-keeper", [](auto& w, auto&) { w.KillKeeper(w.keeper_); }},
      {"signal-keeper", [](auto& w, auto& its) { kill(w.keeper_, *SignalFromString(its[1])); }},
      {"next-keeper",
       // The AM's scheduler restarts the killed keeper; this word waits until the scheduler has reached the new keeper.
       [](auto& w, auto&) {
         const size_t reached = w.template Told<SchedulerReached>().size();
         w.KillKeeper(w.keeper_);
         w.Hear([&] { return w.template Told<SchedulerReached>().size() > reached; });
         w.keeper_ = w.Newest();
       }},
      {"ended", [](auto& w, auto&) { return Have(w.KeeperEnded(w.keeper_)); }},
      {"keeper-lives", [](auto& w, auto&) { return Have(!w.keepers_[w.keeper_]); }},
      {"keepers", [](auto& w, auto&) { return StrCat(w.keepers_started_); }},
      {"newest-keeper", [](auto& w, auto&) { w.keeper_ = w.Newest(); }},
      {"locked", [](auto& w, auto&) { return Have(JobFolder(w.records_).IsLocked("keeper.lock")); }},
      // ---- the AM
      {"am", [](auto& w, auto& its) { w.BecomeAm({its.Number(1)}, Duration(its.Number(2, 10'000))); }},
      {"hang-up", [](auto& w, auto&) { w.scheduler_.reset(); }},
      {"kill-am", [](auto& w, auto&) { w.KillAm(); }},
      {"am-gone",
       [](auto& w, auto&) {
         w.Hear([&] { return ProcessesWithEnvironment("TONY_AM=" + w.records_.job().value).empty(); });
       }},
      {"ams",
       // Waits until AMs of exactly these epochs were started, e.g. "1,2".
       [](auto& w, auto& its) { w.Hear([&] { return w.Content("ams") == Replaced(its[1], ",", "\n") + "\n"; }); }},
      {"next-am", [](auto& w, auto&) { w.Hear([&] { return w.Content("ams").starts_with("1\n2\n"); }); }},
      {"remember-am", [](auto& w, auto&) { w.before_ = w.Ams(); }},
      {"another-am",
       [](auto& w, auto&) {
         w.Hear([&] {
           const auto ams = ProcessesWithEnvironment("TONY_AM=" + w.records_.job().value);
           return ams.size() == 1 && ams != w.before_;
         });
       }},
      {"lease-of",
       [](auto& w, auto& its) {
         EXPECT_TRUE(w.records_.WriteLease({.epoch = {its.Number(1)}, .am = {SocketOf({its.Number(1)})}}).ok());
       }},
      {"reached",
       [](auto& w, auto& its) {
         w.Hear([&] { return w.template Told<SchedulerReached>().size() == static_cast<size_t>(its.Number(1)); });
       }},
      {"running",
       [](auto& w, auto&) {
         std::string text;
         const auto reached = w.template Told<SchedulerReached>();
         for (const ContainerId& each : reached.back().running) text += " " + each.value;
         return "runs" + text;
       }},
      {"lost", [](auto& w, auto&) { w.Hear([&] { return !w.template Told<SchedulerLost>().empty(); }); }},
      {"told",
       [](auto& w, auto&) {
         return StrCat("reached ", w.template Told<SchedulerReached>().size(), " lost ",
                       w.template Told<SchedulerLost>().size(), " ends ", w.template Told<ContainerExited>().size());
       }},
      {"finish", [](auto& w, auto&) { w.scheduler_->Finish({}, [&w] { w.finished_ = true; }); }},
      {"finished", [](auto& w, auto&) { w.Hear([&] { return w.finished_; }); }},
      {"finished-early", [](auto& w, auto&) { return w.WithinAMoment([&] { return w.finished_; }); }},
      {"ask-to-end", [](auto& w, auto&) { EXPECT_TRUE(w.records_.WriteKill({"enough"}).ok()); }},
      {"asked-to-end", [](auto& w, auto&) { w.Hear([&] { return *w.records_.HasPlainKill(); }); }},
      {"ask-to-end-if-of",
       [](auto& w, auto& its) { EXPECT_TRUE(w.records_.WriteKill({.reason = "enough", .if_owner = {its[1]}}).ok()); }},
      {"kill-reason", [](auto& w, auto&) { return w.records_.ReadKills()->front().request.reason; }},
      {"verdict", [](auto& w, auto&) { return w.VerdictText(); }},
      {"stderr", [](auto& w, auto&) { return (*w.records_.ReadStatus())->verdict->stderr_tail; }},
      // ---- containers
      {"launch", [](auto& w, auto& its) { w.Launch(its[1], w.Text(its, 2)); }},
      {"launch-with", [](auto& w, auto& its) { w.Launch(its[1], w.Text(its, 3), Split(its[2], ',')); }},
      {"start-program",
       [](auto& w, auto& its) {
         w.launches_[{its[1]}] = {{its[2]}, {}, "", {}};
         w.scheduler_->Launch({its[1]}, {});
       }},
      {"term", [](auto& w, auto& its) { w.scheduler_->Stop({its[1]}, StopMode::kTerm); }},
      {"kill", [](auto& w, auto& its) { w.scheduler_->Stop({its[1]}, StopMode::kKill); }},
      {"started", [](auto& w, auto& its) { w.Hear([&] { return w.Started(its[1]); }); }},
      {"is-started", [](auto& w, auto& its) { return Have(w.Started(its[1])); }},
      {"end", [](auto& w, auto& its) { return w.EndOf(its[1]); }},
      {"end-without-sizes",
       [](auto& w, auto& its) { return std::regex_replace(w.EndOf(its[1]) + ".", std::regex("[0-9]+"), "N"); }},
      {"is-ended", [](auto& w, auto& its) { return Have(w.Exit(its[1]) != nullptr); }},
      {"ended-early", [](auto& w, auto& its) { return w.WithinAMoment([&] { return w.Exit(its[1]) != nullptr; }); }},
      {"processes",
       [](auto& w, auto& its) {
         w.Hear([&] { return w.Marked(its[1]).size() == static_cast<size_t>(its.Number(2)); });
         w.before_ = w.Marked(its[1]);
       }},
      {"has", [](auto& w, auto& its) { return StrCat(w.Marked(its[1]).size()); }},
      {"has-the-same", [](auto& w, auto& its) { return Have(w.Marked(its[1]) == w.before_); }},
      {"keep", [](auto& w, auto& its) { w.kept_[{its[1]}] = {.cls = OutcomeClass::kUserError, .message = its[2]}; }},
      {"kept",
       [](auto& w, auto& its) {
         const auto& kept = w.Exit(its[1])->kept;
         return kept ? StrCat(ToString(kept->outcome.cls), " ", kept->outcome.message) : "none";
       }},
      {"more-descendants",
       [](auto& w, auto& its) { return Have(Descendants(w.keeper_).size() > static_cast<size_t>(its.Number(1))); }},
      {"of-job", [](auto& w, auto&) { return StrCat(w.OfJob().size()); }},
      {"kill-pid", [](auto& w, auto& its) { ::kill(w.PidIn(its[1]), SIGKILL); }},
      {"lives",
       [](auto& w, auto& its) {  // a zombie counts as dead
         return Have(std::ranges::count(ListProcesses(), w.PidIn(its[1]), &ProcessEntry::pid) > 0);
       }},
      // ---- the job's folder
      {"file", [](auto& w, auto& its) { w.Hear([&] { return std::filesystem::exists(w.At(its[1])); }); }},
      {"filled", [](auto& w, auto& its) { w.Hear([&] { return w.Content(its[1]).ends_with("\n"); }); }},
      {"is", [](auto& w, auto& its) { return Have(std::filesystem::exists(w.At(its[1]))); }},
      {"mode",
       [](auto& w, auto& its) {
         std::ostringstream text;
         text << std::oct << static_cast<int>(std::filesystem::status(w.At(its[1])).permissions());
         return text.str();
       }},
      {"exists-early",
       [](auto& w, auto& its) { return w.WithinAMoment([&] { return std::filesystem::exists(w.At(its[1])); }); }},
      {"write", [](auto& w, auto& its) { std::ofstream(w.At(its[1])) << Replaced(its.From(2), ";", "\n"); }},
      {"folder", [](auto& w, auto& its) { std::filesystem::create_directories(w.At(its[1])); }},
      {"remove", [](auto& w, auto& its) { std::filesystem::remove(w.At(its[1])); }},
      {"text",
       [](auto& w, auto& its) {
         const std::string text = Replaced(w.Content(its[1]), "\n", ",");
         return text.empty() ? std::string("nothing") : text;
       }},
      {"says",
       [](auto& w, auto& its) { return Have(("\n" + w.Content(its[1])).find(w.Text(its, 2)) != std::string::npos); }},
      {"comes-to-say",
       [](auto& w, auto& its) { w.Hear([&] { return w.Content(its[1]).find(w.Text(its, 2)) != std::string::npos; }); }},
  };
  deeds.merge(more);
  return deeds;
}

}  // namespace tony
