// The settings from a job's files and flags, and their precedence: tony.xml, Azkaban's job files, job documents,
// main.args, the site's file, and the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/config/properties.h"
#include "runtime/config/submit_flags.h"
#include "tests/support/table_test.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

// Returns Hadoop's XML of "a=1;b=2!" on one line; "!" marks a final value.
std::string Xml(const std::string& settings) {
  std::string text;
  for (const std::string& setting : Split(settings, ';')) {
    if (setting.empty()) continue;
    const size_t equals = setting.find('=');
    const bool is_final = setting.ends_with('!');
    text += StrCat("<property><name>", setting.substr(0, equals), "</name><value>",
                   setting.substr(equals + 1, setting.size() - equals - 1 - is_final), "</value>",
                   is_final ? "<final>true</final>" : "", "</property>");
  }
  return StrCat("<configuration>", text, "</configuration>\n");
}

// A folder with files, and the flags of a command line.
class LoadBed {
 public:
  LoadBed() { unsetenv("TONY_CONF_DIR"); }
  ~LoadBed() { unsetenv("TONY_CONF_DIR"); }

  // Reads parts between " | ". "NAME: TEXT" is a file, and its text may be Hadoop's XML in short form, "a=1;b=2!".
  // "NAME/" is a folder. "step NAME: TEXT" is the file that Azkaban hands to a step. A part that begins with "-" holds
  // flags, as in main.args. The first file is the job's, unless it is tony.xml or lies in a folder.
  void Take(const std::string& given) {
    bool is_first = true;
    for (std::string part : PartsOf(given)) {
      if (part.starts_with('-')) {
        const auto flags = ParseMainArgs({Replaced(part, "@", Folder()), "the row"});
        ASSERT_TRUE(flags.ok()) << flags.error().message;
        const std::string spec_file = options_.spec_file, spec_name = options_.spec_name;
        options_ = *flags;
        options_.spec_file = spec_file;
        options_.spec_name = spec_name;
      } else if (part.ends_with('/')) {
        std::filesystem::create_directories(folder_.path() / part);
      } else {
        if (part.starts_with("step ")) {
          options_.spec_name = "the step's properties";
          part.erase(0, 5);
        }
        const std::string name = part.substr(0, part.find(": ")), text = part.substr(name.size() + 2);
        Write(name, name.ends_with(".xml") && text.find_first_of("<#") == std::string::npos ? Xml(text) : text);
        if (name == "site/tony-site.xml") setenv("TONY_CONF_DIR", (folder_.path() / "site").c_str(), 1);
        const bool is_the_jobs = name != "tony.xml" && name.find('/') == std::string::npos;
        if (std::exchange(is_first, false) && is_the_jobs) options_.spec_file = name;
      }
    }
  }
  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << text;
  }
  Result<Properties> Load(const ReadRemoteFile& remote = NoRemoteFile) const {
    return LoadProperties(options_, folder_.path(), remote);
  }
  std::string Folder() const { return folder_.path().string(); }

  SubmitOptions options_;

 private:
  const TempFolder folder_;
};

// The row expects, between " | ": "KEY=VALUE from ORIGIN" or "KEY=not set"; "error TEXT" (kInvalid) or "usage TEXT"
// (kUsage); "warns TEXT" for each warning, or "quiet" for no warning. "@" is the folder; ExpectText compares.
void CheckLoad(const RowCase& row) {
  LoadBed bed;
  bed.Take(row.given);
  const auto loaded = bed.Load();
  size_t warnings = 0;
  for (const std::string& part : PartsOf(Replaced(row.expected, "@", bed.Folder()))) {
    const std::string word = part.substr(0, part.find(' ')), rest = part.substr(std::min(part.size(), word.size() + 1));
    if (word == "error" || word == "usage") {
      ASSERT_FALSE(loaded.ok()) << "accepted";
      EXPECT_EQ(loaded.error().code, word == "usage" ? ErrorCode::kUsage : ErrorCode::kInvalid);
      ExpectText(rest, loaded.error().message);
      continue;
    }
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    if (word == "quiet") {
      EXPECT_THAT(loaded->warnings(), testing::IsEmpty());
    } else if (word == "warns") {
      ASSERT_LT(warnings, loaded->warnings().size());
      ExpectText(rest, loaded->warnings()[warnings++]);
    } else {
      const size_t equals = part.find('=');
      const Property* property = loaded->Find(part.substr(0, equals));
      SCOPED_TRACE(part);
      ExpectText(part.substr(equals + 1), property ? StrCat(property->value, " from ", property->origin) : "not set");
    }
  }
  if (warnings > 0) {
    EXPECT_EQ(loaded->warnings().size(), warnings);
  }
}

