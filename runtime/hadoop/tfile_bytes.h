// Bytes of a file's part, one after the other, as they are or inflated: for aggregated_log.cc alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/hadoop/aggregated_log.h"

namespace tony::hadoop {

Error NotATFile(std::string_view what);

class TFileBytes {
 public:
  virtual ~TFileBytes() = default;
  virtual Result<std::string> Take(int64_t count) = 0;  // so many; kInvalid: there are fewer
  virtual Status Skip(int64_t count) = 0;
  virtual Result<bool> AtEnd() = 0;
};

class PlainBytes : public TFileBytes {
 public:
  PlainBytes(const ReadRange& read, int64_t begin, int64_t end) : read_(read), at_(begin), end_(end) {}

  Result<std::string> Take(int64_t count) override;
  Status Skip(int64_t count) override;
  Result<bool> AtEnd() override { return at_ == end_ && Buffered() == 0; }
  int64_t left() const { return end_ - at_ + Buffered(); }

 private:
  int64_t Buffered() const { return static_cast<int64_t>(window_.size() - used_); }
  Result<std::string> Window(int64_t wanted);

  const ReadRange& read_;
  int64_t at_;  // what is in the window is before it
  const int64_t end_;
  std::string window_;
  size_t used_ = 0;
};

// Of a zlib stream, or a gzip one.
class InflatedBytes : public TFileBytes {
 public:
  // `budget`: so many bytes may be inflated, of all blocks together.
  InflatedBytes(const ReadRange& read, int64_t begin, int64_t end, int64_t& budget);
  ~InflatedBytes() override;

  Result<std::string> Take(int64_t count) override;
  Status Skip(int64_t count) override;
  Result<bool> AtEnd() override;

 private:
  struct Stream;  // zlib's
  Status Inflate();

  PlainBytes packed_;
  const std::unique_ptr<Stream> stream_;
  bool ended_ = false;
  int64_t& budget_;
  std::string in_, text_;
  size_t used_ = 0;
};

}  // namespace tony::hadoop
