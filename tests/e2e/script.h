// Tests of the built programs as rows of steps, for TABLE_TEST(Suite, rows, RunScript): each case of a row is a step
// with its expected result. The first step that fails ends its test.
//
// Steps:
//   workers 2 COMMAND WORD...      submits a job of two workers that run COMMAND; `one COMMAND WORD...`: of one task
//   VERB WORD...                   runs another verb of `tony`
//   NAME=VALUE... VERB WORD...     runs a verb with these environment variables
//   file FILE, log worker-0 stdout reads a file; its text is the output
//   until STEP                     repeats a step of the kinds above until its result is the expected one
//   & one ...                      runs `tony` in the background: the first one is client 0, the next one client 1
//   end 1                          waits for the exit of client 1; without a number, for the newest client
//   says 1 TEXT                    waits until client 1 has printed TEXT
//   running 2                      waits until two workers run %H; `go` ends them
//   signal KILL tony-am            sends a signal to all processes of a program
//   gone tony-am                   waits until all processes of a program have exited
//   killed                         kills the keepers and masters of all jobs at once
//   write FILE TEXT, remove FILE, copy FILE FILE      change the test's folder; all FILEs are relative to it
//   replace tony-am SCRIPT         from now on uses an installation in which SCRIPT is that program
//   exists FILE, missing FILE      checks whether a file exists
//   left                           checks that no process is left
//   jobs 2                         checks the number of stored jobs
//   machine JSON                   sets the size of the machine
//
// A word in `backquotes` may contain blanks. A word like tony.a=b becomes a value of -conf. Names in words:
//   %H  a command that runs until `go`      %B  the test's folder         %M  a key for the least memory
//   %J  the only job                        %F  the only job's folder     %0  the job of client 0
//   %P  the pid of the first worker that runs %H
//
// Expected results are parts with " && " between them:
//   3                                       the exit code, if it is not 0
//   ~TEXT, !TEXT                            the output has, or does not have, TEXT
//   out~TEXT, err!TEXT                      standard output has TEXT, standard error does not
//   out=TEXT                                TEXT is all of standard output
//   lines=2, outlines=2                     the number of lines on standard error, on standard output
//   line                                    `lines=1`
//   refused                                 `tony` prints one line of its own and nothing else, and no job is stored
//   /pointer=VALUE, /pointer~TEXT           a member of the object on standard output
//   tasks=ps:0 killed, worker:0 failed      the states of all tasks of the only job; `tasks~TEXT` compares a part
//   verdict=CLASS                           the verdict class of the only job; no process is left
#pragma once

#include <optional>

#include "tests/e2e/installation.h"
#include "tests/e2e/tony_test.h"
#include "tests/support/table_test.h"

namespace tony {

class Script : public TonyTest {
 public:
  void TestBody() override {}
  const fs::path& folder() const { return box_.folder(); }

