// SHA-256. The implementation is OpenSSL's libcrypto, which only sha256.cc uses.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void Update(std::string_view bytes);
  // Returns the hash of all bytes so far, 64 lower-case hexadecimal digits. The object must not be used after that.
  std::string Hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string Sha256Hex(std::string_view bytes);

// Returns the hash of the whole open file. The position of `fd` does not matter. kInvalid: the file cannot be read; the
// message names `path`. `on_read` receives the number of bytes since its last call. If it returns an error, the reading
// ends.
Result<std::string> Sha256OfFile(int fd, const std::filesystem::path& path,
                                 const std::function<Status(int64_t bytes)>& on_read);

}  // namespace tony
