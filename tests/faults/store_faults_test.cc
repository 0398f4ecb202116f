// Files of runtime/records on a disk where each operation fails in turn.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "runtime/os/files.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/checkpoint_holder.h"
#include "runtime/records/entry_store.h"
#include "runtime/records/job_records.h"
#include "runtime/records/local_job_store.h"
#include "runtime/records/local_request_index.h"
#include "tests/faults/faulty_disk.h"
#include "tests/support/small_job.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

const RequestId kRequest{"request"};
const OwnerToken kOwner{"owner"};
const JobId kJob = SmallJob().id;

fs::path HomeIn(const fs::path& folder) { return folder / ".tony"; }

NewJob JobWithSecret() {
  NewJob job = SmallJob();
  job.secrets = {{"PASSWORD", "x"}};
  return job;
}

void Make(const fs::path& folder) { ASSERT_TRUE(MakeFolder(folder).ok()); }

// ---- the records of a job ----

// A write of a record. `before` and `after` are the record as a reader finds it before and after the call.
struct RecordWrite {
  std::string name;
  std::function<Status(const JobRecords&, bool first)> write;  // `first`: writes the initial state.
  std::function<std::string(const JobRecords&)> read;
  std::string before, after;
  // The reader may leave out the record because it is one of several and cannot be read.
  bool may_be_left_out = false;
};
void PrintTo(const RecordWrite& write, std::ostream* out) { *out << write.name; }

template <class T, class Text>
std::string TextOf(const Result<std::optional<T>>& record, Text text) {
  if (!record.ok()) return record.error().message;
  return *record ? text(**record) : "none";
}

Status WriteState(const JobRecords& records, bool first, Durability durability) {
  return records.WriteStatus({.job = kJob, .state = first ? "RUNNING" : "STOPPING"}, durability);
}
std::string ReadState(const JobRecords& records) {
  return TextOf(records.ReadStatus(), [](const JobStatus& status) { return status.state; });
}
std::string ReadKills(const JobRecords& records) {
  const auto kills = records.ReadKills();
  if (!kills.ok()) return kills.error().message;
  return kills->empty() ? "none" : kills->front().request.reason;
}

std::vector<RecordWrite> RecordWrites() {
  return {
      {"Status", [](auto& records, bool first) { return WriteState(records, first, Durability::kLostWithPower); },
       ReadState, "RUNNING", "STOPPING"},
      {"DurableStatus",
       [](auto& records, bool first) { return WriteState(records, first, Durability::kSurvivesPowerCut); }, ReadState,
       "RUNNING", "STOPPING"},
      {"Clock",
       [](auto& records, bool first) {
         return records.WriteClock({"boot", Duration(first ? 1 : 2)});
       },
       [](auto& records) {
         return TextOf(records.ReadClock(), [](const KeptClock& c) { return std::to_string(c.ahead.count()); });
       },
       "1", "2"},
      {"Lease",
       [](auto& records, bool first) {
         return records.WriteLease({{1}, {Endpoint{"host", 1}}, first ? 1 : 2});
       },
       [](auto& records) {
         return TextOf(records.ReadLease(), [](const LeaseRecord& r) { return std::to_string(r.renewal); });
       },
       "1", "2"},
      {"KillRequest",
       [](auto& records, bool first) {
         if (first) return Ok();
         const auto kill = records.WriteKill({.reason = "two"});
         return kill.ok() ? Ok() : Status(kill.error());
       },
       ReadKills, "none", "two"},
      {"RemovalOfAKillRequest",
       [](auto& records, bool first) {
         static std::string name;
         if (!first) return records.RemoveKill(name);
         const auto kill = records.WriteKill({.reason = "one"});
         if (kill.ok()) name = kill->name;
         return kill.ok() ? Ok() : Status(kill.error());
       },
       ReadKills, "one", "none", /*may_be_left_out=*/true},
      {"Acknowledgement",
       [](auto& records, bool first) { return first ? Ok() : records.WriteAcked(kOwner, FromMillis(1)); },
       [](auto& records) {
         const auto acked = records.IsAcked();
         return !acked.ok() ? acked.error().message : *acked ? std::string("acked") : std::string("none");
       },
       "none", "acked"},
  };
}

