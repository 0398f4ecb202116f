// Files that a job brings along, and commands that begin with one of its Python files.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/support/temp_folder.h"
#include "tests/unit/spec/spec_table.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using std::string_literals::operator""s;

// Checks the row in a folder with a.txt, b.zip, a:b, a pipe, and the folders lib and code.
void CheckBesideFiles(const RowCase& row) {
  const TempFolder folder;
  std::ofstream(folder.path() / "a.txt") << "a";
  std::ofstream(folder.path() / "b.zip") << "PK";
  std::ofstream(folder.path() / "a:b") << "";
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  fs::create_directories(folder.path() / "lib");
  fs::create_directories(folder.path() / "code");
  CheckSpec(row, folder.path());
}

std::string File(const std::string& source, const std::string& name, bool archive = false) {
  return StrCat(R"({"source":")", source, R"(","name":")", name, R"(","archive":)", archive ? "true}" : "false}");
}

const std::string kJob = "tony.containers.resources=", kWorker = "tony.worker.resources=";
const std::string kYarn = " | tony.scheduler=yarn", kVenv = " | tony.python-venv=b.zip";
const std::string kTxt = File("@/a.txt", "a.txt"), kNotHere = ": no such file or folder";
const std::string kPath = "expected the path of a file or folder on this machine";
const std::string kOnlyYarn = "only a job on YARN can use files in HDFS (tony.scheduler=yarn); " + kPath;
const std::string kColon = " (a name with a colon is written ./NAME)";
const std::string kAnotherName = "; expected another NAME, as SRC::NAME";
const std::string kName = "expected a file name without a slash as NAME";
const std::string kOwnFile = " is the name of a file that TonY writes into the same folder; expected another NAME";
const std::string kVenvIsThere =
    "refused \"lib::venv\": the folder venv belongs to tony.python-venv; expected another NAME";
const std::string kPacked =
    "a node recognises archives in HDFS by their names; expected a name that ends in .zip, .jar, .tar, .tar.gz or .tgz";

