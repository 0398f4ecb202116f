#include "runtime/net/tls.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/net/sockets.h"

namespace tony {
namespace {

// The groups for key exchange. TonY's programs use the first group. The second group is for clients with other TLS
// libraries, whose first key is of this group.
constexpr char kGroups[] = "P-256:X25519";
constexpr unsigned kGroupIds[] = {0x17, 0x1d};

// The limits in bytes for the first messages of a peer. A ClientHello of TonY's programs has 250 bytes, and a
// certificate has 400. OpenSSL itself would accept 128 KiB and 100 KiB from any peer.
constexpr size_t kLongestHello = 4096;
constexpr int kLongestCertificates = 4096;
constexpr size_t kRecordHeader = 5;
constexpr size_t kHelloHeader = 4;

using Context = Owned<SSL_CTX, SSL_CTX_free>;
using Certificate = Owned<X509, X509_free>;
using Kind = Channel::Step::Kind;

unsigned BigEndian(std::string_view bytes) {
  unsigned number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

// `bytes` are the first bytes from a peer: the header of the first record, and the header of the first message in it.
// Returns whether the message is a ClientHello of an accepted length. The record must contain the message's header, and
// need not contain the rest, because the rest may follow in further records.
bool BeginsLikeTls(std::string_view bytes) {
  constexpr char kHandshake = 22, kMajor = 3, kClientHello = 1;
  return bytes[0] == kHandshake && bytes[1] == kMajor && BigEndian(bytes.substr(3, 2)) >= kHelloHeader &&
         bytes[5] == kClientHello && BigEndian(bytes.substr(6, 3)) <= kLongestHello;
}

// Returns the alternative name that contains the role; empty if it is not the only alternative name.
std::string RoleIn(X509* certificate) {
  const Owned<GENERAL_NAMES, GENERAL_NAMES_free> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (!names || sk_GENERAL_NAME_num(names.get()) != 1) return "";
  int type = 0;
  const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), 0), &type);
  if (type != GEN_URI) return "";
  const auto* text = static_cast<const ASN1_STRING*>(value);
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)), static_cast<size_t>(ASN1_STRING_length(text))};
}

std::string DerOf(X509* certificate) {
  std::string der(static_cast<size_t>(std::max(0, i2d_X509(certificate, nullptr))), '\0');
  auto* to = reinterpret_cast<unsigned char*>(der.data());
  i2d_X509(certificate, &to);
  return der;
}

// The state that all channels of one side share.
struct Side {
  bool server = false;
  std::vector<TlsRole> peers;  // allowed roles of the peer
  Context context;
  bool told = false;  // the first refusal has been logged
  // Set for connections to an HTTPS server.
  std::string host = {};
  HttpTrust trust = {};
  // The only accepted certificate (DER). Empty: certificates are judged by their roles.
  std::string client = {};
  // True: clients show no certificate.
  bool serves_browsers = false;
};

class TlsChannel : public Channel {
 public:
  TlsChannel(std::shared_ptr<Side> side, UniqueFd socket) : side_(std::move(side)), socket_(std::move(socket)) {}

  // Must be called once, before all other methods.
  bool Begin();

