// Checks of the records and journals of jobs in a real HDFS: `hadoop_record_check NAMENODE_URL GROUP`. The output has
// the format of webhdfs_check.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/records/hdfs/hdfs_record_store.h"
#include "tests/conformance/hadoop/hdfs_cluster.h"

namespace tony::hadoop {
namespace {

constexpr auto kKept = Durability::kSurvivesPowerCut;
const std::string kLarge(kMostInAttribute + 1, 'x');

// A job's records and its journal, each with a connection of its own.
struct Job {
  Job(const Cluster& cluster, const std::string& name)
      : folder{"hdfs:", "/user/eve/jobs/" + name, "eve"},
        calls(std::make_shared<BlockingHdfs>([&] {
          Hdfs::Options options = OptionsFor(cluster.url, "eve");
          options.limits = LimitsOfRecords();
          return options;
        }())),
        records(calls, folder),
        journal(calls, folder) {}

  HdfsFolder folder;
  std::shared_ptr<HdfsCalls> calls;
  HdfsRecordStore records;
  HdfsJournalStore journal;
};

bool IsRecord(const Job& job, const std::string& name, const std::string& bytes) {
  const auto record = job.records.Get(name);
  return record.ok() && *record && (**record).bytes == bytes && (**record).writer.empty();
}

bool IsJournal(const Job& job, const std::string& bytes) {
  const auto journal = ReadJournal(job.journal);
  if (!journal.ok()) std::printf("   %s\n", journal.error().message.c_str());
  return journal.ok() && *journal && **journal == bytes;
}

Why RecordsAreReplacedAndListed(Cluster& cluster) {
  MUST(cluster.MakeFolders(cluster.root, "/user/eve").ok());
  MUST(cluster.Run<Status>([&](auto done) { return cluster.root.SetPermission("/user/eve", 0777, done); }).ok());
  const Job job(cluster, "records");
  MUST(MakeRecordFolder(job.calls, job.folder).ok());
  const auto folder = cluster.GetEntry(job.folder.path);
  MUST(folder.ok() && (*folder).permission == 0700);
  for (const std::string& bytes : {std::string("s\0all", 5), kLarge, std::string(), std::string(kMostInAttribute, 'z'),
                                   kLarge + "y", std::string("{}")}) {
    MUST(job.records.Replace("status.json", bytes, kKept).ok());
    MUST(IsRecord(job, "status.json", bytes));
  }
  MUST(Is(job.records.PutNew("kill-requests/a.json", "1", kKept), true));
  MUST(Is(job.records.PutNew("kill-requests/a.json", "2", kKept), false));
  MUST(IsRecord(job, "kill-requests/a.json", "1"));
  MUST(Is(job.records.List("kill-requests"), std::vector<std::string>{"a.json"}));
  MUST(job.records.Remove("kill-requests/a.json").ok() && job.records.Remove("kill-requests/a.json").ok());
  MUST((*job.records.List("kill-requests")).empty());
  MUST(cluster.NamesIn(job.folder.path) == (std::vector<std::string>{"kill-requests", "status.json"}));
  const Job gone(cluster, "gone");
  MUST(gone.records.Replace("kill-requests/a.json", "1", kKept).error().code == ErrorCode::kCannotWrite);
  MUST(cluster.GetEntry(gone.folder.path).error().code == ErrorCode::kNotFound);
  return "";
}

Why TwelveSimultaneousWritersCreateOneRecord(Cluster& cluster) {
  for (const std::string& bytes : {std::string("small"), kLarge}) {
    std::atomic<int> first = 0, others = 0;
    std::vector<std::jthread> racers;
    for (int i = 0; i < 12; ++i) {
      racers.emplace_back([&] {
        const auto put = Job(cluster, "records").records.PutNew(StrCat("race-", bytes.size()), bytes, kKept);
        if (put.ok()) ++(*put ? first : others);
      });
    }
    racers.clear();
    MUST(first == 1 && others == 11);
  }
  return "";
}

// HdfsBytes relies on this.
Why ARepeatedRenameFailsAsNotFound(Cluster& cluster) {
  const Job job(cluster, "records");
  const std::string from = job.folder.path + "/.put-a", to = job.folder.path + "/renamed";
  for (const HdfsRename how : {HdfsRename::kIfNew, HdfsRename::kOverwrite}) {
    (void)job.calls->Remove(to);
    MUST(Is(job.calls->Create(from, ""), true));
    MUST(Is(job.calls->Rename(from, to, how), true));
    const auto again = job.calls->Rename(from, to, how);
    MUST(!again.ok() && again.error().code == ErrorCode::kNotFound);
  }
  return "";
}

Why ASealedJournalAcceptsNoRecord(Cluster& cluster) {
  const Job first(cluster, "sealed"), second(cluster, "sealed");
  MUST(MakeRecordFolder(first.calls, first.folder).ok());
  MUST(TakeOverJournal(first.journal, Epoch{1}).ok());
  MUST(Is(first.journal.Add(Epoch{1}, 1, "one"), true));
  MUST(Is(first.journal.Add(Epoch{1}, 2, kLarge), true));
  // The file is still being written when its folder is renamed.
  constexpr size_t kSize = 128 << 20;
  std::optional<Result<bool>> late;
  bool is_sealed = false;
  Hdfs::Handle handle;
  handle = cluster.eve.Create(first.folder.path + "/journal/1/.put-late", {std::string(kSize, 'x'), {}, {}}, {},
                              [&](const Result<bool>& created) { late = created; });
  const auto is_writing = [&] {
    const auto entry = second.calls->GetEntry(first.folder.path + "/journal/1/.put-late");
    return entry.ok();
  };
  std::optional<Result<std::vector<JournalRecord>>> taken;
  RunUntil(
      cluster.loop,
      [&] {
        if (!is_sealed && is_writing()) taken = TakeOverJournal(second.journal, Epoch{2}), is_sealed = true;
        return late.has_value();
      },
      kLimit);
  MUST(late.has_value() && taken.has_value());
  MUST(taken->ok() && (**taken).size() == 2 && (**taken)[1].bytes == kLarge);
  std::printf("   a file of 128 MB that was under way at the seal: %s\n",
              late->ok() ? "written" : late->error().message.c_str());
  MUST(Is(first.journal.Add(Epoch{1}, 3, "late"), false));
  MUST(Is(first.journal.Add(Epoch{1}, 3, kLarge), false));
  MUST(Is(first.journal.Add(Epoch{1}, 49, "late, in a new file"), false));
  MUST(first.journal.Seal(Epoch{1}).ok());
  MUST(cluster.GetEntry(first.folder.path + "/journal/1").error().code == ErrorCode::kNotFound);
  return "";
}

// Each master fences all masters before it. If a master got the answer that its record is added, the record is in the
// journal.
Why SimultaneousMastersLoseNoAcknowledgedRecord(Cluster& cluster) {
  const Job job(cluster, "two");
  MUST(MakeRecordFolder(job.calls, job.folder).ok());
  std::atomic<size_t> added = 0;
  std::vector<std::jthread> masters;
  for (int64_t epoch = 1; epoch <= 8; ++epoch) {
    masters.emplace_back([&, own = Epoch{epoch}] {
      const Job mine(cluster, "two");
      const auto taken = TakeOverJournal(mine.journal, own);
      if (taken.ok() && Is(mine.journal.Add(own, static_cast<int64_t>((*taken).size()) + 1, "x"), true)) ++added;
    });
  }
  masters.clear();
  std::printf("   of 8 masters at once %zu added a record\n", added.load());
  MUST(added >= 1 && IsJournal(job, std::string(added, 'x')));
  return "";
}

Why AJournalOf200RecordsIsReadBackUnchanged(Cluster& cluster) {
  const Job job(cluster, "turns");
  MUST(MakeRecordFolder(job.calls, job.folder).ok());
  MUST(TakeOverJournal(job.journal, Epoch{1}).ok());
  std::vector<long long> micros;
  std::string all;
  for (int64_t n = 1; n <= 200; ++n) {
    const std::string bytes = StrCat("<", n, ">", std::string(300, 'x'));
    const auto began = std::chrono::steady_clock::now();
    MUST(Is(job.journal.Add(Epoch{1}, n, bytes), true));
    micros.push_back(
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began).count());
    all += bytes;
  }
  std::sort(micros.begin(), micros.end());
  std::printf("   200 turns of 300 bytes: median %lld us, 99 of 100 within %lld us, longest %lld us\n", micros[100],
              micros[198], micros[199]);
  MUST(IsJournal(job, all));
  MUST(Is(job.journal.Add(Epoch{1}, 201, kLarge), true));
  MUST(IsJournal(job, all + kLarge));
  return "";
}

// Measures whether extended attributes are worth it: see runtime/records/hdfs/README.md.
Why TheCostOfAttributesAndFilesIsMeasured(Cluster& cluster) {
  const Job job(cluster, "records");
  const std::string bytes(1000, 'x'), full(kMostInAttribute, 'y');
  const auto replace = [&](const std::string& content) {
    return MedianMicros(30, [&](int) { (void)job.records.Replace("measured", content, kKept).ok(); });
  };
  const long long small = replace(bytes), largest = replace(full), file = replace(kLarge);
  const auto read_file = MedianMicros(30, [&](int) { (void)job.records.Get("measured").ok(); });
  (void)job.records.Replace("measured", bytes, kKept).ok();
  const auto read_small = MedianMicros(30, [&](int) { (void)job.records.Get("measured").ok(); });
  std::vector<long long> puts;
  for (int i = 0; i < 30; ++i)
    puts.push_back(MedianMicros(1, [&](int) { (void)job.records.Replace("measured", kLarge, kKept).ok(); }));
  std::printf(
      "   medians: replace 1000 bytes %lld us, 12000 %lld us, 12001 (a file) %lld us; %td of 30 files > 200 ms\n",
      small, largest, file, std::count_if(puts.begin(), puts.end(), [](long long us) { return us > 200'000; }));
  std::printf("   medians: read 1000 bytes %lld us, 12001 %lld us\n", read_small, read_file);
  MUST(small > 0);
  return "";
}

Why AcknowledgedRecordsSurviveTheDeathOfTheNameNode(Cluster& cluster) {
  const Job job(cluster, "turns");
  for (const Instant end = cluster.loop.Now() + kLimit;;) {
    const auto journal = ReadJournal(job.journal);
    if (journal.ok()) {
      MUST(*journal && (**journal).size() > 200 * 300 + kLarge.size() && (**journal).ends_with(kLarge));
      break;
    }
    MUST(cluster.loop.Now() < end);
  }
  const Job records(cluster, "records");
  MUST(IsRecord(records, "status.json", "{}"));
  // In safe mode HDFS can be read and not written.
  const Instant end = cluster.loop.Now() + kLimit;
  while (!records.records.Replace("status.json", "{}", kKept).ok()) MUST(cluster.loop.Now() < end);
  return "";
}

constexpr Check kRecordChecks[] = {
    {"usual", "records are replaced and listed", RecordsAreReplacedAndListed},
    {"usual", "twelve simultaneous writers create one record", TwelveSimultaneousWritersCreateOneRecord},
    {"usual", "a repeated rename fails as not found", ARepeatedRenameFailsAsNotFound},
    {"usual", "a sealed journal accepts no record", ASealedJournalAcceptsNoRecord},
    {"usual", "simultaneous masters lose no acknowledged record", SimultaneousMastersLoseNoAcknowledgedRecord},
    {"usual", "a journal of 200 records is read back unchanged", AJournalOf200RecordsIsReadBackUnchanged},
    {"usual", "the cost of attributes and files is measured", TheCostOfAttributesAndFilesIsMeasured},
    {"name-node-killed", "acknowledged records survive the death of the NameNode",
     AcknowledgedRecordsSurviveTheDeathOfTheNameNode},
};

}  // namespace
}  // namespace tony::hadoop

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s NAMENODE_URL GROUP\n", argv[0]);
    return 64;
  }
  return tony::hadoop::RunChecks("records", tony::hadoop::kRecordChecks, argv[1], argv[2]);
}
