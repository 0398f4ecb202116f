#include "runtime/keeper/keeper_protocol.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "runtime/base/strings.h"

namespace tony {
namespace {

// The version of a message without the later fields, which a keeper or master of an earlier release understands.
constexpr char kFirstVersion = 1;
constexpr char kVersion = 2;
constexpr size_t kNumberBytes = 8;

// A container's name is short and an error line is cut, so that a part stays far below kMaxKeeperMessage.
constexpr size_t kEntriesPerPart = 100;
constexpr size_t kMaxErrorText = 1000;

// Writer and Reader have the same calls, so that each message names its fields once, in Fields().
class Writer {
 public:
  Writer(std::string& out, char version) : out_(out), version_(version) {}
  char version() const { return version_; }

  void Field(int64_t value) {
    for (size_t i = 0; i < kNumberBytes; ++i)
      out_.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
  }
  void Field(int value) { Field(int64_t{value}); }
  void Field(bool value) { Field(int64_t{value}); }
  void Field(const std::string& text) {
    Field(static_cast<int64_t>(text.size()));
    out_ += text;
  }
  void Field(StopMode mode) { Field(mode == StopMode::kKill); }
  template <class T>
  void Field(const std::vector<T>& list) {
    Field(static_cast<int64_t>(list.size()));
    for (const T& item : list) Field(item);
  }
  template <class T>
  void Field(const T& structure) {
    Fields(*this, structure);
  }
  void Field(const std::optional<ExitStatus>& status) {
    Field(int64_t{!status ? 0 : status->kind == ExitStatus::Kind::kExited ? 1 : 2});
    Field(int64_t{status ? status->value : 0});
  }

 private:
  std::string& out_;
  const char version_;
};

class Reader {
 public:
  Reader(std::string_view in, char version) : in_(in), version_(version) {}
  char version() const { return version_; }
  bool ok() const { return ok_; }
  bool AtEnd() const { return ok_ && in_.empty(); }

  void Field(int64_t& value) {
    if (in_.size() < kNumberBytes) return Fail();
    uint64_t bits = 0;
    for (size_t i = 0; i < kNumberBytes; ++i) bits |= uint64_t{static_cast<unsigned char>(in_[i])} << (8 * i);
    value = static_cast<int64_t>(bits);
    in_.remove_prefix(kNumberBytes);
  }
  void Field(int& value) { value = static_cast<int>(Bounded(std::numeric_limits<int>::max())); }
  void Field(bool& value) { value = Bounded(1) == 1; }
  void Field(std::string& text) {
    const size_t size = Length(1);
    text = in_.substr(0, size);
    in_.remove_prefix(size);
  }
  void Field(StopMode& mode) { mode = Bounded(1) == 1 ? StopMode::kKill : StopMode::kTerm; }
  template <class T>
  void Field(std::vector<T>& list) {
    const size_t size = Length(kNumberBytes);  // each item holds a number at least
    for (size_t i = 0; ok_ && i < size; ++i) Field(list.emplace_back());
  }
  template <class T>
  void Field(T& structure) {
    Fields(*this, structure);
  }
  void Field(std::optional<ExitStatus>& status) {
    const int64_t kind = Bounded(2);
    const int value = static_cast<int>(Bounded(kind == 0 ? 0 : 255));
    if (kind != 0) status = ExitStatus{kind == 1 ? ExitStatus::Kind::kExited : ExitStatus::Kind::kSignaled, value};
  }

 private:
  void Fail() {
    ok_ = false;
    in_ = {};
  }
  int64_t Bounded(int64_t highest) {
    int64_t value = 0;
    Field(value);
    if (value >= 0 && value <= highest) return value;
    Fail();
    return 0;
  }
  // Of items of at least `unit` bytes: never more than what is left can hold.
  size_t Length(size_t unit) {
    int64_t value = 0;
    Field(value);
    if (value >= 0 && static_cast<uint64_t>(value) <= in_.size() / unit) return static_cast<size_t>(value);
    Fail();
    return 0;
  }

