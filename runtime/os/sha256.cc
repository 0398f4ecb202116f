#include "runtime/os/sha256.h"

#include <unistd.h>

#include <cerrno>

// The deprecated functions add a few kilobytes to the program. Their replacements would link all of libcrypto, and
// every `tony` would take longer to load.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony {

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { SHA256_Init(&state_->context); }
Sha256::~Sha256() = default;

void Sha256::Update(std::string_view bytes) { SHA256_Update(&state_->context, bytes.data(), bytes.size()); }

std::string Sha256::Hex() {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256_Final(digest, &state_->context);
  return ToHex({reinterpret_cast<const char*>(digest), sizeof digest});
}

std::string Sha256Hex(std::string_view bytes) {
  Sha256 sha;
  sha.Update(bytes);
  return sha.Hex();
}

Result<std::string> Sha256OfFile(int fd, const std::filesystem::path& path,
                                 const std::function<Status(int64_t)>& on_read) {
  constexpr size_t kAtOnce = 1 << 18;
  const auto buffer = std::make_unique<char[]>(kAtOnce);
  Sha256 sha;
  for (off_t at = 0;;) {
    const ssize_t size = pread(fd, buffer.get(), kAtOnce, at);
    if (size == 0) return sha.Hex();
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return FileError(ErrorCode::kInvalid, "read", path, errno);
    sha.Update({buffer.get(), static_cast<size_t>(size)});
    at += size;
    TRY(on_read(size));
  }
}

}  // namespace tony
