#include "runtime/yarn/hdfs_staging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <thread>

#include "runtime/os/files.h"
#include "runtime/yarn/hdfs_sources.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/hadoop/fake_name_node.h"
#include "tests/unit/hadoop/served_name_node.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using hadoop::LocalResource;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HdfsStagingTest : public testing::Test {
 protected:
  HdfsStagingTest() {
    store_.hdfs = {.bases = {name_node_.url()}, .user = "eve"};
    store_.folder = "/user/eve/staged";
    store_.name_node = {"nn", 8020};
    store_.scratch = temp_.path() / "scratch";
    fs::create_directories(store_.scratch);
    server_ = std::jthread([this] { loop_.Run(); });
  }
  ~HdfsStagingTest() override {
    loop_.Stop();
    server_.join();
  }

  // Calls `what` on the NameNode's thread.
  template <class What>
  auto There(What what) {
    using Task = std::packaged_task<std::decay_t<decltype(what(name_node_))>()>;
    const auto task = std::make_shared<Task>([&] { return what(name_node_); });
    loop_.Post([task] { (*task)(); });
    return task->get_future().get();
  }
  std::map<std::string, std::string> Files() {
    return There([](hadoop::FakeNameNode& there) { return there.files; });
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& [name, content] : Files()) names.push_back(name);
    return names;
  }
  int Created() {
    return There([](hadoop::FakeNameNode& there) {
      int count = 0;
      for (const ServedRequest& request : there.server().requests())
        if (request.target.find("op=CREATE") != std::string::npos) ++count;
      return count;
    });
  }

  fs::path Write(const std::string& name, const std::string& text) {
    fs::create_directories((temp_.path() / name).parent_path());
    std::ofstream(temp_.path() / name, std::ios::binary) << text;
    return temp_.path() / name;
  }
  Result<HdfsFiles> Send(const std::vector<HdfsSource>& sources) { return SendToHdfs(store_, sources, watch_); }
  Error Refused(const std::vector<HdfsSource>& sources) {
    const auto sent = Send(sources);
    EXPECT_FALSE(sent.ok());
    return sent.ok() ? Error{} : sent.error();
  }

  TempFolder temp_;
  EventLoop loop_;
  hadoop::FakeNameNode name_node_{loop_};
  std::jthread server_;
  HdfsStore store_;
  std::stop_source stop_;
  StageWatch watch_{.stop = stop_.get_token()};
};

TEST_F(HdfsStagingTest, UploadedFilesAndFoldersAreReturnedWithTheirHdfsPathsSizesAndTimes) {
  const std::vector<HdfsSource> sources = {{"data", "aa", Write("aa", "content")},
                                           {"src", "bb-tree", Write("bb-tree/train.py", "x").parent_path()}};
  const auto sent = Must(Send(sources));
  const auto there = Files();
  EXPECT_THAT(Names(), ElementsAre("/user/eve/staged/aa", "/user/eve/staged/bb-tree.tar.gz"));
  EXPECT_EQ(there.at("/user/eve/staged/aa"), "content");
  const LocalResource& file = sent.at("data");
  EXPECT_EQ(file.scheme, "hdfs");
  EXPECT_EQ(file.host, "nn");
  EXPECT_EQ(file.port, 8020);
  EXPECT_EQ(file.path, "/user/eve/staged/aa");
  EXPECT_EQ(file.size, 7);
  EXPECT_EQ(ToMillis(file.modified), 1700000000123);
  EXPECT_EQ(file.kind, LocalResource::Kind::kFile);
  EXPECT_EQ(file.visibility, LocalResource::Visibility::kPrivate);
  const LocalResource& folder = sent.at("src");
  EXPECT_EQ(folder.path, "/user/eve/staged/bb-tree.tar.gz");
  EXPECT_EQ(folder.kind, LocalResource::Kind::kArchive);
  EXPECT_EQ(folder.size, static_cast<int64_t>(there.at(folder.path).size()));
  EXPECT_EQ(There([](auto& node) { return node.folders; }),
            (std::map<std::string, std::string>{{"/user/eve/staged", "0700"}}));
  EXPECT_TRUE(fs::is_empty(store_.scratch));
}

