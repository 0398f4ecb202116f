// Checks of both clients of HDFS against a real cluster: `hadoop_webhdfs_check PLACE GROUP`, where PLACE is
// "http://HOST:PORT" for WebHDFS, "rpc://HOST:PORT" for RPC, and "rpc://HOST:PORT,http://HOST:PORT" for RPC with a
// gateway. Prints "ok NAME (MS)" or "FAILED
// NAME: why" for each check. The exit code is 1 if a check failed.
#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "tests/conformance/hadoop/hdfs_cluster.h"

namespace tony::hadoop {
namespace {

std::string SomeBytes(size_t size) {
  std::string bytes(size, '\0');
  uint32_t state = 1;
  for (char& c : bytes) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

Why NewFoldersAndFilesHaveTheirPermissionsAndOwner(Cluster& cluster) {
  MUST(cluster.MakeFolders(cluster.root, "/user/eve").ok());
  MUST(cluster.Run<Status>([&](auto done) { return cluster.root.SetPermission("/user/eve", 0777, done); }).ok());
  MUST(cluster.MakeFolders(cluster.root, "/full", 0777).ok());
  MUST(cluster.Run<Status>([&](auto done) { return cluster.root.SetPermission("/full", 0777, done); }).ok());
  MUST(cluster.MakeFolders(cluster.eve, "/user/eve/a/b", 0750).ok());
  MUST(cluster.MakeFolders(cluster.eve, "/user/eve/a/b", 0750).ok());  // a repetition is harmless
  const auto folder = cluster.GetEntry("/user/eve/a/b");
  MUST(folder.ok() && (*folder).is_folder && (*folder).permission == 0750 && (*folder).owner == "eve");
  MUST(Is(cluster.Put("/user/eve/a/file", "12345"), true));
  const auto file = cluster.GetEntry("/user/eve/a/file");
  MUST(file.ok() && !(*file).is_folder && (*file).permission == 0640 && (*file).length == 5);
  MUST(std::chrono::abs(WallNow() - (*file).modified) < std::chrono::minutes(1));
  MUST(cluster.GetEntry("/user/eve/none").error().code == ErrorCode::kNotFound);
  const Status onto_file = cluster.MakeFolders(cluster.eve, "/user/eve/a/file/x");
  MUST(onto_file.error().code == ErrorCode::kCannotWrite);
  return "";
}

Why AFileIsCreatedOnlyOnceAndCanBeOverwritten(Cluster& cluster) {
  MUST(Is(cluster.Put("/user/eve/new", "first"), true));
  MUST(Is(cluster.Put("/user/eve/new", "second"), false));
  MUST(Is<std::string>(cluster.Read("/user/eve/new"), "first"));
  MUST(Is(cluster.Put("/user/eve/new", "third", HdfsRename::kOverwrite), true));
  MUST(Is<std::string>(cluster.Read("/user/eve/new"), "third"));
  MUST(Is(cluster.Put("/user/eve/empty", ""), true));
  MUST(Is<std::string>(cluster.Read("/user/eve/empty"), ""));
  const auto create = [&](const HdfsCreation& how) {
    return cluster.Run<Result<bool>>([&](auto done) {
      return cluster.eve.Create("/user/eve/new", {"fourth", {}, {}}, how, done);
    });
  };
  MUST(Is(create({}), false));
  MUST(Is(create({.overwrite = true}), true));
  MUST(Is<std::string>(cluster.Read("/user/eve/new"), "fourth"));
  return "";
}

Why TwentySimultaneousWritersCreateOneFile(Cluster& cluster) {
  int first = 0, others = 0, errors = 0;
  std::vector<Hdfs::Handle> handles;
  for (int i = 0; i < 20; ++i) {
    handles.push_back(PutCompleteFile(cluster.eve, "/user/eve/race", {StrCat(i), {}, {}}, HdfsRename::kIfNew, 0600,
                                      [&](const Result<bool>& put) {
                                        ++(!put.ok() ? errors : *put ? first : others);
                                      }));
  }
  RunUntil(
      cluster.loop, [&] { return first + others + errors == 20; }, kLimit);
  MUST(first == 1 && others == 19);
  return "";
}

Why AFileWithTheNameOfAFolderIsRefused(Cluster& cluster) {
  MUST(cluster.MakeFolders(cluster.eve, "/user/eve/folder/full").ok());
  MUST(cluster.Put("/user/eve/folder", "x").error().code == ErrorCode::kCannotWrite);
  const auto overwriting = cluster.Put("/user/eve/folder", "x", HdfsRename::kOverwrite);
  MUST(overwriting.error().code == ErrorCode::kCannotWrite);
  MUST(cluster.NamesIn("/user/eve/folder") == std::vector<std::string>{"full"});
  return "";
}

Why AWriteDoesNotCreateAMissingFolder(Cluster& cluster) {
  MUST(cluster.Put("/user/eve/gone/file", "x").error().code == ErrorCode::kNotFound);
  MUST(cluster.GetEntry("/user/eve/gone").error().code == ErrorCode::kNotFound);
  return "";
}

Why ThreeThousandEntriesAreListed(Cluster& cluster) {
  constexpr size_t kEntries = 3000;
  size_t asked = 0, made = 0, failed = 0;
  std::vector<Hdfs::Handle> handles(16);
  std::function<void(size_t)> next = [&](size_t lane) {
    if (asked == kEntries) return;
    const std::string path = StrCat("/user/eve/many/entry-", asked++);
    handles[lane] = cluster.eve.MakeFolders(path, 0700, [&, lane](const Status& status) {
      ++(status.ok() ? made : failed);
      next(lane);
    });
  };
  for (size_t lane = 0; lane < handles.size(); ++lane) next(lane);
  RunUntil(
      cluster.loop, [&] { return made + failed == kEntries; }, kLimit);
  MUST(made == kEntries);
  const Instant began = cluster.loop.Now();
  const std::vector<std::string> names = cluster.NamesIn("/user/eve/many");
  std::printf("   3000 entries listed in %lld ms\n", static_cast<long long>((cluster.loop.Now() - began).count()));
  MUST(names.size() == kEntries && std::ranges::is_sorted(names));
  MUST(cluster.List("/user/eve/new").error().code == ErrorCode::kInvalid);
  MUST(Is(cluster.Remove("/user/eve/many"), true));
  MUST(Is(cluster.Remove("/user/eve/many"), false));
  MUST(cluster.List("/user/eve/many").error().code == ErrorCode::kNotFound);
  return "";
}

Why AnAttributeIsCreatedOnlyOnceAndCanBeOverwritten(Cluster& cluster) {
  const std::string large = SomeBytes(12'000);
  MUST(Is(cluster.SetXattr("user.tony.1", large), true));
  MUST(Is(cluster.SetXattr("user.tony.1", "other"), false));
  MUST(cluster.GetXattrs() == (std::map<std::string, std::string>{{"user.tony.1", large}}));
  MUST(Is(cluster.SetXattr("user.tony.1", "other", HdfsXattr::kOverwrite), true));
  MUST(Is(cluster.SetXattr("user.tony.2", "", HdfsXattr::kOverwrite), true));
  MUST(cluster.GetXattrs() == (std::map<std::string, std::string>{{"user.tony.1", "other"}, {"user.tony.2", ""}}));
  const auto too_large = cluster.SetXattr("user.tony.3", std::string(20'000, 'x'));
  MUST(!too_large.ok());
  // A separate folder gets as many attributes as HDFS allows.
  MUST(cluster.MakeFolders(cluster.eve, "/user/eve/attributes").ok());
  const auto set = [&](int i) {
    return cluster.Run<Result<bool>>([&](auto done) {
      return cluster.eve.SetXattr("/user/eve/attributes", StrCat("user.tony.", i), "x", HdfsXattr::kIfNew, done);
    });
  };
  for (int i = 1; i <= 32; ++i) MUST(Is(set(i), true));
  MUST(set(33).error().code == ErrorCode::kCannotWrite);
  return "";
}

UniqueFd TemporaryFile() {
  return UniqueFd(::open(::getenv("TMPDIR") ? ::getenv("TMPDIR") : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

Why ALargeFileIsUploadedWithProgress(Cluster& cluster) {
  constexpr int64_t kSize = 64 << 20;
  const std::string bytes = SomeBytes(kSize);
  const UniqueFd up = TemporaryFile();
  MUST(::pwrite(up.get(), bytes.data(), bytes.size(), 0) == kSize);
  int told = 0;
  int64_t last = 0;
  const auto progress = [&](int64_t moved) { ++told, last = moved; };
  const Instant began = cluster.loop.Now();
  MUST(Is(cluster.Run<Result<bool>>([&](auto done) {
    return PutCompleteFile(cluster.eve, "/user/eve/large", {"", FilePart{up.get(), 0, kSize}, progress},
                           HdfsRename::kIfNew, 0600, done);
  }),
          true));
  const auto up_time = (cluster.loop.Now() - began).count();
  MUST(told > 0 && last > 0 && last <= kSize);
  std::printf("   64 MB up in %lld ms, progress told %d times\n", static_cast<long long>(up_time), told);
  MUST(Is<std::string>(cluster.Read("/user/eve/large", kSize - 10, 100), bytes.substr(kSize - 10)));
  // Neither end is the border of a chunk.
  MUST(Is<std::string>(cluster.Read("/user/eve/large", 1'000'001, 2'000'003), bytes.substr(1'000'001, 2'000'003)));
  return "";
}

Why FileNamesMayContainEveryByteThatHDFSAllows(Cluster& cluster) {
  MUST(cluster.MakeFolders(cluster.eve, "/user/eve/names").ok());
  std::vector<std::string> names;
  for (int c = 1; c < 128; ++c) {
    if (c != '/' && c != ':') names.push_back(StrCat("x", static_cast<char>(c), "y"));  // not allowed in HDFS names
  }
  size_t ended = 0;
  std::vector<Hdfs::Handle> handles;
  for (const std::string& name : names) {
    handles.push_back(PutCompleteFile(cluster.eve, "/user/eve/names/" + name, {name, {}, {}}, HdfsRename::kIfNew, 0600,
                                      [&](const Result<bool>&) { ++ended; }));
  }
  RunUntil(
      cluster.loop, [&] { return ended == names.size(); }, kLimit);
  std::string refused;
  for (const std::string& name : names) {
    if (!Is(cluster.Read("/user/eve/names/" + name), name)) refused += StrCat(" ", static_cast<int>(name[1]));
  }
  const std::string words = "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\x98 %41 a+b";
  MUST(Is(cluster.Put("/user/eve/names/" + words, words), true));
  MUST(Is<std::string>(cluster.Read("/user/eve/names/" + words), words));
  MUST(std::ranges::count(cluster.NamesIn("/user/eve/names"), words) == 1);
  if (!refused.empty()) std::printf("   names with these bytes do not work:%s\n", refused.c_str());
  MUST(refused.empty());
  return "";
}

Why BytesAreAppended(Cluster& cluster) {
  MUST(Is(cluster.Put("/user/eve/log", "one "), true));
  MUST(cluster.Run<Status>([&](auto done) { return cluster.eve.Append("/user/eve/log", {"two", {}, {}}, done); }).ok());
  MUST(Is<std::string>(cluster.Read("/user/eve/log"), "one two"));
  MUST(Is<std::string>(cluster.Read("/user/eve/log", 2, 3), "e t"));
  return "";
}

Why AWriteWithoutPermissionIsRefused(Cluster& cluster) {
  MUST(cluster.MakeFolders(cluster.root, "/others").ok());
  MUST(cluster.Put("/others/file", "x").error().code == ErrorCode::kNotPermitted);
  MUST(cluster.MakeFolders(cluster.eve, "/others/folder").error().code == ErrorCode::kNotPermitted);
  return "";
}

// Checks that a file that is cut off looks whole, and that PutCompleteFile shows no such file.
Why AnInterruptedUploadLeavesNoFile(Cluster& cluster) {
  // Sending it takes half a second or more; a tenth of it is sent.
  constexpr int64_t kSize = 512 << 20;
  const UniqueFd file = TemporaryFile();
  MUST(::ftruncate(file.get(), kSize) == 0);
  const auto cut_off = [&](const std::function<Hdfs::Handle(HdfsBody)>& start) {
    Hdfs::Handle handle;
    bool cut = false;
    handle = start({"", FilePart{file.get(), 0, kSize}, [&](int64_t) { handle.reset(), cut = true; }});
    return RunUntil(
        cluster.loop, [&] { return cut; }, kLimit);
  };
  MUST(cluster.MakeFolders(cluster.eve, "/user/eve/cut").ok());
  MUST(cut_off([&](HdfsBody body) {
    return cluster.eve.Create("/user/eve/cut/create", std::move(body), {}, [](const Result<bool>&) {});
  }));
  MUST(cut_off([&](HdfsBody body) {
    return PutCompleteFile(cluster.eve, "/user/eve/cut/put", std::move(body), HdfsRename::kIfNew, 0600,
                           [](const Result<bool>&) {});
  }));
  MUST(cluster.GetEntry("/user/eve/cut/put").error().code == ErrorCode::kNotFound);
  // By RPC, the file stays open for its writer.
  if (cluster.has_rpc()) return "";
  // The DataNode closes the file when it notices the end of the connection. Until then the length is 0.
  int64_t length = 0;
  for (const Instant end = cluster.loop.Now() + kLimit; length == 0 && cluster.loop.Now() < end;) {
    const auto created = cluster.GetEntry("/user/eve/cut/create");
    MUST(created.ok());
    length = (*created).length;
  }
  std::printf("   cut off, a file of %lld bytes looks like one of %lld\n", static_cast<long long>(kSize),
              static_cast<long long>(length));
  MUST(length > 0 && length < kSize);
  return "";
}

Why TheTimesOfCallsAreMeasured(Cluster& cluster) {
  const auto entry = MedianMicros(50, [&](int) { (void)cluster.GetEntry("/user/eve").ok(); });
  const auto xattr = MedianMicros(
      50, [&](int) { (void)cluster.SetXattr("user.t", std::string(300, 'x'), HdfsXattr::kOverwrite).ok(); });
  const auto put =
      MedianMicros(20, [&](int i) { (void)cluster.Put(StrCat("/user/eve/quick-", i), std::string(1000, 'x')).ok(); });
  std::printf("   medians: GETFILESTATUS %lld us, SETXATTR of 300 bytes %lld us, PutWhole of 1000 bytes %lld us\n",
              entry, xattr, put);
  MUST(cluster.GetEntry("/user/eve/quick-19").ok());
  constexpr int64_t kSize = 100 << 20;
  const UniqueFd file = TemporaryFile();
  MUST(::ftruncate(file.get(), kSize) == 0);
  const auto up = MedianMicros(3, [&](int) {
    (void)cluster.Run<Result<bool>>([&](auto done) {
      return PutCompleteFile(cluster.eve, "/user/eve/hundred", {"", FilePart{file.get(), 0, kSize}, {}},
                             HdfsRename::kOverwrite, 0600, done);
    });
  });
  size_t read = 0;
  const auto down = MedianMicros(3, [&](int) { read = (*cluster.Read("/user/eve/hundred", 0, kSize)).size(); });
  std::printf("   medians: 100 MB up %lld ms, down %lld ms\n", up / 1000, down / 1000);
  MUST(read == static_cast<size_t>(kSize));
  return "";
}

Why WritesInSafeModeAreRefused(Cluster& cluster) {
  MUST(cluster.MakeFolders(cluster.eve, "/user/eve/safe").error().code == ErrorCode::kUnavailable);
  MUST(cluster.said.find("SafeModeException") != std::string::npos);
  MUST(cluster.Put("/user/eve/safe", "x").error().code == ErrorCode::kUnavailable);
  MUST(cluster.SetXattr("user.safe", "x").error().code == ErrorCode::kUnavailable);
  MUST(cluster.Read("/user/eve/a/file").ok());
  return "";
}

Why AWriteBeyondTheQuotaIsRefused(Cluster& cluster) {
  MUST(cluster.Put("/full/file", "x").error().code == ErrorCode::kCannotWrite);
  std::printf("   %s\n", cluster.said.c_str());
  MUST(cluster.NamesIn("/full").empty() && cluster.said.empty());
  return "";
}

Why FileContentIsUnavailableWithoutADataNode(Cluster& cluster) {
  MUST(cluster.Read("/user/eve/a/file").error().code == ErrorCode::kUnavailable);
  MUST(cluster.Put("/user/eve/later", "x").error().code == ErrorCode::kUnavailable);
  std::printf("   %s\n", cluster.said.c_str());
  MUST(cluster.GetEntry("/user/eve/a/file").ok());
  return "";
}

Why CallsFailAsUnavailableWithoutANameNode(Cluster& cluster) {
  MUST(cluster.GetEntry("/user/eve").error().code == ErrorCode::kUnavailable);
  return "";
}

constexpr Check kChecks[] = {
    {"usual", "new folders and files have their permissions and owner", NewFoldersAndFilesHaveTheirPermissionsAndOwner},
    {"usual", "a file is created only once and can be overwritten", AFileIsCreatedOnlyOnceAndCanBeOverwritten},
    {"usual", "twenty simultaneous writers create one file", TwentySimultaneousWritersCreateOneFile},
    {"usual", "a file with the name of a folder is refused", AFileWithTheNameOfAFolderIsRefused},
    {"usual", "a write does not create a missing folder", AWriteDoesNotCreateAMissingFolder},
    {"usual", "three thousand entries are listed", ThreeThousandEntriesAreListed},
    {"usual", "an attribute is created only once and can be overwritten",
     AnAttributeIsCreatedOnlyOnceAndCanBeOverwritten},
    {"usual", "a large file is uploaded with progress", ALargeFileIsUploadedWithProgress},
    {"usual", "file names may contain every byte that HDFS allows", FileNamesMayContainEveryByteThatHDFSAllows},
    {"usual", "bytes are appended", BytesAreAppended},
    {"usual", "a write without permission is refused", AWriteWithoutPermissionIsRefused},
    {"usual", "an interrupted upload leaves no file", AnInterruptedUploadLeavesNoFile},
    {"usual", "the times of calls are measured", TheTimesOfCallsAreMeasured},
    {"full", "a write beyond the quota is refused", AWriteBeyondTheQuotaIsRefused},
    {"safe-mode", "writes in safe mode are refused", WritesInSafeModeAreRefused},
    {"no-datanode", "file content is unavailable without a DataNode", FileContentIsUnavailableWithoutADataNode},
    {"no-namenode", "calls fail as unavailable without a NameNode", CallsFailAsUnavailableWithoutANameNode},
};

}  // namespace
}  // namespace tony::hadoop

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s PLACE GROUP\n", argv[0]);
    return 64;
  }
  return tony::hadoop::RunChecks("webhdfs", tony::hadoop::kChecks, argv[1], argv[2]);
}
