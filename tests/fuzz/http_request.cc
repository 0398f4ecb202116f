// Fuzzes the requests to the job's page, from a browser or from any other program that finds the port. The first byte
// sets the length of the pieces.
#include "runtime/net/http_server.h"
#include "tests/fuzz/fuzz.h"

namespace tony::fuzz {
namespace {

// The components become names of files to open.
void CheckComponents(const HttpRequest& request) {
  for (const std::string& name : request.path) {
    CHECK(name != "." && name != ".." && name.find('/') == std::string::npos && name.find('\0') == std::string::npos);
  }
}

}  // namespace

void Read(std::string_view input) {
  if (input.empty()) return;
  const size_t piece = 1 + static_cast<unsigned char>(input.front()) * 4;
  RequestReader reader;
  for (input.remove_prefix(1); !input.empty(); input.remove_prefix(std::min(piece, input.size()))) {
    reader.Add(input.substr(0, piece));
    while (const auto read = reader.Next()) {
      if (read->refusal != 0) {
        CHECK(read->refusal >= 400 && read->refusal < 500);
        return;
      }
      CheckComponents(read->request);
    }
    // An incomplete request has at most the longest header.
    CHECK(reader.buffered() <= RequestReader::kLongestHeader + piece);
  }
}

std::vector<std::string> Seeds() {
  const std::string token = "/0123456789abcdef/";
  return {"\xffGET " + token + "?all=1 HTTP/1.1\r\nHost: localhost:4711\r\nAccept: text/html\r\n\r\n",
          "\xffGET " + token + "status.json?since=3&timeout=5 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
          "\xffHEAD " + token + "logs/worker-3/1/stderr.txt?max=100&cursor=7 HTTP/1.0\r\n\r\n",
          "\x01GET /a%20b/%C3%A4/ HTTP/1.1\r\nContent-Length: 0\r\n\r\nGET /2 HTTP/1.1\r\n\r\n",
          "\xffPOST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
          "\xffGET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"};
}

}  // namespace tony::fuzz