  int socket() const override { return socket_.get(); }
  Step Read(char* to, size_t most) override {
    if (auto step = Establish()) return *std::move(step);
    size_t got = 0;
    const int done = SSL_read_ex(ssl_.get(), to, most, &got);
    return done == 1 ? Step{Kind::kMoved, got} : StepAfter(done);
  }
  Step Write(std::string_view bytes) override {
    if (auto step = Establish()) return *std::move(step);
    size_t sent = 0;
    const int done = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent);
    return done == 1 ? Step{Kind::kMoved, sent} : StepAfter(done);
  }
  bool HasMore() const override { return known_ && SSL_pending(ssl_.get()) > 0; }
  void ShutDown() override {
    // A closing message that cannot be sent at once is dropped.
    if (known_) SSL_shutdown(ssl_.get());
    ::shutdown(socket_.get(), SHUT_RDWR);
  }

  // Callbacks of OpenSSL.
  int Receive(BIO* bio, char* to, int most);
  int Send(BIO* bio, const char* bytes, int size);
  bool Judge(bool signed_well, X509_STORE_CTX* chain);
  bool JudgeClient(X509* certificate);

 private:
  // Continues the handshake. nullopt: the peer is known, and OpenSSL's error queue, which all channels of a thread
  // share, is empty.
  std::optional<Step> Establish();
  bool SetHost();
  bool JudgeServer(bool signed_well, int error);
  Step StepAfter(int done);
  Error WhyItEnded() const;
  void LogFirstRefusal();

  const std::shared_ptr<Side> side_;
  UniqueFd socket_;
  Owned<SSL, SSL_free> ssl_;
  // The first bytes that a server has received, until they have been checked.
  std::string heard_;
  std::string socket_problem_;    // set once reading or writing failed
  std::optional<Error> refusal_;  // error of the peer's certificate
  bool right_role_ = false;
  bool known_ = false;  // the handshake is complete
};

TlsChannel& ChannelOf(BIO* bio) { return *static_cast<TlsChannel*>(BIO_get_data(bio)); }

// Replaces OpenSSL's own socket functions, which write without MSG_NOSIGNAL: a peer that has disconnected would end the
// process.
const BIO_METHOD* SocketMethod() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket of a job");
    BIO_meth_set_read(made, [](BIO* bio, char* to, int most) { return ChannelOf(bio).Receive(bio, to, most); });
    BIO_meth_set_write(made, [](BIO* bio, const char* b, int size) { return ChannelOf(bio).Send(bio, b, size); });
    BIO_meth_set_ctrl(made, [](BIO*, int what, long, void*) -> long { return what == BIO_CTRL_FLUSH ? 1 : 0; });
    return made;
  }();
  return method;
}

bool TlsChannel::Begin() {
  BIO* const bio = BIO_new(SocketMethod());
  ssl_.reset(SSL_new(side_->context.get()));
  if (!bio || !ssl_) {
    BIO_free(bio);
    return false;
  }
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_app_data(ssl_.get(), this);
  side_->server ? SSL_set_accept_state(ssl_.get()) : SSL_set_connect_state(ssl_.get());
  return side_->host.empty() || SetHost();
}

// Sets the name that the certificate must contain. A numeric address is never sent as the server's name (RFC 6066).
bool TlsChannel::SetHost() {
  const char* host = side_->host.c_str();
  const Owned<ASN1_OCTET_STRING, ASN1_OCTET_STRING_free> address(a2i_IPADDRESS(host));
  ERR_clear_error();
  if (!address && SSL_set_tlsext_host_name(ssl_.get(), host) != 1) return false;
  if (!side_->trust.checks_names) return true;
  return address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), host) == 1
                 : SSL_set1_host(ssl_.get(), host) == 1;
}

int TlsChannel::Receive(BIO* bio, char* to, int most) {
  BIO_clear_retry_flags(bio);
  const ssize_t got = ::recv(socket_.get(), to, static_cast<size_t>(most), 0);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    BIO_set_retry_read(bio);
    return -1;
  }
  if (got <= 0) {
    socket_problem_ = got == 0 ? "the peer closed the connection" : ErrnoText(errno);
    return -1;
  }
  constexpr size_t kLooked = kRecordHeader + kHelloHeader;
  if (side_->server && heard_.size() < kLooked) {
    heard_.append(to, std::min(static_cast<size_t>(got), kLooked - heard_.size()));
    if (heard_.size() == kLooked && !BeginsLikeTls(heard_)) {
      socket_problem_ = "the peer does not begin with TLS, or its hello is too long";
      return -1;
    }
  }
  return static_cast<int>(got);
}

int TlsChannel::Send(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = ::send(socket_.get(), bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<int>(sent);
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
    BIO_set_retry_write(bio);
  } else {
    socket_problem_ = ErrnoText(errno);
  }
  return -1;
}

// Returns the first text in OpenSSL's error queue. The queue may begin with errors of other parts of OpenSSL, which are
// skipped. StartLibrary() does not load their texts.
std::string ReasonOfTls() {
  while (const unsigned long error = ERR_get_error())
    if (const char* text = ERR_reason_error_string(error)) return text;
  return "unknown reason";
}