const TestRow kFiles[] = {
    {"TheErrorForAnUnusableHadoopSiteFileNamesTheKey",
     {{"tony.application.yarn-conf-path=none.xml" + kYarn, "refused @/none.xml" + kNotHere},
      {"tony.application.yarn-conf-path=lib" + kYarn,
       "refused is a folder; expected a site file such as yarn-site.xml"},
      {"tony.application.yarn-conf-path=hdfs://nn/yarn-site.xml" + kYarn, "refused ^hdfs: is not supported yet"}}},
    {"TheResourcesKeyListsFilesFoldersAndArchivesInLinkedInsSyntax",
     {{kWorker + "a.txt::b.txt, b.zip#archive,, lib/ ,b.zip::data#ARCHIVE,b.zip::plain.zip",
       "worker.files=[" + File("@/a.txt", "b.txt") + "," + File("@/b.zip", "b.zip", true) + "," + File("@/lib", "lib") +
           "," + File("@/b.zip", "data", true) + "," + File("@/b.zip", "plain.zip") + "] | files=[] | am_files=[]"}}},
    {"AResourcePathMayBeAbsoluteRelativeOrAFileUri",
     {{kJob + "{@/a.txt|file:@/a.txt|FILE://@/a.txt|./code/../a.txt}", "files=[" + kTxt + "]"}}},
    {"AFolderMarkedAsAnArchiveIsTreatedAsAFolder", {{kJob + "lib::l#archive", "files=[" + File("@/lib", "l") + "]"}}},
    {"TheDriverOfAJobWithoutRolesReceivesTheFilesOfAmResources",
     {{"tony.am.resources=a.txt | " + kJob + "b.zip", "am_files=[" + kTxt + "] | worker.files=[]"},
      {"tony.am.resources=a.txt | " + kJob + "b.zip | tony.worker.instances=0",
       "roles=driver | am_files=[" + kTxt + "] | driver.files=[" + kTxt + "]"}}},
    {"AResourceListedTwiceAppearsOnceInTheJobSpec",
     {{kJob + "a.txt,./a.txt | " + kWorker + "a.txt,lib",
       "files=[" + kTxt + "] | worker.files=[" + File("@/lib", "lib") + "]"}}},
    {"TwoResourcesWithTheSameNameAreRefused",
     {{kJob + "a.txt,lib::a.txt", "refused \"lib::a.txt\": @/a.txt has the name a.txt, too" + kAnotherName},
      {kWorker + "lib::a.txt | " + kJob + "a.txt",
       "refused \"lib::a.txt\": @/a.txt has the name a.txt, too" + kAnotherName},
      {kJob + "b.zip,b.zip#archive", "refused \"b.zip#archive\": @/b.zip has the name b.zip, too" + kAnotherName},
      {kWorker + "lib::a.txt | tony.ps.instances=1 | tony.ps.resources=a.txt", "accepted"}}},
    {"TheErrorForAMalformedResourceListShowsTheSettingAndTheExpectedForm",
     {{kJob + "::x", "refused \"::x\": expected SRC[::NAME][#archive], but SRC is empty"},
      {kJob + "#archive", "refused \"#archive\": expected SRC[::NAME][#archive], but SRC is empty"},
      {kJob + "a.txt::b::c", "refused \"a.txt::b::c\": expected SRC[::NAME][#archive], with one ::"},
      {kWorker + "a.txt::", "refused \"a.txt::\": " + kName},
      {kWorker + "a.txt::..", "refused \"a.txt::..\": " + kName},
      {kWorker + "a.txt::.", "refused \"a.txt::.\": " + kName},
      {kWorker + "a.txt::x/y", "refused \"a.txt::x/y\": " + kName},
      {kWorker + "a.txt::/", "refused \"a.txt::/\": " + kName},
      {kWorker + "a.txt::../x", "refused \"a.txt::../x\": " + kName},
      {kWorker + "a.txt::a.txt/", "refused \"a.txt::a.txt/\": " + kName},
      {kJob + "/", "refused \"/\": " + kName},
      {kJob + "a.txt::" + std::string(256, 'n'), "error ~n...\": " + kName},
      {kJob + "a.txt::tony-output.json", "refused \"a.txt::tony-output.json\": tony-output.json" + kOwnFile},
      {kJob + "a.txt::tony-hostfile", "refused \"a.txt::tony-hostfile\": tony-hostfile" + kOwnFile}}},
    {"AResourceThatIsMissingOrHasAnUnsupportedSchemeIsRefused",
     {{kJob + "a.txt,none.txt", "refused \"none.txt\": @/none.txt" + kNotHere},
      {kJob + "a.txt/x", "refused \"a.txt/x\": @/a.txt/x" + kNotHere},
      {"tony.am.resources=http://host/a#archive",
       "refused \"http://host/a#archive\": http: is not supported yet; " + kPath + kColon},
      {"tony.am.resources=s3a://host/a#archive",
       "refused \"s3a://host/a#archive\": s3a: is not supported yet; " + kPath + kColon},
      {kJob + "file://host/a", "refused \"file://host/a\": expected file:/PATH on this machine"},
      {kJob + "pipe", "refused \"pipe\": @/pipe: neither a file nor a folder"},
      {kJob + "./a:b", "accepted"}}},
    {"AnHdfsPathThatTheJobCannotUseIsRefused",
     {{kJob + "hdfs:///x/a.txt::b", "refused \"hdfs:///x/a.txt::b\": " + kOnlyYarn},
      {"tony.python-venv=hdfs:///x/venv.zip", "refused " + kOnlyYarn},
      {kJob + "hdfs://nn" + kYarn,
       "refused \"hdfs://nn\": expected hdfs://HOST:PORT/PATH, or hdfs:///PATH for the cluster's own HDFS"},
      {kJob + "hdfs:///" + kYarn, "refused \"hdfs:///\": " + kName},
      {kJob + "hdfs:///x/a.7z::a#archive" + kYarn, "refused \"hdfs:///x/a.7z::a#archive\": " + kPacked},
      {"tony.python-venv=hdfs:///x/venv" + kYarn, "refused " + kPacked},
      {kJob + "hdfs:///x/A.TAR.GZ#archive" + kYarn, "accepted"},
      {kJob + "hdfs:///x/a,hdfs:///y/a" + kYarn,
       "refused \"hdfs:///y/a\": hdfs:///x/a has the name a, too" + kAnotherName}}},
    {"TheResourceNameVenvIsRefusedIfPythonVenvIsSet",
     {{kJob + "lib::venv", "accepted"},
      {kJob + "lib::venv" + kVenv, kVenvIsThere},
      {kWorker + "lib::venv" + kVenv, kVenvIsThere},
      {"tony.am.resources=lib::venv" + kVenv, "accepted"}}},
    {"SrcDirAndPythonVenvMustBeFoldersOrArchives",
     {{"tony.src-dir=hdfs:///code" + kYarn, "accepted"},
      {"tony.src-dir={code|./x/../code/|file://@/code}", "src_dir=@/code"},
      {"tony.python-venv={code|./x/../code/|file://@/code}", "python_venv=@/code"},
      {"tony.src-dir=b.zip | tony.python-venv=b.zip", "src_dir=@/b.zip | python_venv=@/b.zip"},
      {"tony.src-dir= | tony.python-venv=", "src_dir= | python_venv="},
      {"tony.{src-dir|python-venv}=other", "refused @/other" + kNotHere},
      {"tony.{src-dir|python-venv}=s3a:///code", "refused s3a: is not supported yet; " + kPath + kColon},
      {"tony.{src-dir|python-venv}=a\0b"s, "error ~(from -conf): a path cannot contain a NUL character"}}},
};
TABLE_TEST(FilesParserTest, kFiles, CheckBesideFiles);

