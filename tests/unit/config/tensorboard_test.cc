#include <gtest/gtest.h>

#include <map>
#include <string>

#include "runtime/config/submit_flags.h"

namespace tony {
namespace {

// What stands in the properties after `set` and AddTensorBoard(), beside what was set.
std::map<std::string, std::string> AddedTo(const std::map<std::string, std::string>& set,
                                           const std::string& python = "") {
  Properties properties;
  for (const auto& [key, value] : set) properties.Set(key, {value, "-conf"});
  AddTensorBoard(python, properties);
  std::map<std::string, std::string> added;
  for (const auto& [key, property] : properties.all())
    if (!set.contains(key) || set.at(key) != property.value) added[key] = property.value;
  return added;
}

using SetOfKeys = std::map<std::string, std::string>;
const SetOfKeys kTwoWorkers = {{"tony.application.tensorboard-log-dir", "/logs"}, {"tony.worker.instances", "2"}};

SetOfKeys WithTwoWorkers(SetOfKeys more) {
  more.insert(kTwoWorkers.begin(), kTwoWorkers.end());
  return more;
}

std::string BoardCommandOf(const SetOfKeys& set, const std::string& python = "") {
  return AddedTo(set, python)["tony.tensorboard.command"];
}

TEST(TensorBoardTest, WithoutAFolderThereIsNone) {
  EXPECT_EQ(AddedTo({{"tony.worker.instances", "2"}}), SetOfKeys());
  EXPECT_EQ(AddedTo({{"tony.worker.instances", "2"}, {"tony.application.tensorboard-log-dir", " "}}), SetOfKeys());
}

TEST(TensorBoardTest, AJobWithRolesHasOneMoreAndAllKnowTheFolder) {
  EXPECT_EQ(AddedTo(kTwoWorkers),
            (SetOfKeys{{"tony.execution.env.TB_LOG_DIR", "/logs"},
                       {"tony.tensorboard.command",
                        R"(exec python3 -m tensorboard.main --logdir "$TB_LOG_DIR" --port "$TB_PORT")"},
                       {"tony.tensorboard.instances", "1"}}));
}

TEST(TensorBoardTest, ItRunsInTheJobsPython) {
  EXPECT_TRUE(BoardCommandOf(kTwoWorkers, "/opt/bin/python").starts_with("exec /opt/bin/python -m "));
  EXPECT_TRUE(
      BoardCommandOf(WithTwoWorkers({{"tony.python-venv", "env.zip"}})).starts_with("exec venv/bin/python3 -m "));
}

TEST(TensorBoardTest, OnlyOnAClusterItListensBeyondItsMachine) {
  EXPECT_TRUE(BoardCommandOf(WithTwoWorkers({{"tony.scheduler", "YARN"}})).ends_with(" --bind_all"));
  EXPECT_FALSE(BoardCommandOf(WithTwoWorkers({{"tony.scheduler", "local"}})).ends_with(" --bind_all"));
}

TEST(TensorBoardTest, WhatTheUserSaidStays) {
  EXPECT_EQ(AddedTo(WithTwoWorkers({{"tony.tensorboard.instances", "0"}})),
            (SetOfKeys{{"tony.execution.env.TB_LOG_DIR", "/logs"}}));
  EXPECT_EQ(
      AddedTo(WithTwoWorkers({{"tony.tensorboard.command", "board.sh"}, {"tony.execution.env.TB_LOG_DIR", "/mine"}})),
      (SetOfKeys{{"tony.tensorboard.instances", "1"}}));
}

TEST(TensorBoardTest, ItIsASidecarAlsoWhereTheListWasReplaced) {
  const auto sidecars = [](const std::string& list) {
    return AddedTo(WithTwoWorkers({{"tony.application.sidecar.jobtypes", list}}))["tony.application.sidecar.jobtypes"];
  };
  EXPECT_EQ(sidecars("proxy"), "proxy,tensorboard");
  EXPECT_EQ(sidecars(" "), " tensorboard");
  EXPECT_EQ(sidecars("proxy, tensorboard"), "");
}

TEST(TensorBoardTest, BesideALoneCommandThereIsNone) {
  for (const SetOfKeys& roles : {SetOfKeys{}, SetOfKeys{{"tony.worker.instances", "0"}}}) {
    SetOfKeys set = roles;
    set["tony.application.tensorboard-log-dir"] = "/logs";
    EXPECT_EQ(AddedTo(set), (SetOfKeys{{"tony.execution.env.TB_LOG_DIR", "/logs"}}));
  }
}

}  // namespace
}  // namespace tony
