// Jobs that a command names by their name, by a part of their id, or as "last".
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class NamedJobTest : public TonyTest {
 protected:
  // Runs a job to its end and returns its id.
  std::string Run(const std::string& name, const std::string& command) const {
    const Ran ran = Succeeds(One(command, {"tony.application.name=" + name}));
    return ran.out.substr(0, ran.out.find('\n'));
  }
  static std::string EndOf(const std::string& id) { return id.substr(id.rfind('-') + 1); }
};

TEST_F(NamedJobTest, CommandsAcceptAJobNameAPartOfAJobIdOrTheWordLast) {
  const std::string first = Run("train", "echo one"), second = Run("train", "echo two"),
                    third = Run("other", "echo three");
  const Ran by_name = Succeeds({"logs", "train"});
  EXPECT_THAT(by_name.out, HasSubstr("two"));
  EXPECT_EQ(by_name.err, "tony: train is " + second + ", the newest of 2 jobs with this name\n");
  const Ran last = Succeeds({"status", "last", "--json"});
  EXPECT_THAT(last.out, HasSubstr("\"" + third + "\""));
  EXPECT_EQ(last.err, "tony: last is " + third + "\n");
  const Ran end = Succeeds({"wait", EndOf(first)});
  EXPECT_THAT(end.err, StartsWith("tony: " + EndOf(first) + " is " + first + "\n"));
  EXPECT_THAT(box_.Tony({"watch", "last"}).out, HasSubstr(third));
  EXPECT_EQ(box_.Tony({"status", first}).err, "");  // A full id needs no search.
}

TEST_F(NamedJobTest, UnknownAndAmbiguousJobNamesAreRefused) {
  EXPECT_EQ(box_.Tony({"kill", "last"}).err, "tony: last: there are no jobs\n");
  const std::string first = Run("a", "true"), second = Run("b", "true");
  const Ran several = Fails(66, {"kill", "local-"});
  EXPECT_THAT(several.err, StartsWith("tony: \"local-\" matches 2 jobs: local-"));
  EXPECT_THAT(several.err, HasAll({first, second}));
  for (const char* word : {"loc", "nobody", "../x", ""}) {
    const Ran none = Fails(66, {"status", word});
    EXPECT_EQ(std::ranges::count(none.err, '\n'), 1) << none.err;
  }
}

}  // namespace
}  // namespace tony
