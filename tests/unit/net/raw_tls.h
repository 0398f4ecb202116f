// Both ends of a connection, which a test drives by hand in its own thread, and a raw end that follows none of our
// rules.
#pragma once

#include <openssl/ssl.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/net/frame_connection.h"
#include "runtime/net/tls.h"

namespace tony {

const JobCertificates& OurJob();  // shared by all tests

struct Sockets {
  UniqueFd server, client;
};
Sockets ConnectedSockets();  // TCP over loopback

std::unique_ptr<Channel> ServerEnd(UniqueFd socket, const TlsIdentity& identity = OurJob().master);
std::unique_ptr<Channel> ClientEnd(UniqueFd socket, const TlsIdentity& identity = OurJob().executor);

// An end made with OpenSSL alone. It trusts every peer; `configure` may change its trust and the certificate that it
// shows.
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

// Bytes and errors that both ends have seen when neither makes progress any more.
struct Seen {
  std::string at_server, at_client;
  std::optional<Error> server_ended, client_ended;
};
Seen ReadBoth(Channel& server, Channel& client);
// Writes `bytes` at the client as soon as possible, and then does the same as ReadBoth().
Seen SayToServer(Channel& server, Channel& client, std::string_view bytes);

}  // namespace tony