bool IsOfTime(int error) { return error == X509_V_ERR_CERT_HAS_EXPIRED || error == X509_V_ERR_CERT_NOT_YET_VALID; }

// Called for each certificate of the peer's chain, with the peer's own last, and for each error of a certificate.
bool TlsChannel::Judge(bool signed_well, X509_STORE_CTX* chain) {
  const int error = X509_STORE_CTX_get_error(chain);
  if (!side_->host.empty()) return JudgeServer(signed_well, error);
  if (!signed_well) {
    const char* what = IsOfTime(error) ? "the peer's certificate: " : "the peer does not belong to this job: ";
    refusal_ = NotPermittedError(what, X509_verify_cert_error_string(error));
  } else if (X509_STORE_CTX_get_error_depth(chain) == 0) {
    const std::string role = RoleIn(X509_STORE_CTX_get_current_cert(chain));
    right_role_ = std::ranges::any_of(side_->peers, [&](TlsRole peer) { return role == ToString(peer); });
    if (!right_role_) {
      refusal_ = NotPermittedError("the peer's certificate has the role \"", role, "\", expected ",
                                   ToString(side_->peers.front()));
      X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
    }
  }
  return !refusal_;
}

bool TlsChannel::JudgeServer(bool signed_well, int error) {
  right_role_ = true;
  if (signed_well) return true;
  const bool is_host = error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH;
  const Distrust kind = IsOfTime(error) ? Distrust::kTime : (is_host ? Distrust::kHost : Distrust::kAuthority);
  refusal_ = DistrustError(side_->trust, side_->host, kind, X509_verify_cert_error_string(error));
  return false;
}

bool TlsChannel::JudgeClient(X509* certificate) {
  right_role_ = DerOf(certificate) == side_->client;
  if (!right_role_) refusal_ = NotPermittedError("the client's certificate is not that of YARN's proxy");
  return right_role_;
}

std::optional<Channel::Step> TlsChannel::Establish() {
  ERR_clear_error();
  if (known_) return std::nullopt;
  if (const int done = SSL_do_handshake(ssl_.get()); done != 1) return StepAfter(done);
  known_ = right_role_ || side_->serves_browsers;
  if (known_) return std::nullopt;
  return Step{Kind::kEnded, 0, {ErrorCode::kNotPermitted, "the peer did not send a certificate"}};
}

Channel::Step TlsChannel::StepAfter(int done) {
  switch (SSL_get_error(ssl_.get(), done)) {
    case SSL_ERROR_WANT_READ:
      return {Kind::kWaitsToRead};
    case SSL_ERROR_WANT_WRITE:
      return {Kind::kWaitsToWrite};
    case SSL_ERROR_ZERO_RETURN:
      return {Kind::kEnded, 0, {ErrorCode::kUnavailable, "the peer closed the connection"}};
    default:
      LogFirstRefusal();
      return {Kind::kEnded, 0, WhyItEnded()};
  }
}

Error TlsChannel::WhyItEnded() const {
  if (refusal_) return *refusal_;
  if (!socket_problem_.empty()) return UnavailableError(socket_problem_);
  const int reason = ERR_GET_REASON(ERR_peek_error());
  if (!side_->host.empty() && reason == SSL_R_WRONG_VERSION_NUMBER) return NoTlsError(side_->host);
  // The AM checks a program's certificate last, so it may refuse this program after this program has accepted the AM.
  // Such a refusal gets kUnavailable.
  const ErrorCode code = known_ || side_->server ? ErrorCode::kUnavailable : ErrorCode::kNotPermitted;
  if (reason > SSL_AD_REASON_OFFSET) {
    return {code,
            StrCat("the peer refused the TLS connection: ", SSL_alert_desc_string_long(reason - SSL_AD_REASON_OFFSET))};
  }
  return {code, StrCat("cannot establish TLS with the peer: ", ReasonOfTls())};
}