  void Step(const RowCase& step) {
    Words words = Split(step.given);
    if (More(words, step.expected)) return;
    const std::string verb = words[0];
    const auto word = [&](size_t number) { return number < words.size() ? words[number] : ""; };
    if (verb == "&") {
      const auto [variables, command] = Command({words.begin() + 1, words.end()});
      clients_.push_back(installation_ ? installation_->Start(command) : box_.StartTony(command, variables));
    } else if (verb == "end") {
      EXPECT_EQ(Wrong(step.expected, Client(word(1)).Wait()), "");
    } else if (verb == "says") {
      const auto said = [&] { return Client(word(1)).out() + Client(word(1)).err(); };
      EXPECT_TRUE(WaitFor([&] { return said().find(word(2)) != std::string::npos; })) << said();
    } else if (verb == "running") {
      EXPECT_TRUE(WaitForRunning(std::stoi(word(1)))) << (clients_.empty() ? "" : clients_.back()->err());
    } else if (verb == "go") {
      Go();
    } else if (verb == "signal") {
      SignalAll(word(2), word(1) == "KILL" ? SIGKILL : word(1) == "STOP" ? SIGSTOP : SIGCONT);
    } else if (verb == "killed") {
      KillTogether();
    } else if (verb == "gone") {
      EXPECT_TRUE(WaitFor([&] { return box_.Pids(word(1)).empty(); })) << ToString(box_.Processes());
    } else if (verb == "write") {
      fs::create_directories(fs::path(box_.File(word(1))).parent_path());
      box_.Write(word(1), word(2));
    } else if (verb == "remove") {
      fs::remove_all(box_.folder() / word(1));
    } else if (verb == "copy") {
      fs::copy(box_.folder() / word(1), box_.folder() / word(2), fs::copy_options::recursive);
    } else if (verb == "machine") {
      box_.SetMachine(word(1));
    } else if (verb == "replace") {
      installation_.emplace(box_, std::map<std::string, std::string>{{word(1), word(2)}});
    } else if (verb == "exists" || verb == "missing") {
      EXPECT_EQ(fs::exists(box_.folder() / word(1)), verb == "exists");
    } else if (verb == "left") {
      ExpectNothingLeft();
    } else if (verb == "jobs") {
      EXPECT_EQ(box_.Jobs().size(), std::stoul(word(1)));
    } else if (verb == "until") {
      std::string wrong;
      EXPECT_TRUE(WaitFor([&] {
        wrong = Wrong(step.expected, Answer(Split(step.given.substr(6))));
        return wrong.empty();
      })) << wrong;
    } else {
      EXPECT_EQ(Wrong(step.expected, Answer(words)), "");
    }
  }

 protected:
  // Runs a step whose verb only some suites have. False if this suite does not know the verb.
  virtual bool More(const Words&, const std::string&) { return false; }

  Ran Answer(const Words& words) const {
    if (words[0] == "file") return {.exit = 0, .out = ReadText(box_.folder() / words.at(1))};
    if (words[0] == "log") return {.exit = 0, .out = LogText(words.at(1), words.at(2))};
    const auto [variables, command] = Command(words);
    return installation_ ? installation_->Tony(command) : box_.Tony(command, variables);
  }
  Background& Client(const std::string& number) const {
    return number.empty() ? *clients_.back() : *clients_.at(std::stoul(number));
  }

  Words Split(const std::string& text) const {
    Words words;
    bool quoted = false, open = false;
    for (const char c : text) {
      if (c == ' ' && !quoted) {
        open = false;
        continue;
      }
      if (!open) words.emplace_back();
      open = true;
      if (c == '`')
        quoted = !quoted;
      else
        words.back() += c;
    }
    for (std::string& word : words) word = Named(word);
    return words;
  }
  std::string Named(std::string text) const {
    const auto name = [&](const std::string& what, const auto& by) {
      if (text.find(what) != std::string::npos) text = Replaced(text, what, by());
    };
    name("%H", [&] { return HoldUntilGo(); });
    name("%B", [&] { return box_.folder().string(); });
    name("%J", [&] { return Job(); });
    name("%F", [&] { return box_.JobFolder(Job()).string(); });
    name("%P", [&] { return ReadText(Running("worker-0")).substr(0, ReadText(Running("worker-0")).find('\n')); });
    name("%M", [&] { return LittleMemory(); });
    for (size_t i = 0; i < clients_.size(); ++i) {
      name("%" + std::to_string(i), [&] {
        EXPECT_TRUE(WaitFor([&] { return clients_[i]->out().find('\n') != std::string::npos; })) << clients_[i]->err();
        return clients_[i]->out().substr(0, clients_[i]->out().find('\n'));
      });
    }
    return text;
  }
  static std::pair<Sandbox::Variables, Words> Command(const Words& words) {
    Sandbox::Variables variables;
    Words command;
    size_t i = 0;
    for (size_t at; (at = words[i].find('=')) != std::string::npos; ++i)
      variables[words[i].substr(0, at)] = words[i].substr(at + 1);
    if (words[i] == "one") {
      command = One(words.at(i + 1));
      i += 2;
    } else if (words[i] == "workers") {
      command = Workers(std::stoi(words.at(i + 1)), words.at(i + 2));
      i += 3;
    }
    for (; i < words.size(); ++i) {
      const bool is_key = words[i].starts_with("tony.") && words[i].find('=') != std::string::npos;
      command = command + (is_key ? Conf(words[i]) : Words{words[i]});
    }
    return {variables, command};
  }

