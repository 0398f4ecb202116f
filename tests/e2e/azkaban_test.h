// A fixture for the tests of the Azkaban adapter: a step of one task, and checks that hold for the log of each step.
#pragma once

#include "tests/e2e/tony_test.h"
#include "tests/support/azkaban_step.h"

namespace tony {

// The time limit for "soon". The adapter promises two seconds; sanitizers on a loaded machine make everything about ten
// times slower.
inline Limit Soon() { return Limit(SanitizedPrograms() ? 20000 : 10000); }

inline Words Lines(const std::string& text) {
  Words lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}
inline size_t CountLinesWith(const std::string& text, const std::string& words) {
  size_t count = 0;
  for (const std::string& line : Lines(text)) count += line.find(words) != std::string::npos;
  return count;
}

// Checks the log of a step: the last line gives the exit code and its reason, and no line has an escape sequence or a
// carriage return.
inline void ExpectEnd(const Ran& ran, int exit) {
  EXPECT_EQ(ran.exit, exit) << ran.out;
  EXPECT_FALSE(ran.timed_out) << "it did not end, or something it started has its output open:\n" << ran.out;
  EXPECT_THAT(ran.out, testing::EndsWith("\n"));
  const Words lines = Lines(ran.out);
  const std::string last = lines.empty() ? "" : lines.back();
  const std::string form = "tony-azkaban: exit " + std::to_string(exit) + ": ";
  EXPECT_THAT(last, testing::StartsWith(form)) << ran.out;
  EXPECT_GT(last.size(), form.size());
  EXPECT_EQ(CountLinesWith(ran.out, "tony-azkaban: exit "), 1u) << ran.out;
  EXPECT_EQ(ran.out.find_first_of("\r\x1b"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.err, "") << "Azkaban has one pipe for both";
}

class AzkabanTest : public TonyTest {
 protected:
  AzkabanTest() : step_(box_) {}

  // Starts the step with a task that runs until Go(), and waits until that task runs.
  std::unique_ptr<Background> StartHolding(const std::string& how = "exec \"$@\"", const std::string& then = "true") {
    step_.properties["executes"] = HoldUntilGo() + "; " + then;
    auto started = step_.Start(how);
    EXPECT_TRUE(WaitForRunning(1)) << started->out();
    EXPECT_TRUE(Says(*started, "running"));
    return started;
  }
  // Runs the step with a chief that writes `outputs` into its outputs file.
  Ran RunLeaving(const std::string& outputs) {
    step_.properties["executes"] = "cp " + box_.Write("left.json", outputs) + " $TONY_OUTPUT_FILE";
    return step_.Run();
  }
  static bool Says(const Background& started, const std::string& words) {
    const bool said = WaitFor([&] { return started.out().find(words) != std::string::npos; });
    EXPECT_TRUE(said) << words << " was not said in:\n" << started.out();
    return said;
  }

  using Texts = std::map<std::string, std::string>;
  // The outputs, which Azkaban turns into properties. Fails unless they are an object of strings.
  Texts Outputs() const { return OutputsIn(step_.outputs_file()); }
  static Texts OutputsIn(const fs::path& file) {
    Texts texts;
    const auto value = ParseJson(ReadText(file));
    EXPECT_TRUE(value.is_object());
    if (!value.is_object()) return texts;
    for (const auto& [name, member] : value.as_object()) {
      EXPECT_TRUE(member.is_string()) << name << " is no string";
      if (member.is_string()) texts[std::string(name)] = std::string(member.as_string());
    }
    return texts;
  }

  json::value Status(const std::string& job) const { return StatusOf(job); }
  // Waits until all processes of this test's sandbox have exited, which may be after the exit of the adapter.
  void ExpectAllGoneSoon() const {
    EXPECT_TRUE(WaitFor([&] { return box_.Processes().empty(); })) << ToString(box_.Processes());
  }
  void KillAll(const std::string& program, int signal = SIGKILL) const { SignalAll(program, signal); }
  void KillRulers() const {
    // All processes are stopped first, so that neither program restarts the other.
    for (const int signal : {SIGSTOP, SIGKILL}) {
      KillAll("tony-keeper", signal);
      KillAll("tony-am", signal);
    }
  }

  AzkabanStep step_;
};

}  // namespace tony
