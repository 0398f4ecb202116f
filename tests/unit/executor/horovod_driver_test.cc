#include "executor/horovod_driver.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"

namespace tony::executor {
namespace {

class RendezvousStoreTest : public testing::Test {
 protected:
  // Sends "PUT /scope/key value", and returns the status and the body of the answer.
  std::string Send(HttpMethod method, const std::string& path, const std::string& body = "") {
    HttpRequest request = *ParseTarget(path);
    request.method = method;
    request.body = body;
    const HttpAnswer answer = store_.Handle(request);
    return StrCat(answer.status, " ", answer.body ? *answer.body : "");
  }

  RendezvousStore store_{*HorovodSlots("h1:2,h2:1"), 100};
};

TEST_F(RendezvousStoreTest, AValueIsReadBackAndAMissingOneIsNotFound) {
  EXPECT_EQ(Send(HttpMethod::kGet, "/global/0").substr(0, 4), "404 ");
  const std::string binary("\0\xff\r\n", 4);
  EXPECT_EQ(Send(HttpMethod::kPut, "/global/0", binary), "200 ");
  EXPECT_EQ(Send(HttpMethod::kGet, "/global/0"), "200 " + binary);
  EXPECT_EQ(Send(HttpMethod::kPut, "/global/0", "b"), "200 ");
  EXPECT_EQ(Send(HttpMethod::kGet, "/global/0"), "200 b");
  EXPECT_EQ(Send(HttpMethod::kGet, "/global").substr(0, 4), "400 ");
}

// A program may call hvd.init() again. It must not find the addresses of the first time.
TEST_F(RendezvousStoreTest, AScopeOfThePlanIsEmptiedWhenItsLastWorkerHasLeft) {
  const std::pair<std::string, int> scopes[] = {{"global", 3}, {"local_h1", 2}, {"local_h2", 1}, {"cross_0", 2}};
  for (const auto& [scope, workers] : scopes) {
    Send(HttpMethod::kPut, StrCat("/", scope, "/0_1"), "x");
    for (int left = 0; left < workers; ++left) {
      EXPECT_EQ(Send(HttpMethod::kGet, StrCat("/", scope, "/0_1")), "200 x") << scope << " " << left;
      Send(HttpMethod::kDelete, StrCat("/", scope, "/", left));
      Send(HttpMethod::kDelete, StrCat("/", scope, "/", left));  // a repeated request counts once
    }
    EXPECT_EQ(Send(HttpMethod::kGet, StrCat("/", scope, "/0_1")).substr(0, 4), "404 ") << scope;
  }
}

TEST_F(RendezvousStoreTest, AScopeOfTheProgramsOwnLosesOneKey) {
  Send(HttpMethod::kPut, "/own/a", "1");
  Send(HttpMethod::kPut, "/own/b", "2");
  EXPECT_EQ(Send(HttpMethod::kDelete, "/own/a"), "200 ");
  EXPECT_EQ(Send(HttpMethod::kDelete, "/other/a"), "200 ");
  EXPECT_EQ(Send(HttpMethod::kGet, "/own/a").substr(0, 4), "404 ");
  EXPECT_EQ(Send(HttpMethod::kGet, "/own/b"), "200 2");
}

TEST_F(RendezvousStoreTest, AFullStoreRefusesMoreAndForgetsWhatIsDeleted) {
  EXPECT_EQ(Send(HttpMethod::kPut, "/own/1", std::string(60, 'x')), "200 ");
  EXPECT_EQ(Send(HttpMethod::kPut, "/global/1", std::string(40, 'x')), "200 ");
  EXPECT_EQ(Send(HttpMethod::kPut, "/own/2", "x").substr(0, 4), "413 ");
  Send(HttpMethod::kDelete, "/own/1");
  EXPECT_EQ(Send(HttpMethod::kPut, "/own/2", std::string(60, 'x')), "200 ");
}

}  // namespace
}  // namespace tony::executor
