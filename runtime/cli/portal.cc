// `tony portal`: serves the jobs of this user, or of all users if root runs it, to browsers until Ctrl-C. Also `tony
// history --serve`, the name of the same command in earlier releases. With --json: {"schema":1,"url":"http://..."}.
#include "runtime/portal/portal.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "runtime/base/event_loop.h"
#include "runtime/base/strings.h"
#include "runtime/cli/command_line.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/options.h"
#include "runtime/cli/output.h"
#include "runtime/net/http_server.h"
#include "runtime/net/sockets.h"
#include "runtime/net/tls.h"
#include "runtime/os/files.h"
#include "runtime/os/start_program.h"
#include "runtime/os/users.h"
#include "runtime/page/page_address.h"
#include "runtime/portal/job_reader.h"
#include "runtime/records/files_for_others.h"
#include "runtime/records/user_home.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// `tony portal --reader UID`: the process that reads the files of one user. The portal starts it with a socket as its
// standard input, and starts it as root if the portal serves all users.

Result<uid_t> ReaderUser(const CommandLine& line) {
  const auto uid = ParseInt(line.Value("reader"));
  if (!uid || *uid < 0 || *uid >= UINT32_MAX) return RefusedOption(line, "reader", "the number of a user");
  return static_cast<uid_t>(*uid);
}

Result<int> RunReader(const CommandLine& line) {
  TRY_ASSIGN(const uid_t uid, ReaderUser(line));
  TRY(BecomeUser(uid));
  // Nothing that this process starts gets more rights, and nothing of it outlives the portal.
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  TRY_ASSIGN(const fs::path named, NamedHome());
  TRY_ASSIGN(const UserHome home, FindHome(named, uid));
  EventLoop loop;
  JobReader reader(loop, UserName(uid), home.is_there ? std::optional(home.path) : std::nullopt);
  TRY_ASSIGN(UniqueFd socket, Duplicate(STDIN_FILENO));
  constexpr Duration kForever = std::chrono::hours(1'000'000);
  const HttpLimits limits{.header = kForever, .idle = kForever, .stalled = kForever};
  const HttpHandler handler = [&](const HttpRequest& request, const HttpReply& reply) { reader.Serve(request, reply); };
  const HttpConnection::Context context{loop, limits, handler};
  const auto connection =
      std::make_shared<HttpConnection>(context, MakePlainChannel(std::move(socket)), [&loop] { loop.Stop(); });
  connection->Begin();
  loop.Run();
  return 0;
}

// The variables of root's environment that the process of another user gets. Others may be secrets, or may name root to
// a cluster.
bool IsForOtherUsers(std::string_view variable) {
  constexpr std::string_view kNames[] = {
      "PATH",        "LANG",          "TZ",          "TONY_HOME", "TONY_LEDGER", "TONY_CONF_DIR", "HADOOP_CONF_DIR",
      "HADOOP_HOME", "YARN_CONF_DIR", "KRB5_CONFIG", "JAVA_HOME"};
  return std::ranges::count(kNames, variable.substr(0, variable.find('='))) > 0;
}

Result<pid_t> StartReader(uid_t uid, int socket) {
  std::vector<std::string> variables = OwnEnvironment();
  if (uid != geteuid()) std::erase_if(variables, [](const std::string& each) { return !IsForOtherUsers(each); });
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  return StartProgram({SiblingProgram("tony"), "portal", "--reader", StrCat(uid)}, environment.data(),
                      {.input = socket});
}