const TestRow kLoads[] = {
    {"TonyXmlOfTheCurrentFolderIsReadIfNoConfFileIsGiven",
     {{"tony.xml: tony.worker.instances=2", "tony.worker.instances=2 from tony.xml:1"},
      {"tony.xml: tony.worker.instances=2 | other.xml:  | -conf_file other.xml", "tony.worker.instances=not set"}}},
    {"FlagsOverrideTheSiteFileAndTheSiteFileOverridesTonyXml",
     {{"tony.xml: tony.worker.instances=1;tony.yarn.queue=u | site/tony-site.xml: "
       "tony.worker.instances=2;tony.worker.memory=3g",
       "tony.worker.instances=2 from @/site/tony-site.xml:1 | tony.yarn.queue=u from tony.xml:1"},
      {"tony.xml: tony.worker.instances=1 | site/tony-site.xml: tony.worker.instances=2;tony.worker.memory=3g | -conf "
       "tony.worker.instances=3 -conf tony.worker.memory=4g -conf tony.worker.memory=5g",
       "tony.worker.instances=3 from -conf | tony.worker.memory=5g from -conf"}}},
    {"AFinalValueInTonyXmlOverridesTheSiteFileButNotFlags",
     {{"tony.xml: a=1! | site/tony-site.xml: a=2", "a=1 from tony.xml:1"},
      {"tony.xml: a=1! | site/tony-site.xml: a=2 | -conf a=3", "a=3 from -conf"}}},
    {"TheContentDecidesTheTypeOfAFile",
     {{"a.conf: \n  <configuration><property><name>k</name><value>x</value></property></configuration>",
       "k=x from a.conf:2"},
      {"b.conf: k=p", "k=p from b.conf:1"},
      {"c.job: k: j", "k=j from c.job:1"}}},
    {"AnUnreadableConfFileIsNamedInTheError",
     {{"-conf_file tony2.xml", "error conf file @/tony2.xml: no such file"},
      {"-conf_file /nowhere/a.properties", "error conf file /nowhere/a.properties: no such file"},
      {"-conf_file @", "error conf file @: a folder, not a file"},
      {"-conf_file hdfs://nn/job.xml", "error conf file hdfs://nn/job.xml: this command can read only files on this "
                                       "machine"}}},
    {"AYamlFileIsReadAsAJobDocument",
     {{"job.yaml: tasks:\n  worker: {instances: 2}\nconf:\n  tony.worker.memory: 1g\n",
       "tony.worker.instances=2 from tasks.worker.instances | tony.worker.memory=1g from conf"},
      {"job.yml: tasks:\n  worker: {instances: 2}\n", "tony.worker.instances=2 from tasks.worker.instances"},
      {"a/job.yaml: tasks:\n  worker: {instances: 2}\n | -conf_file a/job.yaml",
       "tony.worker.instances=2 from tasks.worker.instances"},
      {"a/job.yml: tasks:\n  worker: {instances: 2}\n | -conf_file a/job.yml",
       "tony.worker.instances=2 from tasks.worker.instances"},
      {"job.yaml: tasks:\n  worker: {instances: yes}\n", "error ^job.yaml:2: \"yes\" without quo"},
      {"job.properties: main.args=-conf_file job.yaml | job.yaml: a: b",
       "error main.args (from job.properties:1), -conf_file: conf file @/job.yaml: this is a job document; main.args "
       "must name a tony.xml or a job file"}}},
    {"AFileUrlIsReadAsALocalFile", {{"a/a.xml: k=x | -conf_file file://@/a/a.xml", "k=x from @/a/a.xml:1"}}},
    {"AJobFileLargerThan16MibIsRefused",
     {{"big.properties: a=" + std::string((16u << 20) + 1, 'x'),
       "error job file @/big.properties: larger than 16 MiB"}}},
    {"AParseErrorNamesItsFileAndLine",
     {{"tony.xml: <configuration>\n<property>\n</configuration>",
       "error tony.xml:3: malformed XML: start-end tags mismatch"}}},
    {"AJobFileTogetherWithTheOptionConfFileIsAUsageError",
     {{"a.xml:  | -conf_file b.xml",
       "usage both a.xml and -conf_file b.xml: give only one of them, because a job has one file"}}},
    {"TheValueOfAConfFlagMayContainEqualsSigns",
     {{"-conf 'tony.worker.command=A=1 ./run --x=y'", "tony.worker.command=A=1 ./run --x=y from -conf"}}},
    {"ListValuesOfConfFlagsAreAppendedToTheListsInFiles",
     {{"tony.xml: tony.execution.envs=A=1;tony.containers.resources= | -conf tony.execution.envs=B=2 -conf "
       "tony.execution.envs=C=3 -conf tony.containers.resources=x",
       "tony.execution.envs=A=1,B=2,C=3 from tony.xml:1 and -conf | tony.containers.resources=x from -conf"}}},
    {"AnEnvironmentFlagWithCommasInItsValueSetsOneVariable",
     {{"-shell_env A=1,2,B=3 -shell_env E= -shell_env A=x=y,z -container_env 'P=/a:/b,\n c'",
       "tony.execution.env.A=x=y,z from -shell_env | tony.execution.env.E= from -shell_env | "
       "tony.containers.env.P=/a:/b,\n c from -container_env"}}},
    {"TheCommandConsistsOfPythonBinaryPathExecutesAndTaskParams",
     {{"-executes train.py", "tony.containers.command=train.py from -executes"},
      {"-executes train.py -task_params '--steps 5' -python_binary_path venv/bin/python -conf "
       "tony.containers.command=other -src_dir src",
       "tony.containers.command=venv/bin/python train.py --steps 5 from -executes | tony.src-dir=src from -src_dir"}}},
    {"ARelativePythonPathIsResolvedInTheVenvIfTheJobHasAVenv",
     {{"-executes train.py -python_binary_path bin/python",
       "tony.containers.command=bin/python train.py from -executes"},
      {"-executes train.py -python_binary_path bin/python -conf tony.python-venv=env.zip",
       "tony.containers.command=venv/bin/python train.py from -executes"},
      {"-executes train.py -python_binary_path bin/python -conf 'tony.python-venv= '",
       "tony.containers.command=bin/python train.py from -executes"},
      {"-executes train.py -python_binary_path bin/python -conf 'tony.python-venv= ' -python_venv env.zip",
       "tony.containers.command=venv/bin/python train.py from -executes | tony.python-venv=env.zip from -python_venv"},
      {"-executes train.py -python_binary_path /usr/bin/python3 -python_venv env.zip",
       "tony.containers.command=/usr/bin/python3 train.py from -executes"}}},
    {"HdfsClasspathAndTensorboardLogDirFlagsSetTheirKeys",
     {{"-hdfs_classpath /lib/a.jar,/lib/b.jar -sidecar_tensorboard_log_dir /logs",
       "tony.hdfs-classpath=/lib/a.jar,/lib/b.jar from -hdfs_classpath | tony.application.tensorboard-log-dir=/logs "
       "from -sidecar_tensorboard_log_dir"}}},
    {"PropertiesOfTheAzkabanJobTypeAreReadAsFlags",
     {{"train.job: type=tony\ndependencies=prep\nexecutes=train.py\nsrc_dir=code\ntask_params=--a 1\n"
       "python_binary_path=/usr/bin/python3\nworker_env.A=1,2\nazkaban.input.dataset=x,y\nhdfs_classpath=/lib\n"
       "python_venv=venv.zip\ntony.worker.instances=2\n",
       "tony.containers.command=/usr/bin/python3 train.py --a 1 from train.job:3 | tony.src-dir=code from train.job:4 "
       "| tony.execution.env.A=1,2 from train.job:7 | tony.execution.env.AZKABAN_INPUT_DATASET=x;y from train.job:8 | "
       "tony.hdfs-classpath=/lib from train.job:9 | tony.python-venv=venv.zip from train.job:10 | "
       "tony.worker.instances=2 from train.job:11"}}},
    {"CommandLineFlagsOverrideTheJobFileAndTheJobFileOverridesTheSiteFile",
     {{"train.job: executes=train.py\ntask_params=--a 1\n | site/tony-site.xml: tony.containers.command=site",
       "tony.containers.command=train.py --a 1 from train.job:1"},
      {"train.job: executes=train.py\ntask_params=--a 1\nworker_env.A=1\nworker_env.B=2\n | site/tony-site.xml: "
       "tony.containers.command=site | -task_params '--a 2' -shell_env A=9",
       "tony.containers.command=train.py --a 2 from train.job:1 | tony.execution.env.A=9 from -shell_env | "
       "tony.execution.env.B=2 from train.job:4"}}},
    {"TheExecutesPropertyInAnXmlFileIsIgnored", {{"tony.xml: executes=train.py", "tony.containers.command=not set"}}},
    {"AnAzkabanStepUsesSrcAsItsDefaultSourceFolder",
     {{"train.job: type=tony\nexecutes=x\n", "tony.src-dir=not set"},
      {"train.job: type=tony\nexecutes=x\n | src/", "tony.src-dir=src from train.job:1"},
      {"train.job: executes=x\n | src/", "tony.src-dir=not set"}}},
    {"TheTaskParamsPropertyWithoutExecutesIsAnError",
     {{"train.job: task_params=--x\n",
       "error task_params (from train.job:1) needs executes: the job has no command to which the parameters could be added"}}},
    {"VariablesAreExpandedAfterAllFilesAndFlagsAreRead",
     {{"tony.xml: data=/one;tony.worker.command=run ${data} ${HOME} | -conf data=/two",
       "tony.worker.command=run /two ${HOME} from tony.xml:1"}}},
};
TABLE_TEST(LoadPropertiesTest, kLoads, CheckLoad);

