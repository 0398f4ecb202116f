// Fuzzes the answers to an executor's requests, from a NameNode or from an attacker in its place. The first byte sets
// the length of the pieces.
#include "runtime/net/http_client.h"
#include "tests/fuzz/fuzz.h"

namespace tony::fuzz {

void Read(std::string_view input) {
  if (input.empty()) return;
  const size_t piece = 1 + static_cast<unsigned char>(input.front()) * 4;
  input.remove_prefix(1);
  for (size_t end = std::min(piece, input.size());; end = std::min(end + piece, input.size())) {
    const auto response = HttpResponseIn(input.substr(0, end), false);
    if (!response.ok()) return;
    if (*response) {
      CHECK((*response)->status >= 100 && (*response)->body.size() <= kMostOfGet);
      const auto more = HttpResponseIn(input, true);
      CHECK(!more.ok() || (*more && (*more)->body == (*response)->body));
      return;
    }
    if (end == input.size()) break;
  }
  const auto last = HttpResponseIn(input, true);
  CHECK(!last.ok() || *last);
}

std::vector<std::string> Seeds() {
  return {"\xffHTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"XAttrs\":[]}",
          "\x01HTTP/1.0 404 Not Found\r\nServer: x\r\n\r\nnot here",
          "\xffHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"};
}

}  // namespace tony::fuzz
