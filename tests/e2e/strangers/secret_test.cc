// A job with many secrets, and another user who reads everything that is readable on this machine, while the job runs
// and after its end.
#include "tests/e2e/strangers/searcher.h"
#include "tests/e2e/strangers/strangers_test.h"

namespace tony {
namespace {

using Secrets = std::map<std::string, std::string>;

// The secrets of the job, except for two tokens that the job makes itself.
const Secrets& Planted() {
  static const Secrets planted = {{"the submitter's environment", "hush-submitter-91"},
                                  {"a variable of the job file", "hush-variable-92"},
                                  {"a secret key of the job file", "hush-property-93"},
                                  {"a variable of tony-site.xml", "hush-site-94"},
                                  {"a file of src_dir", "hush-source-95"},
                                  {"the task's output file", "hush-output-96"},
                                  {"what the task printed", "hush-printed-97"},
                                  {"the task's own variable", "hush-task-98"}};
  return planted;
}

class SecretTest : public StrangersTest {
 protected:
  void SetUp() override {
    StrangersTest::SetUp();
    if (IsSkipped()) return;
    shared_ = std::make_unique<SharedFolder>();
    ledger_ = shared_->MakeLedger();
    owner_ = std::make_unique<OtherUser>(ledger_);
    stranger_ = std::make_unique<OtherUser>(ledger_);
  }

  // The user's own files have the modes that the user gives them. The tests check the files that the programs write.
  void Plant() {
    secrets_ = Planted();
    owner_->Do([home = owner_->home()] {
      fs::create_directory(home / "src");
      fs::create_directory(home / "conf");
      for (const char* folder : {"src", "conf"}) fs::permissions(home / folder, fs::perms::owner_all);
      return std::string();
    });
    // The script fails if a secret is missing, prints and writes secrets of its own, and waits for the file "go".
    const std::string script =
        "[ \"$MY_TOKEN$CLIENT_SECRET$API_KEY\" = hush-submitter-91hush-variable-92hush-site-94 ] || exit 3\n"
        "export OWN=hush-task-98\necho hush-printed-97; echo hush-printed-97 >&2\n"
        "printf '{\"answer\":\"hush-output-96\"}' > \"$TONY_OUTPUT_FILE\"\n# hush-source-95\n"
        "touch \"$HOME/running\"; until [ -e \"$HOME/go\" ]; do sleep 0.05; done\n";
    ASSERT_TRUE(owner_->Write(owner_->home() / "src/train.sh", script, 0600));
    ASSERT_TRUE(owner_->Write(owner_->home() / "conf/tony-site.xml",
                              "<configuration><property><name>tony.containers.env.API_KEY</name>"
                              "<value>hush-site-94</value></property></configuration>",
                              0600));
    ASSERT_TRUE(owner_->Write(owner_->home() / "job.properties",
                              "tony.execution.envs=CLIENT_SECRET=hush-variable-92\ntony.secret.key=hush-property-93\n"
                              "tony.application.framework=standalone\ntony.worker.instances=1\n",
                              0600));
  }

  void Start(mode_t umask) {
    Plant();
    setting_ = {.variables = {{"MY_TOKEN", "hush-submitter-91"}}, .umask = umask};
    submit_ =
        owner_->Start({"tony", "submit", "job.properties", "-src_dir", "src", "-executes", "sh train.sh"}, setting_);
    ASSERT_TRUE(WaitForFile(owner_->home() / "running")) << submit_->out() << submit_->err();
    const auto jobs = fs::directory_iterator(owner_->tony_home() / "jobs");
    for (const fs::directory_entry& entry : jobs) job_ = entry.path();
    Secrets own = {{"the job's token", ReadText(job_ / "token")}, {"the page's token", PageToken()}};
    for (auto& [what, secret] : own) {
      while (!secret.empty() && secret.back() == '\n') secret.pop_back();
      ASSERT_GE(secret.size(), 16u) << what;
      secrets_[what] = secret;
    }
  }

  // Returns TOKEN of the address http://HOST:PORT/TOKEN/.
  std::string PageToken() const {
    const Ran ran = owner_->Tony({"status", job_.filename().string(), "--json"}, setting_);
    std::string url = Text(ParseJson(ran.out), "/tracking_url");
    while (!url.empty() && url.back() == '/') url.pop_back();
    return url.substr(url.rfind('/') + 1);
  }

  Ran SearchAs(const OtherUser& who) const {
    const auto search = [this] {
      Searcher searcher(secrets_, owner_->uid());
      searcher.Folder(owner_->home().parent_path());
      searcher.Folder(ledger_.parent_path());
      for (const char* folder : {"/tmp", "/var/tmp", "/dev/shm", "/run"}) searcher.Folder(folder, true);
      searcher.Processes();
      searcher.Sockets();
      return searcher.Report();
    };
    // The search reads all of /proc, possibly on a busy machine.
    return who.Do(search, Limit(120000));
  }

