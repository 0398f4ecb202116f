#include "runtime/logs/log_excerpt.h"

#include <algorithm>

namespace tony {
namespace {

int64_t EndOf(const LogExcerpt::Part& part) { return part.begin + static_cast<int64_t>(part.text.size()); }

class ExcerptStream : public LogStream {
 public:
  explicit ExcerptStream(const LogExcerpt& excerpt) : excerpt_(excerpt) {}

  LogBytes Read(int64_t offset, std::span<char> buffer) const override {
    const auto part =
        std::ranges::find_if(excerpt_.parts, [&](const LogExcerpt::Part& one) { return EndOf(one) > offset; });
    if (part == excerpt_.parts.end()) return {std::max<int64_t>(excerpt_.size - offset, 0), 0};
    const int64_t cut = std::max<int64_t>(part->begin - offset, 0);
    const size_t from = static_cast<size_t>(offset + cut - part->begin);
    const size_t size = std::min(buffer.size(), part->text.size() - from);
    std::copy_n(part->text.data() + from, size, buffer.data());
    return {cut, size};
  }
  std::vector<LogPart> Parts() const override {
    std::vector<LogPart> parts;
    for (const LogExcerpt::Part& part : excerpt_.parts)
      parts.push_back({static_cast<uint64_t>(part.begin), static_cast<uint64_t>(EndOf(part))});
    return parts;
  }
  int64_t Size() const override { return excerpt_.size; }
  std::optional<Instant> Changed() const override { return std::nullopt; }

 private:
  const LogExcerpt& excerpt_;
};

}  // namespace

std::unique_ptr<LogStream> LogOf(const LogExcerpt& excerpt) { return std::make_unique<ExcerptStream>(excerpt); }

}  // namespace tony