TEST(LoadPropertiesTest, NoPropertyIsSetWithoutFilesAndFlags) {
  const LoadBed bed;
  EXPECT_TRUE(bed.Load()->all().empty());
}

TEST(LoadPropertiesTest, AMissingSiteFileIsNotAnError) {
  const LoadBed bed;
  setenv("TONY_CONF_DIR", (bed.Folder() + "/nowhere").c_str(), 1);
  EXPECT_TRUE(bed.Load().ok());
}

TEST(LoadPropertiesTest, ATildeInAPathIsExpandedToTheHomeFolder) {
  LoadBed bed;
  bed.Take(
      "home/conf/my.xml: tony.worker.instances=2 | home/site/tony-site.xml: tony.yarn.queue=q | -conf_file "
      "~/conf/my.xml -executes train.py -python_binary_path ~/conda/bin/python -python_venv env.zip "
      "-sidecar_tensorboard_log_dir ~/tb");
  const char* before = getenv("HOME");
  const std::string home = before ? before : "/", here = bed.Folder() + "/home";
  setenv("HOME", here.c_str(), 1);
  setenv("TONY_CONF_DIR", "~/site", 1);
  const auto loaded = bed.Load();
  setenv("HOME", home.c_str(), 1);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->Find("tony.worker.instances")->origin, "~/conf/my.xml:1");
  EXPECT_EQ(loaded->Find("tony.yarn.queue")->origin, here + "/site/tony-site.xml:1");
  EXPECT_EQ(loaded->Find("tony.containers.command")->value, here + "/conda/bin/python train.py");
  EXPECT_EQ(loaded->Find("tony.execution.env.TB_LOG_DIR")->value, here + "/tb");
}

