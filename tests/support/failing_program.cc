// Fails as native programs and members of a collective do. For tests.
//
//   failing_program segv | assert | throw | divide | trap | overflow | memory
//   failing_program lead FILE COUNT raise | slow | leave | die   waits for COUNT connections, then fails in this way
//   failing_program follow FILE                                  connects to that one, and fails when it ends
//   failing_program dial HOST:PORT                               fails because no process listens there
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cassert>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>

namespace {

constexpr unsigned kLook = 10'000;       // microseconds
constexpr unsigned kSlowly = 1'000'000;  // far longer than reporting an outcome

volatile int zero = 0;  // prevents optimization by the compiler

// Has an end that is never reached, because compilers warn about functions without one.
int Overflow(int depth) {
  volatile char frame[4096] = {};
  if (zero == 1) return depth;
  return Overflow(depth + 1) + frame[depth % 4096];
}

void Crash(const std::string& how) {
  if (how == "segv") *reinterpret_cast<volatile int*>(static_cast<std::uintptr_t>(zero)) = 1;
  if (how == "assert") assert(zero == 1);
  if (how == "throw") throw std::runtime_error("bad row 17");
  if (how == "divide") std::printf("%d", 7 / zero);
  if (how == "trap") __builtin_trap();
  if (how == "overflow") std::printf("%d", Overflow(zero));
  if (how == "memory") throw std::bad_alloc();
}

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int Lead(const std::string& file, int count, const std::string& how) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, generic, size) != 0 || listen(listener, count) != 0 || getsockname(listener, generic, &size) != 0)
    return 70;
  std::ofstream(file + ".new") << ntohs(address.sin_port) << std::endl;
  std::rename((file + ".new").c_str(), file.c_str());
  for (int i = 0; i < count; ++i)
    if (const int peer = accept(listener, nullptr, nullptr); how == "slow" && peer >= 0) close(peer);
  if (how == "slow") usleep(kSlowly);
  if (how == "die") raise(SIGKILL);
  if (how == "leave") return 0;
  std::fputs("Traceback (most recent call last):\n  File \"train.py\", line 7, in <module>\nValueError: bad batch\n",
             stderr);
  return 1;
}

int Connect(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = Loopback(port);
  return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? fd : -1;
}

int Follow(const std::string& file) {
  int port = 0;
  while (!(std::ifstream(file) >> port)) usleep(kLook);
  const int fd = Connect(port);
  char byte = 0;
  while (read(fd, &byte, 1) > 0) continue;
  std::fprintf(stderr, "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:%d\n",
               port);
  return 1;
}

int Dial(const std::string& address) {
  if (Connect(std::stoi(address.substr(address.rfind(':') + 1))) >= 0) return 70;
  std::fprintf(stderr, "RuntimeError: connect to %s: Connection refused\n", address.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "lead" && argc == 5) return Lead(argv[2], std::stoi(argv[3]), argv[4]);
  if (what == "follow" && argc == 3) return Follow(argv[2]);
  if (what == "dial" && argc == 3) return Dial(argv[2]);
  Crash(what);
  return 70;
}
