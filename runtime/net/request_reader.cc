#include "runtime/net/request_reader.h"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <utility>

namespace tony {
namespace {

namespace http = boost::beast::http;

ReadRequest Refused(int status) { return {.refusal = status}; }

ReadRequest Parse(std::string_view header) {
  http::request_parser<http::empty_body> parser;
  parser.header_limit(RequestReader::kLongestHeader);
  boost::system::error_code error;
  parser.put(boost::asio::const_buffer(header.data(), header.size()), error);
  if (!parser.is_header_done()) return Refused(400);
  const auto& message = parser.get();
  if (message.method() != http::verb::get && message.method() != http::verb::head) return Refused(405);
  if (parser.chunked() || parser.content_length().value_or(0) > 0) return Refused(413);
  const std::string target(message.target());
  std::optional<HttpRequest> request = ParseTarget(target);
  if (!request) return Refused(400);
  request->head = message.method() == http::verb::head;
  request->cookies = std::string(message[http::field::cookie]);
  return {.keep_alive = message.keep_alive(), .request = *std::move(request)};
}

}  // namespace

std::optional<ReadRequest> RequestReader::Next() {
  if (in_.empty()) return std::nullopt;
  // What is no HTTP at all need not be waited for.
  if (in_.front() < 'A' || in_.front() > 'Z') return Refused(400);
  constexpr std::string_view kEnd = "\r\n\r\n";
  const size_t end = std::string_view(in_).substr(0, kLongestHeader).find(kEnd);
  if (end == std::string::npos && in_.size() >= kLongestHeader) return Refused(431);
  if (end == std::string::npos) return std::nullopt;
  const std::string header = in_.substr(0, end + kEnd.size());
  in_.erase(0, header.size());
  return Parse(header);
}

}  // namespace tony
