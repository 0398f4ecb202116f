#include "runtime/job/cluster_spec.h"

#include <gtest/gtest.h>

namespace tony {
namespace {

TEST(ClusterSpecTest, AClusterSpecIsWrittenInAFixedJsonFormAndReadBack) {
  const ClusterSpec spec = {{3}, {{"worker", {{"127.0.0.1", 4711}, {"node-2", 1}}}, {"ps", {{"::1", 65535}}}}};
  const std::string json = ToJson(spec);
  EXPECT_EQ(json, R"({"generation":3,"roles":{"ps":["::1:65535"],"worker":["127.0.0.1:4711","node-2:1"]}})");
  const auto read = ClusterSpecFromJson(json);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, spec);
}

TEST(ClusterSpecTest, NamedPortsAppearInTheJsonOnlyIfThereAreAny) {
  const ClusterSpec spec = {
      {1}, {{"driver", {{"n", 1}}}, {"worker", {{"n", 2}}}}, {{{"driver", 0}, {{"control", 7}, {"data", 8}}}}};
  const std::string json = ToJson(spec);
  EXPECT_EQ(json, R"({"generation":1,"roles":{"driver":["n:1"],"worker":["n:2"]},)"
                  R"("ports":{"driver:0":{"control":7,"data":8}}})");
  EXPECT_EQ(*ClusterSpecFromJson(json), spec);
}

TEST(ClusterSpecTest, PublishedValuesAppearInTheJsonOnlyIfThereAreAny) {
  const ClusterSpec spec = {{1}, {{"driver", {{"n", 1}}}}, {}, {{{"driver", 0}, {{"ADDRESS", "a \"b\""}}}}};
  const std::string json = ToJson(spec);
  EXPECT_EQ(json, R"({"generation":1,"roles":{"driver":["n:1"]},"values":{"driver:0":{"ADDRESS":"a \"b\""}}})");
  EXPECT_EQ(*ClusterSpecFromJson(json), spec);
  EXPECT_FALSE(ClusterSpecFromJson(R"({"generation":1,"roles":{},"values":{"driver:0":{"A":1}}})").ok());
  EXPECT_FALSE(ClusterSpecFromJson(R"({"generation":1,"roles":{},"values":{"driver:0":[]}})").ok());
}

TEST(ClusterSpecTest, ProcessCountsAppearInTheJsonOnlyForRolesWithSeveralProcessesPerTask) {
  const ClusterSpec spec = {{1}, {{"driver", {{"n", 1}}}, {"worker", {{"n", 2}}}}, {}, {}, {{"worker", 3}}};
  const std::string json = ToJson(spec);
  EXPECT_EQ(json, R"({"generation":1,"roles":{"driver":["n:1"],"worker":["n:2"]},"processes":{"worker":3}})");
  EXPECT_EQ(*ClusterSpecFromJson(json), spec);
  EXPECT_EQ(spec.ProcessesOf("worker"), 3);
  EXPECT_EQ(spec.ProcessesOf("driver"), 1);
  for (const std::string bad : {"0", "65", "\"3\"", "null"})
    EXPECT_FALSE(ClusterSpecFromJson(R"({"generation":1,"roles":{},"processes":{"worker":)" + bad + "}}").ok()) << bad;
}

TEST(ClusterSpecTest, APortNameIsUpTo32LowercaseLettersDigitsAndUnderscores) {
  for (const std::string name : {"a", "data", "metrics_2", "abcdefghijklmnopqrstuvwxyz012345"})
    EXPECT_TRUE(IsPortName(name)) << name;
  for (const std::string name : {"", "2", "_a", "Data", "a-b", "a b", "\xc3\xa4", "abcdefghijklmnopqrstuvwxyz0123456"})
    EXPECT_FALSE(IsPortName(name)) << name;
}

TEST(ClusterSpecTest, AParseErrorNamesTheInvalidField) {
  const auto error = [](std::string_view json) {
    const auto read = ClusterSpecFromJson(json);
    return read.ok() ? std::string("accepted") : read.error().message;
  };
  EXPECT_EQ(error("{}"), "cluster spec: field generation: expected a whole number, but the field is missing");
  EXPECT_EQ(error(R"({"generation":1})"), "cluster spec: field roles: expected an object, but the field is missing");
  EXPECT_EQ(error(R"({"generation":-1,"roles":{}})"),
            "cluster spec: field generation: expected a whole number from 0 to 9223372036854775807");
  EXPECT_EQ(error(R"({"generation":1,"roles":[]})"), "cluster spec: field roles: expected an object");
  EXPECT_EQ(error(R"({"generation":1,"roles":{"w":"x"}})"), "cluster spec: field roles.w: expected a list");
  EXPECT_EQ(error(R"({"generation":1,"roles":{"w":[1]}})"), "cluster spec: field roles.w[0]: expected a string");
  for (const std::string address : {"h", "h:", ":1", "h:0", "h:65536", "h:1x", ""}) {
    EXPECT_EQ(error(R"({"generation":1,"roles":{"w":[")" + address + "\"]}}"),
              "cluster spec: field roles.w: expected host:port, not \"" + address + "\"");
  }
  const auto of_ports = [&](const std::string& ports) {
    return error(R"({"generation":1,"roles":{},"ports":)" + ports + "}");
  };
  EXPECT_EQ(of_ports("[]"), "cluster spec: field ports: expected an object");
  EXPECT_EQ(of_ports(R"({"w:0":{"a":0}})"), "cluster spec: field ports.w:0.a: expected a whole number from 1 to 65535");
  EXPECT_NE(of_ports(R"({"w":{}})"), "accepted");
  EXPECT_TRUE(error("{").starts_with("cluster spec: not JSON: ")) << error("{");
}

}  // namespace
}  // namespace tony