class RecordFaultsTest : public testing::TestWithParam<RecordWrite> {
 protected:
  static JobRecords RecordsIn(const fs::path& folder) { return LocalJobRecords(HomeIn(folder) / "jobs" / kJob.value); }
  static void Prepare(const fs::path& folder) {
    ASSERT_TRUE(LocalJobStore(HomeIn(folder)).Create(JobWithSecret(), FromMillis(1)).ok());
    ASSERT_TRUE(GetParam().write(RecordsIn(folder), true).ok());
  }
};

TEST_P(RecordFaultsTest, AJobRecordIsWrittenWholeOrNotAtAll) {
  TryEveryFault({.prepare = Prepare,
                 .call = [](auto& folder) { return GetParam().write(RecordsIn(folder), false); },
                 .look =
                     [](auto& folder, bool done) {
                       const std::string text = GetParam().read(RecordsIn(folder));
                       EXPECT_TRUE(text == GetParam().after || (!done && text == GetParam().before)) << text;
                     }});
}

TEST_P(RecordFaultsTest, ARecordIsReadUnchangedOrTheReadFails) {
  TryEveryFault({.prepare = Prepare, .call = [](auto& folder) -> Status {
                   const std::string text = GetParam().read(RecordsIn(folder));
                   if (text == GetParam().before || (text == "none" && GetParam().may_be_left_out)) return Ok();
                   return Error{ErrorCode::kUnavailable, text};
                 }});
}

INSTANTIATE_TEST_SUITE_P(Records, RecordFaultsTest, testing::ValuesIn(RecordWrites()),
                         [](const auto& about) { return about.param.name; });

// ---- jobs ----

void ExpectWhole(const JobRecords& job) {
  EXPECT_TRUE(job.ReadSpec().ok());
  EXPECT_TRUE(job.ReadSubmission().ok());
  EXPECT_TRUE(job.ReadToken().ok());
  EXPECT_EQ(job.ReadEnvironment()->size(), 1u);
  EXPECT_EQ(job.ReadSecrets()->size(), 1u);
  EXPECT_TRUE(*job.ReadStaged());
  EXPECT_TRUE(*job.ReadConfiguration());
}

TEST(JobStoreFaultsTest, AJobIsCreatedWholeOrNotAtAll) {
  TryEveryFault({.prepare = [](auto& folder) { Make(HomeIn(folder)); },
                 .call = [](auto& folder) -> Status {
                   NewJob job = JobWithSecret();
                   job.id = {};  // each submit has a new id
                   return StatusOf(LocalJobStore(HomeIn(folder)).Create(job, RealClock().Now()));
                 },
                 .look =
                     [](auto& folder, bool done) {
                       const auto jobs = LocalJobStore(HomeIn(folder)).List();
                       ASSERT_TRUE(jobs.ok()) << jobs.error().message;
                       EXPECT_TRUE(!jobs->empty() || !done);
                       for (const auto& job : *jobs) ExpectWhole(job);
                     }});
}

TEST(JobStoreFaultsTest, AReadOfTheJobStoreFindsAnExistingJobOrFails) {
  TryEveryFault(
      {.prepare =
           [](auto& folder) { ASSERT_TRUE(LocalJobStore(HomeIn(folder)).Create(JobWithSecret(), FromMillis(1)).ok()); },
       .call = [](auto& folder) -> Status {
         const auto found = LocalJobStore(HomeIn(folder)).Find(kJob);
         EXPECT_TRUE(found.ok() || found.error().code != ErrorCode::kNotFound) << found.error().message;
         const auto all = LocalJobStore(HomeIn(folder)).List();
         EXPECT_TRUE(!all.ok() || all->size() == 1);
         if (!found.ok()) return found.error();
         return StatusOf(all);
       }});
}

// ---- requests ----

int64_t NumberIn(const fs::path& folder) {
  const auto record = LocalRequestIndex(HomeIn(folder)).Read(kRequest);
  EXPECT_TRUE(record.ok()) << record.error().message;
  return record.ok() && *record ? (*record)->newest_number : 0;
}

TEST(RequestFaultsTest, ARequestRecordIsWrittenWholeOrNotAtAll) {
  TryEveryFault({.prepare =
                     [](auto& folder) {
                       ASSERT_TRUE(LocalRequestIndex(HomeIn(folder)).Write(kRequest, {.newest_number = 1}).ok());
                     },
                 .call =
                     [](auto& folder) {
                       return StatusOf(LocalRequestIndex(HomeIn(folder)).Write(kRequest, {.newest_number = 2}));
                     },
                 .look =
                     [](auto& folder, bool done) {
                       const int64_t number = NumberIn(folder);
                       EXPECT_TRUE(number == 2 || (!done && number == 1)) << number;
                     }});
}

