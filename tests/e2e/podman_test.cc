// Tasks in containers of a real podman. The image is made from files of this machine and imported into a store of the
// tests' own. The unit `podman` of the long lane sets TONY_PODMAN_TESTS, because each container takes half a second.
#include <sched.h>
#include <sys/mount.h>

#include "runtime/base/strings.h"
#include "tests/e2e/tony_test.h"
#include "tests/support/cgroup_look.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

constexpr const char* kImage = "localhost/tony-test:1";

// Makes the image: dash, bash, some programs and the libraries that they load.
constexpr const char* kMakeImage = R"sh(
set -euo pipefail
mkdir -p "$1"/root/{bin,etc,lib64,proc,sys,dev,run,tmp,root}
for program in sh bash cat env head id ls mkdir sleep stat tail touch; do
  file=$(readlink -f "$(command -v $program)")
  cp "$file" "$1/root/bin/$program"
  ldd "$file" | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$1/root$(dirname "$library")" && cp -Lu "$library" "$1/root$library"
  done
done
echo image-1 >"$1/root/etc/made"
tar -C "$1/root" -c . | podman import --change 'ENV FROM_IMAGE=yes' --change 'ENV PATH=/bin' - "$2" >/dev/null
)sh";

// Hides things of this machine from the tests' processes: a controller of cgroup v2 beside cgroup v1, with which crun
// does not run at all, and descriptions of real GPUs.
void EnterOwnMounts() {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
  const char* controllers = "/sys/fs/cgroup/unified/cgroup.controllers";
  if (!ReadText(controllers).empty()) (void)mount("/dev/null", controllers, nullptr, MS_BIND, nullptr);
  std::error_code error;
  fs::create_directories("/run/cdi", error);
  (void)mount("tmpfs", "/run/cdi", "tmpfs", 0, nullptr);
}

class PodmanTest : public TonyTest {
 protected:
  static void SetUpTestSuite() {
    if (!WhyNot().empty()) return;
    EnterOwnMounts();
    store_ = std::make_unique<TempFolder>();
    std::ofstream(store_->path() / "storage.conf")
        << "[storage]\ndriver = \"overlay\"\ngraphroot = \"" << store_->path().string() << "/graph\"\nrunroot = \""
        << store_->path().string() << "/run\"\n";
    setenv("CONTAINERS_STORAGE_CONF", (store_->path() / "storage.conf").c_str(), 1);
    std::ofstream(store_->path() / "make") << kMakeImage;
    const std::string make = StrCat("bash ", (store_->path() / "make").string(), " ", store_->path().string(), " ");
    ASSERT_EQ(std::system((make + kImage).c_str()), 0);
  }
  static void TearDownTestSuite() { store_.reset(); }

  void SetUp() override {
    if (const std::string why = WhyNot(); !why.empty()) GTEST_SKIP() << why;
  }
  void TearDown() override {
    if (store_) EXPECT_EQ(Podman("ps --all --noheading"), "") << "a container is left";
  }

  static std::string WhyNot() {
    if (!getenv("TONY_PODMAN_TESTS")) return "the unit podman of the long lane sets TONY_PODMAN_TESTS";
    if (geteuid() != 0) return "needs root";
    if (std::system("command -v podman crun >/dev/null") != 0) return "podman and crun are not installed";
    return "";
  }

  static std::string Podman(const std::string& words) {
    FILE* const pipe = popen(("podman --runtime=crun " + words).c_str(), "r");
    std::string text(4096, '\0');
    text.resize(fread(text.data(), 1, text.size(), pipe));
    EXPECT_EQ(pclose(pipe), 0) << words;
    return text;
  }

  Words InImage(const std::string& command, const Words& more = {}) const {
    return One(command, Words{StrCat("tony.worker.image=", kImage), "tony.worker.memory=300m",
                              StrCat("tony.containers.mounts=", box_.folder().string(), ":", box_.folder().string())} +
                            more);
  }
  static inline std::unique_ptr<TempFolder> store_;
};

