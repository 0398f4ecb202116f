// Fuzzes the bytes that either end of TLS receives before it knows the other end. The input's first byte chooses the
// end (0: the master's), and the second sets the length of the pieces.
#include "runtime/net/tls.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>

#include "tests/fuzz/fuzz.h"

namespace tony::fuzz {
namespace {

using Kind = Channel::Step::Kind;

struct Ends {
  const MakeChannel server, client;
};

const Ends& OurJob() {
  static const Ends& made = *[] {
    const auto job = MakeJobCertificates("fuzzed", WallNow(), std::chrono::hours(24));
    CHECK(job.ok());
    return new Ends{*MakeTlsServer(job->master), *MakeTlsClient(job->executor)};
  }();
  return made;
}

struct Pair {
  UniqueFd ours, theirs;
};

Pair Connect() {
  std::array<int, 2> ends;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::string Sent(int socket) {
  std::string bytes(64 << 10, '\0');
  const ssize_t got = recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

}  // namespace

void Read(std::string_view input) {
  if (input.size() < 2) return;
  const size_t piece = 1 + static_cast<unsigned char>(input[1]) * 16;
  Pair pair = Connect();
  const auto channel = *(input[0] == 0 ? OurJob().server : OurJob().client)(std::move(pair.ours));
  Channel::Step step = channel->Write("token");
  for (input.remove_prefix(2); !input.empty(); input.remove_prefix(std::min(piece, input.size()))) {
    const std::string_view bytes = input.substr(0, piece);
    if (send(pair.theirs.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) break;
    char byte = 0;
    for (int tries = 0; tries < 4 && step.kind != Kind::kEnded; ++tries) step = channel->Read(&byte, 1);
    CHECK(step.kind != Kind::kMoved);
    CHECK(!channel->HasMore());
    if (step.kind == Kind::kEnded) break;
  }
  CHECK(channel->Write("token").kind != Kind::kMoved);
  CHECK(Sent(pair.theirs.get()).find("token") == std::string::npos);
  channel->ShutDown();
}

// Returns the flights of a real handshake.
std::vector<std::string> Seeds() {
  Pair to_server = Connect(), to_client = Connect();
  const auto server = *OurJob().server(std::move(to_server.ours));
  const auto client = *OurJob().client(std::move(to_client.ours));
  char byte = 0;
  std::vector<std::string> seeds;
  client->Read(&byte, 1);
  const std::string hello = Sent(to_client.theirs.get());
  CHECK(send(to_server.theirs.get(), hello.data(), hello.size(), 0) > 0);
  server->Read(&byte, 1);
  const std::string answer = Sent(to_server.theirs.get());
  CHECK(!hello.empty() && !answer.empty());
  for (const char pieces : {'\0', '\x01', '\xff'}) {
    seeds.push_back(std::string{'\0', pieces} + hello);
    seeds.push_back(std::string{'\1', pieces} + answer);
  }
  return seeds;
}

}  // namespace tony::fuzz