TEST(RequestFaultsTest, ARevocationIsWrittenWholeOrNotAtAll) {
  const Instant now = FromMillis(1'700'000'000'000);
  TryEveryFault({.prepare = [](auto& folder) { Make(HomeIn(folder)); },
                 .call = [&](auto& folder) { return LocalRequestIndex(HomeIn(folder)).Revoke(kRequest, kOwner, now); },
                 .look =
                     [&](auto& folder, bool done) {
                       const auto revoked = LocalRequestIndex(HomeIn(folder)).IsRevoked(kRequest, kOwner, now);
                       ASSERT_TRUE(revoked.ok()) << revoked.error().message;
                       EXPECT_TRUE(*revoked || !done);
                     }});
}

TEST(RequestFaultsTest, ARequestLockCanBeTakenAfterADiskFault) {
  TryEveryFault(
      {.prepare = [](auto& folder) { Make(HomeIn(folder)); },
       .call = [](auto& folder) { return StatusOf(LocalRequestIndex(HomeIn(folder)).Lock(kRequest, Duration(0))); }});
}

// A request must never appear without its existing job, because it would get a second job.
void MakeRequestWithJob(const fs::path& folder) {
  ASSERT_TRUE(LocalJobStore(HomeIn(folder)).Create(JobWithSecret(), FromMillis(1)).ok());
  RequestRecord record{.newest_number = 2, .job = kJob, .job_number = 2};
  record.before = RequestRecord::Predecessor{.job = {"local-before"}, .number = 1};
  ASSERT_TRUE(LocalRequestIndex(HomeIn(folder)).Write(kRequest, record).ok());
}

TEST(RequestFaultsTest, ARequestRecordIsReadWithItsJobOrTheReadFails) {
  TryEveryFault({.prepare = MakeRequestWithJob, .call = [](auto& folder) -> Status {
                   const auto record = LocalRequestIndex(HomeIn(folder)).Read(kRequest);
                   if (!record.ok()) return record.error();
                   EXPECT_TRUE(*record && (*record)->job == kJob);
                   return Ok();
                 }});
}

TEST(RequestFaultsTest, ASweepOfRequestRecordsKeepsTheRecordOfAnExistingJob) {
  const Instant later = RealClock().Now() + std::chrono::hours(1);
  TryEveryFault({.prepare = MakeRequestWithJob,
                 .call = [&](auto& folder) -> Status {
                   const auto swept = LocalRequestIndex(HomeIn(folder)).Sweep(later, later, false);
                   if (!swept.ok()) return swept.error();
                   EXPECT_EQ(*swept, 0);
                   return Ok();
                 },
                 .look =
                     [](auto& folder, bool) {
                       const auto record = LocalRequestIndex(HomeIn(folder)).Read(kRequest);
                       EXPECT_TRUE(record.ok() && *record && (*record)->job == kJob);
                     }});
}

// ---- staged entries ----

Status MakeEntry(const fs::path& entry) {
  TRY(MakeFolder(entry / "lib"));
  return WriteNewFile(entry / "lib/a.py", "content", /*durable=*/false);
}

Status KeepEntry(const fs::path& folder) {
  TRY_ASSIGN(const auto store, EntryStore::Open(HomeIn(folder) / "staged", {}));
  const EntryStore::Maker maker{.make = MakeEntry, .verify = [](const fs::path& entry) -> Result<bool> {
                                  const auto content = ReadFile(entry / "lib/a.py");
                                  if (!content.ok()) return content.error();
                                  return *content == "content";
                                }};
  return StatusOf(store.Keep("entry", {}, maker));
}

void LookAtEntry(const fs::path& folder, bool done) {
  const fs::path entry = HomeIn(folder) / "staged/entry";
  const auto content = ReadFile(entry / "lib/a.py");
  EXPECT_TRUE((!done && !fs::exists(entry)) || (content.ok() && *content == "content"));
}

TEST(EntryFaultsTest, AStagedEntryIsStoredWholeOrNotAtAll) {
  TryEveryFault({.prepare = [](auto& folder) { Make(HomeIn(folder)); }, .call = KeepEntry, .look = LookAtEntry});
}

TEST(EntryFaultsTest, AStagedEntrySurvivesADiskFaultWhileTheSameEntryIsStoredAgain) {
  TryEveryFault({.prepare = [](auto& folder) { ASSERT_TRUE(KeepEntry(folder).ok()); },
                 .call = KeepEntry,
                 .look = [](auto& folder, bool) { LookAtEntry(folder, true); }});
}

