// Avro's binary encoding and its object container file, as far as writing one needs them: no compression, a block for
// each 64 KiB. After the specification of Avro 1.11. Pure.
//
// Written here because Avro's C library keeps of a schema only what it understands: the avro.java.string that TonY's
// strings are tagged with, and the defaults, are not in the files it writes. It would have brought jansson, snappy,
// lzma and zlib into the programs, too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tony {

// One value after the other, in the order of the schema.
class AvroRecord {
 public:
  AvroRecord& Long(int64_t value);  // also an int, the branch of a union, the number of an enum's symbol
  AvroRecord& Double(double value);
  AvroRecord& String(std::string_view value);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class AvroContainer {
 public:
  // `schema`: JSON. `sync`: 16 bytes that the content is unlikely to hold.
  AvroContainer(std::string_view schema, std::string sync);
  void Add(const AvroRecord& record);
  std::string Finish() &&;  // the file

 private:
  void EndBlock();

  const std::string sync_;
  std::string file_;
  std::string block_;
  int64_t in_block_ = 0;
};

}  // namespace tony
