#include <gtest/gtest.h>

#include <vector>

#include "runtime/net/frame_connection.h"

namespace tony {
namespace {

constexpr uint32_t kMax = 1 << 20;

std::string Framed(const std::string& payload) {
  const auto size = static_cast<uint32_t>(payload.size());
  std::string frame;
  for (const int shift : {24, 16, 8, 0}) frame.push_back(static_cast<char>(size >> shift));
  return frame + payload;
}

std::vector<std::string> CutAll(FrameCutter& cutter) {
  std::vector<std::string> frames;
  for (;;) {
    const auto frame = cutter.Next();
    EXPECT_TRUE(frame.ok());
    if (!frame.ok() || !*frame) return frames;
    frames.emplace_back(**frame);
  }
}

TEST(FrameCutterTest, TheSameFramesAreReadWhereverTheStreamIsSplit) {
  const std::string stream = Framed("one") + Framed("x") + Framed(std::string(300, 'y'));
  for (size_t split = 0; split <= stream.size(); ++split) {
    FrameCutter cutter(kMax);
    cutter.Add(stream.substr(0, split));
    std::vector<std::string> frames = CutAll(cutter);
    cutter.Add(stream.substr(split));
    for (const auto& frame : CutAll(cutter)) frames.push_back(frame);
    EXPECT_EQ(frames, (std::vector<std::string>{"one", "x", std::string(300, 'y')})) << "split at " << split;
  }
}

TEST(FrameCutterTest, FramesAreAssembledFromSingleBytes) {
  FrameCutter cutter(kMax);
  std::vector<std::string> frames;
  for (const char byte : Framed("one") + Framed("two")) {
    cutter.Add({&byte, 1});
    for (const auto& frame : CutAll(cutter)) frames.push_back(frame);
  }
  EXPECT_EQ(frames, (std::vector<std::string>{"one", "two"}));
}

TEST(FrameCutterTest, AFrameOfMaximumSizeIsAcceptedAndOneByteMoreIsRefused) {
  FrameCutter cutter(4);
  cutter.Add(Framed("1234"));
  EXPECT_EQ(CutAll(cutter), std::vector<std::string>{"1234"});
  cutter.Add(Framed("12345"));
  EXPECT_FALSE(cutter.Next().ok());
}

TEST(FrameCutterTest, InvalidFrameLengthsAreRefusedBeforeTheFrameArrives) {
  for (const std::string_view length : {std::string_view("\0\0\0\0", 4), std::string_view("\x7f\xff\xff\xff"),
                                        std::string_view("\xff\xff\xff\xff"), std::string_view("GET ")}) {
    FrameCutter cutter(kMax);
    cutter.Add(length);
    EXPECT_FALSE(cutter.Next().ok());
  }
}

TEST(FrameCutterTest, AnAnnouncedFrameLengthAllocatesNoMemoryBeforeTheBytesArrive) {
  FrameCutter cutter(kMax);
  cutter.Add(std::string("\0\x0f\xff\xff", 4) + "little");
  EXPECT_TRUE(CutAll(cutter).empty());
  EXPECT_LT(cutter.capacity(), 100u);
}

TEST(FrameCutterTest, TheBufferOfALargeFrameIsFreedAfterTheFrameIsRead) {
  FrameCutter cutter(kMax);
  cutter.Add(Framed(std::string(kMax, 'x')));
  EXPECT_EQ(CutAll(cutter).size(), 1u);
  EXPECT_LE(cutter.capacity(), 4096u);
}

}  // namespace
}  // namespace tony