// Logs only the first refusal. The message shows people why the job's programs cannot connect, e.g. because a clock is
// wrong by days.
void TlsChannel::LogFirstRefusal() {
  if (!side_->server || !refusal_ || std::exchange(side_->told, true)) return;
  const auto peer = PeerAddress(socket_);
  const std::string host = peer.ok() ? peer->host : "an unknown host";
  LogWarn(StrCat("refused a TLS connection from ", host, ": ", refusal_->message));
}

int OnCertificate(int signed_well, X509_STORE_CTX* chain) {
  const auto* ssl = static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  return static_cast<TlsChannel*>(SSL_get_app_data(ssl))->Judge(signed_well == 1, chain) ? 1 : 0;
}

// Replaces OpenSSL's check of the client's chain.
int OnClientsChain(X509_STORE_CTX* chain, void*) {
  const auto* ssl = static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const bool accepted = static_cast<TlsChannel*>(SSL_get_app_data(ssl))->JudgeClient(X509_STORE_CTX_get0_cert(chain));
  X509_STORE_CTX_set_error(chain, accepted ? X509_V_OK : X509_V_ERR_APPLICATION_VERIFICATION);
  return accepted ? 1 : 0;
}

// Accepts a client if the group of its first key is known. Other clients would have to send a second hello, whose
// length could not be checked.
int OnHello(SSL* ssl, int* alert, void*) {
  const unsigned char* bytes = nullptr;
  size_t size = 0;
  // The extension key_share begins with the length of its list of keys. The group of the first key follows.
  constexpr size_t kBefore = 2, kGroup = 2;
  if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_key_share, &bytes, &size) == 1 && size >= kBefore + kGroup) {
    const unsigned group = BigEndian({reinterpret_cast<const char*>(bytes) + kBefore, kGroup});
    if (std::ranges::count(kGroupIds, group) > 0) return SSL_CLIENT_HELLO_SUCCESS;
  }
  *alert = SSL_AD_HANDSHAKE_FAILURE;
  return SSL_CLIENT_HELLO_ERROR;
}

Error Unreadable(const char* what) { return InvalidError("TLS identity: cannot read the ", what); }

// Passes no password to OpenSSL, because no person can enter one. A key with a password is therefore unreadable.
int NoPassword(char*, int, int, void*) { return -1; }

Owned<BIO, BIO_free> Memory(const std::string& text) {
  return Owned<BIO, BIO_free>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Certificate ReadCertificate(const std::string& pem) {
  return Certificate(PEM_read_bio_X509(Memory(pem).get(), nullptr, NoPassword, nullptr));
}

Status Use(SSL_CTX* context, const TlsIdentity& own, const std::vector<TlsRole>& roles) {
  const Certificate ca = ReadCertificate(own.ca);
  if (!ca || X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca.get()) != 1) return Unreadable("authority");
  const Certificate certificate = ReadCertificate(own.certificate);
  if (!certificate || SSL_CTX_use_certificate(context, certificate.get()) != 1) return Unreadable("certificate");
  const Owned<EVP_PKEY, EVP_PKEY_free> key(
      PEM_read_bio_PrivateKey(Memory(own.key).get(), nullptr, NoPassword, nullptr));
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    return Unreadable("key, or the key does not match the certificate");
  const std::string role = RoleIn(certificate.get());
  if (std::ranges::any_of(roles, [&](TlsRole allowed) { return role == ToString(allowed); })) return Ok();
  return InvalidError("TLS identity: the certificate has the role \"", role, "\", expected ", ToString(roles.front()));
}

void SetModes(SSL_CTX* context) {
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // FrameConnection needs partial writes. Idle connections keep no buffers. Without AUTO_RETRY one call reads one
  // record, so that a peer that sends only key updates does not block the loop.
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_max_cert_list(context, kLongestCertificates);
}

bool Configure(SSL_CTX* context) {
  SetModes(context);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, OnCertificate);
  SSL_CTX_set_verify_depth(context, 0);  // no intermediate authorities
  SSL_CTX_set_client_hello_cb(context, OnHello, nullptr);
  return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 && SSL_CTX_set_num_tickets(context, 0) == 1 &&
         SSL_CTX_set1_groups_list(context, kGroups) == 1 && SSL_CTX_set1_sigalgs_list(context, "ECDSA+SHA256") == 1;
}

