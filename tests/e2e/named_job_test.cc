// A job that is asked for by its name, by the beginning of its id, or as the last one.
#include <algorithm>

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class NamedJobTest : public TonyTest {
 protected:
  // Its id.
  std::string Run(const std::string& name, const std::string& command) const {
    const Ran ran = box_.Tony(One(command) + Conf("tony.application.name=" + name));
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return ran.out.substr(0, ran.out.find('\n'));
  }
  static std::string EndOf(const std::string& id) { return id.substr(id.rfind('-') + 1); }
};

TEST_F(NamedJobTest, IsTheNewestOfItsNameTheOneThatBeginsSoOrTheLast) {
  const std::string first = Run("train", "echo one"), second = Run("train", "echo two"),
                    third = Run("other", "echo three");
  const Ran by_name = box_.Tony({"logs", "train"});
  EXPECT_EQ(by_name.exit, 0);
  EXPECT_THAT(by_name.out, HasSubstr("two"));
  EXPECT_EQ(by_name.err, "tony: train is " + second + ", the newest of 2 of this name\n");
  const Ran last = box_.Tony({"status", "last", "--json"});
  EXPECT_EQ(last.exit, 0);
  EXPECT_THAT(last.out, HasSubstr("\"" + third + "\""));
  EXPECT_EQ(last.err, "tony: last is " + third + "\n");
  const Ran end = box_.Tony({"wait", EndOf(first)});
  EXPECT_EQ(end.exit, 0);
  EXPECT_THAT(end.err, StartsWith("tony: " + EndOf(first) + " is " + first + "\n"));
  EXPECT_THAT(box_.Tony({"watch", "last"}).out, HasSubstr(third));
  EXPECT_EQ(box_.Tony({"status", first}).err, "");  // an id is not looked for
}

TEST_F(NamedJobTest, WhatMeansNoneOrSeveralIsUnknown) {
  EXPECT_EQ(box_.Tony({"kill", "last"}).err, "tony: last: there is no job\n");
  const std::string first = Run("a", "true"), second = Run("b", "true");
  const Ran several = box_.Tony({"kill", "local-"});
  EXPECT_EQ(several.exit, 66);
  EXPECT_THAT(several.err, StartsWith("tony: \"local-\" is the beginning of 2 jobs: local-"));
  EXPECT_THAT(several.err, HasSubstr(first));
  EXPECT_THAT(several.err, HasSubstr(second));
  for (const char* word : {"loc", "nobody", "../x", ""}) {
    const Ran none = box_.Tony({"status", word});
    EXPECT_EQ(none.exit, 66) << word;
    EXPECT_EQ(std::ranges::count(none.err, '\n'), 1) << none.err;
  }
}

}  // namespace
}  // namespace tony