TEST(LoadPropertiesTest, AJobWithATonyXmlOrTheJobTypeTonyIsMarkedAsATonyJob) {
  for (const auto& [given, is_tony_job] :
       std::vector<std::pair<std::string, bool>>{{"site/tony-site.xml: a=1", false},  // no job file, only flags
                                                 {"job.yaml: name: x\nproperties: {a: b}\n", false},
                                                 {"job.properties: type=TonYJob\n", true},
                                                 {"tony.xml: a=1", true}}) {
    LoadBed bed;
    bed.Take(given);
    EXPECT_EQ(bed.Load()->is_tony_job(), is_tony_job) << given;
  }
}

TEST(LoadPropertiesTest, AnUnreadableJobFileIsNamedInTheError) {
  LoadBed bed;
  for (const auto& [file, message] : std::vector<std::pair<std::string, std::string>>{
           {"/nowhere/job.properties", "/nowhere/job.properties: no such file"},
           {bed.Folder(), bed.Folder() + ": a folder, not a file"},
           {"hdfs://nn/job.xml", "hdfs://nn/job.xml: this command can read only files on this machine"}}) {
    bed.options_.spec_file = file;
    EXPECT_EQ(bed.Load().error().message, "job file " + message);
  }
}

TEST(LoadPropertiesTest, InvalidFlagsAreUsageErrorsThatNameTheFlag) {
  const std::string no_equals = " number 1: expected NAME=VALUE, but the value has no =";
  for (const auto& [options, message] : std::vector<std::pair<SubmitOptions, std::string>>{
           {{.conf = {"tony.worker.instances"}}, "-conf number 1: expected KEY=VALUE, but the value has no ="},
           {{.conf = {"a=1", "=2"}}, "-conf number 2: expected KEY=VALUE, but the value has no name before ="},
           {{.shell_env = {"HOME"}}, "-shell_env" + no_equals},
           {{.container_env = {"=x"}},
            "-container_env number 1: expected NAME=VALUE, but the value has no name before ="},
           {{.shell_env = {"A=\xFF"}}, "-shell_env A: not valid UTF-8"},
           {{.executes = "\xFF"}, "-executes: not valid UTF-8"},
           {{.task_params = "--x 1"},
            "task_params (from -task_params) needs executes: the job has no command to which the parameters could be added"}}) {
    LoadBed bed;
    bed.options_ = options;
    EXPECT_EQ(bed.Load().error().code, ErrorCode::kUsage);
    EXPECT_EQ(bed.Load().error().message, message);
  }
}

TEST(LoadPropertiesTest, AConfFileCanBeReadFromHdfsAndAnHdfsErrorNamesTheFile) {
  const auto read = [](const std::string& source) -> Result<std::string> {
    if (source == "hdfs:///conf/tony.xml") return Xml("tony.worker.instances=3");
    if (source == "hdfs:/conf/job.properties") return std::string("tony.worker.instances=4\n");
    return Error{ErrorCode::kNotPermitted, "not yours"};
  };
  LoadBed bed;
  const auto load = [&](const std::string& file) {
    bed.options_.conf_file = file;
    return bed.Load(read);
  };
  EXPECT_EQ(load("hdfs:///conf/tony.xml")->Find("tony.worker.instances")->origin, "hdfs:///conf/tony.xml:1");
  EXPECT_EQ(load("hdfs:/conf/job.properties")->Find("tony.worker.instances")->value, "4");
  EXPECT_EQ(load("hdfs:///other.xml").error().message, "conf file hdfs:///other.xml: not yours");
  EXPECT_EQ(load("hdfs:///other.xml").error().code, ErrorCode::kNotPermitted);
}

TEST(LoadPropertiesTest, AConfFileNamedInMainArgsCanBeInHdfs) {
  LoadBed bed;
  bed.Take("job.properties: main.args=-conf_file hdfs:///conf/tony.xml\ntony.worker.instances=9\n");
  const auto loaded =
      bed.Load([](const std::string&) -> Result<std::string> { return Xml("tony.worker.instances=3"); });
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->Find("tony.worker.instances")->value, "3");
}

// ---- Settings of a job file beside tony.*: TonY's arguments in main.args, the tags, and the properties of an Azkaban
// step

const std::string kStep =
    "#Sat Nov 21\nexecutes=<x>\ntony.ps.memory=1g\nazkaban.flow.execid=17\ntony.application.tags=mine\n";
const std::string kOfStep =
    "tony.ps.memory=1g from the step's properties | tony.containers.command=<x> from executes of the step's properties "
    "| tony.application.tags=mine,azkaban.flow.execid:17 from the step's properties";

