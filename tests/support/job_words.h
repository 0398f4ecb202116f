// Words of scripts: for the AM's core (tests/unit/am/job_script.h) and for the simulator (tests/sim/plan_script.h).
//
// A job: roles are worker*2, board*1:sidecar, ps*1:untracked, with :succeeds=2 :fails=1 :waits=data :ready=head
// :outlives :scope=task :restarts=1 :processes=2 :gpus=1 :parallel=2
// :after=chief/10s (fails the job if it outlives the chief by 10 s) or
// :left=chief/10s (the job then ends without it). Frameworks by name; restarts as gang=1 or task=1/60s, lost=2/60s;
// backoff=1s/8s settle=300ms checkpoints=3 timeout=45s registration=30s registry=2s allocation=45s suspect=5s
// lost-after=60s grace=10s fresh=2s hold=30s keep-failed=60s; fcfs, tonys-rule, yarn.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/job/job_spec.h"
#include "tests/support/table_test.h"

namespace tony {

// Returns the parts between separators, except separators in backticks. No part is empty.
std::vector<std::string> PartsBetween(std::string_view text, std::string_view separator);

// "7=x" -> the text before and the text behind the first `between`.
std::pair<std::string, std::string> Halves(const std::string& text, char between);

// The words of an event or of an expectation, read one after the other.
class Words {
 public:
  explicit Words(std::string_view text) : words_(PartsBetween(text, " ")) {}

  bool any() const { return at_ < words_.size(); }
  std::string Next() { return any() ? Replaced(words_[at_++], "`", "") : ""; }
  std::string Or(const std::string& usual) { return any() ? Next() : usual; }
  bool Skip(std::string_view word) {
    if (!any() || words_[at_] != word) return false;
    ++at_;
    return true;
  }
  int64_t Number() {
    const std::string word = Next();
    const auto number = ParseInt(word.substr(word.starts_with('+') ? 1 : 0));
    EXPECT_TRUE(number) << "not a number: " << word;
    return number.value_or(0);
  }
  std::vector<std::string> Tasks() {
    std::vector<std::string> tasks;
    const auto is_task = [](const std::string& word) { return word.find(':') < word.find_first_of("`="); };
    while (any() && is_task(words_[at_])) tasks.push_back(Next());
    return tasks;
  }
  std::string Rest() {
    std::vector<std::string> rest;
    while (any()) rest.push_back(Next());
    return Join(rest, " ");
  }

 private:
  std::vector<std::string> words_;
  size_t at_ = 0;
};

// "5s", "300ms", "2h", "-500ms", "0".
Duration TimeOf(std::string_view text);
ExitStatus BySignal(const std::string& name);  // "TERM"

// Takes from each {a|b} the alternative with this number, or the last one. `most` grows to the number of alternatives.
std::string Chosen(std::string text, size_t number, size_t& most);

void AddToJob(JobSpec& spec, std::string_view words);
JobSpec JobOf(std::string_view text);  // failures are judged at once

}  // namespace tony
