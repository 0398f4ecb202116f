#include "tests/sim/simulated_engine.h"

#include "runtime/base/overloaded.h"

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
  if (over_()) return;
  SimulatedAm* am = am_();
  if (am && am->Attach(claim)) return;
  stage_.time.After(kAskAgain, [this, claim] { Attach(claim); });
}

void SimulatedEngine::Look(const WatcherToken& watcher) {
  if (over_()) return;
  SimulatedAm* am = am_();
  if (am && am->Look(watcher)) return;
  stage_.time.After(kAskAgain, [this, watcher] { Look(watcher); });
}

}  // namespace tony::sim