// Starts OpenSSL without the texts of errors outside of TLS. These texts would take 50 KB in every executor, and are
// not used. OpenSSL loads them with the first access to its error queue, so this function must be called earlier.
void StartLibrary() {
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS, nullptr);
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
}

MakeChannel ChannelsOf(std::shared_ptr<Side> side) {
  return [side = std::move(side)](UniqueFd socket) -> Result<std::unique_ptr<Channel>> {
    auto channel = std::make_unique<TlsChannel>(side, std::move(socket));
    if (!channel->Begin()) return UnavailableError("no memory for a TLS connection");
    return std::unique_ptr<Channel>(std::move(channel));
  };
}

Result<MakeChannel> MakeSide(bool server, const TlsIdentity& own, const std::vector<TlsRole>& roles,
                             std::vector<TlsRole> peers) {
  StartLibrary();
  ERR_clear_error();
  const auto side = std::make_shared<Side>();
  side->server = server;
  side->peers = std::move(peers);
  side->context.reset(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()));
  if (!side->context || !Configure(side->context.get())) return Error{ErrorCode::kInternal, "OpenSSL has no TLS 1.3"};
  TRY(Use(side->context.get(), own, roles));
  return ChannelsOf(side);
}

// Adds all certificates of `pem` to the trusted ones.
Status Trust(SSL_CTX* context, const std::string& pem) {
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  const auto memory = Memory(pem);
  int count = 0;
  while (const Certificate certificate{PEM_read_bio_X509(memory.get(), nullptr, NoPassword, nullptr)}) {
    if (X509_STORE_add_cert(store, certificate.get()) != 1) break;
    ++count;
  }
  // The loop ends with an error at the end of the text, too.
  const bool is_all = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  return is_all && count > 0 ? Ok() : Status(InvalidError("the trusted authorities are not certificates in PEM"));
}

Status TrustSystem(SSL_CTX* context) {
  const std::string file = SystemAuthorities();
  if (file.empty()) return InvalidError("this machine has no bundle of authorities");
  const bool is_read = SSL_CTX_load_verify_file(context, file.c_str()) == 1;
  ERR_clear_error();
  return is_read ? Ok() : Status(InvalidError(file, ": expected certificates of authorities in PEM"));
}

}  // namespace

Result<MakeChannel> MakeTlsServer(const TlsIdentity& master) {
  return MakeSide(true, master, {TlsRole::kMaster}, {TlsRole::kExecutor, TlsRole::kClient});
}

Result<MakeChannel> MakeTlsClient(const TlsIdentity& own) {
  return MakeSide(false, own, {TlsRole::kExecutor, TlsRole::kClient}, {TlsRole::kMaster});
}

Result<MakeChannel> MakeHttpsClient(const HttpTrust& trust, const std::string& host) {
  StartLibrary();
  ERR_clear_error();
  const auto side = std::make_shared<Side>();
  side->host = host;
  side->trust = trust;
  side->context.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* const context = side->context.get();
  if (!context || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1)
    return Error{ErrorCode::kInternal, "OpenSSL has no TLS 1.2"};
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, OnCertificate);
  // Java trusts a certificate in a truststore even if another authority has signed it.
  X509_STORE_set_flags(SSL_CTX_get_cert_store(context), X509_V_FLAG_PARTIAL_CHAIN);
  TRY(trust.authorities.empty() ? TrustSystem(context) : Trust(context, trust.authorities));
  return ChannelsOf(side);
}

