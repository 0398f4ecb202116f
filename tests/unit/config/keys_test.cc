// Tests of the table of configuration keys.
#include "runtime/config/keys.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "runtime/base/strings.h"
#include "tests/support/table_test.h"

namespace tony {
namespace {

std::string RowOf(const std::string& name) {
  const Key* key = FindKey(name);
  return key ? std::string(key->name) : "none";
}

const TestRow kNames[] = {
    {"AKeyIsFoundByItsNameOrByAPattern",
     {{"tony.application.name", "tony.application.name"},
      {"tony.worker.memory", "tony.<role>.memory"},
      {"tony.am.memory", "tony.am.memory"},
      {"tony.task.max-total-gpus", "tony.task.max-total-gpus"},
      {"tony.task.max-total-fpga", "tony.task.max-total-<resource>"},
      {"tony.execution.env.a.b=c", "tony.execution.env.<NAME>"},
      {"tony.application.group.A", "tony.application.group.<group>"},
      {"tony.restart.scope", "tony.restart.scope"},
      {"tony.output.{memory|a.b/c|restart.scope}", "tony.output.<NAME>"},
      {"tony.worker.restart.scope", "tony.<role>.restart.scope"},
      {"tony.application.dependency.worker.timeout.after.A",
       "tony.application.dependency.<role>.timeout.after.<group>"},
      {"tony.application.dependency.worker.timeout.after.A.ignored",
       "tony.application.dependency.<role>.timeout.after.<group>.ignored"}}},
    {"AKeyThatMatchesNoRowOfTheKeyTableIsUnknown",
     {{"tony.{worker2.memory|.memory|Worker.memory|worker.memory.x||execution.env.|container.command|<role>.memory}",
       "none"},
      {"{worker.memory|}", "none"}}},
};
TABLE_TEST(KeysTest, kNames, Gives(RowOf));

const TestRow kNearest[] = {
    {"TheNearestKeyIsSuggestedForAMisspelledKey",
     {{"tony.worker.memroy", "tony.worker.memory"},
      {"tony.worker.instance", "tony.worker.instances"},
      {"tony.aplication.name", "tony.application.name"},
      {"tony.container.command", "tony.containers.command"},
      {"tony.application.frame-work", "tony.application.framework"}}},
    {"NoNearestKeyIsSuggestedForAVeryDifferentName",
     {{"tony.something.entirely.different.from.all", ""}, {std::string(100'000, 'x'), ""}}},
};
TABLE_TEST(KeysTest, kNearest, Gives([](const std::string& name) { return std::string(NearestKey(name)); }));

// Reads "SCHEDULER KEY", and returns why the key has no effect there.
std::string WhyNone(const std::string& given) {
  const size_t blank = given.find(' ');
  return std::string(WhyNoEffect(*FindKey(given.substr(blank + 1)), given.substr(0, blank)));
}

const TestRow kEffects[] = {
    {"AKeyOfOneSchedulerHasNoEffectOnTheOtherScheduler",
     {{"yarn tony.application.name", ""},
      {"yarn tony.yarn.queue", ""},
      {"local tony.yarn.queue", "no effect without tony.scheduler=yarn"},
      {"local tony.local.priority", ""},
      {"yarn tony.local.priority", "no effect without tony.scheduler=local"},
      {"local tony.worker.allocation-tags", "no effect without tony.scheduler=yarn"},
      {"local tony.task.executor.jvm.opts", "no effect: TonY in C++ runs no Java"}}},
};
TABLE_TEST(KeysTest, kEffects, Gives(WhyNone));

std::string IsTheDefault(const std::string& given) {
  const size_t equals = given.find('=');
  return IsDefault(*FindKey(given.substr(0, equals)), given.substr(equals + 1)) ? "yes" : "no";
}

const TestRow kDefaults[] = {
    {"ADefaultValueIsRecognizedInAnySpelling",
     {{"{tony.task.gpu-metrics.enabled= TRUE "
       "|tony.application.timeout=00|tony.task.suspect-after-ms=|tony.worker.memory=2G}",
       "yes"},
      {"{tony.task.gpu-metrics.enabled=false|tony.application.timeout=soon|tony.task.suspect-after-ms=0|tony.yarn."
       "queue=DEFAULT}",
       "no"}}},
};
TABLE_TEST(KeysTest, kDefaults, Gives(IsTheDefault));

TEST(KeysTest, TheKeyTableHasEachKeyOnceWithADescription) {
  std::set<std::string_view> names;
  for (const auto& key : AllKeys()) {
    EXPECT_TRUE(key.name.starts_with("tony.")) << key.name;
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_FALSE(key.text.empty()) << key.name;
    EXPECT_FALSE(key.text.ends_with('.')) << key.name;
    EXPECT_FALSE(ToString(key.type).empty());
  }
}

TEST(KeysTest, EveryRowOfTheKeyTableIsFoundByAKeyThatMatchesItsPattern) {
  for (const auto& key : AllKeys()) {
    std::string name(key.name);
    for (size_t at = name.find('<'); at != std::string::npos; at = name.find('<')) {
      name.replace(at, name.find('>') - at + 1, "x");
    }
    EXPECT_EQ(RowOf(name), key.name);
  }
}

TEST(KeysTest, EveryUnneededKeyHasAReason) {
  for (const Key& key : AllKeys()) {
    EXPECT_FALSE(key.reason.ends_with('.')) << key.name;
    EXPECT_FALSE(key.effect == KeyEffect::kNotNeeded && key.reason.empty()) << key.name;
  }
}

}  // namespace
}  // namespace tony