TEST(FilesParserTest, HadoopSiteFilesAreIgnoredWithAWarningUnlessTheSchedulerIsYarn) {
  const TempFolder folder;
  const std::string txt = (folder.path() / "a.txt").string(), zip = (folder.path() / "b.zip").string();
  for (const std::string& file : {txt, zip}) std::ofstream(file) << "a";
  Settings site = {{"tony.application.hdfs-conf-path", " a.txt "}, {"tony.application.yarn-conf-path", "file:" + zip}};
  const auto here = ParseWith(site, folder.path());
  ASSERT_TRUE(here.ok());
  EXPECT_EQ(here->site_files, SiteFiles());
  EXPECT_EQ(here->warnings.size(), 2u) << "as of tony.yarn.queue";
  site.emplace_back("tony.scheduler", "yarn");
  const auto parsed = ParseWith(site, folder.path());
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->site_files, (SiteFiles{.hdfs = txt, .yarn = zip}));
  EXPECT_TRUE(parsed->warnings.empty());
}

void ExpectReadBack(const Settings& settings, const fs::path& folder) {
  const auto parsed = ParseWith(settings, folder);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const auto read = JobSpecFromJson(ToJson(parsed->spec));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, parsed->spec);
}

TEST(FilesParserTest, AJobOnYarnCanUseFilesInHdfs) {
  const Settings settings = {
      {"tony.scheduler", "yarn"},
      {"tony.containers.resources", "hdfs://nn:9000/data//a.txt, HDFS:///x/b.zip::b#archive,hdfs:///lib/"},
      {"tony.worker.resources", "hdfs:/own/c.txt::d.txt"},
      {"tony.am.resources", "hdfs://nn/e"},
      {"tony.python-venv", "hdfs:///x/venv.tgz"}};
  const auto parsed = ParseWith(settings);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->spec.files, (std::vector<FileSpec>{{"hdfs://nn:9000/data/a.txt", "a.txt", false},
                                                       {"hdfs:///x/b.zip", "b", true},
                                                       {"hdfs:///lib", "lib", false}}));
  EXPECT_EQ(parsed->spec.roles.at(0).files, (std::vector<FileSpec>{{"hdfs:///own/c.txt", "d.txt", false}}));
  EXPECT_EQ(parsed->spec.am_files, (std::vector<FileSpec>{{"hdfs://nn:8020/e", "e", false}}));
  EXPECT_EQ(parsed->spec.python_venv, "hdfs:///x/venv.tgz");
  ExpectReadBack(settings, "/");
}