namespace {

using Key = Owned<EVP_PKEY, EVP_PKEY_free>;

bool Use(SSL_CTX* context, const ProxiedServer& own) {
  const auto* key = reinterpret_cast<const unsigned char*>(own.key.data());
  for (const std::string& der : own.chain) {
    const auto* from = reinterpret_cast<const unsigned char*>(der.data());
    const Certificate certificate(d2i_X509(nullptr, &from, static_cast<long>(der.size())));
    const bool is_own = &der == &own.chain.front();
    if (!certificate || (is_own ? SSL_CTX_use_certificate(context, certificate.get())
                                : SSL_CTX_add1_chain_cert(context, certificate.get())) != 1)
      return false;
  }
  const Key parsed(d2i_AutoPrivateKey(nullptr, &key, static_cast<long>(own.key.size())));
  return parsed && SSL_CTX_use_PrivateKey(context, parsed.get()) == 1 && SSL_CTX_check_private_key(context) == 1;
}

bool UsePem(SSL_CTX* context, const std::string& chain, const std::string& key) {
  const Owned<BIO, BIO_free> certificates(BIO_new_mem_buf(chain.data(), static_cast<int>(chain.size())));
  const Owned<BIO, BIO_free> keys(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())));
  // OpenSSL would otherwise ask for the password of an encrypted key at the terminal.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  const Certificate own(PEM_read_bio_X509(certificates.get(), nullptr, no_password, nullptr));
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) return false;
  while (const Certificate next{PEM_read_bio_X509(certificates.get(), nullptr, no_password, nullptr)})
    if (SSL_CTX_add1_chain_cert(context, next.get()) != 1) return false;
  const Key parsed(PEM_read_bio_PrivateKey(keys.get(), nullptr, no_password, nullptr));
  return parsed && SSL_CTX_use_PrivateKey(context, parsed.get()) == 1 && SSL_CTX_check_private_key(context) == 1;
}

}  // namespace

Result<MakeChannel> MakeBrowserServer(const std::string& chain, const std::string& key) {
  StartLibrary();
  ERR_clear_error();
  const auto side = std::make_shared<Side>();
  side->server = true;
  side->serves_browsers = true;
  side->context.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* const context = side->context.get();
  if (!context || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1)
    return Error{ErrorCode::kInternal, "OpenSSL has no TLS 1.2"};
  SetModes(context);
  const bool is_used = UsePem(context, chain, key);
  ERR_clear_error();
  if (!is_used) return InvalidError("expected a certificate and its unencrypted key, both as PEM");
  return ChannelsOf(side);
}

Result<MakeChannel> MakeProxiedServer(const ProxiedServer& own) {
  StartLibrary();
  ERR_clear_error();
  const auto side = std::make_shared<Side>();
  side->server = true;
  side->client = own.client;
  side->context.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* const context = side->context.get();
  if (!context || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1)
    return Error{ErrorCode::kInternal, "OpenSSL has no TLS 1.2"};
  SetModes(context);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_cert_verify_callback(context, OnClientsChain, nullptr);
  const bool is_used = !own.client.empty() && Use(context, own);
  ERR_clear_error();
  if (!is_used) return InvalidError("the key or a certificate cannot be used");
  return ChannelsOf(side);
}

namespace {

constexpr Duration kClocksDiffer = std::chrono::hours(24);
constexpr size_t kLongestName = 64;  // RFC 5280's ub-common-name

struct Validity {
  Instant from, until;
};

struct Pair {
  Key key;
  Certificate certificate;
};

// The contents of a certificate besides its key and its time.
struct Content {
  int number = 0;  // serial number within its authority
  std::string name;
  const char* basic = "";
  const char* usage = "";
  std::string alternative;  // empty: none
};

bool SetName(X509_NAME* to, const std::string& name) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(name.data());
  const int size = static_cast<int>(std::min(name.size(), kLongestName));
  return X509_NAME_add_entry_by_txt(to, "CN", MBSTRING_ASC, bytes, size, -1, 0) == 1;
}

bool SetTime(ASN1_TIME* to, Instant when) {
  return ASN1_TIME_set(to, std::chrono::duration_cast<std::chrono::seconds>(when.time_since_epoch()).count()) !=
         nullptr;
}

bool Extend(X509* certificate, int extension, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, nullptr, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION, X509_EXTENSION_free> made(
      X509V3_EXT_nconf_nid(nullptr, &context, extension, value.c_str()));
  return made && X509_add_ext(certificate, made.get(), -1) == 1;
}

