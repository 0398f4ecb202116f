#include "runtime/rpc/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/results.h"
#include "tests/unit/rpc/fake_am_service.h"
#include "tony_constants.h"
#include "tony_types.h"

namespace tony {
namespace {

using testing::StartsWith;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

template <class Wire>
std::string ErrorOf(const Wire& wire) {
  const auto converted = FromThrift(wire);
  return converted.ok() ? "" : converted.error().message;
}

template <class Enum>
Enum Unknown(int number) {
  Enum value{};
  static_assert(sizeof value == sizeof number);
  std::memcpy(&value, &number, sizeof number);
  return value;
}

// Returns the error for a good value in which `spoil` has changed one field.
template <class Wire, class Spoil>
std::string Spoiled(Wire wire, Spoil spoil) {
  spoil(wire);
  return ErrorOf(wire);
}

TEST(ConvertTest, ACallerIsUnchangedAfterConversionToThriftAndBack) {
  const auto back = Must(FromThrift(ToThrift(SomeCaller())));
  EXPECT_EQ(back.job, SomeCaller().job);
  EXPECT_EQ(back.attempt, SomeCaller().attempt);
  EXPECT_EQ(back.container, SomeCaller().container);
  EXPECT_EQ(back.generation, SomeCaller().generation);
  EXPECT_EQ(back.epoch, SomeCaller().epoch);
  EXPECT_EQ(back.token, SomeCaller().token);
}

TEST(ConvertTest, AnInvalidFieldOfTheCallerRecordIsNamedInTheError) {
  const auto bad = [](auto spoil) { return Spoiled(ToThrift(SomeCaller()), spoil); };
  EXPECT_THAT(bad([](rpc::Caller& c) { c.job = ""; }), StartsWith("job: missing"));
  EXPECT_THAT(bad([](rpc::Caller& c) { c.job = std::string(256, 'j'); }), StartsWith("job: 256 bytes"));
  EXPECT_THAT(bad([](rpc::Caller& c) { c.role = std::string(65, 'r'); }), StartsWith("role: 65 bytes"));
  EXPECT_THAT(bad([](rpc::Caller& c) { c.role = "worker\nforged log line"; }), StartsWith("role: not printable"));
  EXPECT_THAT(bad([](rpc::Caller& c) { c.role = "w\xc3\xb6rker"; }), StartsWith("role: not printable"));
  EXPECT_THAT(bad([](rpc::Caller& c) { c.index = -1; }), StartsWith("index: -1"));
  EXPECT_THAT(bad([](rpc::Caller& c) { c.index = 1'000'001; }), StartsWith("index: 1000001"));
  EXPECT_THAT(bad([](rpc::Caller& c) { c.attempt = 0; }), StartsWith("attempt: 0"));
  EXPECT_THAT(bad([](rpc::Caller& c) { c.container = ""; }), StartsWith("container: missing"));
  EXPECT_THAT(bad([](rpc::Caller& c) { c.generation = -1; }), StartsWith("generation: -1"));
  EXPECT_THAT(bad([](rpc::Caller& c) { c.epoch = -7; }), StartsWith("epoch: -7"));
  EXPECT_THAT(bad([](rpc::Caller& c) { c.token = std::string(256, 't'); }), StartsWith("token: 256 bytes"));
}

TEST(ConvertTest, AnErrorNamesTheInvalidFieldOfARegistration) {
  const auto bad = [](auto spoil) { return Spoiled(ToThrift(SomeRegistration()), spoil); };
  EXPECT_EQ(bad([](rpc::Registration&) {}), "");
  EXPECT_THAT(bad([](rpc::Registration& r) { r.host = std::string(256, 'h'); }), StartsWith("host: 256 bytes"));
  EXPECT_THAT(bad([](rpc::Registration& r) { r.port = 0; }), StartsWith("port: 0"));
  EXPECT_THAT(bad([](rpc::Registration& r) { r.port = 70000; }), StartsWith("port: 70000"));
  EXPECT_THAT(bad([](rpc::Registration& r) { r.phase = Unknown<rpc::Phase>(0); }), StartsWith("phase: unknown"));
  EXPECT_THAT(bad([](rpc::Registration& r) { r.phase = Unknown<rpc::Phase>(-9); }), StartsWith("phase: unknown"));
  EXPECT_THAT(bad([](rpc::Registration& r) { r.pid = -1; }), StartsWith("pid: -1"));
  EXPECT_THAT(bad([](rpc::Registration& r) { r.pid = kHuge; }), StartsWith("pid: "));
}

TEST(ConvertTest, NamedPortsAreConvertedAndAnErrorNamesAnInvalidPort) {
  Registration what = SomeRegistration();
  EXPECT_FALSE(ToThrift(what).__isset.ports);
  what.ports = {{"control", 1}, {"data", 65535}};
  EXPECT_EQ(FromThrift(ToThrift(what))->ports, what.ports);
  const auto bad = [&](auto spoil) { return Spoiled(ToThrift(what), spoil); };
  EXPECT_THAT(bad([](rpc::Registration& r) { r.ports["data"] = 0; }), StartsWith("ports.data: 0"));
  EXPECT_THAT(bad([](rpc::Registration& r) { r.ports["data"] = 65536; }), StartsWith("ports.data: 65536"));
  EXPECT_THAT(bad([](rpc::Registration& r) { r.ports["no\nname"] = 1; }), StartsWith("ports: a name"));
  const auto of_many = [&](size_t ports) {
    return bad([&](rpc::Registration& r) {
      for (int i = 0; r.ports.size() < ports; ++i) r.ports["p" + std::to_string(i)] = 1;
    });
  };
  EXPECT_EQ(of_many(kMostNamedPorts), "");
  EXPECT_EQ(of_many(kMostNamedPorts + 1), "ports: 65, expected at most 64");
}

TEST(ConvertTest, TheIndexOfTheFailedProcessIsUnchangedAfterConversionToThriftAndBack) {
  Outcome outcome{.cls = OutcomeClass::kUserError};
  EXPECT_FALSE(ToThrift(outcome).__isset.process);
  outcome.process = kMostProcesses - 1;
  EXPECT_EQ(*FromThrift(ToThrift(outcome)), outcome);
  for (const int bad : {-1, kMostProcesses})
    EXPECT_THAT(Spoiled(ToThrift(outcome), [bad](rpc::TaskOutcome& o) { o.process = bad; }), StartsWith("process: "));
}

TEST(ConvertTest, ARegistrationContainsTheCurrentProtocolVersion) {
  EXPECT_EQ(ToThrift(SomeRegistration()).protocol, rpc::g_tony_constants.PROTOCOL_VERSION);
}

TEST(ConvertTest, EveryPhaseIsUnchangedAfterConversionToThriftAndBack) {
  for (const Phase phase : {Phase::kWaiting, Phase::kRunning, Phase::kStopping, Phase::kEnded}) {
    const auto back = Must(FromThrift(ToThrift(Progress{phase, 17})));
    EXPECT_EQ(back.phase, phase);
    EXPECT_EQ(back.pid, 17);
  }
}

TEST(ConvertTest, EveryCommandIsUnchangedAfterConversionToThriftAndBack) {
  using Kind = Command::Kind;
  for (const Kind kind : {Kind::kNone, Kind::kStart, Kind::kStop, Kind::kRelease}) {
    const Command command{9, kind, {3}, "{\"worker\":[]}", Duration(1500), 2, "/ckpt/7", "preempted"};
    const auto back = Must(FromThrift(ToThrift(command)));
    EXPECT_EQ(back, command);
  }
}

TEST(ConvertTest, AnErrorNamesTheInvalidFieldOfACommand) {
  const auto bad = [](auto spoil) { return Spoiled(ToThrift(Command{}), spoil); };
  EXPECT_THAT(bad([](rpc::Command& c) { c.kind = Unknown<rpc::CommandKind>(5); }), StartsWith("kind: unknown value 5"));
  EXPECT_THAT(bad([](rpc::Command& c) { c.number = -1; }), StartsWith("number: -1"));
  EXPECT_THAT(bad([](rpc::Command& c) { c.generation = -1; }), StartsWith("generation: -1"));
  EXPECT_THAT(bad([](rpc::Command& c) { c.grace_ms = kHuge; }), StartsWith("grace_ms: "));
}

TEST(ConvertTest, EveryRefusalReasonIsUnchangedAfterConversionToThriftAndBack) {
  using R = RefusalReason;
  for (const R reason : {R::kBadToken, R::kWrongJob, R::kUnknownAttempt, R::kStaleAttempt, R::kStaleEpoch,
                         R::kBadProtocol, R::kBadRequest, R::kNotLeader}) {
    const Refusal back = FromThrift(ToThrift(Refusal{reason, "why"}));
    EXPECT_EQ(back.reason, reason);
    EXPECT_EQ(back.message, "why");
  }
}

TEST(ConvertTest, AnUnknownRefusalReasonBecomesBadRequestWithTheOriginalMessage) {
  rpc::Refused wire;
  wire.reason = Unknown<rpc::RefusalReason>(99);
  wire.message = "too green";
  EXPECT_EQ(FromThrift(wire).reason, RefusalReason::kBadRequest);
  EXPECT_EQ(FromThrift(wire).message, "reason: unknown value 99: too green");
}

TEST(ConvertTest, OutcomesWithEveryKindOfExitAreUnchangedAfterConversionToThriftAndBack) {
  const Outcome exited{OutcomeClass::kUserError, ExitStatus{ExitStatus::Kind::kExited, 3}, "bad", "Traceback"};
  const Outcome killed{OutcomeClass::kOom, ExitStatus{ExitStatus::Kind::kSignaled, 9}, "", ""};
  const Outcome unseen{OutcomeClass::kInfra, std::nullopt, "no such program", ""};
  for (const Outcome& outcome : {exited, killed, unseen}) {
    const auto back = Must(FromThrift(ToThrift(outcome)));
    EXPECT_EQ(back, outcome);
  }
}

TEST(ConvertTest, OutputProblemsThatDoNotFitIntoTheMessageAreReplacedByACount) {
  const std::string name(5000, 'n');
  rpc::TaskOutcome wire = ToThrift(Outcome{});
  AddOutputs(wire, {.text = "{}", .left_out = std::vector<OutputProblem>(100, {name, "too long"})});
  const auto outputs = OutputsFromThrift(wire);
  ASSERT_TRUE(outputs.ok() && *outputs);
  const std::vector<OutputProblem>& told = (*outputs)->left_out;
  ASSERT_EQ(told.size(), 13u);
  EXPECT_EQ(told[11].name, name);
  EXPECT_EQ(told[12].why, "88 more are not listed here: see output.left-out");
}

TEST(ConvertTest, ResourceUsageIsUnchangedAfterConversionToThriftAndBack) {
  const Usage used{.samples = 3,
                   .memory_bytes = kHuge,
                   .mean_memory_bytes = 2,
                   .most_memory_bytes = 3,
                   .cpu = Duration(4),
                   .millicores = 5,
                   .most_millicores = 6,
                   .elapsed = Duration(7)};
  Usage with_gpu = used;
  with_gpu.gpu = GpuUsage{1, 2, 3, 4, 5};
  for (const Usage& usage : {used, with_gpu}) {
    EXPECT_EQ(FromThrift(ToThrift(Progress{Phase::kRunning, 1, usage}))->usage, usage);
    EXPECT_EQ(FromThrift(ToThrift(Outcome{.usage = usage}))->usage, usage);
  }
  EXPECT_EQ(FromThrift(ToThrift(Progress{Phase::kRunning, 1}))->usage, std::nullopt);
}

TEST(ConvertTest, AnErrorNamesTheInvalidFieldOfResourceUsage) {
  const auto bad = [](Usage usage) {
    return FromThrift(ToThrift(Progress{Phase::kRunning, 1, usage})).error().message;
  };
  EXPECT_THAT(bad({.memory_bytes = -1}), StartsWith("usage.memory_bytes: -1, expected 0 or more"));
  EXPECT_EQ(bad({.gpu = GpuUsage{.mean_percent = 101}}), "usage.gpu.mean_percent: 101, expected 0 to 100");
}

TEST(ConvertTest, AnErrorNamesTheInvalidFieldOfAnOutcome) {
  const auto bad = [](auto spoil) { return Spoiled(ToThrift(Outcome{}), spoil); };
  const std::string long_text((64 << 10) + 1, 'x');
  EXPECT_THAT(bad([](rpc::TaskOutcome& o) { o.outcome_class = "sunshine"; }), StartsWith("outcome_class: unknown"));
  EXPECT_THAT(bad([](rpc::TaskOutcome& o) { o.__set_exit_code(256); }), StartsWith("exit_code: 256"));
  EXPECT_THAT(bad([](rpc::TaskOutcome& o) { o.__set_signal(0); }), StartsWith("signal: 0"));
  EXPECT_THAT(bad([](rpc::TaskOutcome& o) {
                o.__set_signal(9);
                o.__set_exit_code(1);
              }),
              StartsWith("signal: given together"));
  EXPECT_THAT(bad([&](rpc::TaskOutcome& o) { o.message = long_text; }), StartsWith("message: 65537 bytes"));
  EXPECT_THAT(bad([&](rpc::TaskOutcome& o) { o.stderr_tail = long_text; }), StartsWith("stderr_tail: 65537 bytes"));
  EXPECT_THAT(bad([&](rpc::TaskOutcome& o) { o.stdout_tail = long_text; }), StartsWith("stdout_tail: 65537 bytes"));
  EXPECT_THAT(bad([](rpc::TaskOutcome& o) { o.source = "moon"; }), StartsWith("source: unknown"));
}

TEST(ConvertTest, AnOutcomeWithoutAFailureSourceIsAttributedToTheTaskItself) {
  Outcome outcome{.cls = OutcomeClass::kUserError, .stdout_tail = "step 7\n", .source = Source::kPeer};
  outcome.usage = Usage{.quiet = Duration(7)};
  EXPECT_EQ(*FromThrift(ToThrift(outcome)), outcome);
  rpc::TaskOutcome of_an_earlier_release = ToThrift(Outcome{});
  of_an_earlier_release.source.clear();
  EXPECT_EQ(FromThrift(of_an_earlier_release)->source, Source::kItself);
}

TEST(ConvertTest, AMessageOrStderrTailOf100000BytesIsTruncatedDuringConversion) {
  Outcome outcome;
  outcome.message = "first" + std::string(100'000, 'x');
  outcome.stderr_tail = std::string(100'000, 'x') + "last";
  const auto back = Must(FromThrift(ToThrift(outcome)));
  EXPECT_THAT(back.message, StartsWith("first"));
  EXPECT_THAT(back.stderr_tail, testing::EndsWith("last"));
}

TEST(ConvertTest, InvalidUtf8InAStderrTailIsReplacedDuringConversion) {
  Outcome outcome;
  outcome.stderr_tail = "caf\xe9 \xff";
  const auto back = Must(FromThrift(ToThrift(outcome)));
  EXPECT_EQ(back.stderr_tail, "caf\xef\xbf\xbd \xef\xbf\xbd");
}

TEST(ConvertTest, InvalidCallFieldsAreNamedInTheErrorAndTimeoutsAreCappedAt60Seconds) {
  EXPECT_EQ(CheckedSince(-1).error().message, "since: -1, expected 0 or more");
  EXPECT_EQ(*CheckedSince(kHuge), kHuge);
  EXPECT_THAT(CheckedTimeout(-5).error().message, StartsWith("timeout_ms: -5"));
  EXPECT_EQ(*CheckedTimeout(kHuge), std::chrono::seconds(60));
  EXPECT_EQ(*CheckedTimeout(250), Duration(250));
  EXPECT_EQ(*CheckedGrace(std::numeric_limits<int64_t>::min()), Duration(-1));
  EXPECT_EQ(*CheckedGrace(0), Duration(0));
  EXPECT_THAT(CheckedGrace(kHuge).error().message, StartsWith("grace_ms: "));
  EXPECT_THAT(CheckedReason(std::string(1 << 17, 'x')).error().message, StartsWith("reason: "));
}

}  // namespace
}  // namespace tony
