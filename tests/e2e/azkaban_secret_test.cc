// Secrets among a step's properties reach its task, and no file that other users can read.
#include <utility>

#include "tests/e2e/azkaban_test.h"

namespace tony {
namespace {

class AzkabanSecretTest : public AzkabanTest {
 protected:
  AzkabanSecretTest() {
    step_.properties["worker_env.API_TOKEN"] = "hush-1-hush";
    step_.properties["tony.containers.env.DB_PASSWORD"] = "hush-2-hush";
    step_.properties["main.args"] = "-shell_env SECRET=hush-3-hush";
  }
  // Checks that each file with a secret is private to the user, and that no log has one.
  void ExpectHushed(const Ran& ran) const {
    EXPECT_THAT(ran.out, Not(HasSubstr("hush-")));
    EXPECT_THAT(ReadText(step_.attachment_file()), Not(HasSubstr("hush-")));
    EXPECT_THAT(ReadText(step_.outputs_file()), Not(HasSubstr("hush-")));
    for (const auto& entry : fs::recursive_directory_iterator(box_.folder())) {
      const std::string path = entry.path().string();
      struct stat info {};
      if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || path.starts_with(step_.folder().string()) ||
          ReadText(path).find("hush-") == std::string::npos)
        continue;
      EXPECT_EQ(info.st_mode & 0077, 0u) << path;
      EXPECT_THAT(path,
                  AllOf(Not(testing::EndsWith(".log")), Not(HasSubstr("/logs/")), StartsWith(box_.home().string())));
    }
  }
};

TEST_F(AzkabanSecretTest, SecretsReachTheTaskButAppearInNoLog) {
  step_.properties["executes"] = "test $API_TOKEN-$DB_PASSWORD-$SECRET = hush-1-hush-hush-2-hush-hush-3-hush";
  const Ran ran = step_.Run();
  ExpectEnd(ran, 0);
  ExpectHushed(ran);
}

TEST_F(AzkabanSecretTest, FailureReportsContainNoSecrets) {
  step_.properties["executes"] = "echo broken >&2; exit 5";
  const Ran ran = step_.Run();
  ExpectEnd(ran, 1);
  ExpectHushed(ran);
}

TEST_F(AzkabanSecretTest, ErrorsAboutInvalidPropertiesContainNoSecrets) {
  const auto refused = [this](const std::string& property, const std::string& value) {
    auto before = std::exchange(step_.properties[property], value);
    const Ran ran = step_.Run();
    ExpectEnd(ran, 65);
    ExpectHushed(ran);
    EXPECT_THAT(box_.Jobs(), IsEmpty());
    step_.properties[property] = std::move(before);
  };
  refused("tony.execution.envs", "A=1,hush-4-hush");
  refused("main.args", "-shell_env hush-5-hush");
  refused("main.args", "-shell_env SECRET=1 -hush-6-hush=1");
  refused("main.args", "-conf hush-7-hush");
  refused("main.args", "hush-8-hush");
}

}  // namespace
}  // namespace tony
