// The pure parts of a task in a container. tests/e2e/podman_test.cc runs containers.
#include "executor/podman_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "runtime/base/strings.h"
#include "runtime/os/podman.h"
#include "tests/support/temp_folder.h"

namespace tony::executor {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(PodmanTaskTest, ATaskInAContainerInheritsTheVariablesOfTheImageOnly) {
  EXPECT_THAT(ContainerEnvironment({"PATH=/opt/bin", "A=1"}, {"PATH=/usr/bin", "HOME=/home/eve"}, false),
              ElementsAre("PATH=/opt/bin", "A=1"));
}

TEST(PodmanTaskTest, TheGpusOfAContainerAreNumberedFromZeroAndKeepTheirNames) {
  const std::vector<std::string> own = {"CUDA_VISIBLE_DEVICES=2,MIG-7,5", "CUDA_DEVICE_ORDER=PCI_BUS_ID"};
  EXPECT_THAT(ContainerEnvironment({"NVIDIA_VISIBLE_DEVICES=all", "CUDA_VISIBLE_DEVICES=9"}, own, true),
              ElementsAre("CUDA_VISIBLE_DEVICES=0,MIG-7,2", "CUDA_DEVICE_ORDER=PCI_BUS_ID"));
  EXPECT_THAT(GpuDevices(own), ElementsAre("nvidia.com/gpu=2", "nvidia.com/gpu=MIG-7", "nvidia.com/gpu=5"));
  EXPECT_THAT(ContainerEnvironment({}, {"CUDA_VISIBLE_DEVICES="}, false), ElementsAre("CUDA_VISIBLE_DEVICES="));
  EXPECT_THAT(GpuDevices({"CUDA_VISIBLE_DEVICES="}), IsEmpty());
}

// Runs a script of LaunchScript() as the shell of a container would.
struct Shell {
  Shell(const std::string& command, const std::vector<std::string>& environment) {
    const std::string script = (folder.path() / "script").string(), out = (folder.path() / "out").string();
    std::ofstream(script) << LaunchScript(command, environment, folder.path() / "started");
    status = FromWaitStatus(std::system(StrCat("/bin/sh ", script, " >", out, " 2>&1").c_str()));
    std::ostringstream text;
    text << std::ifstream(out).rdbuf();
    output = text.str();
  }
  TempFolder folder;
  ExitStatus status;
  std::string output;
};

TEST(PodmanTaskTest, TheScriptSetsEachVariableUnchangedAndReturnsTheCommandsExitCode) {
  const Shell shell("printf '%s|' \"$A\" \"$B\"; exit 3", {"A=it's $HOME `id`\n\\", "B=", "UID=7", "no word=1"});
  EXPECT_EQ(shell.output, "it's $HOME `id`\n\\||");
  EXPECT_EQ(shell.status.value, 3);
  EXPECT_TRUE(std::filesystem::exists(shell.folder.path() / "started"));
}

TEST(PodmanTaskTest, TheScriptReportsTheSignalOfTheCommandAndPrintsNothingItself) {
  const Shell shell("echo last words >&2; kill -KILL $$", {});
  EXPECT_EQ(shell.output, "last words\n");
  EXPECT_EQ(ExitInContainer(shell.status), (ExitStatus{ExitStatus::Kind::kSignaled, 9}));
}

TEST(PodmanTaskTest, OnlyExitCodesAbove128AreSignals) {
  for (const int code : {0, 1, 125, 128, 193, 255})
    EXPECT_EQ(ExitInContainer({ExitStatus::Kind::kExited, code}).kind, ExitStatus::Kind::kExited) << code;
  EXPECT_EQ(ExitInContainer({ExitStatus::Kind::kExited, 143}), (ExitStatus{ExitStatus::Kind::kSignaled, 15}));
  EXPECT_EQ(ExitInContainer({ExitStatus::Kind::kSignaled, 9}), (ExitStatus{ExitStatus::Kind::kSignaled, 9}));
}

TEST(PodmanTest, TheCommandKeepsTheContainerInTheCgroupAndOnTheNetworkOfItsExecutor) {
  const auto words = PodmanCommand("/usr/bin/podman", {.image = "a:1",
                                                       .directory = "/work",
                                                       .folders = {{"/work", "/work"}, {"/in", "/data", true}},
                                                       .devices = {"nvidia.com/gpu=0"},
                                                       .oom_score_adj = "12",
                                                       .script = {"/work/script"}});
  for (const char* word : {"--rm", "--pull=never", "--cgroups=disabled", "--network=host", "--ipc=host", "--workdir=/work",
                           "--volume=/work:/work", "--volume=/in:/data:ro", "--device=nvidia.com/gpu=0",
                           "--oom-score-adj=12"})
    EXPECT_THAT(words, Contains(word));
  EXPECT_EQ(words[words.size() - 2], "a:1");
  EXPECT_EQ(words.back(), "/work/script");
}

TEST(PodmanTest, AProcessOfTheSamePidNamespaceIsInNoContainer) { EXPECT_FALSE(IsInInnerPidNamespace(getpid())); }

}  // namespace
}  // namespace tony::executor
