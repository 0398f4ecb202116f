#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/net/host_resolver.h"
#include "runtime/os/name_service.h"
#include "runtime/os/start_program.h"

namespace tony {
namespace {

// The time limit for getent. When this time is over, the system's resolver has tried two servers twice, and has given
// up.
constexpr Duration kLongestAnswer{30000};

// Returns an address that the machine knows from other sources than the hosts file and name servers. A static program
// cannot use these sources itself, so getent does.
std::optional<std::string> ResolveWithGetent(const std::string& host) {
  if (host.empty() || host.starts_with('-')) return std::nullopt;
  const auto answer = RunProgram({"/usr/bin/getent", "ahostsv4", host}, kLongestAnswer);
  if (!answer.ok() || answer->exit_code != 0) return std::nullopt;
  std::string address = answer->output.substr(0, answer->output.find_first_of(" \t\n"));
  in_addr numeric{};
  const bool is_numeric = ::inet_pton(AF_INET, address.c_str(), &numeric) == 1;
  return is_numeric ? std::optional(std::move(address)) : std::nullopt;
}

}  // namespace

Result<std::string> ResolveHost(const std::string& host) {
  const bool asks_machine = RestrictNameService();
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    if (asks_machine && error == EAI_NONAME) {
      if (auto address = ResolveWithGetent(host)) return *std::move(address);
    }
    return UnavailableError("resolve ", host, ": ", ToLower(::gai_strerror(error)));
  }
  char text[INET_ADDRSTRLEN] = "";
  const auto* address = reinterpret_cast<const sockaddr_in*>(found->ai_addr);
  ::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
  ::freeaddrinfo(found);
  return std::string(text);
}

}  // namespace tony
