#include "runtime/hadoop/file_coding.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/results.h"
#include "tests/unit/hadoop/hex.h"

namespace tony::hadoop {
namespace {

// Units that Hadoop's own encoders made of the same data.
const std::vector<std::string> kData = {"010c2d64b1148d1c", "26315289d639b241", "4b5677aefb5ed766", "707b9cd32083fc8b",
                                        "95a0c1f845a821b0", "bac5e61d6acd46d5", "dfea0b428ff26bfa", "040f3067b417901f",
                                        "2934558cd93cb544", "4e597ab1fe61da69"};
struct Encoded {
  ErasureCoding coding;
  std::vector<std::string> parity;
};
const std::vector<Encoded> kEncoded = {
    {{"rs", 3, 2, 4}, {"acc445b3ffc0f537", "79469750a6e61d03"}},
    {{"rs", 6, 3, 4}, {"d46d9bf6b7445841", "65a718b1e61e811f", "d99457e00b0c2bc2"}},
    {{"rs", 10, 4, 4}, {"6c6d1adf7cc5dc23", "b7a8963f4efc506c", "c1b825d66e86c92e", "48f5a37c1b003f35"}},
    {{"xor", 2, 1, 4}, {"273d7fed672d3f5d"}}};

TEST(ErasureCodeTest, EachUnitIsRestoredFromEachSetOfOtherUnits) {
  for (const auto& [coding, parity] : kEncoded) {
    std::vector<std::string> units(kData.begin(), kData.begin() + coding.data);
    units.insert(units.end(), parity.begin(), parity.end());
    const unsigned sets = 1U << units.size();
    for (unsigned set = 0; set < sets; ++set) {
      if (__builtin_popcount(set) != coding.data) continue;
      std::map<int, std::string> known;
      for (int unit = 0; unit < static_cast<int>(units.size()); ++unit)
        if ((set >> unit & 1) != 0) known[unit] = FromHex(units[static_cast<size_t>(unit)]);
      for (int lost = 0; lost < coding.data; ++lost)
        if (!known.contains(lost))
          EXPECT_EQ(Must(RestoreUnit(coding, lost, known)), FromHex(kData[static_cast<size_t>(lost)]))
              << coding.codec << coding.data << " " << set << " " << lost;
    }
  }
}

TEST(ErasureCodeTest, BytesAreFoundInTheCellsOfTheUnits) {
  const ErasureCoding coding{"rs", 3, 2, 4};
  const auto place = [&](uint64_t offset) {
    const CellPlace found = PlaceOf(coding, offset);
    return std::vector<uint64_t>{static_cast<uint64_t>(found.unit), found.offset, found.left};
  };
  EXPECT_EQ(place(0), (std::vector<uint64_t>{0, 0, 4}));
  EXPECT_EQ(place(7), (std::vector<uint64_t>{1, 3, 1}));
  EXPECT_EQ(place(21), (std::vector<uint64_t>{2, 5, 3}));
  // The group has a stripe, a cell and a byte.
  const std::vector<uint64_t> lengths = {8, 5, 4, 8, 8};
  for (int unit = 0; unit < 5; ++unit)
    EXPECT_EQ(UnitLength(coding, 17, unit), lengths[static_cast<size_t>(unit)]) << unit;
  for (int unit = 0; unit < 5; ++unit) EXPECT_EQ(UnitLength(coding, 24, unit), 8u) << unit;
}

TEST(ErasureCodeTest, ACodingThatIsNotSupportedIsRefused) {
  EXPECT_EQ(Must(BuiltInErasureCoding(4)).codec, "xor");
  EXPECT_FALSE(BuiltInErasureCoding(6).ok());
  const std::vector<ErasureCoding> wrong = {
      {"rs", 0, 2, 4}, {"rs", 3, 0, 4}, {"rs", -1, 2, 4}, {"rs", 12, 5, 4}, {"rs", 3, 2, 0}};
  for (const ErasureCoding& coding : wrong) EXPECT_FALSE(CheckErasureCoding(coding).ok()) << coding.data;
  ExpectError(RestoreUnit({"rs-legacy", 1, 1, 4}, 0, {{1, "x"}}), ErrorCode::kUnavailable, "~codec rs-legacy");
}

TEST(FileCipherTest, EachPartOfAFileIsDecryptedByItself) {
  // The vectors F.5.1 and F.5.5 of NIST SP 800-38A.
  const std::string counter = FromHex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
  const std::string plain = FromHex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
  const std::vector<std::pair<std::string, std::string>> all = {
      {"2b7e151628aed2a6abf7158809cf4f3c", "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"},
      {"603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
       "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"}};
  for (const auto& [key, encrypted] : all) {
    const FileCipher cipher = Must(FileCipher::Make(FromHex(key), counter));
    for (size_t at = 0; at < plain.size(); ++at) {
      std::string part = FromHex(encrypted).substr(at);
      EXPECT_TRUE(cipher.Apply(part, at).ok());
      EXPECT_EQ(part, plain.substr(at)) << at;
    }
  }
  EXPECT_FALSE(FileCipher::Make("short", counter).ok());
  EXPECT_FALSE(FileCipher::Make(counter, "short").ok());
}

}  // namespace
}  // namespace tony::hadoop
