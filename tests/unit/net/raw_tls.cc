#include "tests/unit/net/raw_tls.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <csignal>

#include "runtime/net/sockets.h"
#include "runtime/net/tls.h"

namespace tony {
namespace {

using Kind = Channel::Step::Kind;

// Reads once. Returns true if bytes were read or the connection ended.
bool ReadOne(Channel& end, std::string& read, std::optional<Error>& ended) {
  if (ended) return false;
  std::array<char, 4096> chunk;
  const Channel::Step step = end.Read(chunk.data(), chunk.size());
  if (step.kind == Kind::kEnded) {
    ended = step.why;
    end.ShutDown();
  }
  read.append(chunk.data(), step.bytes);
  return step.kind == Kind::kMoved || step.kind == Kind::kEnded;
}

// Waits until bytes arrive at an end, because bytes that one end sent arrive at the other a moment later.
bool SomethingComes(const Channel& a, const Channel& b, const Seen& seen) {
  std::array<pollfd, 2> both{pollfd{seen.server_ended ? -1 : a.socket(), POLLIN, 0},
                             pollfd{seen.client_ended ? -1 : b.socket(), POLLIN, 0}};
  return ::poll(both.data(), both.size(), 20) > 0;
}

}  // namespace

const JobCertificates& OurJob() {
  static const auto& made = *new JobCertificates(*MakeJobCertificates("job-1", WallNow(), std::chrono::hours(1)));
  return made;
}

Sockets ConnectedSockets() {
  const UniqueFd listening = *ListenOn({kLoopback, 0});
  Sockets sockets;
  sockets.client = *StartConnect(*BoundAddress(listening));
  pollfd comes{listening.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&comes, 1, 10'000), 1);
  sockets.server = UniqueFd(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  return sockets;
}

std::unique_ptr<Channel> ServerEnd(UniqueFd socket, const TlsIdentity& identity) {
  return *(*MakeTlsServer(identity))(std::move(socket));
}

std::unique_ptr<Channel> ClientEnd(UniqueFd socket, const TlsIdentity& identity) {
  return *(*MakeTlsClient(identity))(std::move(socket));
}

RawEnd::RawEnd(Side side, UniqueFd socket, const std::function<void(SSL_CTX*)>& configure)
    : socket_(std::move(socket)), context_(SSL_CTX_new(TLS_method())) {
  std::signal(SIGPIPE, SIG_IGN);
  configure(context_);
  ssl_ = SSL_new(context_);
  SSL_set_fd(ssl_, socket_.get());
  side == Side::kServer ? SSL_set_accept_state(ssl_) : SSL_set_connect_state(ssl_);
}

RawEnd::~RawEnd() {
  SSL_free(ssl_);
  SSL_CTX_free(context_);
}

Channel::Step RawEnd::Read(char* to, size_t most) {
  ERR_clear_error();
  size_t got = 0;
  const int done = SSL_read_ex(ssl_, to, most, &got);
  return done == 1 ? Step{Kind::kMoved, got} : StepAfter(done);
}

Channel::Step RawEnd::Write(std::string_view bytes) {
  ERR_clear_error();
  size_t sent = 0;
  const int done = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &sent);
  return done == 1 ? Step{Kind::kMoved, sent} : StepAfter(done);
}

Channel::Step RawEnd::StepAfter(int done) const {
  const int error = SSL_get_error(ssl_, done);
  if (error == SSL_ERROR_WANT_READ) return {Kind::kWaitsToRead};
  if (error == SSL_ERROR_WANT_WRITE) return {Kind::kWaitsToWrite};
  const char* reason = ERR_reason_error_string(ERR_peek_error());
  return {Kind::kEnded, 0, {ErrorCode::kUnavailable, reason ? reason : "closed"}};
}

std::function<void(SSL_CTX*)> Showing(const TlsIdentity& identity) {
  return [identity](SSL_CTX* context) {
    const Owned<BIO, BIO_free> certificate(BIO_new_mem_buf(identity.certificate.data(), -1));
    const Owned<X509, X509_free> read(PEM_read_bio_X509(certificate.get(), nullptr, nullptr, nullptr));
    EXPECT_EQ(SSL_CTX_use_certificate(context, read.get()), 1);
    const Owned<BIO, BIO_free> key(BIO_new_mem_buf(identity.key.data(), -1));
    const Owned<EVP_PKEY, EVP_PKEY_free> read_key(PEM_read_bio_PrivateKey(key.get(), nullptr, nullptr, nullptr));
    EXPECT_EQ(SSL_CTX_use_PrivateKey(context, read_key.get()), 1);
  };
}

Seen ReadBoth(Channel& server, Channel& client) {
  Seen seen;
  bool got_on = true;
  while (got_on || SomethingComes(server, client, seen)) {
    got_on = ReadOne(client, seen.at_client, seen.client_ended);
    got_on = ReadOne(server, seen.at_server, seen.server_ended) || got_on;
    if (seen.client_ended && seen.server_ended) break;
  }
  return seen;
}

Seen SayToServer(Channel& server, Channel& client, std::string_view bytes) {
  Seen seen;
  while (!bytes.empty()) {
    const Channel::Step step = client.Write(bytes);
    if (step.kind == Kind::kEnded) {
      seen.client_ended = step.why;
      client.ShutDown();
      break;
    }
    bytes.remove_prefix(step.bytes);
    ReadOne(server, seen.at_server, seen.server_ended);
    if (seen.server_ended) break;
  }
  Seen rest = ReadBoth(server, client);
  rest.at_server = seen.at_server + rest.at_server;
  if (seen.client_ended) rest.client_ended = seen.client_ended;
  if (seen.server_ended) rest.server_ended = seen.server_ended;
  return rest;
}

}  // namespace tony