// Returns the users of this machine that may have jobs, if root runs the portal; otherwise only this user.
std::vector<Portal::User> UsersHere(const std::vector<std::string>& wanted) {
  const uid_t own = geteuid();
  std::vector<Portal::User> users = {{UserName(own), own}};
  if (own != 0) return users;
  const auto add = [&](const std::string& name, uid_t uid) {
    const bool is_wanted = wanted.empty() || std::ranges::count(wanted, name) > 0;
    const bool is_new = std::ranges::count(users, uid, &Portal::User::uid) == 0;
    if (is_wanted && is_new && !name.empty()) users.push_back({name, uid});
  };
  const auto named = NamedHome();
  std::error_code error;
  if (std::getenv("TONY_HOME") && named.ok()) {
    for (const auto& entry : fs::directory_iterator(*named, error)) {
      const auto uid = ParseInt(entry.path().filename().string());
      if (uid && *uid > 0 && *uid < UINT32_MAX) add(UserName(static_cast<uid_t>(*uid)), static_cast<uid_t>(*uid));
    }
  } else {
    std::ifstream passwd("/etc/passwd");
    for (std::string text; std::getline(passwd, text);) {
      const auto user = ParsePasswdLine(text);
      // A home that root may not look at, e.g. on a file server, may have jobs.
      if (user && (access((user->folder + "/.tony").c_str(), F_OK) == 0 || errno == EACCES)) add(user->name, user->uid);
    }
    for (const std::string& name : wanted) {
      const auto user = FindUser(name);
      if (user.ok() && *user) add(name, (*user)->uid);
    }
  }
  if (!wanted.empty() && std::ranges::count(wanted, users.front().name) == 0) users.erase(users.begin());
  return users;
}

Status CheckUsers(const std::vector<std::string>& wanted) {
  if (!wanted.empty() && geteuid() != 0) return Error{ErrorCode::kUsage, "--user is only for root's portal"};
  for (const std::string& name : wanted) {
    TRY_ASSIGN(const auto user, FindUser(name));
    if (!user) return NotFoundError("--user ", name, ": this machine has no such user");
  }
  return Ok();
}

// Returns the port of the address: that of --port, or the one of the last start, so that the address stays the same.
struct Port {
  int number = 0;
  bool is_kept = false;
};
Result<Port> PortOf(const CommandLine& line, const fs::path& kept) {
  if (!line.Has("port")) {
    const auto text = ReadFile(kept);
    const auto port = text.ok() ? ParseInt(Trim(*text)) : std::nullopt;
    return Port{port && *port > 0 && *port <= 65535 ? static_cast<int>(*port) : 0, true};
  }
  const auto port = ParseInt(line.Value("port"));
  if (port && *port >= 0 && *port <= 65535) return Port{static_cast<int>(*port)};
  return RefusedOption(line, "port", "a number from 0 to 65535");
}

// Returns the token of the portal's address. If this user cannot write in $TONY_HOME, no token can be saved there, and
// each start makes a new token.
std::string TokenOf(const fs::path& home) {
  constexpr int kTokenBytes = 16;
  const auto kept = KeepPageToken(home / "history" / "page-token");
  if (kept.ok()) return *kept;
  Say(StrCat("tony: the address of this page will be different at the next start, because the token in the address ",
             "cannot be saved: ", kept.error().message));
  return RandomHex(kTokenBytes);
}

Result<UniqueFd> Listen(const std::string& host, const Port& port) {
  Result<UniqueFd> listening = ListenOn({host, port.number});
  if (listening.ok() || !port.is_kept || port.number == 0) return listening;
  return UnavailableError(listening.error().message,
                          ": the port of the last start; a portal of this user may be running already, and --port "
                          "chooses another port");
}

// The way in: where the portal listens, who may connect, and how visitors log in.

// Checks which options belong together. Beyond this machine the portal needs TLS and a login.
Status CheckWayIn(const CommandLine& line, const std::string& host) {
  const auto refuse = [](const auto&... text) -> Status { return Error{ErrorCode::kUsage, StrCat(text...)}; };
  if (line.Has("cert") != line.Has("key")) return refuse("--cert and --key belong together");
  if (line.Has("tokens") && line.Has("user-header")) return refuse("expected --tokens or --user-header, not both");
  if (line.Has("proxy") != line.Has("user-header")) return refuse("--user-header and --proxy belong together");
  for (const std::string& proxy : line.Values("proxy")) {
    // Every user of this machine can connect from an address of this machine, and could send any name. Only such an
    // address can be listened on.
    if (IsLoopback(proxy) || ListenOn({proxy, 0}).ok())
      return refuse("--proxy ", proxy,
                    ": expected the address of another machine, because every user of this machine "
                    "can connect from this address");
  }
  if (IsLoopback(host)) return Ok();
  if (!line.Has("cert"))
    return refuse("--listen ", host, " is not the loopback device: expected --cert FILE and --key FILE");
  if (!line.Has("tokens") && !line.Has("user-header"))
    return refuse("--listen ", host,
                  " is not the loopback device: expected --tokens FILE, or --user-header NAME with "
                  "--proxy ADDRESS");
  if (host == "0.0.0.0" && !line.Has("url"))
    return refuse("--listen 0.0.0.0 names no host: expected --url URL, the address for browsers");
  return Ok();
}