  std::string_view in_;
  const char version_;
  bool ok_ = true;
};

template <class T, class Message>
concept Is = std::is_same_v<std::remove_const_t<T>, Message>;

void Fields(auto& io, Is<ContainerId> auto& id) { io.Field(id.value); }
void Fields(auto& io, Is<AmHello> auto& m) { io.Field(m.epoch.value); }
void Fields(auto& io, Is<AmRenew> auto& m) { io.Field(m.stamp); }
void Fields(auto& io, Is<Resources> auto& r) {
  io.Field(r.memory_mb);
  io.Field(r.vcores);
  io.Field(r.gpus);
}
void Fields(auto& io, Is<LaunchContainer> auto& m) {
  io.Field(m.container);
  io.Field(m.what.argv);
  io.Field(m.what.env);
  io.Field(m.what.log_file);
  io.Field(m.what.resources);
}
void Fields(auto& io, Is<StopContainer> auto& m) {
  io.Field(m.container);
  io.Field(m.mode);
}
void Fields(auto& io, Is<FinishJob> auto& m) {
  if (io.version() > kFirstVersion) io.Field(m.status_json);
}
void Fields(auto& io, Is<KeeperInventory> auto& m) {
  io.Field(m.running);
  io.Field(m.exited);
  io.Field(m.last);
}
void Fields(auto& io, Is<KeeperRenewed> auto& m) { io.Field(m.stamp); }
void Fields(auto& io, Is<ContainerStarted> auto& m) { io.Field(m.container); }
void Fields(auto& io, Is<ContainerExited> auto& m) {
  io.Field(m.container);
  io.Field(m.status);
  io.Field(m.error);
  if (io.version() > kFirstVersion) io.Field(m.left);
}
void Fields(auto&, Is<JobFinished> auto&) {}
void Fields(auto&, Is<JobAdmitted> auto&) {}
void Fields(auto& io, Is<JobQueued> auto& m) { io.Field(m.why); }

bool NeedsVersion2(const auto&) { return false; }
bool NeedsVersion2(const FinishJob& m) { return !m.status_json.empty(); }
bool NeedsVersion2(const ContainerExited& m) { return m.left; }
bool NeedsVersion2(const KeeperInventory& m) { return std::ranges::any_of(m.exited, &ContainerExited::left); }

template <class... Messages>
std::string EncodeOneOf(const std::variant<Messages...>& message) {
  const bool two = std::visit([](const auto& m) { return NeedsVersion2(m); }, message);
  const char version = two ? kVersion : kFirstVersion;
  std::string out{version, static_cast<char>(message.index())};
  Writer writer(out, version);
  std::visit([&](const auto& m) { writer.Field(m); }, message);
  return out;
}

// The variant with its `index`th type made from the fields.
template <class Variant, size_t... Indexes>
std::optional<Variant> ReadOneOf(Reader& reader, size_t index, std::index_sequence<Indexes...>) {
  std::optional<Variant> message;
  const auto read = [&]<size_t kIndex>() {
    if (index == kIndex) reader.Field(message.emplace().template emplace<kIndex>());
  };
  (read.template operator()<Indexes>(), ...);
  return message;
}

template <class Variant>
Result<Variant> DecodeOneOf(std::string_view text, const char* what) {
  if (text.size() < 2 || text[0] < kFirstVersion || text[0] > kVersion)
    return Error{ErrorCode::kInvalid, StrCat(what, ": not a message of this version")};
  Reader reader(text.substr(2), text[0]);
  const auto index = static_cast<unsigned char>(text[1]);
  auto message = ReadOneOf<Variant>(reader, index, std::make_index_sequence<std::variant_size_v<Variant>>());
  if (!message) return Error{ErrorCode::kInvalid, StrCat(what, ": unknown type ", int{index})};
  if (!reader.AtEnd()) return Error{ErrorCode::kInvalid, StrCat(what, " of type ", int{index}, ": damaged")};
  return *std::move(message);
}

}  // namespace

std::string Encode(const KeeperRequest& request) { return EncodeOneOf(request); }
std::string Encode(const KeeperReport& report) { return EncodeOneOf(report); }

Result<KeeperRequest> DecodeRequest(std::string_view message) {
  return DecodeOneOf<KeeperRequest>(message, "request to the keeper");
}

Result<KeeperReport> DecodeReport(std::string_view message) {
  return DecodeOneOf<KeeperReport>(message, "report of the keeper");
}

std::vector<KeeperInventory> InParts(const KeeperInventory& whole) {
  std::vector<KeeperInventory> parts;
  const auto room = [&]() -> KeeperInventory& {
    const bool full = parts.empty() || parts.back().running.size() + parts.back().exited.size() >= kEntriesPerPart;
    if (full) parts.push_back({{}, {}, /*last=*/false});
    return parts.back();
  };
  for (const auto& container : whole.running) room().running.push_back(container);
  for (const auto& exit : whole.exited) {
    auto& kept = room().exited.emplace_back(exit);
    kept.error.resize(std::min(kept.error.size(), kMaxErrorText));
  }
  if (parts.empty()) parts.emplace_back();
  parts.back().last = true;
  return parts;
}

}  // namespace tony
