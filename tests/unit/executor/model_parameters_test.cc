#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "executor/evidence.h"
#include "runtime/job/outputs.h"
#include "tests/support/temp_folder.h"

namespace tony::executor {
namespace {

class ModelParametersTest : public testing::Test {
 protected:
  std::optional<std::string> Of(const std::string& text) {
    const auto file = folder_.path() / "stdout";
    std::ofstream(file) << text;
    return ReadModelParameters(file);
  }

  TempFolder folder_;
};

TEST_F(ModelParametersTest, TheFirstLineThatHasThemCounts) {
  EXPECT_EQ(Of("INFO Model parameters: a=1 b=2\nModel parameters: c\n"), "a=1 b=2");
  EXPECT_EQ(Of("Model parameters: \n"), "");
  EXPECT_EQ(Of("Model parameters: without an end"), "without an end");
  EXPECT_EQ(Of("Model parameters: of Windows\r\n"), "of Windows");
  EXPECT_EQ(Of("Model parameters:none\n"), std::nullopt);
  EXPECT_EQ(Of(""), std::nullopt);
}

TEST_F(ModelParametersTest, TheyAreFoundWhereverTheyStand) {
  for (const size_t before : {65'535u, 65'536u, 65'530u, 131'060u, 400'000u})
    EXPECT_EQ(Of(std::string(before, 'x') + "Model parameters: a\n"), "a") << before;
}

TEST_F(ModelParametersTest, NoMoreIsReadThanCanBeHandedOn) {
  EXPECT_EQ(Of("Model parameters: " + std::string(100'000, 'x'))->size(), kLongestModelParams + 1);
}

TEST_F(ModelParametersTest, NoLinkIsFollowed) {
  std::ofstream(folder_.path() / "other") << "Model parameters: a\n";
  std::filesystem::create_symlink(folder_.path() / "other", folder_.path() / "link");
  EXPECT_EQ(ReadModelParameters(folder_.path() / "link"), std::nullopt);
  EXPECT_EQ(ReadModelParameters(folder_.path() / "none"), std::nullopt);
}

}  // namespace
}  // namespace tony::executor
