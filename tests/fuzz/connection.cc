// Fuzzes a whole connection of the application master's server, with another user or a program of the job as its peer.
// Bits of the input's first byte: the peer knows the token (1), does not read its answers (2), and disconnects without
// a message (4). The second byte sets the length of the pieces that the peer sends.
#include <sys/socket.h>

#include <array>
#include <memory>

#include "runtime/rpc/am_methods.h"
#include "runtime/rpc/server_connection.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/rpc_seeds.h"
#include "tests/unit/rpc/fake_am_service.h"

namespace tony::fuzz {
namespace {

constexpr int kKnown = 1, kDoesNotRead = 2, kVanishes = 4;
// The limits are small so that short inputs reach them.
const RpcServerOptions kLimits{.max_frame = 8 << 10,
                               .max_open_calls = 4,
                               .max_unsent = 16 << 10,
                               .stranger_frame = 1 << 10,
                               .stranger_unsent = 4 << 10};

// Runs all that is ready now, and all that becomes ready by it.
void Settle(EventLoop& loop) {
  for (int round = 0; round < 2; ++round) {
    const EventLoop::Timer soon = loop.After(Duration(0), [&loop] { loop.Stop(); });
    loop.Run();
  }
}

void Drain(int socket) {
  std::array<char, 4096> chunk;
  while (recv(socket, chunk.data(), chunk.size(), MSG_DONTWAIT) > 0) {
  }
}

struct Connected {
  EventLoop& loop;
  FakeAmService& service;
  UniqueFd peer;
  bool closed = false;
  std::shared_ptr<ServerConnection> server;
};

void Talk(Connected& it, std::string_view input, size_t piece, int manner) {
  for (; !input.empty() && !it.closed; input.remove_prefix(std::min(piece, input.size()))) {
    const std::string_view bytes = input.substr(0, piece);
    if (send(it.peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
    Settle(it.loop);
    if ((manner & kDoesNotRead) == 0) Drain(it.peer.get());
  }
}

}  // namespace

void Read(std::string_view input) {
  if (input.size() < 2) return;
  const int manner = input[0];
  const size_t piece = 1 + static_cast<unsigned char>(input[1]) * 16;
  static EventLoop loop;
  FakeAmService service;
  if ((manner & kKnown) == 0) service.token = "another one";
  const Dispatcher dispatcher = MakeAmDispatcher(service);
  std::array<int, 2> ends;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
  Connected it{loop, service, UniqueFd(ends[1])};
  FrameConnection::ReadBudget budget{kLimits.max_frame};
  const ServerConnection::Context context{loop, kLimits, dispatcher, budget};
  bool known = false;
  ServerConnection::Events events{[&known] { known = true; }, [&it] { it.closed = true; }};
  it.server = std::make_shared<ServerConnection>(context, MakePlainChannel(UniqueFd(ends[0])), "", std::move(events));
  Talk(it, input.substr(2), piece, manner);
  CHECK(!known || (manner & kKnown) != 0);
  const size_t parked = service.parked.size() + service.watching.size();
  CHECK(parked <= static_cast<size_t>(kLimits.max_open_calls));
  if ((manner & kVanishes) != 0) it.peer.Reset();
  if ((manner & kVanishes) == 0 && !it.closed) it.server->Stop();
  Settle(loop);
  it.server.reset();
  Settle(loop);
  CHECK(service.abandoned <= static_cast<int>(parked));
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const char manner : {'\0', '\1', '\3', '\5'}) {
    std::string all{manner, '\x08'};
    for (const std::string& frame : EveryCall()) {
      seeds.push_back(std::string{manner, '\xff'} + frame);
      all += frame;
    }
    seeds.push_back(all);
  }
  return seeds;
}

}  // namespace tony::fuzz