  // Returns the differences from `expected`, with the output of the program; "" if all parts hold.
  std::string Wrong(const std::string& expected, const Ran& ran) const {
    std::string wrong;
    int exit = 0;
    for (std::string rest = expected; !rest.empty();) {
      const size_t end = std::min(rest.find(" && "), rest.size());
      const std::string part = Named(rest.substr(0, end));
      rest.erase(0, std::min(end + 4, rest.size()));
      const size_t sign = part.find_first_of(part[0] == '/' ? "=~" : "=~!");
      if (sign == std::string::npos && part != "line" && part != "refused")
        exit = std::stoi(part);
      else if (!Holds(part.substr(0, sign), sign == std::string::npos ? ' ' : part[sign],
                      sign == std::string::npos ? "" : part.substr(sign + 1), ran))
        wrong += "not " + part + "\n";
    }
    if (ran.exit != exit || ran.timed_out) wrong += "exit code " + std::to_string(ran.exit) + "\n";
    return wrong.empty() ? "" : wrong + ran.out + "--\n" + ran.err;
  }
  bool Holds(const std::string& where, char sign, const std::string& text, const Ran& ran) const {
    const size_t lines = CountLines(ran.err);
    if (where == "line") return lines == 1;
    if (where == "lines") return lines == std::stoul(text);
    if (where == "outlines") return CountLines(ran.out) == std::stoul(text);
    if (where == "refused")
      return lines == 1 && ran.err.starts_with("tony: ") && ran.out.empty() && box_.Jobs().empty() &&
             box_.Processes().empty();
    if (where == "tasks") {
      std::string tasks;
      const value status = Status(), all = At(status, "/tasks");
      for (const value& task : all.as_array())
        tasks += (tasks.empty() ? "" : ", ") + Text(task, "/task") + " " + Text(task, "/attempt_state");
      return sign == '=' ? tasks == text : tasks.find(text) != std::string::npos;
    }
    if (where == "verdict") return Text(Status(), "/verdict/class") == text && box_.Processes().empty();
    std::string actual = where == "out" ? ran.out : where == "err" ? ran.err : ran.out + ran.err;
    if (where.starts_with("/")) {
      if (ran.out.empty()) return false;
      const value found = At(ParseJson(ran.out), where);
      actual = found.is_string() ? std::string(found.as_string()) : json::serialize(found);
    }
    return sign == '=' ? actual == text : (actual.find(text) != std::string::npos) == (sign == '~');
  }

  std::vector<std::unique_ptr<Background>> clients_;
  std::optional<Installation> installation_;
};

// Runs a row. `more` maps additional names that the steps may use to their values. `prepare` fills the test's folder.
template <class OfSuite = Script>
void RunScriptWith(const std::vector<std::pair<std::string, std::string>>& more, const TestRow& row,
                   const std::function<void(const fs::path&)>& prepare = {}) {
  OfSuite script;
  if (prepare) prepare(script.folder());
  for (RowCase step : row.cases) {
    for (const auto& [name, meant] : more) step.given = Replaced(step.given, name, meant);
    SCOPED_TRACE(step.given + " => " + step.expected);
    script.Step(step);
    if (testing::Test::HasFailure()) return;
  }
}
inline void RunScript(const TestRow& row) { RunScriptWith({}, row); }

}  // namespace tony
