// A $TONY_HOME that many users share, as the defaults of an Azkaban plug-in may set it.
#include "tests/e2e/strangers/strangers_test.h"

namespace tony {
namespace {

class SharedHomeTest : public StrangersTest {
 protected:
  void SetUp() override {
    StrangersTest::SetUp();
    if (IsSkipped()) return;
    home_ = std::make_unique<SharedFolder>(01777);
    alice_ = std::make_unique<OtherUser>();
    bob_ = std::make_unique<OtherUser>();
    mallory_ = std::make_unique<OtherUser>();
  }

  Ran Tony(const OtherUser& user, const Words& words) const {
    return user.Tony(words, {.variables = {{"TONY_HOME", home_->path().string()}}});
  }
  fs::path FolderOf(const OtherUser& user) const { return home_->path() / std::to_string(user.uid()); }
  static void ExpectOneLine(const Ran& ran, int exit, const std::string& words) {
    EXPECT_EQ(ran.exit, exit) << ran.out << ran.err;
    EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(words));
  }

  std::unique_ptr<SharedFolder> home_;
  std::unique_ptr<OtherUser> alice_, bob_, mallory_;
};

TEST_F(SharedHomeTest, EachUserHasAPrivateFolderForJobsInASharedHome_NeedsRoot) {
  for (const OtherUser* user : {alice_.get(), bob_.get()}) {
    const Ran ran = Tony(*user, One("true"));
    EXPECT_EQ(ran.exit, 0) << ran.err;
    struct stat info {};
    ASSERT_EQ(stat(FolderOf(*user).c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, user->uid());
    EXPECT_EQ(info.st_mode & 07777, 0700u);
    const Ran list = Tony(*user, {"list"});
    EXPECT_EQ(CountLines(list.out), 2u) << "the heading and one's own job:\n" << list.out;
    EXPECT_THAT(Tony(*user, {"doctor"}).out, HasSubstr("home: " + FolderOf(*user).string()));
    EXPECT_EQ(Tony(*user, {"gc", "--older-than", "0m"}).exit, 0);
  }
}

TEST_F(SharedHomeTest, TheErrorNamesTheUserWhoBlocksTheFolderOfAnotherUser_NeedsRoot) {
  const fs::path place = FolderOf(*alice_), trap = mallory_->temporary() / "trap";
  const std::string culprit = "uid " + std::to_string(mallory_->uid());
  const std::vector<std::pair<std::string, std::string>> traps = {
      {"mkdir -m 0777 " + place.string(), " belongs to " + culprit},
      {"mkdir -m 0777 " + trap.string() + "; ln -s " + trap.string() + " " + place.string(),
       " is a link that belongs to " + culprit},
      {"touch " + place.string(), " is a file that belongs to " + culprit}};
  for (const auto& [set, words] : traps) {
    ASSERT_EQ(mallory_->Run({"sh", "-c", set}).exit, 0);
    for (const Words& verb : {One("true"), Words{"list"}, Words{"gc"}})
      ExpectOneLine(Tony(*alice_, verb), 77, "tony: home " + place.string() + words);
    const Ran doctor = Tony(*alice_, {"doctor"});
    EXPECT_EQ(doctor.exit, 1);
    EXPECT_THAT(doctor.out, HasSubstr("fail  home: home " + place.string() + words));
    EXPECT_EQ(Tony(*bob_, One("true")).exit, 0) << "nobody else is hindered";
    fs::remove(place);
    if (fs::exists(trap)) {
      EXPECT_TRUE(fs::is_empty(trap));
    }
  }
  EXPECT_EQ(Tony(*alice_, One("true")).exit, 0);
}

TEST_F(SharedHomeTest, ASubmitInAHomeOfAnotherUserIsRefusedWithAOneLineError_NeedsRoot) {
  fs::permissions(home_->path(), fs::perms(0755));
  ASSERT_EQ(chown(home_->path().c_str(), alice_->uid(), alice_->uid()), 0);
  EXPECT_EQ(Tony(*alice_, One("true")).exit, 0);
  EXPECT_TRUE(fs::exists(home_->path() / "jobs")) << "the home of one user, as before";
  const std::string mend = "; its owner or root must run: chmod 1777 " + home_->path().string();
  ExpectOneLine(Tony(*bob_, One("true")), 77, mend);
  const Ran doctor = Tony(*bob_, {"doctor"});
  EXPECT_EQ(doctor.exit, 1);
  EXPECT_THAT(doctor.out, HasSubstr("fail  home: home " + home_->path().string()));
  fs::permissions(home_->path(), fs::perms(01777));
  EXPECT_EQ(Tony(*bob_, One("true")).exit, 0);
  const Ran list = Tony(*alice_, {"list"});
  EXPECT_EQ(CountLines(list.out), 2u) << "her jobs are where they were:\n" << list.out;
}

TEST_F(SharedHomeTest, SimultaneousFirstJobsOfThreeUsersInASharedHomeSucceed_NeedsRoot) {
  std::vector<std::unique_ptr<Background>> jobs;
  for (const OtherUser* user : {alice_.get(), bob_.get(), alice_.get(), mallory_.get(), bob_.get()}) {
    jobs.push_back(user->Start(Words{"tony"} + One("true"), {.variables = {{"TONY_HOME", home_->path().string()}}}));
  }
  for (const auto& job : jobs) {
    const Ran ran = job->Wait();
    EXPECT_EQ(ran.exit, 0) << ran.err;
  }
}

}  // namespace
}  // namespace tony