const TestRow kJobFiles[] = {
    {"MainArgsAreReadAsCommandLineFlagsOfTony",
     {{"train.job: type=tony\nmain.args=-executes 'python x.py' -conf tony.worker.instances=2 -shell_env A=1,2 "
       "-container_env B=3 -sidecar_tensorboard_log_dir /logs\n",
       "tony.containers.command=python x.py from main.args (from train.job:2), -executes | tony.worker.instances=2 "
       "from main.args (from train.job:2), -conf | tony.execution.env.A=1,2 from main.args (from train.job:2), "
       "-shell_env | tony.containers.env.B=3 from main.args (from train.job:2), -container_env | "
       "tony.application.tensorboard-log-dir=/logs from main.args (from train.job:2), -sidecar_tensorboard_log_dir | "
       "warns main.args (from train.job:2), -shell_env A: the commas are part of the value; LinkedIn's TonY would "
       "have cut the "
       "value at a comma"}}},
    {"ASingleValuedFlagInMainArgsOverridesThePropertyOfTheStep",
     {{"train.job: type=tony\nexecutes=step\nsrc_dir=step\ntask_params=step\nhdfs_classpath=step\nmain.args=-executes "
       "args -src_dir args -hdfs_classpath args\n",
       "tony.containers.command=args step from main.args (from train.job:6), -executes | tony.src-dir=args from "
       "main.args (from train.job:6), -src_dir | tony.hdfs-classpath=args from main.args (from train.job:6), "
       "-hdfs_classpath"}}},
    {"SrcDirInMainArgsOverridesTheDefaultSourceFolder",
     {{"train.job: type=tony\nmain.args=-src_dir code\n | src/",
       "tony.src-dir=code from main.args (from train.job:2), -src_dir"},
      {"train.job: type=tony\nmain.args=-executes x\n | src/", "tony.src-dir=src from train.job:1"}}},
    {"EnvironmentVariablesOfTheStepOverrideVariablesInMainArgs",
     {{"train.job: main.args=-shell_env A=args -shell_env B=1 -shell_env B=2 -shell_env AZKABAN_INPUT_DATASET=args\n"
       "worker_env.A=step\nazkaban.input.dataset=x,y\n",
       "tony.execution.env.A=step from train.job:2 | tony.execution.env.B=2 from main.args (from train.job:1), "
       "-shell_env | tony.execution.env.AZKABAN_INPUT_DATASET=x;y from train.job:3"}}},
    {"TheCommandLineOverridesMainArgsAndMainArgsOverrideFiles",
     {{"train.job: tony.ps.memory=1g\nmain.args=-conf tony.ps.memory=2g -conf tony.ps.memory=3g -executes args\n | "
       "site/tony-site.xml: tony.ps.memory=9g",
       "tony.ps.memory=3g from main.args (from train.job:2), -conf"},
      {"train.job: tony.ps.memory=1g\nmain.args=-conf tony.ps.memory=2g -conf tony.ps.memory=3g -executes args\n | "
       "site/tony-site.xml: tony.ps.memory=9g | -conf tony.ps.memory=4g -executes mine",
       "tony.ps.memory=4g from -conf | tony.containers.command=mine from -executes"}}},
    {"AConfFileInMainArgsReplacesTheTonyPropertiesOfTheStep",
     {{"train.job: tony.ps.memory=1g\ntony.ps.vcores=2\nexecutes=x\nmain.args=-conf_file other.xml -conf "
       "tony.ps.gpus=1\ntony.azkaban.watch-timeout=60\ntony.output.a=1\ntony.job.id=local-1\n | other.xml: "
       "tony.ps.memory=9g",
       "tony.ps.memory=9g from other.xml:1 | tony.ps.vcores=not set | tony.ps.gpus=1 from main.args (from "
       "train.job:4), -conf | tony.containers.command=x from train.job:3 | tony.azkaban.watch-timeout=60 from "
       "train.job:5 | warns main.args (from train.job:4), -conf_file: this file replaces the step's own "
       "tony.* properties, as in LinkedIn's TonY; the step's ignored properties are: tony.ps.memory, tony.ps.vcores"},
      // No property of the step is ignored, so nothing is warned of.
      {"train.job: main.args=-conf_file other.xml\ntony.output.a=1\n | other.xml: tony.ps.memory=9g", "quiet"},
      {"train.job: main.args=-conf_file nowhere.xml\n",
       "error main.args (from train.job:1), -conf_file: conf file @/nowhere.xml: no such file"}}},
    {"MalformedMainArgsAreReportedWithTheJobFileAndLine",
     {{"train.job: type=tony\nmain.args=-executes python train.py\n",
       "error ~main.args (from train.job:2), word 3: expected an option"},
      {"train.job: main.args=-task_params x\n", "error ~"}}},
    {"MainArgsInAnXmlFileAreNotParsedAsOptions", {{"a.xml: main.args=x y", "main.args=x y from a.xml:1"}}},
    {"TagsFromAzkabanAreAppendedToTheTagsOfTheUser",
     {{"train.job: azkaban.flow.execid=17\nazkaban.url=http://az:80\ntony.application.tags=mine\n",
       "tony.application.tags=mine,azkaban.flow.execid:17,azkaban.webserverhost:az from train.job:3 and train.job:1"},
      {"train.job: azkaban.flow.execid=17\nazkaban.url=http://az:80\ntony.application.tags=mine\n | -conf "
       "tony.application.tags=other",
       "tony.application.tags=other,azkaban.flow.execid:17,azkaban.webserverhost:az from -conf and train.job:1"},
      {"train.job: azkaban.flow.execid=17\n", "tony.application.tags=azkaban.flow.execid:17 from train.job:1"},
      {"train.job: azkaban.job.attempt=0\n", "tony.application.tags=not set"}}},
    {"ThePropertiesFileOfAStepMayHaveAnyName",
     {{"step train_props_123_tmp: " + kStep, kOfStep},
      {"step props.xml: " + kStep, kOfStep},
      {"step props.json: " + kStep, kOfStep},
      {"step bad_tmp: a=1\ntony.ps.memory=\\uD800\n",
       "error the step's properties: key tony.ps.memory: half of a surrogate pair in \\u escapes"}}},
    {"TheShellEnvPropertyOfAStepIsIgnoredWithAWarning",
     {{"train.job: type=tony\nshell_env=A=1\n",
       "warns shell_env (from train.job:2): ignored, as in LinkedIn's TonY; set a variable by worker_env.NAME | "
       "tony.execution.env.A=not set"}}},
};
TABLE_TEST(JobFileTest, kJobFiles, CheckLoad);

