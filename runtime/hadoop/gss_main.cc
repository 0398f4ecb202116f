// tony-gss TARGET: proves the identity of the user who has a Kerberos ticket or a keytab to one server. `tony` starts
// this program on a cluster with Kerberos, never a user. gss_context.h describes the messages on standard input and
// output.
//
// The ticket is that of $KRB5CCNAME, or is requested with the keytab $KRB5_CLIENT_KTNAME. Exits with 0 when its input
// ends, and with 64 after an unknown message.
#include <gssapi/gssapi.h>
#include <gssapi/gssapi_krb5.h>
#include <krb5.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "runtime/hadoop/gss_context.h"

namespace {

constexpr int kUsage = 64;

struct Answer {
  char letter;
  std::string bytes;
};

// A buffer that the library has allocated.
class GssBuffer {
 public:
  ~GssBuffer() {
    OM_uint32 minor = 0;
    gss_release_buffer(&minor, &buffer_);
  }
  gss_buffer_t get() { return &buffer_; }
  std::string text() const { return {static_cast<const char*>(buffer_.value), buffer_.length}; }

 private:
  gss_buffer_desc buffer_ = GSS_C_EMPTY_BUFFER;
};

// Returns a buffer that refers to `bytes`. The library does not change what it only reads.
gss_buffer_desc View(std::string_view bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; }

std::string TextOf(OM_uint32 code, int type) {
  std::string text;
  OM_uint32 minor = 0, more = 0;
  do {
    GssBuffer part;
    if (gss_display_status(&minor, code, type, gss_mech_krb5, &more, part.get()) != GSS_S_COMPLETE) break;
    text += (text.empty() ? "" : ": ") + part.text();
  } while (more != 0);
  return text;
}

// The error code of libkrb5 in a minor status.
bool Is(OM_uint32 minor, long code) { return static_cast<int32_t>(minor) == static_cast<int32_t>(code); }

std::string AdviceFor(OM_uint32 major, OM_uint32 minor) {
  if (GSS_ROUTINE_ERROR(major) == GSS_S_CREDENTIALS_EXPIRED || Is(minor, KRB5KRB_AP_ERR_TKT_EXPIRED))
    return "; the ticket has expired: run kinit";
  if (GSS_ROUTINE_ERROR(major) == GSS_S_NO_CRED || Is(minor, KRB5_FCC_NOFILE))
    return "; run kinit, or set KRB5CCNAME or KRB5_CLIENT_KTNAME";
  if (Is(minor, KRB5KRB_AP_ERR_SKEW) || Is(minor, KRB5KRB_AP_ERR_TKT_NYV))
    return "; synchronize the clock of this machine";
  return "";
}

Answer Failed(OM_uint32 major, OM_uint32 minor) {
  const bool may_help = Is(minor, KRB5_KDC_UNREACH);
  std::string text = TextOf(minor, GSS_C_MECH_CODE);
  if (minor == 0 || text.empty()) text = TextOf(major, GSS_C_GSS_CODE);
  return {may_help ? 'r' : 'x', "Kerberos: " + text + AdviceFor(major, minor)};
}

class Context {
 public:
  // A target without a slash is a service on a host, such as "HTTP@nn.example.org".
  explicit Context(const std::string& target) {
    gss_buffer_desc name = View(target);
    const bool is_principal = target.find('/') != std::string::npos;
    gss_OID kind = is_principal ? const_cast<gss_OID>(GSS_KRB5_NT_PRINCIPAL_NAME) : GSS_C_NT_HOSTBASED_SERVICE;
    major_ = gss_import_name(&minor_, &name, kind, &target_);
  }

  Answer Reply(char letter, std::string_view bytes) {
    switch (letter) {
      case 't':
        return Next(bytes);
      case 'w':
      case 'e':
        return Wrap(bytes, letter == 'e');
      case 'u':
        return Unwrap(bytes);
      case 'i':
        return User();
      default:
        return {0, ""};
    }
  }

