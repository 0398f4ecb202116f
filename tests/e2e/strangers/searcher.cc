#include "tests/e2e/strangers/searcher.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "runtime/base/unique_fd.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// Bytes of a file; jobs of these tests write less.
constexpr size_t kMostRead = 16 << 20;
// A long time for a server on this machine. No verdict depends on it alone.
constexpr int kAnswerMs = 150;

// Returns requests, each for a connection of its own: HTTP without the page's token and with a wrong token, an RPC
// frame (a Thrift call of GetStatus without a token), JSON, and nothing.
std::vector<std::string> Requests() {
  std::string call("\x80\x01\x00\x01\x00\x00\x00\x09GetStatus\x00\x00\x00\x01\x0b\x00\x01\x00\x00\x00\x00\x00", 29);
  const std::string frame = std::string("\x00\x00\x00", 3) + static_cast<char>(call.size()) + call;
  return {"GET / HTTP/1.0\r\n\r\n",
          "GET /00000000000000000000000000000000/ HTTP/1.0\r\n\r\n",
          "GET /status.json HTTP/1.0\r\n\r\n",
          "GET /../../token HTTP/1.0\r\n\r\n",
          frame,
          "{\"verb\":\"status\"}\n",
          ""};
}

std::string ReadSome(const fs::path& file) {
  // Opening a FIFO does not wait for a writer.
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  std::string text;
  std::array<char, 65536> buffer;
  ssize_t got = 0;
  while (fd.valid() && text.size() < kMostRead && (got = read(fd.get(), buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<size_t>(got));
  return text;
}

std::vector<std::string> Lines(const fs::path& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> Columns(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> columns;
  for (std::string word; stream >> word;) columns.push_back(word);
  return columns;
}

bool IsNumber(const std::string& name) { return std::isdigit(static_cast<unsigned char>(name.front())) != 0; }

}  // namespace

void Searcher::Text(const std::string& where, std::string_view text) {
  for (const auto& [what, secret] : secrets_) {
    if (text.find(secret) != std::string_view::npos) found_.insert(where + ": " + what);
  }
}

void Searcher::File(const fs::path& file) {
  std::error_code error;
  Text("the name of " + file.string(), file.filename().string());
  const fs::file_status status = fs::symlink_status(file, error);
  if (fs::is_symlink(status)) Text("the link " + file.string(), fs::read_symlink(file, error).string());
  if (!fs::is_regular_file(status)) return;
  const std::string text = ReadSome(file);
  if (!text.empty()) ++files_;
  Text(file.string(), text);
}

void Searcher::Folder(const fs::path& folder, bool owners_alone) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    struct stat status;
    if (lstat(entries->path().c_str(), &status) != 0) continue;
    if (S_ISDIR(status.st_mode)) {
      Folder(entries->path(), owners_alone);
    } else if (!owners_alone || status.st_uid == owner_) {
      File(entries->path());
    }
  }
}

void Searcher::Process(const fs::path& folder) {
  ++processes_;
  for (const char* name : {"cmdline", "environ", "comm", "status", "stat", "maps", "smaps", "mountinfo", "io", "limits",
                           "stack", "syscall", "auxv", "cgroup", "net/unix", "sched", "wchan"})
    Text((folder / name).string(), ReadSome(folder / name));
  std::error_code error;
  for (const char* link : {"cwd", "exe", "root"})
    Text((folder / link).string(), fs::read_symlink(folder / link, error).string());
  for (const char* part : {"fd", "map_files", "task"}) {
    fs::directory_iterator entries(folder / part, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      std::error_code no_link;
      const fs::path target = fs::read_symlink(entries->path(), no_link);
      Text(entries->path().string(), target.string());
      if (target.string().starts_with("/")) Text(entries->path().string(), ReadSome(entries->path()));
      Text(entries->path().string(), ReadSome(entries->path() / "comm"));
    }
    error.clear();
  }
}

void Searcher::Processes() {
  std::error_code error;
  for (fs::directory_iterator entries("/proc", error); !error && entries != fs::directory_iterator();
       entries.increment(error)) {
    if (!IsNumber(entries->path().filename().string())) continue;
    if (entries->path().filename() != std::to_string(getpid())) Process(entries->path());
  }
}

void Searcher::Ask(const std::string& where, int socket) {
  std::string answer;
  pollfd fd = {socket, POLLIN, 0};
  std::array<char, 65536> buffer;
  while (answer.size() < kMostRead && poll(&fd, 1, kAnswerMs) > 0) {
    const ssize_t got = recv(socket, buffer.data(), buffer.size(), 0);
    if (got <= 0) break;
    answer.append(buffer.data(), static_cast<size_t>(got));
  }
  Text(where, answer);
}

void Searcher::AskTcp(int family, int port) {
  ++sockets_;
  for (const std::string& request : Requests()) {
    const UniqueFd peer(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 six = {};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<uint16_t>(port));
    six.sin6_addr = in6addr_loopback;
    sockaddr_in four = {};
    four.sin_family = AF_INET;
    four.sin_port = six.sin6_port;
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* address = family == AF_INET ? reinterpret_cast<sockaddr*>(&four) : reinterpret_cast<sockaddr*>(&six);
    if (connect(peer.get(), address, family == AF_INET ? sizeof four : sizeof six) != 0) continue;
    (void)!send(peer.get(), request.data(), request.size(), MSG_NOSIGNAL);
    Ask("port " + std::to_string(port) + " asked with " + request.substr(0, request.find('\r')), peer.get());
  }
}

// `name` is as in /proc/net/unix: an abstract name begins with '@'.
void Searcher::AskUnix(const std::string& name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  struct stat file;
  const bool others = lstat(name.c_str(), &file) == 0 && file.st_uid != owner_;
  if (others || name.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name.front() == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (name.front() != '@'));
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM}) {
    for (const std::string& request : Requests()) {
      const UniqueFd peer(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
      if (connect(peer.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) break;
      ucred owner = {};
      socklen_t size = sizeof owner;
      if (getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &owner, &size) != 0 || owner.uid != owner_) break;
      ++sockets_;
      (void)!send(peer.get(), request.data(), request.size(), MSG_NOSIGNAL);
      Ask("socket " + name, peer.get());
    }
  }
}

void Searcher::Sockets() {
  for (const auto& [file, family] : {std::pair{"/proc/net/tcp", AF_INET}, std::pair{"/proc/net/tcp6", AF_INET6}}) {
    for (const std::string& line : Lines(file)) {
      // The columns are: sl local remote st ... uid.
      const std::vector<std::string> columns = Columns(line);
      if (columns.size() < 8 || columns[3] != "0A" || columns[7] != std::to_string(owner_)) continue;
      AskTcp(family, std::stoi(columns[1].substr(columns[1].find(':') + 1), nullptr, 16));
    }
  }
  for (const std::string& line : Lines("/proc/net/unix")) {
    const std::vector<std::string> columns = Columns(line);
    Text("/proc/net/unix", line);
    if (columns.size() >= 8 && columns[0] != "Num") AskUnix(columns[7]);
  }
}

std::string Searcher::Report() const {
  std::string report;
  for (const std::string& line : found_) report += line + "\n";
  return report + "looked at " + std::to_string(files_) + " files, " + std::to_string(processes_) + " processes, " +
         std::to_string(sockets_) + " sockets\n";
}

}  // namespace tony