TEST_F(PodmanTest, ATaskSeesTheFilesAndVariablesOfItsImageAndItsJob) {
  fs::create_directories(box_.File("src"));
  box_.Write("src/data", "of the job\n");
  const std::string checkpoints = box_.File("checkpoints");
  Succeeds(InImage("cat /etc/made data; echo \"$FROM_IMAGE,$OWN,$TONY_TASK,$PATH,$SUBMITTERS\"; pwd; id -u; "
                   "touch here $TONY_CHECKPOINT_DIR/1; ls /home; [ ! -e /usr/bin/python3 ]",
                   {"tony.execution.env.OWN=it's\ntwo lines", "tony.checkpoint.dir=" + checkpoints,
                    "tony.src-dir=" + box_.File("src")}),
           {{"SUBMITTERS", "not here"}});
  const fs::path work = box_.JobFolder(Job()) / "work/worker-0/1";
  EXPECT_EQ(LogText("worker-0", "stdout"),
            StrCat("image-1\nof the job\nyes,it's\ntwo lines,worker:0,/bin,\n", work.string(), "\n0\n"));
  for (const fs::path& file : {work / "here", fs::path(checkpoints) / "1"}) {
    struct stat status {};
    EXPECT_EQ(stat(file.c_str(), &status), 0) << file;
    EXPECT_EQ(status.st_uid, geteuid());
  }
}

TEST_F(PodmanTest, ARoleWithTheImageNoneRunsWithoutAContainer) {
  Succeeds(Workers(1, "cat /etc/made; true",
                   {StrCat("tony.containers.image=", kImage), "tony.chief.instances=1", "tony.chief.image=none"}));
  EXPECT_EQ(LogText("worker-0", "stdout"), "image-1\n");
  EXPECT_EQ(LogText("chief-0", "stdout"), "");
}

TEST_F(PodmanTest, TheExitCodeOfTheTaskIsThatOfItsCommand) {
  Fails(1, InImage("echo a reason >&2; exit 7"));
  EXPECT_EQ(Number(Status(), "/verdict/exit_code"), 7);
  EXPECT_EQ(LogText("worker-0", "stderr"), "a reason\n");
}

// A job without roles, whose image has the key tony.am.image.
TEST_F(PodmanTest, ACommandKilledByASignalIsReportedWithTheSignal) {
  Fails(1, Words{"submit", "-executes", "kill -SEGV $$"} + Conf(StrCat("tony.am.image=", kImage)));
  EXPECT_EQ(Number(Status(), "/verdict/signal"), SIGSEGV);
  EXPECT_EQ(LogText("driver-0", "stderr"), "");
}

TEST_F(PodmanTest, TonysDockerKeysRunTheTaskInTheirImage) {
  box_.Write("input", "mounted\n");
  Succeeds(One("cat /etc/made /in/input", {"tony.docker.enabled=true", "tony.docker.worker.image=localhost/none:1",
                                           "tony.docker.containers.image=localhost/none:1",
                                           StrCat("tony.docker.worker.image=", kImage),
                                           StrCat("tony.docker.containers.mount=", box_.folder().string(), ":/in:ro")}));
  EXPECT_EQ(LogText("worker-0", "stdout"), "image-1\nmounted\n");
}

TEST_F(PodmanTest, AKilledTaskGetsSigtermOnceAndMaySaveItsWork) {
  const std::string saved = box_.File("saved");
  auto client = Hold(InImage(StrCat("trap 'echo TERM >>", saved, "; sleep 0.3; echo done >>", saved, "; exit' TERM; ",
                                    HoldUntilGo())));
  Succeeds({"kill", Job()});
  client->Wait();
  EXPECT_EQ(ReadText(saved), "TERM\ndone\n");
  ExpectNothingLeft();
}

TEST_F(PodmanTest, ATaskThatIgnoresSigtermIsKilledAfterItsGrace) {
  auto client = Hold(InImage("trap '' TERM; " + HoldUntilGo(), {"tony.task.stop-grace-ms=500"}));
  Succeeds({"kill", Job()});
  client->Wait();
  ExpectNothingLeft();
}

TEST_F(PodmanTest, AContainerContinuesWhenMasterAndKeeperAreKilled) {
  auto client = Hold(InImage(HoldUntilGo()));
  KillTogether({"tony-am"});
  ASSERT_TRUE(WaitFor([&] { return Epoch() == 2; }));
  KillTogether();
  ASSERT_TRUE(WaitFor([&] { return Epoch() == 3; }));
  GoAndEnd(*client);
  EXPECT_EQ(Number(Status(), "/tasks/0/attempt"), 1);
  ExpectNothingLeft();
}