TEST(FilesParserTest, FilesOfAParsedJobSurviveARoundTripThroughJson) {
  const TempFolder folder;
  for (const char* name : {"a.txt", "b.zip", "lib"}) std::ofstream(folder.path() / name) << "PK";
  ExpectReadBack({{"tony.containers.resources", "a.txt"},
                  {"tony.worker.resources", "b.zip#archive"},
                  {"tony.am.resources", "lib"},
                  {"tony.python-venv", "b.zip"},
                  {"tony.src-dir", "b.zip"},
                  {"tony.task.log-limit", "0"},
                  {"tony.application.distributed-mode", "fcfs"}},
                 folder.path());
}

// ---- Commands that begin with a Python file, and the command that the job runs

// The row gives the command, with settings behind " | "; without settings tony.src-dir=src holds. It expects the
// command, with warnings behind " | ". The folder has src (train.py, tools/eval.py, "my train.py", "a tool", conf.yaml,
// two files with other letters; executable: run.py, plain.py, empty.py, crlf.py, bom.py, zipapp.py), env, a Python
// environment, other.py and src.zip.
void CheckCommand(const RowCase& row) {
  const TempFolder folder;
  fs::create_directories(folder.path() / "src/tools");
  fs::create_directories(folder.path() / "env/bin");
  const auto write = [&](const std::string& file, const std::string& text) {
    std::ofstream(folder.path() / file) << text;
  };
  for (const char* file : {"src/train.py", "src/tools/eval.py", "src.zip", "other.py", "src/my train.py", "src/a tool",
                           "src/\xC3\x9C"
                           "bung.py",
                           "src/\xE8\xAE\xAD\xE7\xBB\x83.py", "src/conf.yaml"})
    write(file, "#!/usr/bin/python3\n");
  const std::pair<const char*, const char*> kExecutable[] = {{"run", "#!/usr/bin/python3\n"},
                                                             {"plain", "print()\n"},
                                                             {"empty", ""},
                                                             {"crlf", "#!/usr/bin/python3\r\nprint()\r\n"},
                                                             {"zipapp", "PK\x03\x04"},
                                                             {"bom", "\xEF\xBB\xBF#!/usr/bin/python3\n"}};
  for (const auto& [name, text] : kExecutable) {
    write(StrCat("src/", name, ".py"), text);
    fs::permissions(folder.path() / StrCat("src/", name, ".py"), fs::perms::owner_all);
  }
  for (const std::string& given : Alternatives(row.given)) {
    SCOPED_TRACE(given);
    const size_t end = std::min(given.find(" | "), given.size());
    const std::string expected = Replaced(row.expected, "as it is", given.substr(0, end));
    const size_t warnings = std::min(expected.find(" | "), expected.size());
    CheckSpec({"tony.containers.command=" + given.substr(0, end) +
                   (end == given.size() ? " | tony.src-dir=src" : given.substr(end)),
               "worker.command=" + expected.substr(0, warnings) +
                   (warnings == expected.size() ? " | quiet" : expected.substr(warnings))},
              folder.path());
  }
}

const std::string kOriginal = "as it is | warns ~so a later change of the";
const std::string kOwnFiles = " | tony.containers.resources=other.py::main.py,src::code";

