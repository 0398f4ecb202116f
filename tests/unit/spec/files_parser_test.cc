#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "runtime/base/strings.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/job/parse_properties.h"

namespace tony {
namespace {

// A folder with a.txt, b.zip, and the folders lib and code.
class FilesParserTest : public ::testing::Test {
 protected:
  FilesParserTest() {
    std::ofstream(Path("a.txt")) << "a";
    std::ofstream(Path("b.zip")) << "PK";
    std::filesystem::create_directories(Path("lib"));
    std::filesystem::create_directories(Path("code"));
  }

  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  Result<JobSpec> Parse(const Settings& settings) const {
    auto parsed = ParseWith(settings, folder_.path());
    if (!parsed.ok()) return parsed.error();
    return std::move(parsed->spec);
  }

  std::string Error(const std::string& key, const std::string& value, const Settings& more = {}) const {
    Settings settings = {{key, value}};
    settings.insert(settings.end(), more.begin(), more.end());
    const auto spec = Parse(settings);
    if (spec.ok()) return "accepted";
    const std::string prefix = StrCat(key, ": ");
    const std::string& message = spec.error().message;
    EXPECT_EQ(spec.error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(message.starts_with(prefix)) << message;
    const size_t from = message.find("(from -conf): ");
    return from == std::string::npos ? message : message.substr(from + 14);
  }

  const TempFolder folder_;
};

constexpr auto kJob = "tony.containers.resources";
constexpr auto kWorker = "tony.worker.resources";

using Files = std::vector<FileSpec>;

TEST_F(FilesParserTest, SiteFilesAreOfThisMachineAndForYarnAlone) {
  const Settings site = {{"tony.application.hdfs-conf-path", " a.txt "},
                         {"tony.application.yarn-conf-path", "file:" + Path("b.zip")}};
  Settings on_yarn = site;
  on_yarn.emplace_back("tony.scheduler", "yarn");
  const auto parsed = ParseWith(on_yarn, folder_.path());
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->site_files, (SiteFiles{.hdfs = Path("a.txt"), .yarn = Path("b.zip")}));
  EXPECT_TRUE(parsed->warnings.empty());
  const auto here = ParseWith(site, folder_.path());
  ASSERT_TRUE(here.ok());
  EXPECT_EQ(here->site_files, SiteFiles());
  EXPECT_EQ(here->warnings.size(), 2u) << "as of tony.yarn.queue";
}

TEST_F(FilesParserTest, ASiteFileThatIsNotThereIsNamedByItsKey) {
  constexpr auto kKey = "tony.application.yarn-conf-path";
  const Settings yarn = {{"tony.scheduler", "yarn"}};
  EXPECT_EQ(Error(kKey, "none.xml", yarn), Path("none.xml") + ": no such file or folder");
  EXPECT_EQ(Error(kKey, "lib", yarn), "is a folder, expected a site file as yarn-site.xml");
  EXPECT_TRUE(Error(kKey, "hdfs://nn/yarn-site.xml", yarn).starts_with("hdfs: is not supported yet"));
}

TEST_F(FilesParserTest, AListNamesFilesFoldersAndArchivesAsTonysDid) {
  const auto spec = Parse({{kWorker, "a.txt::b.txt, b.zip#archive,, lib/ ,b.zip::data#ARCHIVE,b.zip::plain.zip"}});
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->roles.at(0).files, (Files{{Path("a.txt"), "b.txt"},
                                            {Path("b.zip"), "b.zip", true},
                                            {Path("lib"), "lib"},
                                            {Path("b.zip"), "data", true},
                                            {Path("b.zip"), "plain.zip"}}));
  EXPECT_TRUE(spec->files.empty());
  EXPECT_TRUE(spec->am_files.empty());
}

TEST_F(FilesParserTest, APathMayBeAbsoluteOrAFileUri) {
  const Files expected = {{Path("a.txt"), "a.txt"}};
  for (const std::string& source :
       {Path("a.txt"), "file:" + Path("a.txt"), "FILE://" + Path("a.txt"), std::string("./code/../a.txt")}) {
    const auto spec = Parse({{kJob, source}});
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    EXPECT_EQ(spec->files, expected) << source;
  }
}

TEST_F(FilesParserTest, AFolderIsNoArchiveWhateverIsWritten) {
  EXPECT_EQ(Parse({{kJob, "lib::l#archive"}})->files, (Files{{Path("lib"), "l", false}}));
}

TEST_F(FilesParserTest, TheApplicationMastersFilesAreAlsoThoseOfAJobWithoutRoles) {
  const Settings settings = {{"tony.am.resources", "a.txt"}, {kJob, "b.zip"}};
  auto spec = Parse(settings);
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->am_files, (Files{{Path("a.txt"), "a.txt"}}));
  EXPECT_TRUE(spec->roles.at(0).files.empty());
  Settings without_roles = settings;
  without_roles.emplace_back("tony.worker.instances", "0");
  spec = Parse(without_roles);
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->roles.at(0).name, "driver");
  EXPECT_EQ(spec->roles.at(0).files, spec->am_files);
}