TEST_F(PodmanTest, TheContainerOfAKilledExecutorEndsAndTheTaskRunsAgain) {
  auto client = Hold(InImage(HoldUntilGo()));
  fs::remove(Running("worker-0"));
  KillTogether({"tony-executor"});
  ASSERT_TRUE(WaitForRunning(1)) << client->err();
  GoAndEnd(*client);
  EXPECT_EQ(Number(Status(), "/tasks/0/attempt"), 2);
  ExpectNothingLeft();
}

TEST_F(PodmanTest, TheTaskEndsWithItsContainerWhenPodmanOrConmonIsKilled) {
  for (const char* program : {"podman", "conmon"}) {
    auto client = Hold(InImage(HoldUntilGo(), {"tony.restart.lost.budget=0"}));
    const std::string killed = StrCat("kill -KILL $(podman ps --format '{{.Names}}' | while read -r name; do ps -eo ",
                                      "pid,comm,args | awk -v n=$name -v c=", program,
                                      " '$2 == c && index($0, n) {print $1}'; done)");
    EXPECT_EQ(std::system(killed.c_str()), 0) << program;
    EXPECT_NE(client->Wait().exit, 0) << program;
    ExpectNothingLeft();
    fs::remove(Running("worker-0"));
  }
}

TEST_F(PodmanTest, TheMemoryLimitOfTheTaskHoldsInTheContainer_NeedsWritableCgroup) {
  if (LookForCgroups().limits.empty()) GTEST_SKIP() << "no cgroup with a memory limit can be made";
  Fails(1, InImage("head -c 900M /dev/zero | tail >/dev/null; exit 137"));
  const auto status = Status();
  EXPECT_EQ(Text(status, "/verdict/class"), "oom");
  EXPECT_THAT(Text(status, "/verdict/message"), HasSubstr("the container's limit of 300 MB was reached"));
  ExpectNothingLeft();
}

TEST_F(PodmanTest, ProcessesThatACommandLeavesEndWithItsContainer) {
  Succeeds(InImage("sleep 1000 & sleep 1001 & exit 0"));
  ExpectNothingLeft();
}

TEST_F(PodmanTest, AMissingImageOrFolderIsReportedBeforeAnythingStarts) {
  const Words missing = Words{"submit", "-executes", "true"} + Confs({"tony.worker.instances=1"});
  ExpectRefused(missing + Conf("tony.worker.image=localhost/none:1"), 66,
                {"image localhost/none:1 of role worker: podman has no such image", "podman import"});
  ExpectRefused(missing + Confs({StrCat("tony.worker.image=", kImage), "tony.containers.mounts=/no/folder:/x"}), 69,
                {"podman cannot run a container in it: statfs /no/folder: no such file"});
}

TEST_F(PodmanTest, AContainerHasOnlyItsOwnGpus) {
  box_.SetMachine(R"({"memory_mb": 10000, "gpus": [0, 1]})");
  std::string devices;
  for (const char* gpu : {"0", "1"})
    devices += StrCat(devices.empty() ? "" : ",", R"({"name":")", gpu, R"(","containerEdits":{"env":["GPU_)", gpu,
                      R"(=here"],"deviceNodes":[{"path":"/dev/nvidia)", gpu,
                      R"(","hostPath":"/dev/null","type":"c","major":1,"minor":3}]}})");
  std::ofstream("/run/cdi/test.json") << R"({"cdiVersion":"0.3.0","kind":"nvidia.com/gpu","devices":[)" << devices
                                      << "]}";
  const std::string show = "ls /dev/nvidia*; echo $CUDA_VISIBLE_DEVICES";
  Succeeds(InImage(show, {"tony.worker.gpus=1", "tony.local.gpu-devices=1"}));
  EXPECT_EQ(LogText("worker-0", "stdout"), "/dev/nvidia1\n0\n");
  fs::remove("/run/cdi/test.json");
}

// ---- without podman

TEST(WithoutPodmanTest, AJobWithAnImageIsRefusedOnAMachineWithoutPodman) {
  const Sandbox box;
  const Ran ran = box.Tony(Words{"submit", "-executes", "true"} +
                               Confs({"tony.worker.instances=1", "tony.containers.image=localhost/x:1"}),
                           {{"PATH", "/nowhere"}});
  EXPECT_EQ(ran.exit, 66);
  EXPECT_EQ(ran.err,
            "tony: image localhost/x:1 of role worker: this machine has no podman; install podman and crun (Debian: apt "
            "install podman crun)\n");
  EXPECT_THAT(box.Jobs(), IsEmpty());
}

}  // namespace
}  // namespace tony
