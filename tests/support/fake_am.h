// An implementation of ExecutorCalls without a network: it records calls, and the test answers them.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/rpc/am_connection.h"

namespace tony {

class FakeAm : public ExecutorCalls {
 public:
  template <class Argument, class T>
  struct Call {
    Caller caller;
    Argument argument;
    OnAnswer<T> done;
  };

  explicit FakeAm(EventLoop& loop) : loop_(loop) {}

  void Use(const Address& am) override {
    Break("another application master");
    used.push_back(am);
  }
  void Register(const Caller& caller, const Registration& what, OnAnswer<Epoch> done) override {
    registers.push_back({caller, what, std::move(done)});
  }
  void Await(const Caller& caller, int64_t since, OnAnswer<Command> done) override {
    awaits.push_back({caller, since, std::move(done)});
  }
  void Heartbeat(const Caller& caller, const Progress& progress, OnAnswer<Acknowledged> done) override {
    heartbeats.push_back({caller, progress, std::move(done)});
  }
  void Publish(const Caller& caller, const PublishedValues& values, OnAnswer<Acknowledged> done) override {
    published.push_back({caller, values, std::move(done)});
  }
  void ReportOutcome(const Caller& caller, const AttemptReport& report, OnAnswer<Acknowledged> done) override {
    outcomes.push_back({caller, report.outcome, std::move(done)});
    reported_outputs = report.outputs;
    reported_logs = report.logs;
  }

  void SendLog(const Caller& caller, int64_t id, const std::vector<LogNews>& news,
               OnAnswer<Acknowledged> done) override {
    sent_logs.push_back({caller, {id, news}, std::move(done)});
  }

  // Answers the oldest open call of a kind, on the loop.
  template <class Argument, class T>
  void Answer(std::deque<Call<Argument, T>>& calls, tony::Answer<T> answer) {
    loop_.Post([done = std::move(calls.front().done), answer = std::move(answer)] { done(answer); });
    calls.pop_front();
  }

  // Breaks the connection: every open call ends with this error.
  void Break(const std::string& reason) {
    BreakAll(registers, reason);
    BreakAll(awaits, reason);
    BreakAll(heartbeats, reason);
    BreakAll(published, reason);
    BreakAll(outcomes, reason);
    BreakAll(sent_logs, reason);
  }

  std::vector<Address> used;
  std::deque<Call<Registration, Epoch>> registers;  // open calls, oldest first
  std::deque<Call<int64_t, Command>> awaits;
  std::deque<Call<Progress, Acknowledged>> heartbeats;
  std::deque<Call<PublishedValues, Acknowledged>> published;
  std::deque<Call<Outcome, Acknowledged>> outcomes;
  std::deque<Call<std::pair<int64_t, std::vector<LogNews>>, Acknowledged>> sent_logs;
  std::optional<KeptOutputs> reported_outputs;  // sent with the newest outcome
  std::vector<LogExcerpt> reported_logs;        // sent with the newest outcome

 private:
  template <class Argument, class T>
  void BreakAll(std::deque<Call<Argument, T>>& calls, const std::string& reason) {
    while (!calls.empty()) Answer(calls, tony::Answer<T>(Disconnected{reason}));
  }

  EventLoop& loop_;
};

}  // namespace tony
