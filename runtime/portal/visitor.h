// Decides who sends a request to the portal. Pure, except ReadLogins().
//
//   with a token    GET /TOKEN/... sets a cookie and redirects to /BASE/...; so does the form of /login. The cookie has
//                   the token. Scripts cannot read it (HttpOnly), and browsers do not send it with requests that
//                   another site starts (SameSite=Strict). Browsers send the cookies of a host to all its ports, and a
//                   port of this machine may belong to another user. Therefore the cookie is only for addresses below
//                   BASE, a word that is derived from the token. With TLS addresses have no BASE, because browsers send
//                   that cookie only to servers with a certificate for this host.
//   with a header   a proxy authenticates the visitors and sends their names. Only connections from the proxies'
//                   addresses are accepted, so no other client can send a name.
//
// A request with a Host header of another name is refused: the script of a site whose name leads to this machine (DNS
// rebinding) is in the same site as the portal for the browser.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/net/http_server.h"

namespace tony {

struct Visitor {
  // Empty: the user who started the portal.
  std::string name;
  // True: the visitor sees the jobs of all users.
  bool sees_all = false;
  bool operator==(const Visitor&) const = default;
};

struct Login {
  std::string token;
  Visitor visitor;
};

// Reads a file of logins: a line "NAME TOKEN" for each user; empty lines and lines with # are left out. `admins` see
// all jobs. kNotPermitted: others can read the file. kInvalid: a line is wrong; the message names its number.
Result<std::vector<Login>> ReadLogins(const std::filesystem::path& file, const std::set<std::string>& admins);

struct Door {
  std::vector<Login> logins;
  // The name of the header in lower case in which proxies send the visitor's name; empty: visitors log in by tokens.
  std::string user_header;
  // The visitors of the proxies who see all jobs.
  std::set<std::string> admins;
  // The hosts that a Host header may name; empty: every host, because only proxies are admitted.
  std::set<std::string> hosts;
  std::string cookie;  // name of the cookie
  // The path of the portal's address as browsers see it, e.g. "/" or "/some/prefix/".
  std::string path = "/";
  // True: browsers send the cookie only by HTTPS.
  bool is_secure = false;
};

// The result for a request: its visitor, or the answer that refuses or redirects it.
struct Entrance {
  std::optional<Visitor> visitor;
  HttpAnswer answer;
  // The first component of the request's path; empty: the portal has no BASE.
  std::string base = {};
};
Entrance Enter(const Door& door, const HttpRequest& request);

// Returns the BASE of the addresses for a token.
std::string BaseOf(const Login& login);

// Returns the path from the request's address up to the portal's address, e.g. "./../".
std::string UpFrom(const HttpRequest& request);

// Returns the host of a Host header or of a URL, without the port and in lower case; "[::1]" keeps its brackets.
std::string HostIn(std::string_view text);
// Returns the path of a URL with a slash at its end, e.g. "/some/prefix/".
std::string PathIn(std::string_view url);

}  // namespace tony
