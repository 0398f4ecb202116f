#include "runtime/hadoop/log_bytes.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

namespace tony::hadoop {
namespace {

class PlainBytes : public LogBytes {
 public:
  PlainBytes(const ReadRange& read, int64_t begin, int64_t end) : read_(read), at_(begin), end_(end) {}

  Result<std::string> Take(int64_t count) override {
    if (count > left()) return BadLogFile("the file ends early");
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
  Status Skip(int64_t count) override {
    if (count > left()) return BadLogFile("the file ends early");
    const int64_t here = std::min(count, Buffered());
    used_ += static_cast<size_t>(here);
    at_ += count - here;
    return Ok();
  }
  Result<bool> AtEnd() override { return at_ == end_ && Buffered() == 0; }
  int64_t left() const { return end_ - at_ + Buffered(); }

 private:
  int64_t Buffered() const { return static_cast<int64_t>(window_.size() - used_); }
  Result<std::string> Window(int64_t wanted) {
    const int64_t count = std::min(end_ - at_, std::max(wanted, kLogWindow));
    TRY_ASSIGN(std::string bytes, read_(at_, count));
    if (static_cast<int64_t>(bytes.size()) != count) return BadLogFile("the file has become shorter");
    at_ += count;
    return bytes;
  }

  const ReadRange& read_;
  // Offset of the next read. The window contains bytes from before this offset.
  int64_t at_;
  const int64_t end_;
  std::string window_;
  size_t used_ = 0;
};

// The content of a zlib stream or a gzip stream.
class InflatedBytes : public LogBytes {
 public:
  // `budget` is the number of bytes that may still be inflated, for all blocks together.
  InflatedBytes(const ReadRange& read, int64_t begin, int64_t end, int64_t& budget)
      : packed_(read, begin, end), budget_(budget) {
    constexpr int kEither = 32;
    is_open_ = inflateInit2(&z_, MAX_WBITS + kEither) == Z_OK;
  }
  ~InflatedBytes() override {
    if (is_open_) inflateEnd(&z_);
  }
  InflatedBytes(const InflatedBytes&) = delete;

  Result<std::string> Take(int64_t count) override {
    std::string taken;
    while (static_cast<int64_t>(taken.size()) < count) {
      TRY_ASSIGN(const size_t some, Some(count - static_cast<int64_t>(taken.size())));
      taken.append(text_, used_ - some, some);
    }
    return taken;
  }
  Status Skip(int64_t count) override {
    while (count > 0) {
      TRY_ASSIGN(const size_t some, Some(count));
      count -= static_cast<int64_t>(some);
    }
    return Ok();
  }
  Result<bool> AtEnd() override {
    while (used_ == text_.size() && !ended_) TRY(Inflate());
    return used_ == text_.size();
  }

 private:
  // Consumes up to `wanted` bytes of the inflated text, at least one, and returns their number.
  Result<size_t> Some(int64_t wanted) {
    TRY_ASSIGN(const bool is_over, AtEnd());
    if (is_over) return BadLogFile("a block ends early");
    const size_t some = std::min(static_cast<size_t>(wanted), text_.size() - used_);
    used_ += some;
    return some;
  }
  Status Inflate() {
    if (!is_open_) return Error{ErrorCode::kInternal, "zlib cannot start"};
    if (z_.avail_in == 0) {
      TRY_ASSIGN(in_, packed_.Take(std::min(packed_.left(), kLogWindow)));
      if (in_.empty()) return BadLogFile("a block ends early");
      z_.next_in = reinterpret_cast<Bytef*>(in_.data());
      z_.avail_in = static_cast<uInt>(in_.size());
    }
    text_.resize(static_cast<size_t>(kLogWindow));
    used_ = 0;
    z_.next_out = reinterpret_cast<Bytef*>(text_.data());
    z_.avail_out = static_cast<uInt>(text_.size());
    const int rc = inflate(&z_, Z_NO_FLUSH);
    text_.resize(text_.size() - z_.avail_out);
    budget_ -= static_cast<int64_t>(text_.size());
    ended_ = rc == Z_STREAM_END;
    const bool is_hungry = rc == Z_BUF_ERROR && z_.avail_in == 0;
    if (rc != Z_OK && rc != Z_STREAM_END && !is_hungry) return BadLogFile("a block cannot be inflated");
    if (budget_ < 0) return InvalidError("the block is too large to be inflated");
    return Ok();
  }

  PlainBytes packed_;
  z_stream z_{};
  bool is_open_ = false;
  bool ended_ = false;
  int64_t& budget_;
  std::string in_, text_;
  size_t used_ = 0;
};

}  // namespace

std::unique_ptr<LogBytes> PlainLogBytes(const ReadRange& read, const LogRegion& region) {
  return std::make_unique<PlainBytes>(read, region.begin, region.end);
}

Result<std::unique_ptr<LogBytes>> OpenLogBytes(const ReadRange& read, const LogRegion& region,
                                               const std::string& compression, int64_t& budget) {
  if (compression == "none") return PlainLogBytes(read, region);
  if (compression == "gz")
    return std::unique_ptr<LogBytes>(std::make_unique<InflatedBytes>(read, region.begin, region.end, budget));
  return InvalidError("the compression of the log is \"", compression, "\", expected none or gz");
}

}  // namespace tony::hadoop