TEST(EntryFaultsTest, ADamagedStagedEntryStaysUntilAnIntactEntryReplacesIt) {
  TryEveryFault({.prepare =
                     [](auto& folder) {
                       ASSERT_TRUE(KeepEntry(folder).ok());
                       fs::remove(HomeIn(folder) / "staged/entry/lib/a.py");
                     },
                 .call = KeepEntry,
                 .look =
                     [](auto& folder, bool done) {
                       EXPECT_TRUE(fs::exists(HomeIn(folder) / "staged/entry/lib"));
                       if (done) LookAtEntry(folder, true);
                     }});
}

TEST(EntryFaultsTest, ASweepOfStagedEntriesKeepsEntriesThatAreInUse) {
  const auto find_kept = []() -> Result<std::set<std::string>> { return std::set<std::string>{"entry"}; };
  const Instant later = RealClock().Now() + std::chrono::hours(1);
  TryEveryFault({.prepare =
                     [](auto& folder) {
                       ASSERT_TRUE(KeepEntry(folder).ok());
                       ASSERT_TRUE(MakeEntry(HomeIn(folder) / "staged/useless").ok());
                     },
                 .call =
                     [&](auto& folder) {
                       return StatusOf(
                           EntryStore::Sweep(HomeIn(folder) / "staged", find_kept, later, Duration(0), false));
                     },
                 .look = [](auto& folder, bool) { LookAtEntry(folder, true); }});
}

// ---- folders of checkpoints ----

void TakeFolder(const fs::path& folder, const JobId& job) {
  ASSERT_TRUE(TakeCheckpointFolder(HomeIn(folder), "/checkpoints", job).ok());
}
std::string HolderIn(const fs::path& folder) {
  return TextOf(HolderOf(HomeIn(folder), "/checkpoints"), [](const CheckpointHolder& h) { return h.job.value; });
}

TEST(CheckpointHolderFaultsTest, ADiskFaultDuringATakeoverLeavesTheOldOrTheNewHolderOfTheCheckpointFolder) {
  TryEveryFault({.prepare = [](auto& folder) { TakeFolder(folder, {"gone"}); },
                 .call = [](auto& folder) -> Status {
                   const auto holder = TakeCheckpointFolder(HomeIn(folder), "/checkpoints", kJob);
                   if (!holder.ok()) return holder.error();
                   EXPECT_EQ(holder->job, kJob);
                   return Ok();
                 },
                 .look =
                     [](auto& folder, bool done) {
                       const std::string holder = HolderIn(folder);
                       EXPECT_TRUE(holder == kJob.value || (!done && holder == "gone")) << holder;
                     }});
}

TEST(CheckpointHolderFaultsTest, ASweepKeepsTheHolderRecordOfAJobThatStillExists) {
  TryEveryFault({.prepare =
                     [](auto& folder) {
                       ASSERT_TRUE(LocalJobStore(HomeIn(folder)).Create(JobWithSecret(), FromMillis(1)).ok());
                       TakeFolder(folder, kJob);
                     },
                 .call = [](auto& folder) { return SweepCheckpointHolders(HomeIn(folder)); },
                 .look = [](auto& folder, bool) { EXPECT_EQ(HolderIn(folder), kJob.value); }});
}

// ---- attempts ----

TEST(AttemptFaultsTest, AnOutcomeIsWrittenWholeOrNotAtAll) {
  const auto attempt = [](const fs::path& folder) { return AttemptFolder(folder, {{"worker", 3}, 1}); };
  const auto read = [&](const fs::path& folder) {
    return TextOf(attempt(folder).ReadOutcome(), [](const Outcome& outcome) { return outcome.message; });
  };
  const auto write = [&](const fs::path& folder, const std::string& message) {
    Outcome outcome;
    outcome.message = message;
    return attempt(folder).WriteOutcome(outcome);
  };
  TryEveryFault({.prepare =
                     [&](auto& folder) {
                       Make(attempt(folder).logs);
                       ASSERT_TRUE(write(folder, "one").ok());
                     },
                 .call = [&](auto& folder) { return write(folder, "two"); },
                 .look =
                     [&](auto& folder, bool done) {
                       const std::string text = read(folder);
                       EXPECT_TRUE(text == "two" || (!done && text == "one")) << text;
                     }});
}

}  // namespace
}  // namespace tony