TEST(JobFileTest, AMissingStepPropertiesFileIsNamedInTheError) {
  LoadBed bed;
  bed.options_.spec_name = "the step's properties";
  bed.options_.spec_file = "nowhere_tmp";
  EXPECT_EQ(bed.Load().error().message, "the step's properties " + bed.Folder() + "/nowhere_tmp: no such file");
}

// ---- -shell_env and -container_env, whose values TonY cut at commas

const TestRow kShellEnv[] = {
    {"AListOfNameValuePairsIsSplitAtCommas",
     {{"-shell_env A=1,B=x=y,_c2=",
       "tony.execution.env.A=^1 from | tony.execution.env.B=^x=y from | tony.execution.env._c2=^ from | quiet"}}},
    {"AValueWithCommasSetsOneVariableAndCausesAWarning",
     {{"-shell_env A=x,y",
       "tony.execution.env.A=^x,y from | warns -shell_env A: the commas are part of the value; LinkedIn's TonY would "
       "have cut the "
       "value at a comma"},
      {"-shell_env A=-Da=1,-Db=2",
       "tony.execution.env.A=^-Da=1,-Db=2 from | warns -shell_env A: the commas are part of the value; LinkedIn's "
       "TonY would have "
       "cut the value at a comma"},
      {"-shell_env A=1,B=2,",
       "tony.execution.env.A=^1,B=2, from | warns -shell_env A: the commas are part of the value; LinkedIn's TonY "
       "would have cut "
       "the value at a comma"},
      {"-shell_env A=1,2b=3",
       "tony.execution.env.A=^1,2b=3 from | warns -shell_env A: the commas are part of the value; LinkedIn's TonY "
       "would have cut "
       "the value at a comma"},
      {"-shell_env 'A=1, B=2'",
       "tony.execution.env.A=^1, B=2 from | warns -shell_env A: the commas are part of the value; LinkedIn's TonY "
       "would have cut "
       "the value at a comma"}}},
    {"ASecondAssignmentAfterABlankInAnEnvironmentFlagCausesAWarning",
     {{"-shell_env 'A=/a:/b B2=1 C=2'",
       "tony.execution.env.A=^/a:/b B2=1 C=2 from | warns -shell_env A: the blanks are part of the value; to set B2 as "
       "another variable, put it after a comma or into a -shell_env of its own"},
      {"-shell_env 'A=-Da=1 -Db=2'", "quiet"},
      {"-shell_env 'A=1 2=3'", "quiet"},
      {"-shell_env 'A=a b == c'", "quiet"},
      {"-shell_env 'A=x=y z'", "quiet"},
      {"-shell_env 'A= =b'", "quiet"}}},
    {"TheLastValueOfADuplicateVariableWins",
     {{"-shell_env A=1,B=2 -shell_env B=3", "tony.execution.env.B=^3 from"},
      {"-shell_env B=3 -shell_env A=1,B=2", "tony.execution.env.B=^2 from"}}},
};
TABLE_TEST(ShellEnvTest, kShellEnv, CheckLoad);

// ---- Precedence: the parts of a job document, the site's file and the command line

// Returns a job document with these members.
std::string Doc(const std::string& members, const std::string& more = "") {
  return StrCat("job.json: {", members, more.empty() ? "" : ", ", more, "}");
}
std::string Memory(const std::string& expected) { return "tony.worker.memory=" + expected; }
std::string VarA(const std::string& expected) { return "tony.execution.env.A=" + expected; }
std::string Command(const std::string& expected) { return "tony.containers.command=" + expected; }

const std::string kSpecMemory = R"("spec": {"tasks": {"worker": {"memory": "1g"}}})";
const std::string kStepMemory = R"("spec": {"name": 1}, "properties": {"main.args": "-conf tony.worker.memory=5g"})";
const std::string kAllMemory =
    kStepMemory + R"(, "conf": {"tony.worker.memory": "7g"}, "tasks": {"worker": {"memory": 6}})";
