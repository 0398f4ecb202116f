// SHA-256. OpenSSL's libcrypto is behind it, in sha256.cc alone.
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
  std::string Hex();  // of all so far, 64 lower-case digits; the end of this object's use

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string Sha256Hex(std::string_view bytes);

// Of the whole open file, wherever it stands. kInvalid names `path`. `on_read` is called with the bytes since the last
// call; an error ends it.
Result<std::string> Sha256OfFile(int fd, const std::filesystem::path& path,
                                 const std::function<Status(int64_t bytes)>& on_read);

}  // namespace tony