Result<Door> MakeDoor(const CommandLine& line, const Endpoint& at, const fs::path& home) {
  Door door{.cookie = StrCat("tony-portal-", at.port), .is_secure = line.Has("cert")};
  for (const std::string& admin : line.Values("admin")) door.admins.insert(admin);
  if (line.Has("user-header")) {
    door.user_header = ToLower(line.Value("user-header"));
    return door;
  }
  door.hosts = {at.host};
  if (IsLoopback(at.host)) door.hosts.insert({"localhost", "[::1]"});
  if (line.Has("url")) {
    door.hosts.insert(HostIn(line.Value("url")));
    door.path = PathIn(line.Value("url"));
  }
  if (line.Has("tokens")) {
    TRY_ASSIGN(door.logins, ReadLogins(line.Value("tokens"), door.admins));
  } else {
    door.logins = {{TokenOf(home), {"", true}}};
  }
  return door;
}

Result<MakeChannel> MakeTls(const CommandLine& line) {
  if (!line.Has("cert")) return MakeChannel();
  TRY_ASSIGN(const std::string chain, ReadFile(line.Value("cert")));
  TRY_ASSIGN(const std::string key, ReadFile(line.Value("key")));
  auto tls = MakeBrowserServer(chain, key);
  if (!tls.ok()) return Annotate(tls.error(), StrCat(line.Value("cert"), ", ", line.Value("key")));
  return tls;
}

// Returns the address for browsers. It contains the token if the portal has only the user's own.
std::string UrlOf(const CommandLine& line, const Endpoint& at, const Door& door) {
  std::string url =
      line.Has("url") ? line.Value("url") : StrCat(line.Has("cert") ? "https://" : "http://", ToString(at));
  if (!url.ends_with('/')) url += '/';
  const bool has_own_token = !line.Has("tokens") && !line.Has("user-header");
  return has_own_token ? StrCat(url, door.logins.front().token, "/") : url;
}

// Prints the address and serves until a signal.
Result<int> Serve(const CommandLine& line) {
  const std::string host = line.Has("listen") ? line.Value("listen") : kLoopback;
  TRY(CheckWayIn(line, host));
  TRY(CheckUsers(line.Values("user")));
  TRY_ASSIGN(const MakeChannel tls, MakeTls(line));
  TRY_ASSIGN(const fs::path home, TonyHome());
  const fs::path kept_port = home / "history" / "portal-port";
  TRY_ASSIGN(const Port port, PortOf(line, kept_port));
  TRY_ASSIGN(UniqueFd listening, Listen(host, port));
  TRY_ASSIGN(const Endpoint at, BoundAddress(listening));
  TRY_ASSIGN(Door door, MakeDoor(line, at, home));
  // If the port cannot be saved, the next start chooses another one.
  if (port.is_kept && at.port != port.number && MakeFolder(kept_port.parent_path()).ok())
    (void)WriteFileByRename(kept_port, std::to_string(at.port), /*durable=*/false);
  const std::string url = UrlOf(line, at, door);
  EventLoop loop;
  const auto signals = loop.OnSignals({SIGINT, SIGTERM, SIGHUP}, [&](int) { loop.Stop(); });
  Portal portal({loop, std::move(door), [users = line.Values("user")] { return UsersHere(users); }, StartReader});
  const HttpHandler handler = [&](const HttpRequest& request, const HttpReply& reply) { portal.Serve(request, reply); };
  HttpServer::Admits admits;
  if (line.Has("proxy")) {
    admits = [proxies = line.Values("proxy")](const std::string& address) {
      return std::ranges::count(proxies, address) > 0;
    };
  }
  HttpServer server(loop, std::move(listening), handler, {.body = 4096}, std::move(admits), tls);
  PrintLine(line.Has("json") ? StrCat("{\"schema\":1,\"url\":", JsonString(url), "}") : url);
  loop.Run();
  return 0;
}

}  // namespace

Result<int> RunPortal(const CommandLine& line) { return line.Has("reader") ? RunReader(line) : Serve(line); }

}  // namespace tony
