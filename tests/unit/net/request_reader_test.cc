#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/net/http_server.h"

namespace tony {
namespace {

using testing::ElementsAre;

int RefusalOf(const std::string& bytes) {
  RequestReader reader;
  reader.Add(bytes);
  const auto read = reader.Next();
  return read ? read->refusal : -1;
}

TEST(RequestReaderTest, ARequestReceivedByteByByteIsParsed) {
  const std::string whole = "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n";
  RequestReader reader;
  for (size_t i = 0; i + 1 < whole.size(); ++i) {
    reader.Add(whole.substr(i, 1));
    ASSERT_FALSE(reader.Next()) << i;
  }
  reader.Add("\n");
  const auto read = reader.Next();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->refusal, 0);
  EXPECT_TRUE(read->keep_alive);
  EXPECT_EQ(read->request.method, HttpMethod::kGet);
  EXPECT_THAT(read->request.path, ElementsAre("a"));
  EXPECT_EQ(reader.buffered(), 0u);
}

TEST(RequestReaderTest, PipelinedRequestsAreReadOneByOne) {
  RequestReader reader;
  reader.Add("GET /1 HTTP/1.1\r\n\r\nHEAD /2 HTTP/1.1\r\nConnection: close\r\n\r\nGET /3");
  EXPECT_THAT(reader.Next()->request.path, ElementsAre("1"));
  const auto second = reader.Next();
  EXPECT_EQ(second->request.method, HttpMethod::kHead);
  EXPECT_FALSE(second->keep_alive);
  EXPECT_FALSE(reader.Next());
}

TEST(RequestReaderTest, MethodsOtherThanGetAndHeadAreRefusedWith405AndRequestBodiesWith413) {
  EXPECT_EQ(RefusalOf("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"), 405);
  EXPECT_EQ(RefusalOf("DELETE / HTTP/1.1\r\n\r\n"), 405);
  EXPECT_EQ(RefusalOf("OPTIONS * HTTP/1.1\r\n\r\n"), 405);
  EXPECT_EQ(RefusalOf("GET / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"), 413);
  EXPECT_EQ(RefusalOf("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 413);
  EXPECT_EQ(RefusalOf("GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"), 0);
}

TEST(RequestReaderTest, AReaderThatAllowsBodiesReadsPutAndDelete) {
  RequestReader reader(3);
  reader.Add("PUT /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nab");
  EXPECT_FALSE(reader.Next());
  reader.Add("cDELETE /b HTTP/1.1\r\n\r\nGET /c HTTP/1.1\r\nContent-Length: 1\r\n\r\n");
  const auto put = reader.Next(), removal = reader.Next();
  EXPECT_EQ(put->request.method, HttpMethod::kPut);
  EXPECT_EQ(put->request.body, "abc");
  EXPECT_EQ(removal->request.method, HttpMethod::kDelete);
  EXPECT_EQ(removal->request.body, "");
  EXPECT_EQ(reader.Next()->refusal, 413);
  RequestReader second(3);
  second.Add("PUT /a HTTP/1.1\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(second.Next()->refusal, 413);
}

TEST(RequestReaderTest, MalformedRequestsAreRefusedWith400) {
  EXPECT_EQ(RefusalOf(std::string("\0", 1)), 400);
  EXPECT_EQ(RefusalOf("\x16\x03\x01"), 400);  // TLS
  EXPECT_EQ(RefusalOf("GET / HTTP/9.9\r\n\r\n"), 400);
  EXPECT_EQ(RefusalOf("GET\r\n\r\n"), 400);
  EXPECT_EQ(RefusalOf("GET / HTTP/1.1\r\nbad header\r\n\r\n"), 400);
  EXPECT_EQ(RefusalOf("GET /a\x01 HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(RefusalOf("GET /%00 HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(RefusalOf("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), 400);
}

TEST(RequestReaderTest, ARequestHeaderOf9000BytesIsRefusedWith431) {
  const std::string begin = "GET / HTTP/1.1\r\nX: ";
  EXPECT_EQ(RefusalOf(begin + std::string(7000, 'a') + "\r\n\r\n"), 0);
  EXPECT_EQ(RefusalOf(begin + std::string(9000, 'a')), 431);
  EXPECT_EQ(RefusalOf(begin + std::string(9000, 'a') + "\r\n\r\n"), 431);
}

}  // namespace
}  // namespace tony
