#include "runtime/config/keys.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tony {
namespace {

std::string_view RowOf(std::string_view name) {
  const Key* key = FindKey(name);
  return key ? key->name : "none";
}

TEST(KeysTest, AKeyIsFoundByItsNameOrByAPattern) {
  EXPECT_EQ(RowOf("tony.application.name"), "tony.application.name");
  EXPECT_EQ(RowOf("tony.worker.memory"), "tony.<role>.memory");
  EXPECT_EQ(RowOf("tony.am.memory"), "tony.am.memory");
  EXPECT_EQ(RowOf("tony.task.max-total-gpus"), "tony.task.max-total-gpus");
  EXPECT_EQ(RowOf("tony.task.max-total-fpga"), "tony.task.max-total-<resource>");
  EXPECT_EQ(RowOf("tony.execution.env.a.b=c"), "tony.execution.env.<NAME>");
  EXPECT_EQ(RowOf("tony.application.group.A"), "tony.application.group.<group>");
  EXPECT_EQ(RowOf("tony.restart.scope"), "tony.restart.scope");
  EXPECT_EQ(RowOf("tony.output.memory"), "tony.output.<NAME>");
  EXPECT_EQ(RowOf("tony.output.a.b/c"), "tony.output.<NAME>");
  EXPECT_EQ(RowOf("tony.output.restart.scope"), "tony.output.<NAME>");
  EXPECT_EQ(RowOf("tony.worker.restart.scope"), "tony.<role>.restart.scope");
  EXPECT_EQ(RowOf("tony.application.dependency.worker.timeout.after.A"),
            "tony.application.dependency.<role>.timeout.after.<group>");
  EXPECT_EQ(RowOf("tony.application.dependency.worker.timeout.after.A.ignored"),
            "tony.application.dependency.<role>.timeout.after.<group>.ignored");
}

TEST(KeysTest, WhatNoRowSaysIsUnknown) {
  for (const auto* name :
       {"tony.worker2.memory", "tony..memory", "tony.Worker.memory", "tony.worker.memory.x", "tony.",
        "tony.execution.env.", "tony.container.command", "tony.<role>.memory", "worker.memory", ""}) {
    EXPECT_EQ(RowOf(name), "none") << name;
  }
}

TEST(KeysTest, TheNearestKeyCorrectsASlip) {
  EXPECT_EQ(NearestKey("tony.worker.memroy"), "tony.worker.memory");
  EXPECT_EQ(NearestKey("tony.worker.instance"), "tony.worker.instances");
  EXPECT_EQ(NearestKey("tony.aplication.name"), "tony.application.name");
  EXPECT_EQ(NearestKey("tony.container.command"), "tony.containers.command");
  EXPECT_EQ(NearestKey("tony.application.frame-work"), "tony.application.framework");
}

TEST(KeysTest, NothingIsNearToSomethingElse) {
  EXPECT_EQ(NearestKey("tony.something.entirely.different.from.all"), "");
  EXPECT_EQ(NearestKey(std::string(100'000, 'x')), "");
}

TEST(KeysTest, TheTableHasEachKeyOnceWithAText) {
  std::set<std::string_view> names;
  for (const auto& key : AllKeys()) {
    EXPECT_TRUE(key.name.starts_with("tony.")) << key.name;
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_FALSE(key.text.empty()) << key.name;
    EXPECT_FALSE(key.text.ends_with('.')) << key.name;
    EXPECT_FALSE(ToString(key.type).empty());
    if (key.effect == KeyEffect::kRefused) {
      EXPECT_TRUE(key.default_value.empty() || key.default_value == "false") << key.name;
    }
  }
}

TEST(KeysTest, EveryRowIsFoundByAnInstanceOfItself) {
  for (const auto& key : AllKeys()) {
    std::string name(key.name);
    for (size_t at = name.find('<'); at != std::string::npos; at = name.find('<')) {
      name.replace(at, name.find('>') - at + 1, "x");
    }
    EXPECT_EQ(RowOf(name), key.name);
  }
}

TEST(KeysTest, WhatHasNoEffectOrIsRefusedSaysWhy) {
  for (const Key& key : AllKeys()) {
    EXPECT_FALSE(key.reason.ends_with('.')) << key.name;
    const bool needs_reason = key.effect == KeyEffect::kNotNeeded || key.effect == KeyEffect::kRefused;
    EXPECT_FALSE(needs_reason && key.reason.empty()) << key.name;
  }
}

TEST(KeysTest, AKeyMayHaveAnEffectOnOneSchedulerAlone) {
  const auto why = [](std::string_view name, std::string_view scheduler) {
    return WhyNoEffect(*FindKey(name), scheduler);
  };
  EXPECT_EQ(why("tony.application.name", "yarn"), "");
  EXPECT_EQ(why("tony.yarn.queue", "yarn"), "");
  EXPECT_EQ(why("tony.yarn.queue", "local"), "no effect without tony.scheduler=yarn");
  EXPECT_EQ(why("tony.local.priority", "local"), "");
  EXPECT_EQ(why("tony.local.priority", "yarn"), "no effect without tony.scheduler=local");
  EXPECT_EQ(why("tony.worker.allocation-tags", "local"), "no effect yet");
  EXPECT_EQ(why("tony.task.executor.jvm.opts", "local"), "no effect: there is no Java in ours");
}

TEST(KeysTest, ADefaultIsKnownHoweverItIsWritten) {
  const auto is_default = [](std::string_view name, std::string_view value) {
    return IsDefault(*FindKey(name), value);
  };
  EXPECT_TRUE(is_default("tony.task.gpu-metrics.enabled", " TRUE "));
  EXPECT_FALSE(is_default("tony.task.gpu-metrics.enabled", "false"));
  EXPECT_TRUE(is_default("tony.application.timeout", "00"));
  EXPECT_FALSE(is_default("tony.application.timeout", "soon"));
  EXPECT_TRUE(is_default("tony.task.suspect-after-ms", ""));
  EXPECT_FALSE(is_default("tony.task.suspect-after-ms", "0"));
  EXPECT_TRUE(is_default("tony.worker.memory", "2G"));
  EXPECT_FALSE(is_default("tony.yarn.queue", "DEFAULT"));
}

}  // namespace
}  // namespace tony
