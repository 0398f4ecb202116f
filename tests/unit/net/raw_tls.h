// Ends of one connection, moved by hand in the test's thread; and an end that keeps to no rule of ours.
#pragma once

#include <openssl/ssl.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/net/frame_connection.h"
#include "runtime/net/tls.h"

namespace tony {

const JobCertificates& OurJob();  // the same for all tests

struct Sockets {
  UniqueFd server, client;
};
Sockets ConnectedSockets();  // TCP over loopback

std::unique_ptr<Channel> ServerEnd(UniqueFd socket, const TlsIdentity& identity = OurJob().master);
std::unique_ptr<Channel> ClientEnd(UniqueFd socket, const TlsIdentity& identity = OurJob().executor);

// By OpenSSL alone. It trusts everybody; `configure` may change that, and what it shows.
class RawEnd : public Channel {
 public:
  enum class Side { kServer, kClient };
  RawEnd(Side side, UniqueFd socket, const std::function<void(SSL_CTX*)>& configure);
  ~RawEnd() override;

  int socket() const override { return socket_.get(); }
  Step Read(char* to, size_t most) override;
  Step Write(std::string_view bytes) override;
  bool HasMore() const override { return false; }
  void ShutDown() override {}
  SSL* ssl() { return ssl_; }

 private:
  Step StepAfter(int done) const;

  UniqueFd socket_;
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
};
std::function<void(SSL_CTX*)> Showing(const TlsIdentity& identity);

// What reading at both ends came to, when neither got on any more.
struct Seen {
  std::string at_server, at_client;
  std::optional<Error> server_ended, client_ended;
};
Seen ReadBoth(Channel& server, Channel& client);
// The same, after the client has written `bytes` as soon as it could.
Seen SayToServer(Channel& server, Channel& client, std::string_view bytes);

}  // namespace tony
