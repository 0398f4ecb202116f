#include "tests/unit/layering/layering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "runtime/base/strings.h"
#include "tests/support/places.h"

namespace tony::layering {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<SourceFile> AllSources() {
  std::vector<SourceFile> all;
  for (const char* folder : {"runtime", "am", "executor", "azkaban-plugin"}) {
    std::vector<SourceFile> sources = ReadSources(SourceFolder(), folder);
    std::move(sources.begin(), sources.end(), std::back_inserter(all));
  }
  return all;
}

template <class Check>
std::vector<std::string> ViolationsIn(const std::vector<SourceFile>& sources, Check check) {
  std::vector<std::string> all;
  for (const SourceFile& source : sources) {
    for (std::string& violation : check(source)) all.push_back(std::move(violation));
  }
  return all;
}

std::vector<std::string> PureCoresOf(const std::string& folder) {
  std::ifstream cmake_lists(SourceFolder() + "/" + folder + "/CMakeLists.txt");
  const std::string text{std::istreambuf_iterator<char>(cmake_lists), {}};
  return PureCores(ReadSources(SourceFolder(), folder), folder, text);
}

TEST(LayeringTest, EachFolderIncludesOnlyHeadersThatTheLayerTableAllows) {
  EXPECT_THAT(ViolationsIn(AllSources(), ArrowViolations), IsEmpty());
}

TEST(LayeringTest, NoTwoHeadersDefineTypesWithTheSameName) {
  EXPECT_THAT(TypesOfOneName(AllSources()), IsEmpty());
  EXPECT_THAT(
      TypesOfOneName({{"a.h", "namespace tony {\n\nclass Line {\n"}, {"b.h", "namespace tony {\nstruct Line {\n"}}),
      ElementsAre("b.h:2: tony::Line is also in a.h"));
  EXPECT_THAT(TypesOfOneName({{"a.h", "namespace tony {\nclass Line;\nclass Line {\n"},
                              {"b.h", "namespace tony::am {\nclass Line {\n"},
                              {"c.cc", "namespace tony {\nclass Line {\n"}}),
              IsEmpty());
}

TEST(LayeringTest, ThirdPartyLibrariesAreIncludedOnlyInTheSourcesOfTheirAdapters) {
  EXPECT_THAT(ViolationsIn(AllSources(), ThirdPartyViolations), IsEmpty());
}

TEST(LayeringTest, PureCoresUseNoClockNoThreadAndNoInputOrOutput) {
  for (const char* folder : {"am/core", "executor", "runtime/records", "runtime/yarn"}) {
    const std::vector<std::string> cores = PureCoresOf(folder);
    ASSERT_FALSE(cores.empty()) << folder;
    std::vector<SourceFile> sources = ReadSources(SourceFolder(), folder);
    std::erase_if(sources, [&](const SourceFile& s) { return !std::ranges::count(cores, s.path); });
    EXPECT_THAT(ViolationsIn(sources, PurityViolations), IsEmpty());
  }
  EXPECT_THAT(PureCoresOf("am/core"), Contains("am/core/job_decide.cc"));
  EXPECT_THAT(PureCoresOf("executor"), Contains("executor/task_run.cc"));
  EXPECT_THAT(PureCoresOf("runtime/yarn"), Contains("runtime/yarn/yarn_requests.cc"));
}

TEST(LayeringTest, OnlyTheLocalBackendUsesTheLocalScheduler) {
  EXPECT_THAT(ViolationsIn(AllSources(), LocalSchedulerViolations), IsEmpty());
  const std::string header = "#include \"runtime/keeper/lost_job.h\"\n";
  EXPECT_THAT(LocalSchedulerViolations({"runtime/cli/kill.cc", header}), SizeIs(1));
  EXPECT_THAT(LocalSchedulerViolations({"runtime/keeper/keeper.cc", header}), IsEmpty());
  EXPECT_THAT(LocalSchedulerViolations({"runtime/cli/gc.cc", "folder.IsLocked(\"keeper.lock\");\n"}), SizeIs(1));
}

TEST(LayeringTest, OnlyTheLocalBackendUsesTheLocalLogSource) {
  EXPECT_THAT(ViolationsIn(AllSources(), LocalLogViolations), IsEmpty());
  for (const char* header : {"local_log_source.h"}) {
    const std::string include = StrCat("#include \"runtime/logs/", header, "\"\n");
    EXPECT_THAT(LocalLogViolations({"runtime/cli/logs.cc", include}), SizeIs(1));
    EXPECT_THAT(LocalLogViolations({"runtime/backend/backend.cc", include}), SizeIs(1));
    EXPECT_THAT(LocalLogViolations({"runtime/local/local_backend.cc", include}), IsEmpty());
    EXPECT_THAT(LocalLogViolations({"runtime/logs/log_reader.cc", include}), IsEmpty());
  }
  EXPECT_THAT(LocalLogViolations({"runtime/cli/logs.cc", "#include \"runtime/logs/log_source.h\"\n"}), IsEmpty());
}

TEST(LayeringTest, OnlyTheLocalSchedulerUsesTheJobFolder) {
  EXPECT_THAT(ViolationsIn(AllSources(), JobFolderViolations), IsEmpty());
  const std::string include = "#include \"runtime/records/job_folder.h\"\n";
  EXPECT_THAT(JobFolderViolations({"runtime/cli/wait.cc", include}), SizeIs(1));
  EXPECT_THAT(JobFolderViolations({"runtime/keeper/keeper.cc", include}), IsEmpty());
}

TEST(LayeringTest, OnlyTheLocalBackendUsesTheLocalJobStore) {
  EXPECT_THAT(ViolationsIn(AllSources(), LocalStoreViolations), IsEmpty());
  for (const char* header : {"local_job_store.h", "local_request_index.h"}) {
    const std::string include = StrCat("#include \"runtime/records/", header, "\"\n");
    EXPECT_THAT(LocalStoreViolations({"runtime/cli/list.cc", include}), SizeIs(1));
    EXPECT_THAT(LocalStoreViolations({"runtime/local/local_backend.cc", include}), IsEmpty());
  }
}

TEST(LayeringTest, IncludesAreWrittenWithTheShortestPath) {
  EXPECT_THAT(ViolationsIn(AllSources(), IncludePathViolations), IsEmpty());
  for (const char* include : {"\"runtime/base/../../am/job.h\"", "\"am/./job.h\"", "\"am//job.h\"", "<am//job.h>",
                              "<../am/job.h>", "<./am/job.h>", "\"/usr/include/thrift/Thrift.h\""})
    EXPECT_THAT(IncludePathViolations({"runtime/job/x.cc", StrCat("#include ", include, "\n")}), SizeIs(1)) << include;
  EXPECT_THAT(IncludePathViolations({"am/core/job.cc", "#include \"am/core/job.h\"  // see am/../README\n"}),
              IsEmpty());
}

TEST(LayeringTest, NoCodeMakesRawSystemCalls) {
  EXPECT_THAT(ViolationsIn(AllSources(), RawCallViolations), IsEmpty());
  EXPECT_THAT(RawCallViolations({"runtime/os/x.cc", "const int fd = syscall(SYS_openat, -1, \"x\");\n"}), SizeIs(1));
  EXPECT_THAT(RawCallViolations({"runtime/os/x.cc", "#include <sys/syscall.h>\n"}), SizeIs(1));
  EXPECT_THAT(RawCallViolations({"runtime/os/x.cc", "// getdents64(), not syscall()\n"}), IsEmpty());
}

TEST(LayeringTest, NoSourceFileHasAUsingNamespaceDirective) {
  std::vector<SourceFile> sources = AllSources();
  std::vector<SourceFile> tests = ReadSources(SourceFolder(), "tests");
  std::move(tests.begin(), tests.end(), std::back_inserter(sources));
  EXPECT_THAT(ViolationsIn(sources, UsingNamespaceViolations), IsEmpty());
}

TEST(LayeringTest, AnIncludeOfAHeaderFromAHigherLayerIsReportedWithFileAndLine) {
  const SourceFile upwards{"runtime/job/job_spec.cc", "#include <string>\n#include \"am/core/job.h\"\n"};
  EXPECT_THAT(ArrowViolations(upwards),
              ElementsAre("runtime/job/job_spec.cc:2: runtime/job may not know am/core/job.h"));
}

TEST(LayeringTest, AnIncludeFromASiblingFolderIsReported) {
  EXPECT_THAT(ArrowViolations({"am/core/job.cc", "#include \"runtime/backend/scheduler.h\"\n"}), SizeIs(1));
  EXPECT_THAT(ArrowViolations({"am/core/job.cc", "#include \"executor/task_run.h\"\n"}), SizeIs(1));
  EXPECT_THAT(ArrowViolations({"executor/main.cc", "#  include \"runtime/backend/scheduler.h\"\n"}), SizeIs(1));
}

TEST(LayeringTest, AnAllowedIncludeAndACommentedOutIncludeAreNotReported) {
  EXPECT_THAT(ArrowViolations({"am/core/job.cc", "#include \"runtime/job/ids.h\"\n// #include \"executor/main.h\"\n"}),
              IsEmpty());
}

TEST(LayeringTest, AFileOrIncludeOfAFolderOutsideTheLayerTableIsReported) {
  EXPECT_THAT(ArrowViolations({"runtime/novel/x.cc", ""}), SizeIs(1));
  EXPECT_THAT(ArrowViolations({"am/core/job.cc", "#include \"runtime/novel/x.h\"\n"}), SizeIs(1));
}

TEST(LayeringTest, AThirdPartyLibraryInAHeaderIsReportedEvenInTheAdaptersFolder) {
  EXPECT_THAT(ThirdPartyViolations({"runtime/config/hadoop_xml.h", "#include <pugixml.hpp>\n"}), SizeIs(1));
  EXPECT_THAT(ThirdPartyViolations({"runtime/rpc/am_connection.h", "#include \"tony_types.h\"\n"}), SizeIs(1));
  EXPECT_THAT(ThirdPartyViolations({"runtime/config/xml_text.cc", "#include <pugixml.hpp>\n"}), IsEmpty());
}

TEST(LayeringTest, AThirdPartyLibraryOutsideItsAdapterIsReported) {
  EXPECT_THAT(ThirdPartyViolations({"executor/executor.cc", "#include <boost/process/v2.hpp>\n"}), SizeIs(1));
  EXPECT_THAT(ThirdPartyViolations({"am/am_service.cc", "#include <thrift/Thrift.h>\n"}), SizeIs(1));
  EXPECT_THAT(ThirdPartyViolations({"am/am_service.cc", "#include \"tony_types.h\"\n"}), SizeIs(1));
  EXPECT_THAT(ThirdPartyViolations({"am/main.cc", "#include <spdlog/spdlog.h>\n"}), SizeIs(1));
}

TEST(LayeringTest, OnlyAnAdaptersSourcesMayIncludeItsPrivateHeader) {
  EXPECT_THAT(ThirdPartyViolations({"runtime/rpc/convert.h", "#include \"tony_types.h\"\n"}), IsEmpty());
  EXPECT_THAT(ThirdPartyViolations({"runtime/rpc/rpc_server.cc", "#include \"runtime/rpc/convert.h\"\n"}), IsEmpty());
  EXPECT_THAT(ThirdPartyViolations({"am/main.cc", "#include \"runtime/rpc/convert.h\"\n"}), SizeIs(1));
  EXPECT_THAT(ThirdPartyViolations({"runtime/rpc/rpc_server.h", "#include \"runtime/rpc/convert.h\"\n"}), SizeIs(1));
  EXPECT_THAT(ThirdPartyViolations({"am/main.cc", "#include \"runtime/rpc/rpc_server.h\"\n"}), IsEmpty());
  EXPECT_THAT(ThirdPartyViolations({"am/main.cc", "#include \"runtime/hadoop/sasl.h\"\n"}), SizeIs(1));
  EXPECT_THAT(ThirdPartyViolations({"runtime/hadoop/yarn_clients.h", "#include \"runtime/hadoop/sasl.h\"\n"}),
              SizeIs(1));
  EXPECT_THAT(ThirdPartyViolations({"runtime/hadoop/yarn_clients.cc", "#include \"runtime/hadoop/sasl.h\"\n"}),
              IsEmpty());
}

TEST(LayeringTest, AnIncludePathWithoutAFolderIsReported) {
  EXPECT_THAT(ThirdPartyViolations({"am/core/job.cc", "#include \"job.h\"\n"}), SizeIs(1));
}

TEST(LayeringTest, ClocksThreadsAndThirdPartyLibrariesInAPureCoreAreReported) {
  EXPECT_THAT(PurityViolations({"am/core/job.cc", "#include <thread>\n"}), SizeIs(1));
  EXPECT_THAT(PurityViolations({"am/core/job.cc", "auto t = std::chrono::system_clock::now();\n"}), SizeIs(1));
  EXPECT_THAT(PurityViolations({"am/core/job.cc", "const char* home = getenv(\"HOME\");\n"}), SizeIs(1));
  EXPECT_THAT(PurityViolations({"am/core/job.cc", "#include \"runtime/base/event_loop.h\"\n"}), SizeIs(1));
  EXPECT_THAT(PurityViolations({"am/core/job.cc", "#include <boost/json.hpp>\n"}), SizeIs(1));
  EXPECT_THAT(PurityViolations({"runtime/records/journal_format.cc", "#include <boost/json.hpp>\n"}), IsEmpty());
}

TEST(LayeringTest, APureCoreConsistsOfItsSourcesAndTheirHeadersInTheSameFolder) {
  const std::vector<SourceFile> sources = {
      {"am/core/job.cc", "#include \"am/core/job.h\"\n"},
      {"am/core/job.h", "#include \"am/core/states.h\"\n#include \"runtime/job/ids.h\"\n"},
      {"am/core/states.h", ""},
      {"am/core/other.cc", "#include \"am/core/job.h\"\n"}};
  const char* cmake_lists =
      "tony_library(tony_am_core\n  SOURCES job.cc\n)\ntony_library(tony_am\n  SOURCES other.cc)\n";
  EXPECT_THAT(PureCores(sources, "am/core", cmake_lists),
              ElementsAre("am/core/job.cc", "am/core/job.h", "am/core/states.h"));
}

TEST(LayeringTest, AnIndentedUsingNamespaceDirectiveIsReported) {
  EXPECT_THAT(UsingNamespaceViolations({"am/core/job.cc", "  using namespace std;\n"}), SizeIs(1));
  EXPECT_THAT(UsingNamespaceViolations({"am/core/job.cc", "using std::string;  // not: using namespace\n"}), IsEmpty());
}

}  // namespace
}  // namespace tony::layering