TEST_F(FilesParserTest, WhatIsListedTwiceIsThereOnce) {
  const auto spec = Parse({{kJob, "a.txt,./a.txt"}, {kWorker, "a.txt,lib"}});
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->files.size(), 1u);
  EXPECT_EQ(spec->roles.at(0).files, (Files{{Path("lib"), "lib"}}));
}

TEST_F(FilesParserTest, OneNameForTwoSourcesOfOneTaskIsRefused) {
  const std::string expected =
      StrCat("\"lib::a.txt\": ", Path("a.txt"), " is called a.txt too; expected another NAME, as SRC::NAME");
  EXPECT_EQ(Error(kJob, "a.txt,lib::a.txt"), expected);
  EXPECT_EQ(Error(kWorker, "lib::a.txt", {{kJob, "a.txt"}}), expected);
  EXPECT_EQ(Error(kJob, "b.zip,b.zip#archive"),
            StrCat("\"b.zip#archive\": ", Path("b.zip"), " is called b.zip too; expected another NAME, as SRC::NAME"));
  EXPECT_EQ(Error(kWorker, "lib::a.txt", {{"tony.ps.instances", "1"}, {"tony.ps.resources", "a.txt"}}), "accepted");
}

TEST_F(FilesParserTest, BadListsAreRefusedWithKeyValueOriginAndWhatWasExpected) {
  EXPECT_EQ(ErrorWith({{kJob, "::x"}}),
            "tony.containers.resources: \"::x\" (from -conf): \"::x\": expected "
            "SRC[::NAME][#archive], and SRC is empty");
  EXPECT_EQ(Error(kJob, "#archive"), "\"#archive\": expected SRC[::NAME][#archive], and SRC is empty");
  EXPECT_EQ(Error(kJob, "a.txt::b::c"), "\"a.txt::b::c\": expected SRC[::NAME][#archive], with one ::");
  for (const std::string name : {"", "..", ".", "x/y", "/", "../x", "a.txt/"}) {
    EXPECT_EQ(Error(kWorker, "a.txt::" + name),
              StrCat("\"a.txt::", name, "\": expected as NAME the name of a file, without a slash"));
  }
  EXPECT_EQ(Error(kJob, "/"), "\"/\": expected as NAME the name of a file, without a slash");
  EXPECT_EQ(Error(kJob, "a.txt::" + std::string(256, 'n')).substr(60),
            "n...\": expected as NAME the name of a file, without a slash");
  EXPECT_EQ(Error(kJob, "a.txt::tony-output.json"),
            "\"a.txt::tony-output.json\": tony-output.json is a file that TonY itself keeps there; expected another "
            "NAME");
  EXPECT_EQ(Error(kJob, "a.txt::tony-hostfile"),
            "\"a.txt::tony-hostfile\": tony-hostfile is a file that TonY itself keeps there; expected another "
            "NAME");
}

TEST_F(FilesParserTest, WhatIsNotOnThisMachineIsRefused) {
  EXPECT_EQ(Error(kJob, "a.txt,none.txt"), StrCat("\"none.txt\": ", Path("none.txt"), ": no such file or folder"));
  EXPECT_EQ(Error(kJob, "a.txt/x"), StrCat("\"a.txt/x\": ", Path("a.txt/x"), ": no such file or folder"));
  for (const std::string scheme : {"http", "s3a"}) {
    EXPECT_EQ(Error("tony.am.resources", scheme + "://host/a#archive"),
              StrCat("\"", scheme, "://host/a#archive\": ", scheme,
                     ": is not supported yet; expected the path of a file or folder on this machine (a name with a "
                     "colon is written ./NAME)"));
  }
  EXPECT_EQ(Error(kJob, "file://host/a"), "\"file://host/a\": expected file:/PATH, of this machine");
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(Error(kJob, "pipe"), StrCat("\"pipe\": ", Path("pipe"), ": neither a file nor a folder"));
  std::ofstream(Path("a:b")) << "";
  EXPECT_EQ(Error(kJob, "./a:b"), "accepted");
}

