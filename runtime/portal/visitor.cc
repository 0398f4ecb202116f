#include "runtime/portal/visitor.h"

#include <sys/stat.h>

#include <algorithm>

#include "runtime/base/secret.h"
#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"
#include "runtime/page/html.h"

namespace tony {

std::string UpFrom(const HttpRequest& request) {
  std::string up = "./";
  for (size_t i = 1; i < request.path.size(); ++i) up += "../";
  return up;
}

namespace {

// Shorter tokens could be guessed.
constexpr size_t kLeastToken = 16;

bool IsWord(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '@';
  });
}

const Login* LoginOf(const Door& door, std::string_view token) {
  const Login* found = nullptr;
  for (const Login& login : door.logins)
    if (SameSecret(login.token, token)) found = &login;
  return found;
}

std::string HeaderOf(const HttpRequest& request, const char* name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

HttpAnswer PageAnswer(int status, const std::string& title, const std::string& content, const std::string& up) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = std::make_shared<const std::string>(WholePage({title, up, ""}, content));
  return answer;
}

// Returns the beginning of the paths for this login: "BASE/", or an empty text if the portal has TLS.
std::string FolderFor(const Door& door, const Login& login) { return door.is_secure ? "" : StrCat(BaseOf(login), "/"); }

HttpAnswer WithCookie(const Door& door, const Login& login, std::string location) {
  HttpAnswer answer = TextAnswer(303, "");
  answer.headers.emplace_back("Location", std::move(location));
  const std::string base = FolderFor(door, login);
  answer.headers.emplace_back(
      "Set-Cookie", StrCat(door.cookie, "=", login.token, "; Path=", door.path, base, "; HttpOnly; SameSite=Strict",
                           door.is_secure ? "; Secure" : "", "; Max-Age=34560000"));
  return answer;
}

// The token in the address is replaced by a cookie at once, so that the token does not stay in addresses.
HttpAnswer RedirectBehindToken(const Door& door, const HttpRequest& request, const Login& login) {
  std::string location = StrCat(UpFrom(request), FolderFor(door, login));
  for (size_t i = 1; i < request.path.size(); ++i) {
    // A job's path has only characters that need no encoding, except the user's name.
    const bool plain =
        IsWord(request.path[i]) || (request.path[i].starts_with('~') && IsWord(request.path[i].substr(1)));
    if (!plain) break;
    location += StrCat(request.path[i], i + 1 < request.path.size() ? "/" : "");
  }
  return WithCookie(door, login, location);
}

bool IsFromAnotherSite(const HttpRequest& request) {
  const std::string site = HeaderOf(request, "sec-fetch-site"), origin = HeaderOf(request, "origin");
  if (!site.empty()) return site != "same-origin" && site != "none";
  return !origin.empty() && (origin == "null" || origin.substr(origin.find("//") + 2) != HeaderOf(request, "host"));
}

HttpAnswer AnswerLogin(const Door& door, const HttpRequest& request) {
  if (IsFromAnotherSite(request)) return TextAnswer(403, "this request comes from another site\n");
  const std::string_view body = Trim(request.body);
  const Login* login = body.starts_with("token=") ? LoginOf(door, body.substr(6)) : nullptr;
  if (login) return WithCookie(door, *login, StrCat(UpFrom(request), FolderFor(door, *login)));
  return PageAnswer(401, "Log in · TonY", "<h1>This token is not known</h1>\n<p>" + Link("./", "Try again") + "</p>\n",
                    "");
}

HttpAnswer AskForToken(const HttpRequest& request) {
  const std::string up = UpFrom(request);
  HttpAnswer answer = PageAnswer(
      401, "Log in · TonY",
      StrCat(
          "<h1>Log in</h1>\n<form class=\"search\" method=\"post\" action=\"", up,
          "login\">\n<label>Token <input type=\"password\" name=\"token\" autocomplete=\"current-password\"></label>\n"
          "<button>Log in</button>\n</form>\n<p>The address that <code>tony portal</code> printed has the token in it."
          "</p>\n"),
      up);
  // If a link of another site leads here, the browser does not send the cookie. A second request, which this page
  // starts, has it.
  if (HeaderOf(request, "sec-fetch-site") == "cross-site") answer.headers.emplace_back("Refresh", "0");
  return answer;
}

}  // namespace

std::string BaseOf(const Login& login) { return Sha256Hex("base " + login.token).substr(0, 16); }

std::string HostIn(std::string_view text) {
  const size_t slashes = text.find("//");
  if (slashes != std::string_view::npos) text.remove_prefix(slashes + 2);
  text = text.substr(0, text.find('/'));
  const size_t end = text.starts_with('[') ? std::min(text.find(']'), text.size() - 1) + 1 : text.find(':');
  return ToLower(text.substr(0, end));
}

std::string PathIn(std::string_view url) {
  const size_t slashes = url.find("//");
  const size_t begin = url.find('/', slashes == std::string_view::npos ? 0 : slashes + 2);
  std::string path(begin == std::string_view::npos ? "/" : url.substr(begin));
  return path.ends_with('/') ? path : path + '/';
}

Entrance Enter(const Door& door, const HttpRequest& request) {
  if (!door.hosts.empty() && !door.hosts.contains(HostIn(HeaderOf(request, "host"))))
    return {{}, TextAnswer(421, "the portal is not reached under this name; see tony help portal, --url\n")};
  if (!door.user_header.empty()) {
    const std::string name = HeaderOf(request, door.user_header.c_str());
    if (!IsWord(name)) return {{}, TextAnswer(403, "the proxy sent no valid name of a user\n")};
    return {Visitor{name, door.admins.contains(name)}, {}};
  }
  if (request.method == HttpMethod::kPost)
    return {{}, request.path.back() == "login" ? AnswerLogin(door, request) : TextAnswer(405, "")};
  const Login* const in_address = LoginOf(door, request.path.front());
  if (in_address) return {{}, RedirectBehindToken(door, request, *in_address)};
  const Login* const login = LoginOf(door, CookieOf(request, door.cookie));
  if (!login) return {{}, AskForToken(request)};
  if (door.is_secure) return {login->visitor, {}};
  if (!SameSecret(request.path.front(), BaseOf(*login))) return {{}, AskForToken(request)};
  return {login->visitor, {}, request.path.front()};
}

Result<std::vector<Login>> ReadLogins(const std::filesystem::path& file, const std::set<std::string>& admins) {
  struct stat info = {};
  if (::stat(file.c_str(), &info) == 0 && (info.st_mode & 077) != 0)
    return NotPermittedError("token file ", file.string(), ": others can read it; run chmod 600 ", file.string());
  TRY_ASSIGN(const std::string text, ReadFile(file));
  std::vector<Login> logins;
  int number = 0;
  for (const std::string& line : Split(text, '\n')) {
    ++number;
    const std::vector<std::string> words = SplitAtAny(line, " \t\r");
    if (words.empty() || words[0].starts_with('#')) continue;
    if (words.size() != 2 || !IsWord(words[0]) || !IsWord(words[1]) || words[1].size() < kLeastToken)
      return InvalidError("token file ", file.string(), ", line ", number,
                          ": expected NAME TOKEN, a token of at least ", kLeastToken, " letters and digits");
    logins.push_back({words[1], {words[0], admins.contains(words[0])}});
  }
  if (logins.empty()) return InvalidError("token file ", file.string(), ": expected a line NAME TOKEN for each user");
  return logins;
}

}  // namespace tony
