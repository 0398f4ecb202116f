// The encoding of messages between an AM and a keeper (supervisor of the job), by the field lists of job/fields.h. A
// message has one byte for the version, one for the type (the index in the variant), and the fields in order without
// their names. Numbers have eight bytes; texts and lists begin with their length; all is little-endian. Fields with
// Later() are only in messages of version 2. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/exit_status.h"
#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/job/fields.h"
#include "runtime/job/scheduler_events.h"

namespace tony {

// The version that a keeper or an AM of an earlier release understands. Its messages lack the fields with Later().
inline constexpr char kFirstMessageVersion = 1;
inline constexpr char kMessageVersion = 2;

class PacketWriter {
 public:
  static constexpr bool kReads = false;
  PacketWriter(std::string& out, char version) : out_(out), version_(version) {}

  template <class T>
  void Field(std::string_view /*name*/, const T& value, const auto&... /*form*/) {
    Append(value);
  }
  template <class T>
  void Later(std::string_view /*name*/, const T& value, const auto&... /*form*/) {
    if (version_ > kFirstMessageVersion) Append(value);
  }

 private:
  void Append(int64_t value) {
    for (size_t i = 0; i < sizeof value; ++i)
      out_.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
  }
  void Append(int value) { Append(int64_t{value}); }
  void Append(bool value) { Append(int64_t{value}); }
  void Append(StopMode mode) { Append(mode == StopMode::kKill); }
  void Append(const std::string& text) {
    Append(static_cast<int64_t>(text.size()));
    out_ += text;
  }
  void Append(const std::optional<ExitStatus>& status) {
    Append(int64_t{!status ? 0 : status->kind == ExitStatus::Kind::kExited ? 1 : 2});
    Append(int64_t{status ? status->value : 0});
  }
  template <class T>
  void Append(const std::vector<T>& list) {
    Append(static_cast<int64_t>(list.size()));
    for (const T& item : list) Append(item);
  }
  template <class T>
  void Append(const T& value) {
    if constexpr (kIsId<T>) {
      Append(value.value);
    } else {
      Fields(*this, value);
    }
  }

  std::string& out_;
  const char version_;
};

class PacketReader {
 public:
  static constexpr bool kReads = true;
  PacketReader(std::string_view in, char version) : in_(in), version_(version) {}
  bool AtEnd() const { return ok_ && in_.empty(); }

  template <class T>
  void Field(std::string_view /*name*/, T& value, const auto&... /*form*/) {
    Read(value);
  }
  template <class T>
  void Later(std::string_view /*name*/, T& value, const auto&... /*form*/) {
    if (version_ > kFirstMessageVersion) Read(value);
  }

 private:
  void Read(int64_t& value) {
    if (in_.size() < sizeof value) return Fail();
    uint64_t bits = 0;
    for (size_t i = 0; i < sizeof value; ++i) bits |= uint64_t{static_cast<unsigned char>(in_[i])} << (8 * i);
    value = static_cast<int64_t>(bits);
    in_.remove_prefix(sizeof value);
  }
  void Read(int& value) { value = static_cast<int>(Bounded(std::numeric_limits<int>::max())); }
  void Read(bool& value) { value = Bounded(1) == 1; }
  void Read(StopMode& mode) { mode = Bounded(1) == 1 ? StopMode::kKill : StopMode::kTerm; }
  void Read(std::string& text) {
    const size_t size = Length(1);
    text = in_.substr(0, size);
    in_.remove_prefix(size);
  }
  void Read(std::optional<ExitStatus>& status) {
    const int64_t kind = Bounded(2);
    const int value = static_cast<int>(Bounded(kind == 0 ? 0 : 255));
    if (kind != 0) status = ExitStatus{kind == 1 ? ExitStatus::Kind::kExited : ExitStatus::Kind::kSignaled, value};
  }
  template <class T>
  void Read(std::vector<T>& list) {
    // Each item has at least one number.
    const size_t size = Length(sizeof(int64_t));
    for (size_t i = 0; ok_ && i < size; ++i) Read(list.emplace_back());
  }
  template <class T>
  void Read(T& value) {
    if constexpr (kIsId<T>) {
      Read(value.value);
    } else {
      Fields(*this, value);
    }
  }
  void Fail() {
    ok_ = false;
    in_ = {};
  }
  int64_t Bounded(int64_t highest) {
    int64_t value = 0;
    Read(value);
    if (value >= 0 && value <= highest) return value;
    Fail();
    return 0;
  }
  // Reads a number of items of at least `unit` bytes each. Fails if the rest of the message cannot hold that many.
  size_t Length(size_t unit) {
    int64_t value = 0;
    Read(value);
    if (value >= 0 && static_cast<uint64_t>(value) <= in_.size() / unit) return static_cast<size_t>(value);
    Fail();
    return 0;
  }

  std::string_view in_;
  const char version_;
  bool ok_ = true;
};

template <class... Messages>
std::string EncodeMessage(const std::variant<Messages...>& message, char version) {
  std::string out{version, static_cast<char>(message.index())};
  PacketWriter io(out, version);
  std::visit([&](const auto& fields) { Fields(io, fields); }, message);
  return out;
}

// Decodes a message. kInvalid: the message is damaged. `what` is the beginning of each error text.
template <class Variant>
Result<Variant> DecodeMessage(std::string_view text, std::string_view what) {
  if (text.size() < 2 || text[0] < kFirstMessageVersion || text[0] > kMessageVersion)
    return InvalidError(what, ": not a message of this version");
  PacketReader io(text.substr(2), text[0]);
  const auto index = static_cast<unsigned char>(text[1]);
  if (index >= std::variant_size_v<Variant>) return InvalidError(what, ": unknown type ", int{index});
  Variant message = DefaultAlternative<Variant>(index);
  std::visit([&](auto& fields) { Fields(io, fields); }, message);
  if (!io.AtEnd()) return InvalidError(what, " of type ", int{index}, ": damaged");
  return message;
}

}  // namespace tony
