#include "runtime/records/claim_record.h"

#include <boost/json.hpp>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"
#include "runtime/records/record_store.h"

namespace tony {
namespace {

namespace json = boost::json;

constexpr int kClaimSchema = 1;

constexpr const char* kClaim = "claim.json";

// The clocks of an AM and of a keeper may be apart; that of the boot is one. A job does not outlive its boot.
Duration SinceBootAt(Instant time) { return time - RealClock().Now() + SinceBoot(); }
Instant AtSinceBoot(Duration since_boot) { return RealClock().Now() + (since_boot - SinceBoot()); }

json::object PlanJson(const KillRequest& plan) {
  return {{"reason", plan.reason},
          {"grace_ms", plan.grace.count()},
          {"if_owner", plan.if_owner.value},
          {"if_watcher", plan.if_watcher.value},
          {"due_since_boot_ms", SinceBootAt(plan.due).count()},
          {"asker", plan.asker}};
}

KillRequest ReadPlan(JsonReader& fields) {
  return {.reason = fields.String("reason"),
          .grace = Duration(fields.Int("grace_ms", -1)),
          .if_owner = {fields.String("if_owner")},
          .if_watcher = {fields.String("if_watcher")},
          .due = AtSinceBoot(fields.Millis("due_since_boot_ms")),
          .asker = fields.String("asker")};
}

}  // namespace

std::string ToJson(const ClaimRecord& record) {
  json::array planned;
  for (const KillRequest& plan : record.planned) planned.push_back(PlanJson(plan));
  return SerializeJson(json::object{{"schema", kClaimSchema},
                                    {"epoch", record.epoch.value},
                                    {"owner", record.claim.owner.value},
                                    {"watch_timeout_ms", record.claim.watch_timeout.count()},
                                    {"watcher", record.watcher.value},
                                    {"planned", std::move(planned)}});
}

Result<ClaimRecord> ClaimRecordFromJson(std::string_view text) {
  TRY_ASSIGN(const json::value document, ParseJson(text, "claim"));
  JsonReader fields(document);
  fields.Int("schema", kClaimSchema, kClaimSchema);
  ClaimRecord record;
  record.epoch.value = fields.Int("epoch", 1);
  record.claim.owner.value = fields.String("owner");
  record.claim.watch_timeout = fields.Millis("watch_timeout_ms");
  record.watcher.value = fields.String("watcher");
  for (JsonReader& plan : fields.List("planned")) {
    record.planned.push_back(ReadPlan(plan));
    TRY(plan.status());
  }
  TRY(fields.status());
  return record;
}

// What it says is of this boot, so the power may take it.
Status WriteClaimRecord(const JobRecords& records, const ClaimRecord& record) {
  return records.store().Replace(kClaim, ToJson(record), Durability::kLostWithPower);
}

Status RemoveClaimRecord(const JobRecords& records) { return records.store().Remove(kClaim); }

Result<ClaimRecord> ReadClaimRecord(const JobRecords& records) {
  TRY_ASSIGN(ClaimRecord record, ReadParsed(records.store(), kClaim, ClaimRecordFromJson));
  TRY_ASSIGN(const auto lease, records.ReadLease());
  if (lease && lease->epoch == record.epoch) return record;
  return Error{ErrorCode::kNotFound, StrCat(records.store().PlaceOf(kClaim), ": of application master ",
                                            record.epoch.value, ", which is not the one that ruled last")};
}

}  // namespace tony