const std::string kSpecA = R"("spec": {"env": {"A": 1}})", kStepA = kSpecA + R"(, "properties": "worker_env.A=5")";
const std::string kSiteA = " | site/tony-site.xml: tony.execution.env.A=4";
const std::string kAllA = kStepA + R"(, "env": {"A": 6}, "conf": {"tony.execution.env.A": 7})";
const std::string kSpecCommand = R"("spec": {"executes": "spec", "task_params": "sp"})";
const std::string kStepCommand = kSpecCommand + R"(, "properties": "executes=step\ntask_params=st")";
const std::string kAllCommand = kStepCommand + R"(, "executes": "mine", "conf": {"tony.containers.command": "conf"})";
const std::string kTypeTony = R"("properties": "type=tony")";
const std::string kLists = R"("properties": {"tony.application.tags": "a", "tony.containers.resources": "x"})";
const std::string kUntracked = "tony.application.untracked.jobtypes=";
const std::string kListed = R"(, "properties": {"tony.application.untracked.jobtypes": "eval, worker"})";
const std::string kSpecUntracked = R"("spec": {"tasks": {"worker": {"completion": "untracked"}}})";

std::string Completed(const std::string& completion, const std::string& more = "") {
  return Doc(StrCat(R"("tasks": {"ps": {"instances": 1}, "worker": {"completion": ")", completion, "\"}}", more));
}