  // The same search with the owner's rights finds nearly all secrets, so a secret that the stranger does not find is
  // protected.
  void ExpectClosed(bool running) const {
    const Ran own = SearchAs(*owner_), stranger = SearchAs(*stranger_);
    EXPECT_THAT(own.out, HasSubstr(": the job's token\n")) << own.err;
    EXPECT_THAT(own.out, HasSubstr(": what the task printed\n"));
    EXPECT_THAT(own.out, HasSubstr(": the task's output file\n"));
    EXPECT_THAT(own.out, HasSubstr(": a secret key of the job file\n"));
    EXPECT_NE(own.out.ends_with(" 0 sockets\n"), running) << own.out;
    EXPECT_THAT(own.out, HasSubstr(": a file of src_dir\n"));
    EXPECT_THAT(stranger.out, StartsWith("looked at ")) << stranger.err;
  }

  // Runs the verbs as the stranger, with the stranger's home and with the owner's home: no answer has a secret.
  void ExpectTellNothing() const {
    const std::string job = job_.filename().string();
    for (const fs::path& home : {stranger_->tony_home(), owner_->tony_home()}) {
      for (const Words& words : {Words{"list", "--queue", "--json"},
                                 {"list"},
                                 {"status", job, "--json"},
                                 {"logs", job},
                                 {"outputs", job},
                                 {"history"},
                                 {"history", job},
                                 {"history", job, "--conf"},
                                 {"doctor"},
                                 {"kill", job},
                                 {"wait", job}}) {
        const Ran ran = stranger_->Tony(words, {.variables = {{"TONY_HOME", home.string()}}});
        Searcher searcher(secrets_, owner_->uid());
        searcher.Text("tony " + words.front(), ran.out + ran.err);
        EXPECT_THAT(searcher.Report(), StartsWith("looked at ")) << home;
      }
    }
  }

  // Checks that neither the logs for operators nor the terminal show a secret. The output of a task is the user's own,
  // and the terminal may show the page's address.
  void ExpectNotInLogs(const Ran& submit) const {
    Secrets hushed = secrets_;
    hushed.erase("what the task printed");
    Searcher logs(hushed, owner_->uid());
    int count = 0;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(job_)) {
      if (!entry.path().string().ends_with(".log")) continue;
      logs.Text(entry.path().string(), ReadText(entry.path()));
      ++count;
    }
    EXPECT_GE(count, 3);  // keeper, master and executor
    EXPECT_THAT(logs.Report(), StartsWith("looked at "));
    hushed.erase("the page's token");
    Searcher terminal(hushed, owner_->uid());
    terminal.Text("tony submit", submit.out + submit.err);
    EXPECT_THAT(terminal.Report(), StartsWith("looked at "));
  }

  void End() {
    ASSERT_TRUE(owner_->Write(owner_->home() / "go", ""));
    const Ran ran = submit_->Wait();
    EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
    ExpectNotInLogs(ran);
  }

  std::unique_ptr<SharedFolder> shared_;
  fs::path ledger_, job_;
  std::unique_ptr<OtherUser> owner_, stranger_;
  OtherUser::Setting setting_;
  std::unique_ptr<Background> submit_;
  Secrets secrets_;
};

TEST_F(SecretTest, NoOtherUserFindsASecretDuringOrAfterTheJob) {
  Start(022);
  ExpectClosed(true);
  ExpectTellNothing();
  End();
  ExpectClosed(false);
  ExpectTellNothing();
}

// The home and the folders above it are open, so only the modes that the programs set protect the files.
TEST_F(SecretTest, AJobsFilesArePrivateEvenWithAnUmaskOfZero) {
  Start(0);
  ExpectClosed(true);
  End();
  ExpectClosed(false);
  EXPECT_THAT(stranger_
                  ->Do([home = owner_->tony_home()] {
                    std::string open;
                    for (const fs::directory_entry& entry : fs::directory_iterator(home)) {
                      const fs::perms mode = entry.status().permissions();
                      if ((mode & fs::perms::others_all) != fs::perms::none) open += entry.path().string() + " ";
                    }
                    return open;
                  })
                  .out,
              IsEmpty());
}

// Every user can read a command line while its program runs. Only the submit has the value there, no program of the
// job.
TEST_F(SecretTest, OtherUsersCannotSeeASecretOfTheCommandLineOnceTheSubmitHasExited) {
  secrets_ = {{"a flag of the submit", "hush-flag-90"}};
  const Ran ran = owner_->Tony({"submit", "--detach", "-shell_env", "DB_PASSWORD=hush-flag-90", "-executes",
                                "touch $HOME/running; until [ -e $HOME/go ]; do sleep 0.05; done", "-conf",
                                "tony.application.framework=standalone", "-conf", "tony.worker.instances=1"});
  ASSERT_EQ(ran.exit, 0) << ran.err;
  ASSERT_TRUE(WaitForFile(owner_->home() / "running"));
  EXPECT_THAT(SearchAs(*owner_).out, HasSubstr("/environ: a flag of the submit\n"));
  EXPECT_THAT(SearchAs(*owner_).out, Not(HasSubstr("/cmdline: ")));
  EXPECT_THAT(SearchAs(*stranger_).out, StartsWith("looked at "));
  ASSERT_TRUE(owner_->Write(owner_->home() / "go", ""));
  EXPECT_TRUE(WaitFor([this] { return owner_->Processes().empty(); }));
}

}  // namespace
}  // namespace tony