 private:
  Answer Next(std::string_view token) {
    if (GSS_ERROR(major_)) return Failed(major_, minor_);
    constexpr OM_uint32 kFlags = GSS_C_MUTUAL_FLAG | GSS_C_SEQUENCE_FLAG | GSS_C_INTEG_FLAG | GSS_C_CONF_FLAG;
    gss_buffer_desc received = View(token);
    GssBuffer next;
    OM_uint32 minor = 0;
    const OM_uint32 major = gss_init_sec_context(
        &minor, GSS_C_NO_CREDENTIAL, &context_, target_, const_cast<gss_OID>(gss_mech_krb5), kFlags, 0,
        GSS_C_NO_CHANNEL_BINDINGS, token.empty() ? GSS_C_NO_BUFFER : &received, nullptr, next.get(), nullptr, nullptr);
    if (GSS_ERROR(major)) return Failed(major, minor);
    return {major == GSS_S_COMPLETE ? 'd' : 'c', next.text()};
  }

  Answer Wrap(std::string_view bytes, bool encrypts) {
    gss_buffer_desc plain = View(bytes);
    GssBuffer wrapped;
    int is_encrypted = 0;
    OM_uint32 minor = 0;
    const OM_uint32 major =
        gss_wrap(&minor, context_, encrypts, GSS_C_QOP_DEFAULT, &plain, &is_encrypted, wrapped.get());
    if (GSS_ERROR(major)) return Failed(major, minor);
    if (encrypts && is_encrypted == 0)
      return {'x', "Kerberos: the ticket's type of encryption cannot encrypt messages"};
    return {'b', wrapped.text()};
  }

  Answer Unwrap(std::string_view bytes) {
    gss_buffer_desc wrapped = View(bytes);
    GssBuffer plain;
    OM_uint32 minor = 0;
    const OM_uint32 major = gss_unwrap(&minor, context_, &wrapped, plain.get(), nullptr, nullptr);
    // A supplementary bit reports a message that was repeated, lost or moved.
    if (major != GSS_S_COMPLETE) return Failed(major, minor);
    return {'b', plain.text()};
  }

  static Answer User() {
    gss_cred_id_t credential = GSS_C_NO_CREDENTIAL;
    gss_name_t name = GSS_C_NO_NAME;
    GssBuffer text;
    OM_uint32 minor = 0, left = 0;
    OM_uint32 major = gss_acquire_cred(&minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, GSS_C_NO_OID_SET, GSS_C_INITIATE,
                                       &credential, nullptr, nullptr);
    if (!GSS_ERROR(major)) major = gss_inquire_cred(&minor, credential, &name, &left, nullptr, nullptr);
    if (!GSS_ERROR(major)) major = gss_display_name(&minor, name, text.get(), nullptr);
    if (GSS_ERROR(major)) return Failed(major, minor);
    return {'b', text.text() + " " + std::to_string(left)};
  }

  gss_name_t target_ = GSS_C_NO_NAME;
  gss_ctx_id_t context_ = GSS_C_NO_CONTEXT;
  OM_uint32 major_ = 0, minor_ = 0;
};

bool ReadAll(char* to, size_t size) {
  while (size > 0) {
    const ssize_t got = read(STDIN_FILENO, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

int Serve(Context context) {
  for (unsigned char head[4]; ReadAll(reinterpret_cast<char*>(head), sizeof head);) {
    const uint32_t length = uint32_t{head[0]} << 24 | uint32_t{head[1]} << 16 | uint32_t{head[2]} << 8 | head[3];
    if (length == 0 || length > tony::hadoop::kLongestGssMessage) return kUsage;
    std::string message(length, '\0');
    if (!ReadAll(message.data(), message.size())) return kUsage;
    const Answer answer = context.Reply(message[0], std::string_view(message).substr(1));
    if (answer.letter == 0) return kUsage;
    if (!WriteAll(tony::hadoop::GssMessage(answer.letter, answer.bytes))) return 0;
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2) return Serve(Context(arguments[1]));
  std::fputs("tony-gss: only tony starts this program\n", stderr);
  return kUsage;
}
