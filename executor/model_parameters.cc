#include "executor/model_parameters.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "runtime/job/published_values.h"
#include "runtime/os/files.h"

namespace tony::executor {
namespace {

constexpr std::string_view kMarker = "Model parameters: ";
constexpr size_t kPiece = 64 << 10;

std::string ReadAt(int fd, size_t offset, size_t size) {
  std::string text(size, '\0');
  const ssize_t got = pread(fd, text.data(), size, static_cast<off_t>(offset));
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

}  // namespace

std::optional<std::string> ReadModelParameters(const std::filesystem::path& stdout_file) {
  const auto opened = OpenRegularFile(stdout_file, O_RDONLY);
  if (!opened.ok()) return std::nullopt;
  const int fd = opened->fd.get();
  for (size_t offset = 0;;) {
    const std::string piece = ReadAt(fd, offset, kPiece);
    if (const size_t at = piece.find(kMarker); at != std::string::npos) {
      std::string rest = ReadAt(fd, offset + at + kMarker.size(), kLongestModelParams + 1);
      rest.resize(std::min(rest.size(), rest.find('\n')));
      if (rest.ends_with('\r')) rest.pop_back();
      return rest;
    }
    if (piece.size() < kPiece) return std::nullopt;
    offset += kPiece - kMarker.size();  // it may stand across two pieces
  }
}

}  // namespace tony::executor