bool Fill(X509* certificate, const Content& content, const Validity& validity) {
  return X509_set_version(certificate, X509_VERSION_3) == 1 &&
         ASN1_INTEGER_set(X509_get_serialNumber(certificate), content.number) == 1 &&
         SetName(X509_get_subject_name(certificate), content.name) &&
         SetTime(X509_getm_notBefore(certificate), validity.from) &&
         SetTime(X509_getm_notAfter(certificate), validity.until) &&
         Extend(certificate, NID_basic_constraints, content.basic) &&
         Extend(certificate, NID_key_usage, content.usage) &&
         (content.alternative.empty() || Extend(certificate, NID_subject_alt_name, content.alternative));
}

// Makes a key, and a certificate that `authority` signs. `authority` is null for the authority's own certificate, which
// is signed with its own key.
Result<Pair> Sign(const Content& content, const Validity& validity, const Pair* authority) {
  ERR_clear_error();
  Pair pair{Key(EVP_EC_gen("P-256")), Certificate(X509_new())};
  const Pair& signer = authority ? *authority : pair;
  if (pair.key && pair.certificate && Fill(pair.certificate.get(), content, validity) &&
      X509_set_pubkey(pair.certificate.get(), pair.key.get()) == 1 &&
      X509_set_issuer_name(pair.certificate.get(), X509_get_subject_name(signer.certificate.get())) == 1 &&
      X509_sign(pair.certificate.get(), signer.key.get(), EVP_sha256()) != 0)
    return pair;
  const char* why = ERR_reason_error_string(ERR_peek_error());
  return Error{ErrorCode::kInternal,
               StrCat("cannot make the certificate of ", content.name, ": ", why ? why : "OpenSSL gave no reason")};
}

template <class Write>
std::string Pem(const Write& write) {
  const Owned<BIO, BIO_free> memory(BIO_new(BIO_s_mem()));
  if (!memory || write(memory.get()) != 1) return "";
  const char* bytes = nullptr;
  const auto size = static_cast<size_t>(BIO_get_mem_data(memory.get(), &bytes));
  return {bytes, size};
}

std::string PemOf(const Certificate& certificate) {
  return Pem([&](BIO* to) { return PEM_write_bio_X509(to, certificate.get()); });
}

Result<TlsIdentity> MakeIdentity(int number, TlsRole role, const Validity& validity, const Pair& authority) {
  const Content content{number, ToString(role), "critical,CA:FALSE", "critical,digitalSignature",
                        "URI:" + ToString(role)};
  TRY_ASSIGN(const Pair own, Sign(content, validity, &authority));
  TlsIdentity identity{PemOf(authority.certificate), PemOf(own.certificate), Pem([&](BIO* to) {
                         return PEM_write_bio_PrivateKey(to, own.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
                       })};
  if (identity.ca.empty() || identity.certificate.empty() || identity.key.empty())
    return Error{ErrorCode::kInternal, StrCat("write the certificate of ", content.name)};
  return identity;
}

}  // namespace

std::string ToString(TlsRole role) {
  switch (role) {
    case TlsRole::kMaster:
      return "tony:master";
    case TlsRole::kExecutor:
      return "tony:executor";
    case TlsRole::kClient:
      return "tony:client";
  }
  return "";
}

Result<JobCertificates> MakeJobCertificates(const std::string& job, Instant now, Duration validity) {
  const Validity valid{now - kClocksDiffer, now + validity + kClocksDiffer};
  const Content authority{1, "TonY job " + job, "critical,CA:TRUE,pathlen:0", "critical,keyCertSign", ""};
  TRY_ASSIGN(const Pair ca, Sign(authority, valid, nullptr));
  JobCertificates made;
  TRY_ASSIGN(made.master, MakeIdentity(2, TlsRole::kMaster, valid, ca));
  TRY_ASSIGN(made.executor, MakeIdentity(3, TlsRole::kExecutor, valid, ca));
  TRY_ASSIGN(made.client, MakeIdentity(4, TlsRole::kClient, valid, ca));
  return made;
}

}  // namespace tony
