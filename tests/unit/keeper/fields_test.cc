// One list of fields is enough for all encodings of a value: documents, journal records, ledger entries and messages.
#include "runtime/job/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/job/json_fields.h"
#include "runtime/keeper/message_fields.h"
#include "runtime/records/journal_format.h"

namespace tony {

struct Wheel {
  int spokes = 0;
  bool operator==(const Wheel&) const = default;
};
void Fields(auto& io, Is<Wheel> auto& wheel) { io.Field("spokes", wheel.spokes); }

// A value as it was in the release before...
struct OldBicycle {
  std::string name;
  std::vector<Wheel> wheels;
  bool operator==(const OldBicycle&) const = default;
};
void Fields(auto& io, Is<OldBicycle> auto& bicycle) {
  io.Field("name", bicycle.name);
  io.Field("wheels", bicycle.wheels);
}

// ...and the same with one field more: one member, and one line in its list.
struct Bicycle {
  std::string name;
  std::vector<Wheel> wheels;
  int64_t bells = 1;
  bool operator==(const Bicycle&) const = default;
};
void Fields(auto& io, Is<Bicycle> auto& bicycle) {
  io.Field("name", bicycle.name);
  io.Field("wheels", bicycle.wheels);
  io.Later("bells", bicycle.bells, Between{0, 9});
}

namespace {

using ::testing::HasSubstr;

template <class T>
T DocumentBack(const std::string& text) {
  const auto read = ReadJson<T>(text, "bicycle");
  EXPECT_TRUE(read.ok()) << read.error().message;
  return read.ok() ? *read : T{};
}

template <class T>
struct Seen {
  std::variant<T> body;
};
constexpr std::array<std::string_view, 1> kKinds = {"bicycle_seen"};
template <class T>
void Fields(auto& io, Seen<T>& seen) {
  OneOf(io, "decision", seen.body, kKinds);
}

template <class T>
std::string MessageOf(const T& value, char version) {
  return EncodeMessage(std::variant<T>(value), version);
}

template <class T>
T MessageBack(const std::string& bytes) {
  const auto read = DecodeMessage<std::variant<T>>(bytes, "bicycle");
  EXPECT_TRUE(read.ok()) << read.error().message;
  return read.ok() ? std::get<T>(*read) : T{};
}

const OldBicycle kOld{"red \"one\"", {{28}, {36}}};
const Bicycle kNew{"red \"one\"", {{28}, {36}}, 3};
const Bicycle kDefault{"red \"one\"", {{28}, {36}}, 1};

TEST(FieldsTest, AFieldThatIsAddedOnceIsInEveryEncoding) {
  const std::string document = WriteJson(kNew);
  EXPECT_EQ(document, R"({"name":"red \"one\"","wheels":[{"spokes":28},{"spokes":36}],"bells":3})");
  EXPECT_EQ(DocumentBack<Bicycle>(document), kNew);

  const std::string line = WriteJsonObject([](JsonWriter& io) {
    const std::variant<Bicycle> body = kNew;
    OneOf(io, "decision", body, kKinds);
  });
  const std::string record = EncodeRecord(line);
  EXPECT_THAT(record, HasSubstr(R"({"decision":"bicycle_seen","name":)"));
  EXPECT_EQ(std::get<Bicycle>(DocumentBack<Seen<Bicycle>>(record.substr(12)).body), kNew);

  const std::string entry = WriteJson(kNew) + "\n";
  EXPECT_EQ(DocumentBack<Bicycle>(entry), kNew);

  const std::string message = MessageOf(kNew, kMessageVersion);
  EXPECT_EQ(message, MessageOf(kOld, kMessageVersion) + std::string("\3\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(MessageBack<Bicycle>(message), kNew);
}

TEST(FieldsTest, WhatAnEarlierReleaseWroteIsReadAndItReadsWhatIsWrittenForIt) {
  EXPECT_EQ(DocumentBack<Bicycle>(WriteJson(kOld)), kDefault);
  EXPECT_EQ(DocumentBack<OldBicycle>(WriteJson(kNew)), kOld);
  EXPECT_EQ(MessageBack<Bicycle>(MessageOf(kOld, kFirstMessageVersion)), kDefault);
  EXPECT_EQ(MessageBack<OldBicycle>(MessageOf(kNew, kFirstMessageVersion)), kOld);
}

TEST(FieldsTest, ABadFieldIsNamedByItsPath) {
  const auto error = [](const std::string& text) {
    const auto read = ReadJson<Bicycle>(text, "bicycle");
    return read.ok() ? "accepted" : read.error().message;
  };
  EXPECT_EQ(error(R"({"name":"x","wheels":[{"spokes":1},{}]})"),
            "bicycle: field wheels[1].spokes: expected a whole number, and it is missing");
  EXPECT_EQ(error(R"({"name":"x","wheels":[7]})"), "bicycle: field wheels[0]: expected an object");
  EXPECT_EQ(error(R"({"name":"x","wheels":[],"bells":10})"),
            "bicycle: field bells: expected a whole number from 0 to 9");
  EXPECT_EQ(error(R"({"name":1,"wheels":1})"), "bicycle: field name: expected a string");
}

// Every kind of value, each other than its default.
struct Everything {
  bool flag = false;
  int64_t number = 0;
  Duration length{0};
  Instant time{}, when{};
  JobId job;
  Epoch epoch;
  std::optional<int> perhaps, nothing;
  std::map<std::string, int> ports;
  std::string text, empty;
  int usual = 7;
  bool operator==(const Everything&) const = default;
};
void Fields(auto& io, Is<Everything> auto& all) {
  Schema(io, 2);
  io.Field("flag", all.flag);
  io.Field("number", all.number, kAnyNumber);
  io.Field("length_ms", all.length);
  io.Field("time", all.time);
  io.Field("when", all.when, kIso);
  io.Field("job", all.job);
  io.Field("epoch", all.epoch);
  io.IfSet("perhaps", all.perhaps);
  io.Later("nothing", all.nothing);
  io.Field("ports", all.ports, Between{1, 65535});
  io.IfSet("text", all.text);
  io.IfSet("empty", all.empty);
  io.Unless("usual", all.usual, 7);
  io.Derived("sum", all.number + 1);
  io.Object("inner", [&](auto& inner) { inner.Field("text", all.text); });
}

TEST(FieldsTest, EveryKindOfValueIsReadBack) {
  const Everything all{true, -5, Duration(6),          FromMillis(7), FromMillis(1'800'000'000'123), {"j"}, {8},
                       9,    {}, {{"a", 1}, {"b", 2}}, "\xff\n"};
  const std::string text = WriteJson(all);
  EXPECT_EQ(text, R"({"schema":2,"flag":true,"number":-5,"length_ms":6,"time":7,"when":"2027-01-15T08:00:00.123Z",)"
                  R"("job":"j","epoch":8,"perhaps":9,"nothing":null,"ports":{"a":1,"b":2},)"
                  "\"text\":\"\xEF\xBF\xBD\\n\",\"sum\":-4,\"inner\":{\"text\":\"\xEF\xBF\xBD\\n\"}}");
  Everything expected = all;
  expected.text = "\xEF\xBF\xBD\n";
  EXPECT_EQ(DocumentBack<Everything>(text), expected);
}

}  // namespace
}  // namespace tony