TEST_F(HdfsStagingTest, AnUploadAboveTheHdfsQuotaFailsWithTheQuotaException) {
  There([](auto& node) { return node.is_over_quota = true; });
  const Error refused = Refused({{"data", "aa", Write("aa", "content")}});
  EXPECT_EQ(refused.code, ErrorCode::kCannotWrite);
  EXPECT_THAT(refused.message, HasSubstr("DSQuotaExceededException"));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(HdfsStagingTest, AFileThatIsAlreadyInHdfsIsNotUploadedAgain) {
  const std::vector<HdfsSource> sources = {{"data", "aa", Write("aa", "content")},
                                           {"src", "bb-tree", Write("bb-tree/train.py", "x").parent_path()}};
  StageProgress progress;
  watch_.on_progress = [&](const StageProgress& now) { progress = now; };
  const auto first = Send(sources);
  EXPECT_GT(progress.copied, 7);
  EXPECT_EQ(progress.done, progress.total);
  const int created = Created();
  const auto second = Send(sources);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(Created(), created);
  EXPECT_EQ(ToJson(*second), ToJson(*first));
}

TEST_F(HdfsStagingTest, AStagedHdfsFileIsReplacedIfItsSizeDiffersFromThatOfItsSource) {
  There([](auto& node) { return node.files["/user/eve/staged/aa"] = "con"; });
  ASSERT_TRUE(Send({{"data", "aa", Write("aa", "content")}}).ok());
  EXPECT_EQ(Files().at("/user/eve/staged/aa"), "content");
}

TEST_F(HdfsStagingTest, APartialUploadFailsAndLeavesNoFileInHdfs) {
  There([](auto& node) { return node.keeps_of_a_body = 3; });
  const Error error = Refused({{"data", "aa", Write("aa", "content")}});
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("/aa"));
  EXPECT_THAT(error.message, HasSubstr("3 of 7 bytes arrived"));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(HdfsStagingTest, ASourceFileThatChangesAfterHashingIsNotPublishedAndIsNamedInTheError) {
  const auto source = Must(FileSource("tony-executor", Write("program", "one")));
  EXPECT_EQ(source.name.size(), 64u);
  Write("program", "two");
  const Error error = Refused({source});
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("/program: the file changed while it was sent"));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(HdfsStagingTest, ASourceFileTruncatedDuringItsUploadIsNamedInTheError) {
  const fs::path file = Write("aa", std::string(32 << 20, 'x'));
  watch_.on_progress = [&](const StageProgress&) { fs::resize_file(file, 10); };
  const Error error = Refused({{"data", "aa", file}});
  EXPECT_THAT(error.message, HasSubstr("/aa: the file changed while it was sent"));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(HdfsStagingTest, AMissingSourceFileIsNamedInTheError) {
  const Error error = Refused({{"data", "aa", temp_.path() / "aa"}});
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_THAT(error.message, HasSubstr("/aa: no such file"));
}

TEST_F(HdfsStagingTest, AStopRequestCancelsAHangingUpload) {
  There([](auto& node) { return node.server().ReadNoBody(), 0; });
  const std::jthread stopper([this] {
    while (Created() == 0) std::this_thread::yield();
    stop_.request_stop();
  });
  const Error error = Refused({{"data", "aa", Write("aa", std::string(32 << 20, 'x'))}});
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(error.message, "staging was stopped");
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(HdfsStagingTest, AStagingFolderReadableByOthersIsMadePrivate) {
  There([](auto& node) { return node.folders["/user/eve/staged"] = "755"; });
  ASSERT_TRUE(Send({}).ok());
  EXPECT_EQ(There([](auto& node) { return node.folders["/user/eve/staged"]; }), "0700");
}

class ProgramsStagingTest : public HdfsStagingTest {
 protected:
  ProgramsStagingTest() {
    store_.folder = "/user/eve/.tony/programs";
    store_.use = HdfsStore::Use::kOwnPrograms;
  }
  // Sends a program. `home` and `own` are the permissions of /user/eve and of /user/eve/.tony.
  LocalResource SendProgram(const std::string& home, const std::string& own) {
    There([&](auto& node) {
      node.folders = {{"/", "755"}, {"/user", "755"}, {"/user/eve", home}, {"/user/eve/.tony", own}};
      return 0;
    });
    return Must(Send({{"tony-am", "aa.tar.gz", Write("aa", "program")}})).at("tony-am");
  }
  std::map<std::string, std::string> Folders() {
    return There([](auto& node) { return node.folders; });
  }
};

TEST_F(ProgramsStagingTest, ProgramsArePublicIfOthersMayEnterTheUsersHome) {
  EXPECT_EQ(SendProgram("755", "700").visibility, LocalResource::Visibility::kPublic);
  EXPECT_EQ(Folders()["/user/eve/.tony"], "0701");
  EXPECT_EQ(Folders()["/user/eve/.tony/programs"], "0711");
  EXPECT_TRUE(There([](auto& node) {
    return std::ranges::any_of(node.server().requests(), [](const ServedRequest& request) {
      return request.target.find("op=CREATE") != std::string::npos &&
             request.target.find("permission=0644") != std::string::npos;
    });
  }));
}

TEST_F(ProgramsStagingTest, ProgramsArePrivateIfOthersCannotEnterTheUsersHome) {
  EXPECT_EQ(SendProgram("700", "700").visibility, LocalResource::Visibility::kPrivate);
  EXPECT_EQ(Folders()["/user/eve"], "700");
}

// The administrator of HDFS, hdfs, has the folder /apps/tony, which holds a program.
class SharedProgramsTest : public HdfsStagingTest {
 protected:
  SharedProgramsTest() {
    store_.folder = "/apps/tony";
    store_.use = HdfsStore::Use::kSharedPrograms;
    const fs::path local = Write("local", "program");
    source_ = Must(FileSource("tony-executor", local));
    program_ = StrCat("/apps/tony/", source_.name);
    There([&](auto& node) {
      node.folders = {{"/", "755"}, {"/apps", "755"}, {"/apps/tony", "755"}};
      node.owners = {{"/", "hdfs"}, {"/apps", "hdfs"}, {"/apps/tony", "hdfs"}, {program_, "hdfs"}};
      node.files = {{program_, "program"}};
      node.permission_of_files = "644";
      return 0;
    });
  }
  // Makes a change, and returns "public" if the program is a public resource, else why it is refused.
  std::string SendAfter(const std::function<void(hadoop::FakeNameNode&)>& change) {
    There([&](auto& node) {
      change(node);
      return 0;
    });
    const auto sent = Send({source_});
    if (!sent.ok()) return sent.error().message;
    return sent->at("tony-executor").visibility == LocalResource::Visibility::kPublic ? "public" : "private";
  }

  HdfsSource source_;
  std::string program_;
};

TEST_F(SharedProgramsTest, AProgramOfTheAdministratorIsUsedAndNotSentAgain) {
  EXPECT_EQ(SendAfter([](auto&) {}), "public");
  EXPECT_EQ(Created(), 0);
  EXPECT_EQ(There([](auto& node) { return node.folders; }).at("/apps/tony"), "755");
}

TEST_F(SharedProgramsTest, AProgramOfTheUserIsRefusedIfItIsIncomplete) {
  EXPECT_THAT(SendAfter([&](auto& node) { node.files[program_] = "prog", node.owners.erase(program_); }),
              HasSubstr("is not the program that its name says"));
}

TEST_F(SharedProgramsTest, AMissingProgramIsSentIntoAFolderThatTheUserMayWrite) {
  EXPECT_EQ(SendAfter([](auto& node) { node.files.clear(), node.owners = {{"/", "hdfs"}}; }), "public");
  EXPECT_THAT(Names(), ElementsAre(program_));
}

TEST_F(SharedProgramsTest, AMissingProgramInAFolderOfTheAdministratorIsReportedWithTheCommandThatPutsItThere) {
  EXPECT_THAT(SendAfter([](auto& node) { node.files.clear(), node.refuses_create = true; }),
              HasSubstr(StrCat("hdfs dfs -put ", source_.path.string(), " ", program_)));
}

TEST_F(SharedProgramsTest, AProgramThatAThirdUserCouldReplaceIsRefused) {
  EXPECT_THAT(SendAfter([&](auto& node) { node.files[program_] = "PROGRAM"; }),
              HasSubstr("is not the program that its name says"));
  EXPECT_THAT(SendAfter([&](auto& node) { node.permission_of_files = "664"; }), HasSubstr("may write to " + program_));
  EXPECT_THAT(SendAfter([&](auto& node) { node.owners[program_] = "bob"; }), HasSubstr("belongs to user bob"));
  EXPECT_THAT(SendAfter([](auto& node) { node.folders["/apps/tony"] = "1777"; }),
              HasSubstr("may write to /apps/tony"));
  EXPECT_THAT(SendAfter([](auto& node) { node.folders["/apps/tony"] = "755", node.folders["/apps"] = "777"; }),
              HasSubstr("may write to /apps:"));
  EXPECT_THAT(SendAfter([](auto& node) { node.owners["/apps"] = "bob"; }), HasSubstr("/apps belongs to user bob"));
}

TEST_F(SharedProgramsTest, AStickyFolderAboveTheProgramsMayBeWritableForEverybody) {
  EXPECT_EQ(SendAfter([](auto& node) { node.folders["/apps"] = "1777"; }), "public");
}

TEST_F(SharedProgramsTest, ProgramsThatNotEverybodyCanReadAreRefused) {
  EXPECT_THAT(SendAfter([](auto& node) { node.permission_of_files = "640"; }), HasSubstr("hdfs dfs -chmod o+r"));
  EXPECT_THAT(SendAfter([](auto& node) { node.folders["/apps"] = "750"; }), HasSubstr("hdfs dfs -chmod o+x /apps"));
}

TEST_F(HdfsStagingTest, AnHdfsAccessDenialIsQuotedInTheError) {
  There([](auto& node) {
    node.answers_all = hadoop::FakeNameNode::Refused(403, "AccessControlException", "Permission denied: user=eve");
    return 0;
  });
  const Error error = Refused({});
  EXPECT_EQ(error.code, ErrorCode::kNotPermitted);
  EXPECT_THAT(error.message, HasSubstr("Permission denied: user=eve"));
}

TEST_F(HdfsStagingTest, ATarGzFileIsUploadedAsAnArchiveResource) {
  const auto source = Must(FileSource("tony-am", Write("bundle.tar.gz", "archive")));
  const auto sent = Must(Send({source}));
  EXPECT_EQ(sent.at("tony-am").kind, LocalResource::Kind::kArchive);
  EXPECT_EQ(sent.at("tony-am").path, StrCat("/user/eve/staged/", source.name));
  EXPECT_TRUE(source.name.ends_with(".tar.gz"));
}

TEST(HdfsStagedEntriesTest, AStagedFileUsedByTheJobAndByARoleIsSelectedForUploadOnce) {
  StagedFiles files;
  files.job = {{.name = "data", .path = "/staged/aa"}, {.path = "/staged/bb-tree"}};
  files.roles["worker"] = {{.name = "again", .path = "/staged/aa"}, {.name = "own", .path = "/staged/cc"}};
  files.am = {{.name = "conf", .path = "/staged/dd"}};
  std::vector<std::string> names;
  for (const HdfsSource& source : SelectSources(files)) {
    EXPECT_EQ(source.key, source.name);
    names.push_back(source.name);
  }
  EXPECT_THAT(names, ElementsAre("aa", "bb-tree", "cc", "dd"));
}

TEST(HdfsFilesTest, TheFileListIsReadBackFromJson) {
  const HdfsFiles files = {{"tony-am",
                            {.scheme = "hdfs",
                             .host = "cluster",
                             .port = -1,
                             .path = "/user/eve/staged/aa.tar.gz",
                             .size = 8'000'000,
                             .modified = FromMillis(1700000000123),
                             .kind = LocalResource::Kind::kArchive,
                             .visibility = LocalResource::Visibility::kPublic}},
                           {"aa", {.scheme = "file", .path = "/x", .visibility = LocalResource::Visibility::kPrivate}}};
  const auto read = Must(HdfsFilesFromJson(ToJson(files)));
  EXPECT_EQ(ToJson(read), ToJson(files));
  EXPECT_EQ(read.at("tony-am").modified, FromMillis(1700000000123));
  EXPECT_EQ(read.at("tony-am").kind, LocalResource::Kind::kArchive);
  EXPECT_EQ(read.at("tony-am").visibility, LocalResource::Visibility::kPublic);
  EXPECT_EQ(read.at("aa").kind, LocalResource::Kind::kFile);
  EXPECT_EQ(read.at("aa").visibility, LocalResource::Visibility::kPrivate);
  EXPECT_EQ(HdfsFilesFromJson("{}").error().code, ErrorCode::kInvalid);
  EXPECT_THAT(HdfsFilesFromJson(R"({"schema":1,"files":[{"key":"a"}]})").error().message, HasSubstr("files[0].scheme"));
}

// ---- hdfs sources

class HdfsSourcesTest : public hadoop::ServedNameNodeTest {
 protected:
  HdfsSourcesTest() {
    OnServer([this] { LayFiles(); });
  }
  void LayFiles() {
    node_.files = {{"/data/x.txt", "12345"}, {"/lib/a.jar", "a"}, {"/lib/b.jar", "bb"}, {"/lib/c", ""}};
    node_.folders = {{"/lib", "755"}, {"/empty", "755"}};
    for (int i = 0; i <= 1000; ++i) node_.files[StrCat("/many/", i)] = "";
    node_.folders["/many"] = "755";
    node_.folders["/app"] = node_.folders["/app/pkg"] = node_.folders["/app/pkg/deep"] = "755";
    node_.folders["/app/empty"] = "755";
    node_.files["/app/train.py"] = "t";
    node_.files["/app/pkg/a.py"] = "aa";
    node_.files["/app/pkg/deep/b.py"] = "bbb";
    node_.files["/app.zip"] = "z";
    node_.folders["/outputs"] = "755";
    node_.files["/outputs/tony-output.json"] = "{}";
    node_.unreadable = {"/data/secret", "/half/y"};
    node_.files["/data/secret"] = "s";
    node_.folders["/half"] = "755";
    node_.files["/half/x"] = node_.files["/half/y"] = "h";
  }

  Result<std::vector<RemoteFile>> Look(const FileSpec& file) const { return FindHdfsFiles(cluster_, file); }
  std::string Refused(const FileSpec& file, ErrorCode code = ErrorCode::kInvalid) const {
    const auto found = Look(file);
    EXPECT_FALSE(found.ok());
    if (found.ok()) return "";
    EXPECT_EQ(found.error().code, code);
    return found.error().message;
  }

  const Instant modified_ = FromMillis(1700000000123);
  const YarnCluster cluster_{.name_node = {"NN", 9000}, .webhdfs = {node_.url()}, .user = "eve", .home = "/user/eve"};
};

TEST_F(HdfsSourcesTest, AnHdfsFileIsFoundWithItsPathSizeAndTime) {
  for (const char* source : {"hdfs://nn:9000/data/x.txt", "hdfs:///data/x.txt"}) {
    const auto found = Must(Look({source, "y", false}));
    EXPECT_EQ(found, (std::vector<RemoteFile>{{"y", "/data/x.txt", 5, modified_, false}})) << source;
  }
  EXPECT_TRUE(Look({"hdfs:///lib/a.jar", "classes", true})->front().is_packed);
}

TEST_F(HdfsSourcesTest, AnHdfsResourceFolderIsExpandedToItsFilesWithoutThoseInSubfolders) {
  const auto found = Must(Look({"hdfs:///lib", "lib", false}));
  EXPECT_EQ(found, (std::vector<RemoteFile>{{"a.jar", "/lib/a.jar", 1, modified_, false},
                                            {"b.jar", "/lib/b.jar", 2, modified_, false},
                                            {"c", "/lib/c", 0, modified_, false}}));
}

TEST_F(HdfsSourcesTest, UnsupportedUsesOfAnHdfsResourceFolderAreRejectedWithTheReason) {
  const std::string folder =
      "the path is a folder in HDFS, and a task finds its files under their own names; expected ";
  EXPECT_EQ(Refused({"hdfs:///lib", "jars", false}), folder + "a file, or a folder without ::NAME");
  EXPECT_EQ(Refused({"hdfs:///lib", "lib", true}), folder + "an archive");
  EXPECT_EQ(Refused({"hdfs:///empty", "empty", false}),
            "the folder in HDFS has no files directly in it, and TonY does not use files in its subfolders");
  EXPECT_EQ(Refused({"hdfs:///many", "many", false}),
            "the folder has more than 1000 files; use an archive, which may have more");
  EXPECT_EQ(Refused({"hdfs:///outputs", "outputs", false}),
            "TonY itself writes a file tony-output.json into the task's folder");
}

TEST_F(HdfsSourcesTest, AnHdfsSourceFolderIsExpandedToItsFilesIncludingThoseInSubfolders) {
  const auto found = Must(Look({"hdfs:///app", "", true}));
  EXPECT_EQ(found, (std::vector<RemoteFile>{{"train.py", "/app/train.py", 1, modified_, false},
                                            {"pkg/a.py", "/app/pkg/a.py", 2, modified_, false},
                                            {"pkg/deep/b.py", "/app/pkg/deep/b.py", 3, modified_, false}}));
  EXPECT_EQ(*Look({"hdfs:///app.zip", "", true}), (std::vector<RemoteFile>{{"", "/app.zip", 1, modified_, true}}));
}

TEST_F(HdfsSourcesTest, AnHdfsSourceMustBeAReadableNonEmptyFolderOrAnArchive) {
  EXPECT_EQ(Refused({"hdfs:///data/x.txt", "", true}),
            "the path is a file in HDFS; expected a folder, or an archive in .zip, .jar, .tar, .tar.gz or .tgz");
  EXPECT_EQ(Refused({"hdfs:///empty", "", true}), "the folder in HDFS and its subfolders have no files");
  Refused({"hdfs:///many", "", true});
  EXPECT_THAT(Refused({"hdfs:///half", "", true}, ErrorCode::kNotPermitted), HasSubstr("/half/y"));
}

TEST_F(HdfsSourcesTest, ReadingFromHdfsReturnsTheBytesOfAFileAndRejectsAFolder) {
  EXPECT_EQ(*ReadFromHdfs(cluster_, "hdfs:///data/x.txt"), "12345");
  for (const auto& [source, why] : std::map<std::string, std::string>{
           {"hdfs:///data/none", "no such file or folder in hdfs://NN:9000"},
           {"hdfs:///lib", "a folder, not a file"},
           {"viewfs://t/x", "viewfs://t: the site files have no mount table of this name; expected keys "
                            "fs.viewfs.mounttable.t.link./PATH"}})
    EXPECT_EQ(ReadFromHdfs(cluster_, source).error().message, why) << source;
}

TEST_F(HdfsSourcesTest, AMissingHdfsFileAndAnHdfsThatDoesNotAnswerAreRejected) {
  EXPECT_EQ(Refused({"hdfs:///data/none", "none", false}), "no such file or folder in hdfs://NN:9000");
  EXPECT_THAT(Refused({"hdfs://127.0.0.1:1/data/x.txt", "x.txt", false}, ErrorCode::kUnavailable),
              HasSubstr("getFileInfo /data/x.txt: NameNode 127.0.0.1:1: "));
}

TEST_F(HdfsSourcesTest, AnUnreadableHdfsFileIsRejectedWithHadoopsMessage) {
  for (const FileSpec& file :
       {FileSpec{"hdfs:///data/secret", "secret", false}, FileSpec{"hdfs:///half", "half", false}})
    EXPECT_THAT(Refused(file, ErrorCode::kNotPermitted), HasSubstr("Permission denied: user=eve, access=READ"));
}

TEST_F(HdfsSourcesTest, AYarnResourceHasTheHdfsAddressSizeAndTimeOfItsFile) {
  const LocalResource resource = ResourceOf(cluster_, {"y", "/data/x.zip", 5, modified_, true});
  EXPECT_EQ(resource.scheme, "hdfs");
  EXPECT_EQ(resource.host, "NN");
  EXPECT_EQ(resource.port, 9000);
  EXPECT_EQ(resource.path, "/data/x.zip");
  EXPECT_EQ(resource.size, 5);
  EXPECT_EQ(resource.modified, modified_);
  EXPECT_EQ(resource.kind, LocalResource::Kind::kArchive);
  EXPECT_EQ(resource.visibility, LocalResource::Visibility::kPrivate);
}

}  // namespace
}  // namespace tony
