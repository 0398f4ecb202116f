// Fuzzes the bytes of a peer that the application master does not know yet: frames, messages, calls. The first byte
// sets the length of the pieces.
#include <array>
#include <memory>

#include "ClientService.h"
#include "ExecutorService.h"
#include "runtime/net/frame_connection.h"
#include "runtime/rpc/am_methods.h"
#include "runtime/rpc/convert.h"
#include "tests/fuzz/frame_pieces.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/rpc_seeds.h"
#include "tests/unit/rpc/fake_am_service.h"

namespace tony::fuzz {
namespace {

constexpr uint32_t kMostFrame = 4 << 20;

class Answers : public CallOrigin {
 public:
  void CallEnded(Call&, std::string message) override {
    ++count;
    if (message.empty()) return;
    // For any input, the output is a frame that the other side can read.
    FrameCutter cutter(16 << 20);
    cutter.Add(message);
    const auto frame = cutter.Next();
    CHECK(frame.ok() && *frame && MessageReader(**frame).ReadHeader().ok());
  }
  size_t count = 0;
};

// A refusal may repeat the peer's own text, but never a part of the master's token.
void Dispatch(std::string_view frame, EventLoop& loop, const Dispatcher& dispatcher,
              const std::shared_ptr<Answers>& answers) {
  MessageReader message(frame);
  const auto header = message.ReadHeader();
  if (!header.ok()) return;
  const auto call = std::make_shared<Call>(loop, answers, header->method, header->seq);
  (void)dispatcher.Dispatch(*header, message, call);
}

// The other direction: how a caller reads an answer from any server.
template <class Result>
void ReadAnswer(std::string_view frame) {
  MessageReader message(frame);
  Result result;
  if (message.ReadHeader().ok()) (void)message.ReadBody(result);
}

}  // namespace

void Read(std::string_view input) {
  if (input.empty()) return;
  static EventLoop loop;
  FakeAmService service;
  const Dispatcher dispatcher = MakeAmDispatcher(service);
  const auto answers = std::make_shared<Answers>();
  const bool all_frames = ForEachFrame(input, kMostFrame, [&](const auto& frame) {
    Dispatch(frame, loop, dispatcher, answers);
    ReadAnswer<rpc::ExecutorService_Await_result>(frame);
    ReadAnswer<rpc::ClientService_Watch_result>(frame);
  });
  if (!all_frames) return;
  const size_t parked = service.parked.size() + service.watching.size();
  service.parked.clear();
  service.watching.clear();
  CHECK(answers->count >= parked);
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const std::string& frame : EveryCall()) seeds.push_back("\xff" + frame);
  seeds.push_back(std::string(1, '\0') + seeds[0].substr(1) + seeds[1].substr(1));
  return seeds;
}

}  // namespace tony::fuzz
