#include "runtime/hadoop/gss_mechanism.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/gss_context.h"

namespace tony::hadoop {
namespace {

constexpr std::string_view kAnyHost = "/_HOST@";

// The ways to protect messages that a server may offer, as bits of the first byte of its last challenge.
enum Layer : unsigned char { kAuthentication = 1, kIntegrity = 2, kPrivacy = 4 };

// The size of that challenge: one byte of layers, and three bytes with the size of the longest token.
constexpr size_t kLayerMessage = 4;
// Bytes by which a token is longer than what it carries. The types of encryption in use need 60 to 76.
constexpr size_t kTokenOverhead = 256;
constexpr size_t kLeastWrap = 1024;

class GssLayer : public SaslLayer {
 public:
  GssLayer(std::unique_ptr<GssContext> context, bool encrypts, size_t longest)
      : context_(std::move(context)), encrypts_(encrypts), longest_(longest) {}

  Result<std::string> Wrap(std::string_view bytes) override { return context_->Wrap(bytes, encrypts_); }
  Result<std::string> Unwrap(std::string_view token) override {
    auto bytes = context_->Unwrap(token);
    // Somebody may have changed the token on its way.
    if (!bytes.ok()) return UnavailableError(bytes.error().message);
    return bytes;
  }
  size_t LongestWrap() const override { return longest_; }

 private:
  const std::unique_ptr<GssContext> context_;
  const bool encrypts_;
  const size_t longest_;
};

class GssMechanism : public SaslMechanism {
 public:
  GssMechanism(std::string principal, std::string host, Duration limit)
      : principal_(std::move(principal)), host_(ToLower(host)), limit_(limit) {}

  const SaslMethod& method() const override {
    static const SaslMethod method{"KERBEROS", "GSSAPI", "Kerberos ticket"};
    return method;
  }

  Result<std::string> Begin(const wire::RpcSasl::SaslAuth& offer) override {
    const std::string claimed = StrCat(offer.protocol(), "/", offer.serverid());
    // A site may use short names of hosts, while principals have full ones.
    const bool is_longer_name = offer.serverid().starts_with(host_ + ".");
    const std::string expected = PrincipalOn(principal_, is_longer_name ? offer.serverid() : host_);
    if (!expected.starts_with(claimed + "@"))
      return NotPermittedError("the server has the principal ", claimed, ", expected ", expected,
                               " (yarn.resourcemanager.principal)");
    TRY_ASSIGN(context_, GssContext::Start(expected, limit_));
    return NextToken("");
  }

  Result<std::string> Respond(std::string_view challenge) override {
    return is_established_ ? ChooseLayer(challenge) : NextToken(challenge);
  }

  Result<std::unique_ptr<SaslLayer>> Finish(std::string_view token) override {
    if (layer_ == 0 || !token.empty()) return InvalidError("the server ended the exchange before a layer was chosen");
    std::unique_ptr<SaslLayer> layer;
    if (layer_ != kAuthentication)
      layer = std::make_unique<GssLayer>(std::move(context_), layer_ == kPrivacy, longest_);
    return layer;
  }

 private:
  Result<std::string> NextToken(std::string_view token) {
    TRY_ASSIGN(GssContext::Step step, context_->Next(token));
    is_established_ = step.is_last;
    return std::move(step.token);
  }

  // The server's message and this answer are signed, and not encrypted.
  Result<std::string> ChooseLayer(std::string_view challenge) {
    TRY_ASSIGN(const std::string offer, context_->Unwrap(challenge));
    if (offer.size() != kLayerMessage) return InvalidError("the server's list of layers is malformed");
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(offer[i]); };
    for (const Layer layer : {kAuthentication, kIntegrity, kPrivacy})
      if (layer_ == 0 && (byte(0) & layer) != 0) layer_ = layer;
    if (layer_ == 0) return InvalidError("the server offers no layer");
    const size_t most = size_t{byte(1)} << 16 | size_t{byte(2)} << 8 | byte(3);
    longest_ = std::max(kLeastWrap, most - std::min(most, kTokenOverhead));
    std::string answer(1, static_cast<char>(layer_));
    answer += layer_ == kAuthentication ? std::string(3, '\0') : std::string("\0\xff\xff", 3);
    return context_->Wrap(answer, /*encrypts=*/false);
  }

  const std::string principal_, host_;
  const Duration limit_;
  std::unique_ptr<GssContext> context_;
  bool is_established_ = false;
  int layer_ = 0;  // 0: not chosen
  size_t longest_ = 0;
};

}  // namespace

std::string PrincipalOn(const std::string& principal, const std::string& host) {
  const size_t at = principal.find(kAnyHost);
  if (at == std::string::npos) return principal;
  return StrCat(principal.substr(0, at + 1), ToLower(host), principal.substr(at + kAnyHost.size() - 1));
}

std::unique_ptr<SaslMechanism> MakeGssMechanism(std::string principal, std::string host, Duration limit) {
  return std::make_unique<GssMechanism>(std::move(principal), std::move(host), limit);
}

}  // namespace tony::hadoop
