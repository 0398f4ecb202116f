#include "runtime/history/avro.h"

#include <bit>
#include <utility>

#include "runtime/base/check.h"

namespace tony {
namespace {

constexpr size_t kBlockBytes = 64 * 1024;
constexpr size_t kSyncBytes = 16;

}  // namespace

// Zig-zag, then seven bits a byte from the least on.
AvroRecord& AvroRecord::Long(int64_t value) {
  uint64_t rest = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  for (; rest >= 0x80; rest >>= 7) bytes_.push_back(static_cast<char>(rest | 0x80));
  bytes_.push_back(static_cast<char>(rest));
  return *this;
}

AvroRecord& AvroRecord::Double(double value) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  for (int i = 0; i < 8; ++i, bits >>= 8) bytes_.push_back(static_cast<char>(bits));
  return *this;
}

AvroRecord& AvroRecord::String(std::string_view value) {
  Long(static_cast<int64_t>(value.size()));
  bytes_.append(value);
  return *this;
}

AvroContainer::AvroContainer(std::string_view schema, std::string sync) : sync_(std::move(sync)) {
  CHECK(sync_.size() == kSyncBytes);
  AvroRecord metadata;  // a map of two, which ends with a 0
  metadata.Long(2).String("avro.schema").String(schema).String("avro.codec").String("null").Long(0);
  file_ = "Obj\1" + metadata.bytes() + sync_;
}

void AvroContainer::Add(const AvroRecord& record) {
  block_ += record.bytes();
  ++in_block_;
  if (block_.size() >= kBlockBytes) EndBlock();
}

std::string AvroContainer::Finish() && {
  EndBlock();
  return std::move(file_);
}

void AvroContainer::EndBlock() {
  if (in_block_ == 0) return;
  AvroRecord block;
  block.Long(in_block_).String(block_);  // the bytes with their number before them
  file_ += block.bytes() + sync_;
  block_.clear();
  in_block_ = 0;
}

}  // namespace tony
