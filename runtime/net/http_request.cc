#include "runtime/net/http_request.h"

#include <algorithm>

namespace tony {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsControlByte(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

std::optional<std::string> Decode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (IsControlByte(c)) return std::nullopt;
    decoded.push_back(c);
  }
  return decoded;
}

// Unlike Split() of strings.h it keeps an empty last piece: "/logs/" is not "/logs".
std::vector<std::string_view> Pieces(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

bool IsComponent(const std::string& name) { return name != "." && name != ".." && name.find('/') == std::string::npos; }

bool ReadPath(std::string_view text, HttpRequest& request) {
  for (const std::string_view piece : Pieces(text, '/')) {
    std::optional<std::string> name = Decode(piece);
    if (!name || !IsComponent(*name)) return false;
    request.path.push_back(*std::move(name));
  }
  return true;
}

bool ReadQuery(std::string_view text, HttpRequest& request) {
  for (const std::string_view piece : Pieces(text, '&')) {
    const size_t equals = std::min(piece.find('='), piece.size());
    const auto name = Decode(piece.substr(0, equals));
    const auto value = Decode(piece.substr(std::min(equals + 1, piece.size())));
    if (!name || !value) return false;
    if (!name->empty()) request.query[*name] = *value;
  }
  return true;
}

}  // namespace

HttpAnswer TextAnswer(int status, std::string text) {
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .body = std::make_shared<const std::string>(std::move(text)),
          .headers = {}};
}

std::string CookieOf(const HttpRequest& request, std::string_view name) {
  for (std::string_view piece : Pieces(request.cookies, ';')) {
    while (piece.starts_with(' ')) piece.remove_prefix(1);
    if (piece.starts_with(name) && piece.substr(name.size()).starts_with('='))
      return std::string(piece.substr(name.size() + 1));
  }
  return "";
}

HttpAnswer NotFound() { return TextAnswer(404, "not found\n"); }

std::optional<HttpRequest> ParseTarget(std::string_view target) {
  if (target.empty() || target.front() != '/') return std::nullopt;
  const size_t question = std::min(target.find('?'), target.size());
  HttpRequest request;
  if (!ReadPath(target.substr(1, question - 1), request)) return std::nullopt;
  if (question < target.size() && !ReadQuery(target.substr(question + 1), request)) return std::nullopt;
  return request;
}

}  // namespace tony