TEST_F(FilesParserTest, AJobOnYarnNamesFilesOfHdfs) {
  const auto spec = Parse({{"tony.scheduler", "yarn"},
                           {kJob, "hdfs://nn:9000/data//a.txt, HDFS:///x/b.zip::b#archive,hdfs:///lib/"},
                           {kWorker, "hdfs:/own/c.txt::d.txt"},
                           {"tony.am.resources", "hdfs://nn/e"},
                           {"tony.python-venv", "hdfs:///x/venv.tgz"}});
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->files, (Files{{"hdfs://nn:9000/data/a.txt", "a.txt", false},
                                {"hdfs:///x/b.zip", "b", true},
                                {"hdfs:///lib", "lib", false}}));
  EXPECT_EQ(spec->roles.at(0).files, (Files{{"hdfs:///own/c.txt", "d.txt", false}}));
  EXPECT_EQ(spec->am_files, (Files{{"hdfs://nn:8020/e", "e", false}}));
  EXPECT_EQ(spec->python_venv, "hdfs:///x/venv.tgz");
  EXPECT_EQ(*JobSpecFromJson(ToJson(*spec)), *spec);
}

TEST_F(FilesParserTest, WhatCannotBeOfHdfsIsRefused) {
  const Settings yarn = {{"tony.scheduler", "yarn"}};
  const std::string local =
      "only a job on YARN has files of HDFS (tony.scheduler=yarn); expected the path of a file or folder on this "
      "machine";
  EXPECT_EQ(Error(kJob, "hdfs:///x/a.txt::b"), StrCat("\"hdfs:///x/a.txt::b\": ", local));
  EXPECT_EQ(Error("tony.python-venv", "hdfs:///x/venv.zip"), local);
  EXPECT_EQ(Error(kJob, "hdfs://nn", yarn),
            "\"hdfs://nn\": expected hdfs://HOST:PORT/PATH, or hdfs:///PATH for the cluster's own HDFS");
  EXPECT_EQ(Error(kJob, "hdfs:///", yarn), "\"hdfs:///\": expected as NAME the name of a file, without a slash");
  const std::string packed =
      "a node unpacks archives of HDFS by their names; expected one in .zip, .jar, .tar, .tar.gz or .tgz";
  EXPECT_EQ(Error(kJob, "hdfs:///x/a.7z::a#archive", yarn), StrCat("\"hdfs:///x/a.7z::a#archive\": ", packed));
  EXPECT_EQ(Error("tony.python-venv", "hdfs:///x/venv", yarn), packed);
  EXPECT_EQ(Error(kJob, "hdfs:///x/A.TAR.GZ#archive", yarn), "accepted");
  EXPECT_EQ(Error(kJob, "hdfs:///x/a,hdfs:///y/a", yarn),
            "\"hdfs:///y/a\": hdfs:///x/a is called a too; expected another NAME, as SRC::NAME");
}

TEST_F(FilesParserTest, VenvIsTheNameOfThePythonEnvironmentWhereThereIsOne) {
  EXPECT_EQ(Error(kJob, "lib::venv"), "accepted");
  const Settings with_venv = {{"tony.python-venv", "b.zip"}};
  for (const auto* key : {kJob, kWorker}) {
    EXPECT_EQ(Error(key, "lib::venv", with_venv),
              "\"lib::venv\": venv is where tony.python-venv goes; expected another NAME");
  }
  EXPECT_EQ(Error("tony.am.resources", "lib::venv", with_venv), "accepted");
}

TEST_F(FilesParserTest, TheProgramAndThePythonEnvironmentAreFoldersOrArchives) {
  EXPECT_EQ(Error("tony.src-dir", "hdfs:///code", {{"tony.scheduler", "yarn"}}), "accepted");
  for (const std::string key : {"tony.src-dir", "tony.python-venv"}) {
    const auto value = [&](const std::string& text) {
      const auto spec = Parse({{key, text}});
      if (!spec.ok()) return spec.error().message;
      return key == "tony.src-dir" ? spec->src_dir : spec->python_venv;
    };
    EXPECT_EQ(value("code"), Path("code"));
    EXPECT_EQ(value("./x/../code/"), Path("code"));
    EXPECT_EQ(value("file://" + Path("code")), Path("code"));
    EXPECT_EQ(value("b.zip"), Path("b.zip"));
    EXPECT_EQ(value(""), "");
    EXPECT_EQ(value("other"), StrCat(key, ": \"other\" (from -conf): ", Path("other"), ": no such file or folder"));
    EXPECT_EQ(Error(key, "s3a:///code"),
              "s3a: is not supported yet; expected the path of a file or folder on this machine (a name with a "
              "colon is written ./NAME)");
    EXPECT_EQ(Error(key, std::string("a\0b", 3)), "a path cannot hold a NUL character");
  }
}

TEST_F(FilesParserTest, WhatIsParsedIsReadBackFromItsJson) {
  const auto spec = Parse({{kJob, "a.txt"},
                           {kWorker, "b.zip#archive"},
                           {"tony.am.resources", "lib"},
                           {"tony.python-venv", "b.zip"},
                           {"tony.src-dir", "code"},
                           {"tony.task.log-limit", "0"},
                           {"tony.application.distributed-mode", "fcfs"}});
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  const auto read = JobSpecFromJson(ToJson(*spec));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, *spec);
}

}  // namespace
}  // namespace tony
