#include "runtime/yarn/master_logs.h"

#include <utility>
#include <variant>

#include "runtime/base/overloaded.h"

namespace tony {
namespace {

// Above what a master waits for an executor (LogRelay, am/parked_calls.h).
constexpr Duration kCallLimit{6000};

}  // namespace

std::unique_ptr<AmConnection> ConnectTo(const WayToMaster& way, EventLoop& loop, const JobRecords& records) {
  auto am = MakeAmConnection(loop, records.place(), kCallLimit, way.tls);
  am->Use(way.am);
  return am;
}

template <class T>
Result<T> MasterLogs::Ask(const std::function<void(AmConnection&, const std::string&, OnAnswer<T>)>& ask) {
  std::optional<Answer<T>> answer;
  ask(*am_, token_, [&](Answer<T> given) {
    answer = std::move(given);
    loop_.Stop();
  });
  loop_.Run();
  if (T* value = std::get_if<T>(&*answer)) return std::move(*value);
  if (const auto* refusal = std::get_if<Refusal>(&*answer)) return ErrorOf(*refusal);
  am_ = nullptr;
  return ErrorOf(std::get<Disconnected>(*answer));
}

// The first call of a connection is a small one: see ClientCalls.
tony::Status MasterLogs::Connect() {
  if (am_) return Ok();
  TRY_ASSIGN(const WayToMaster way, find_());
  token_ = way.token;
  am_ = ConnectTo(way, loop_, records_);
  const auto status = Status();
  return status.ok() ? Ok() : tony::Status(status.error());
}

Result<JobStatus> MasterLogs::Status() {
  TRY(Connect());
  return Ask<JobStatus>(
      [](AmConnection& am, const std::string& token, auto done) { am.GetStatus(token, std::move(done)); });
}

Result<LogAnswer> MasterLogs::Read(const LogQuery& query) {
  TRY(Connect());
  return Ask<LogAnswer>(
      [&query](AmConnection& am, const std::string& token, auto done) { am.ReadLogs(token, query, std::move(done)); });
}

}  // namespace tony
