// Writes a file as NodeManagers leave it in HDFS (runtime/hadoop/aggregated_log.h), with code independent of the
// reader.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/check.h"

namespace tony {

class TFileWriter {
 public:
  using Logs = std::vector<std::pair<std::string, std::string>>;  // name and text

  explicit TFileWriter(std::string compression = "none", size_t chunk = 1 << 20)
      : compression_(std::move(compression)), chunk_(chunk) {}

  // Java's DataOutput.writeUTF().
  static std::string JavaText(const std::string& text) {
    return std::string{static_cast<char>(text.size() >> 8), static_cast<char>(text.size())} + text;
  }

  static std::string Number(int64_t n) {
    if (n >= -32 && n < 128) return std::string(1, static_cast<char>(n));
    const auto fits = [n](int bits) { return n >= -(int64_t{1} << bits) && n < int64_t{1} << bits; };
    if (n >= -(20 << 8) && n < 20 << 8) return Big((n >> 8) - 52, 1) + Big(n, 1);
    if (n >= -(16 << 16) && n < 16 << 16) return Big((n >> 16) - 88, 1) + Big(n, 2);
    if (n >= -(8LL << 24) && n < 8LL << 24) return Big((n >> 24) - 112, 1) + Big(n, 3);
    int bytes = 4;
    while (bytes < 8 && !fits(8 * bytes - 1)) ++bytes;
    return Big(bytes - 129, 1) + Big(n, bytes);
  }

  void Add(const std::string& key, const std::string& value) {
    block_ += Text(JavaText(key));
    size_t at = 0;
    for (; value.size() - at > chunk_; at += chunk_)
      block_ += Number(-static_cast<int64_t>(chunk_)) + value.substr(at, chunk_);
    block_ += Number(static_cast<int64_t>(value.size() - at)) + value.substr(at);
  }
  void AddContainer(const std::string& container, const Logs& logs) {
    std::string value;
    for (const auto& [name, text] : logs) value += JavaText(name) + JavaText(std::to_string(text.size())) + text;
    Add(container, value);
  }
  void EndBlock() {
    regions_.push_back(Put(block_, compression_));
    block_.clear();
  }

  // Finishes the file. The index promises `more` blocks that do not exist.
  std::string Finish(int64_t more = 0) {
    EndBlock();
    std::string index = Text(compression_) + Number(static_cast<int64_t>(regions_.size()) + more);
    for (const std::string& region : regions_) index += region;
    const std::string entry = Text("data:BCFile.index") + Text("none") + Put(index, "none");
    const std::string other = Text("data:TFile.meta") + Text("none") + Put("meta", "none");
    const auto at = static_cast<int64_t>(file_.size());
    return file_ + Number(2) + other + entry + Big(at, 8) + Big(1, 2) + Big(0, 2) + kMagic;
  }

 private:
  static std::string Big(int64_t n, int bytes) {
    std::string out;
    for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(n >> (8 * i)));
    return out;
  }
  static std::string Text(const std::string& text) { return Number(static_cast<int64_t>(text.size())) + text; }
  static std::string Deflated(const std::string& text) {
    std::string out(compressBound(text.size()), '\0');
    uLongf size = out.size();
    CHECK(compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                   text.size()) == Z_OK);
    out.resize(size);
    return out;
  }
  // Returns the position of the bytes.
  std::string Put(const std::string& bytes, const std::string& compression) {
    const auto at = static_cast<int64_t>(file_.size());
    const std::string stored = compression == "gz" ? Deflated(bytes) : bytes;
    file_ += stored;
    return Number(at) + Number(static_cast<int64_t>(stored.size())) + Number(static_cast<int64_t>(bytes.size()));
  }

  inline static const std::string kMagic{"\xd1\x11\xd3\x68\x91\xb5\xd7\xb6\x39\xdf\x41\x40\x92\xba\xe1\x50", 16};
  const std::string compression_;
  const size_t chunk_;
  std::string file_ = kMagic;
  std::string block_;
  std::vector<std::string> regions_;
};

}  // namespace tony
