#include "runtime/hadoop/tfile_bytes.h"

#include <zlib.h>

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony::hadoop {
namespace {

constexpr int64_t kWindow = 64 << 10;  // of one reading

}  // namespace

Error NotATFile(std::string_view what) { return {ErrorCode::kInvalid, StrCat("not as a TFile should be: ", what)}; }

Result<std::string> PlainBytes::Take(int64_t count) {
  if (count > left()) return NotATFile("it ends early");
  while (Buffered() < count) {
    TRY_ASSIGN(const std::string more, Window(count - Buffered()));
    window_.erase(0, used_);
    used_ = 0;
    window_ += more;
  }
  std::string taken = window_.substr(used_, static_cast<size_t>(count));
  used_ += taken.size();
  return taken;
}

Status PlainBytes::Skip(int64_t count) {
  if (count > left()) return NotATFile("it ends early");
  const int64_t here = std::min(count, Buffered());
  used_ += static_cast<size_t>(here);
  at_ += count - here;
  return Ok();
}

Result<std::string> PlainBytes::Window(int64_t wanted) {
  const int64_t count = std::min(end_ - at_, std::max(wanted, kWindow));
  TRY_ASSIGN(std::string bytes, read_(at_, count));
  if (static_cast<int64_t>(bytes.size()) != count) return NotATFile("it has got shorter");
  at_ += count;
  return bytes;
}

struct InflatedBytes::Stream {
  Stream() {
    constexpr int kEither = 32;
    is_open = inflateInit2(&z, MAX_WBITS + kEither) == Z_OK;
  }
  ~Stream() {
    if (is_open) inflateEnd(&z);
  }
  z_stream z{};
  bool is_open = false;
};

InflatedBytes::InflatedBytes(const ReadRange& read, int64_t begin, int64_t end, int64_t& budget)
    : packed_(read, begin, end), stream_(std::make_unique<Stream>()), budget_(budget) {}

InflatedBytes::~InflatedBytes() = default;

Result<std::string> InflatedBytes::Take(int64_t count) {
  std::string taken;
  while (static_cast<int64_t>(taken.size()) < count) {
    TRY_ASSIGN(const bool is_over, AtEnd());
    if (is_over) return NotATFile("a block ends early");
    const auto some = std::min(static_cast<size_t>(count) - taken.size(), text_.size() - used_);
    taken.append(text_, used_, some);
    used_ += some;
  }
  return taken;
}

Status InflatedBytes::Skip(int64_t count) {
  while (count > 0) {
    TRY_ASSIGN(const bool is_over, AtEnd());
    if (is_over) return NotATFile("a block ends early");
    const auto some = std::min(static_cast<size_t>(count), text_.size() - used_);
    used_ += some;
    count -= static_cast<int64_t>(some);
  }
  return Ok();
}

Result<bool> InflatedBytes::AtEnd() {
  while (used_ == text_.size() && !ended_) TRY(Inflate());
  return used_ == text_.size();
}

Status InflatedBytes::Inflate() {
  z_stream& z = stream_->z;
  if (!stream_->is_open) return Error{ErrorCode::kInternal, "zlib cannot begin"};
  if (z.avail_in == 0) {
    TRY_ASSIGN(in_, packed_.Take(std::min(packed_.left(), kWindow)));
    if (in_.empty()) return NotATFile("a block ends early");
    z.next_in = reinterpret_cast<Bytef*>(in_.data());
    z.avail_in = static_cast<uInt>(in_.size());
  }
  text_.resize(static_cast<size_t>(kWindow));
  used_ = 0;
  z.next_out = reinterpret_cast<Bytef*>(text_.data());
  z.avail_out = static_cast<uInt>(text_.size());
  const int rc = inflate(&z, Z_NO_FLUSH);
  text_.resize(text_.size() - z.avail_out);
  budget_ -= static_cast<int64_t>(text_.size());
  ended_ = rc == Z_STREAM_END;
  const bool is_hungry = rc == Z_BUF_ERROR && z.avail_in == 0;
  if (rc != Z_OK && rc != Z_STREAM_END && !is_hungry) return NotATFile("a block cannot be inflated");
  if (budget_ < 0) return Error{ErrorCode::kInvalid, "it is too large to be inflated"};
  return Ok();
}

}  // namespace tony::hadoop
