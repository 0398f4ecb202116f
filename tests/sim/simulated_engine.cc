#include "tests/sim/simulated_engine.h"

#include <memory>
#include <utility>

#include "runtime/base/result.h"

namespace tony::sim {
namespace {

constexpr Duration kAskAgain{700};

}  // namespace

void SimulatedEngine::Apply(const Fault& fault) {
  std::visit(Overloaded{
                 [&](const AskAttach& f) { Attach(f.claim); },
                 [&](const AskLook& f) { Look(f.watcher); },
                 [&](const AskConditionalKill& f) {
                   KillRequest request = f.request;
                   request.reason = "asked to";
                   if (f.delay > Duration(0)) request.due = stage_.time.now() + f.delay;
                   stage_.disk.conditional_kills[++stage_.disk.last_kill] = request;
                   stage_.Add(ConditionalKillWritten{request});
                 },
                 [](const auto&) {},
             },
             fault);
}

void SimulatedEngine::Attach(const Claim& claim) {
  Ask([claim](SimulatedAm& am, std::function<void()> answered) { am.Attach(claim, std::move(answered)); });
}

void SimulatedEngine::Look(const WatcherToken& watcher) {
  Ask([watcher](SimulatedAm& am, std::function<void()> answered) { am.Look(watcher, std::move(answered)); });
}

// An AM may take it to its grave: whoever gets no answer asks again.
void SimulatedEngine::Ask(const Question& question) {
  if (over_()) return;
  const auto is_answered = std::make_shared<bool>(false);
  if (SimulatedAm* am = am_()) question(*am, [is_answered] { *is_answered = true; });
  stage_.time.After(kAskAgain, [this, is_answered, question] {
    if (!*is_answered) Ask(question);
  });
}

}  // namespace tony::sim