const TestRow kCommands[] = {
    {"ANonExecutablePythonFileOfTheSourcesIsRunByPython3",
     {{"train.py", "python3 train.py"},
      {" train.py --epochs 3 > log; ls", "python3 train.py --epochs 3 > log; ls"},
      {"./train.py", "python3 ./train.py"},
      {"tools/eval.py", "python3 tools/eval.py"}}},
    {"AnExecutablePythonFileIsRunDirectlyOnlyIfItsPathHasASlash",
     // A shell searches only PATH for a name without a slash.
     {{"./run.py", "as it is"}, {"run.py", "python3 run.py"}}},
    {"APythonFileIsRunByThePythonOfTheVenv",
     {{"train.py | tony.src-dir=src | tony.python-venv=env", "venv/bin/python3 train.py"}}},
    {"CommandsThatDoNotBeginWithAFileOfTheSourcesAreUnchanged",
     {{"{python train.py|bash -c train.py|/src/train.py|$HOME/train.py|../train.py|train.pyc|.py|A=1 "
       "train.py|tools|./none.py}",
       "as it is"}}},
    {"APythonFileNamedWithoutASlashIsRunByPythonIfTheSourcesAreAnArchive",
     {{"train.py | tony.src-dir=src.zip", "python3 train.py"}, {"./train.py | tony.src-dir=src.zip", "as it is"}}},
    {"AnExecutablePythonFileWithoutAUsableShebangIsRunByPython",
     {{"./plain.py", "python3 ./plain.py"},
      {"./empty.py", "python3 ./empty.py"},
      {"./crlf.py", "python3 ./crlf.py"},
      {"./bom.py", "python3 ./bom.py"},
      {"./zipapp.py", "as it is"}}},
    {"APythonFileNameMayContainNonAsciiLetters",
     {{"\xC3\x9C"
       "bung.py --lr 0.1",
       "python3 \xC3\x9C"
       "bung.py --lr 0.1"},
      {"\xE8\xAE\xAD\xE7\xBB\x83.py --lr 0.1", "python3 \xE8\xAE\xAD\xE7\xBB\x83.py --lr 0.1"}}},
    {"AFileNameWithSpacesIsPassedAsOneWord",
     {{"my train.py --lr 0.1", "python3 './my train.py' --lr 0.1"},
      {"my train.py", "python3 './my train.py'"},
      {"'my train.py' --lr 0.1", "python3 'my train.py' --lr 0.1"},
      {"\"my train.py\"", "python3 \"my train.py\""},
      {"my\\ train.py", "python3 my\\ train.py"},
      {"/usr/bin/python3 my train.py -v", "/usr/bin/python3 './my train.py' -v"},
      {"a tool -x", "'./a tool' -x"},
      {"echo my train.py", "as it is"}}},
    {"AnAbsolutePathIntoTheSourcesIsReplacedByAPathIntoTheTaskFolder",
     {{"python3 @/src/train.py --lr 0.1", "python3 ./train.py --lr 0.1"},
      {"@/src/train.py", "python3 ./train.py"},
      {"env A=@/src/run.py bash -c '@/src/run.py'; \"@/src/run.py\"",
       "env A=./run.py bash -c './run.py'; \"./run.py\""},
      // A folder for results has to outlive the job, so its path stays.
      {"python3 t.py --out @/src/out @/src2/run.py", "as it is"}}},
    {"AnAbsolutePathIntoTheSourcesThatIsNotReplacedCausesAWarning",
     {{"{python3 train.py --conf @/src/conf.yaml|cd @/src && python3 train.py|cd /tmp && python3 @/src/train.py}",
       kOriginal}}},
    {"APythonFileFromTheResourcesIsTreatedLikeAFileOfTheSources",
     {{"main.py" + kOwnFiles, "python3 main.py"},
      {"code/train.py" + kOwnFiles, "python3 code/train.py"},
      {"code/run.py" + kOwnFiles, "as it is"}}},
    {"ACommandWhoseScriptIsNotAFileOfTheJobCausesAWarning",
     {{"none.py --fast | {type=tony|tony.src-dir=src}",
       "as it is | warns role worker: the job's files do not contain none.py, so a task finds this command only in "
       "PATH; use -src_dir FOLDER to give each task the content of a folder"}}},
};
TABLE_TEST(ScriptCommandTest, kCommands, CheckCommand);

}  // namespace
}  // namespace tony