const TestRow kLayers[] = {
    {"TheValueOfAKeyComesFromTheHighestLayerThatSetsTheKey",
     {{Doc(kSpecMemory), Memory("1g from spec.tasks.worker.memory")},
      {Doc(R"("spec": {"conf": {"tony.worker.memory": 2}, "tasks": {"worker": {"memory": 1}}})"),
       Memory("2 from spec.conf")},
      {Doc(kSpecMemory, R"("properties": "\ntony.worker.memory=3g")"), Memory("3g from properties:2")},
      {Doc(kSpecMemory, R"("properties": "\ntony.worker.memory=3g")") + " | site/tony-site.xml: tony.worker.memory=4g",
       Memory("^4g from /")},
      {Doc(kStepMemory) + " | site/tony-site.xml: tony.worker.memory=4g",
       Memory("5g from main.args (from properties), -conf")},
      {Doc(kStepMemory, R"("tasks": {"worker": {"memory": "6g"}})"), Memory("6g from tasks.worker.memory")},
      {Doc(kAllMemory), Memory("7g from conf")},
      {Doc(kAllMemory) + " | -conf tony.worker.memory=8g", Memory("8g from -conf")}}},
    {"TheValueOfAnEnvironmentVariableComesFromTheHighestLayerThatSetsTheVariable",
     {{Doc(kSpecA), VarA("1 from spec.env.A")},
      {Doc(R"("spec": {"env": {"A": 1}, "conf": {"tony.execution.env.A": 2}})"), VarA("2 from spec.conf")},
      {Doc(kSpecA, R"("properties": {"tony.execution.env.A": 3})"), VarA("3 from properties")},
      {Doc(kSpecA) + kSiteA, VarA("^4 from /")},
      {Doc(kStepA) + kSiteA, VarA("5 from properties:1")},
      {Doc(kStepA, R"("env": {"A": 6})") + kSiteA, VarA("6 from env.A")},
      {Doc(kAllA) + kSiteA, VarA("7 from conf")},
      {Doc(kAllA) + kSiteA + " | -conf tony.execution.env.A=8", VarA("8 from -conf")},
      {Doc(kStepA, R"("env": {"A": 6})") + kSiteA + " | -conf tony.execution.env.A=8", VarA("8 from -conf")},
      {Doc(kAllA) + kSiteA + " | -conf tony.execution.env.A=8 -shell_env A=9", VarA("9 from -shell_env")}}},
    {"TheCommandComesFromTheHighestLayerThatSetsACommand",
     {{Doc(kSpecCommand), Command("spec sp from spec.executes")},
      {Doc(kSpecCommand, R"("properties": {"tony.containers.command": "file"})"), Command("file from properties")},
      {Doc(R"("spec": {"executes": "spec", "conf": {"tony.containers.command": "conf"}})"),
       Command("conf from spec.conf")},
      {Doc(kSpecCommand, R"("properties": "main.args=-conf tony.containers.command=args")"),
       Command("args from main.args (from properties:1), -conf")},
      {Doc(kStepCommand), Command("step st from properties:1")},
      {Doc(kStepCommand, R"("executes": "mine")"), Command("mine st from executes")},
      {Doc(kAllCommand), Command("conf from conf")},
      {Doc(kStepCommand, R"("executes": "mine")") + " | -conf tony.containers.command=line",
       Command("line from -conf")},
      {Doc(kAllCommand) + " | -conf tony.containers.command=line", Command("line from -conf")},
      {Doc(kAllCommand) + " | -conf tony.containers.command=line -executes flag", Command("flag from -executes")}}},
    {"OptionsOfTheSpecMemberAreCombinedWithOptionsOfHigherLayers",
     {{Doc(R"("spec": {"executes": "train.py", "python_binary_path": "bin/python", "python_venv": "v.zip"},
                   "properties": "task_params=--file", "task_params": "--day 7")"),
       Command("venv/bin/python train.py --day 7 from spec.executes")},
      {Doc(R"("task_params": "x")"),
       "error task_params (from task_params) needs executes: the job has no command to which the parameters could be added"},
      {Doc(R"("spec": {"python_venv": "a"}, "properties": {"tony.python-venv": "b"})"),
       "tony.python-venv=b from properties"}}},
    {"AnExplicitSourceFolderOverridesTheDefaultSourceFolderOfAStep",
     {{Doc(kTypeTony) + " | src/", "tony.src-dir=src from properties:1"},
      {Doc(kTypeTony, R"("spec": {"src_dir": "code"})") + " | src/", "tony.src-dir=code from spec.src_dir"},
      {Doc(kTypeTony, R"("src_dir": "code")") + " | src/", "tony.src-dir=code from src_dir"},
      {Doc(kTypeTony, R"("conf": {"tony.src-dir": "code"})") + " | src/", "tony.src-dir=code from conf"},
      {Doc(R"("src_dir": "a", "conf": {"tony.src-dir": "b"})") + " | src/", "tony.src-dir=b from conf"}}},
    {"AHigherLayerReplacesTheTagsAndAddsToTheResources",
     {{Doc(kLists, R"("tags": ["b"])"), "tony.application.tags=b from tags"},
      {Doc(kLists, R"("tags": [])"), "tony.application.tags= from tags"},
      {Doc(kLists, R"("resources": ["y", "z"])"), "tony.containers.resources=x,y,z from properties and resources"},
      {Doc(kLists, R"("resources": [])"), "tony.containers.resources=x from properties"},
      {Doc(R"("spec": {"resources": ["x"]}, "resources": ["y"])"),
       "tony.containers.resources=x,y from spec.resources and resources"}}},
    {"TheCompletionMemberOfARoleMovesOnlyThatRoleBetweenTheRoleLists",
     // The default list stays, reduced to roles that the job has. A role that is in the right list already changes
     // nothing.
     {{Completed("untracked"), kUntracked + "ps,worker from tasks.worker.completion"},
      {Completed("sidecar"), "tony.application.sidecar.jobtypes=worker from tasks.worker.completion"},
      {Completed("tracked"), kUntracked + "not set"},
      {Completed("tracked", kListed), kUntracked + "eval from properties and tasks.worker.completion"},
      {Completed("untracked", kListed), kUntracked + "eval, worker from properties"},
      {Completed("sidecar", kListed), kUntracked + "eval from properties and tasks.worker.completion"},
      // A role can be taken out of the default list, too; conf is the highest member.
      {Doc(R"("tasks": {"ps": {"instances": 1, "completion": "tracked"}})"), kUntracked + " from tasks.ps.completion"},
      {Completed("untracked", R"(, "conf": {"tony.application.untracked.jobtypes": "eval"})"),
       kUntracked + "eval from conf"},
      {Completed("untracked") + " | -conf tony.application.untracked.jobtypes=mine", kUntracked + "mine from -conf"}}},
    {"AnUntrackedListInThePropertiesOverridesACompletionMemberInTheSpec",
     {{Doc(kSpecUntracked), kUntracked + "worker from spec.tasks.worker.completion"},
      {Doc(kSpecUntracked, R"("properties": {"tony.application.untracked.jobtypes": "eval"})"),
       kUntracked + "eval from properties"},
      {Doc(kSpecUntracked, R"("tasks": {"worker": {"completion": "tracked"}})"),
       kUntracked + " from spec.tasks.worker.completion and tasks.worker.completion"}}},
    {"StepPropertiesInADocumentAreInterpretedAsInAJobFile",
     {{Doc(R"("properties": "tony.ps.memory=1g\nshell_env=A=1\n)"
           R"(main.args=-conf_file other.xml\nazkaban.flow.execid=17")") +
           " | other.xml: tony.ps.memory=9g",
       "tony.ps.memory=9g from other.xml:1 | tony.application.tags=azkaban.flow.execid:17 from properties:4 | warns "
       "main.args (from properties:3), -conf_file: this file replaces the step's own tony.* properties, as "
       "in LinkedIn's TonY; the step's ignored properties are: tony.ps.memory | warns shell_env (from properties:2): "
       "ignored, as in LinkedIn's TonY; set a variable by worker_env.NAME"}}},
    {"AJobDocumentReplacesTonyXmlAndForbidsTheOptionConfFile",
     {{"job.json: {} | tony.xml: a=1", "a=not set"},
      {"job.json: {} | tony.xml: a=1 | -conf_file job.json", "usage ~both job.json and -conf_file job.json"}}},
    {"ConfFileMayBeAJobDocumentOnTheCommandLineButNotInMainArgs",
     {{R"(a/a.json: {"name": "n"} | -conf_file a/a.json)", "tony.application.name=n from name"},
      {Doc(R"("properties": "main.args=-conf_file a.json")") + R"( | a.json: {"name": "n"})",
       "error main.args (from properties:1), -conf_file: conf file @/a.json: this is a job document; main.args must "
       "name a tony.xml or a job file"}}},
    {"AnEmptyMalformedOrMissingDocumentIsNamedInTheError",
     {{"job.json:  \n", "error job file @/job.json: the document is empty; expected an object"},
      {"job.json: {", "error job.json:1: not JSON: incomplete JSON, at byte 2 of the line"},
      {"-conf_file nowhere.json", "error conf file @/nowhere.json: no such file"}}},
};
TABLE_TEST(JobDocumentLayersTest, kLayers, CheckLoad);

TEST(JobDocumentLayersTest, AMissingJobDocumentIsNamedInTheError) {
  LoadBed bed;
  bed.options_.spec_file = "nowhere.json";
  EXPECT_EQ(bed.Load().error().message, "job file " + bed.Folder() + "/nowhere.json: no such file");
}

}  // namespace
}  // namespace tony
