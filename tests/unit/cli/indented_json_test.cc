#include <gtest/gtest.h>

#include "runtime/cli/output.h"

namespace tony {
namespace {

TEST(IndentedJsonTest, NestedJsonIsPrintedWithOneMemberPerLine) {
  EXPECT_EQ(IndentedJson(R"({"a":[1,{}],"b":{"c":"x,{\"}"},"d":[]})"),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": {\n    \"c\": \"x,{\\\"}\"\n  },\n  \"d\": []\n}");
  EXPECT_EQ(IndentedJson("{}"), "{}");
}

}  // namespace
}  // namespace tony
