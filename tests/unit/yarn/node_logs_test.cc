#include "runtime/yarn/node_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/yarn/yarn_ends.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string NodeAnswer(const std::string& length, const std::string& text) {
  return "Container: container_1_0001_01_000002 on node_1\nLogAggregationType: LOCAL\n====\nLogType:stdout\n"
         "LogLastModifiedTime:Thu\nLogLength:" +
         length + "\nLogContents:\n" + text + "\nEnd of LogType:stdout.\n";
}

TEST(NodeLogsTest, TheTextIsFoundInANodesAnswer) {
  const auto log = NodeLogIn(NodeAnswer("6", "hello\n"), "stdout");
  ASSERT_TRUE(log.ok()) << log.error().message;
  EXPECT_EQ(log->size, 6);
  EXPECT_THAT(log->parts, ElementsAre(LogExcerpt::Part{0, "hello\n"}));
}

TEST(NodeLogsTest, WhatALogSaysOfItsLengthIsText) {
  const std::string text = "LogLength:7\nLogContents:\nx\n";
  const auto log = NodeLogIn(NodeAnswer(std::to_string(text.size()), text), "stdout");
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->parts.front().text, text);
}

TEST(NodeLogsTest, OfALongLogTheEndIsThere) {
  const std::string text(static_cast<size_t>(kMostOfNodeLog), 'x');
  const auto log = NodeLogIn(NodeAnswer(std::to_string(kMostOfNodeLog + 10), text), "stdout");
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->size, kMostOfNodeLog + 10);
  ASSERT_EQ(log->parts.size(), 1u);
  EXPECT_EQ(log->parts.front().begin, 10);
  EXPECT_EQ(log->parts.front().text, text);
}

TEST(NodeLogsTest, AnEmptyLogHasNoParts) {
  const auto log = NodeLogIn(NodeAnswer("0", ""), "stdout");
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->size, 0);
  EXPECT_TRUE(log->parts.empty());
}

TEST(NodeLogsTest, AnythingElseIsNoLog) {
  for (const char* body : {"", "<html>", "\nLogContents:\n\nLogLength:3\n", "x\nLogLength:many\nLogContents:\n"})
    EXPECT_EQ(NodeLogIn(body, "stdout").error().code, ErrorCode::kInvalid) << body;
}

TEST(NodeLogsTest, ALinkLeadsToANodeAndAContainer) {
  const std::string link = LinkToLogs("node:8042", "container_1_0001_01_000002", "eve");
  EXPECT_EQ(link, "http://node:8042/node/containerlogs/container_1_0001_01_000002/eve");
  EXPECT_EQ(ParseLogLink(link).node, "http://node:8042");
  EXPECT_EQ(ParseLogLink(link).container, "container_1_0001_01_000002");
  EXPECT_EQ(LinkToLogs("", "container_1_0001_01_000002", "eve"), "") << "its address is not known";
  const auto log = FetchNodeLog("http://elsewhere/", "stdout");
  EXPECT_THAT(log.error().message, HasSubstr("no link to a node's logs"));
}

}  // namespace
}  // namespace tony
