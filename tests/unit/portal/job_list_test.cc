#include "runtime/portal/job_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const Instant kStart = FromMillis(1763717415000);

JobRow Row(const std::string& id, const std::string& name, const std::string& state, int64_t at) {
  JobRow row{.job = {id}, .name = name, .user = "ann", .state = state};
  row.submitted = kStart + Duration(at);
  if (state != "RUNNING") row.ended = row.submitted + Duration(1000);
  return row;
}

std::vector<std::string> Ids(const std::vector<JobRow>& rows) {
  std::vector<std::string> ids;
  for (const JobRow& row : rows) ids.push_back(row.job.value);
  return ids;
}

TEST(JobQueryTest, AQueryIsReadAndWrittenInTheSameWay) {
  const JobQuery query = ReadJobQuery({{"q", " a&b "},
                                       {"state", "FAILED"},
                                       {"user", "ann"},
                                       {"tag", "x y"},
                                       {"name", "n"},
                                       {"sort", "-took"},
                                       {"page", "3"}});
  EXPECT_EQ(ToText(query), "q=a%26b&state=FAILED&user=ann&tag=x%20y&name=n&sort=-took&page=3");
  EXPECT_EQ(ToText(ReadJobQuery({})), "");
}

TEST(JobQueryTest, WrongValuesCountAsMissingAndLongValuesAreCut) {
  EXPECT_EQ(ToText(ReadJobQuery({{"state", "x"}, {"sort", "x"}, {"page", "-1"}})), "");
  EXPECT_EQ(ReadJobQuery({{"page", "99999999999"}}).page, kMostPages);
  EXPECT_EQ(ReadJobQuery({{"q", std::string(5000, 'x')}}).text.size(), 200u);
}

TEST(JobQueryTest, ARowMatchesIfAllGivenValuesMatch) {
  JobRow row = Row("local-1", "Train", "FAILED", 0);
  row.news = "worker:1 failed: OOM";
  EXPECT_TRUE(Matches(row, {.text = "oom"}));
  EXPECT_TRUE(Matches(row, {.text = "LOCAL-1", .state = "FAILED", .user = "ann", .name = "rai"}));
  EXPECT_FALSE(Matches(row, {.text = "else"}));
  EXPECT_FALSE(Matches(row, {.state = "active"}));
  EXPECT_TRUE(Matches(Row("local-2", "", "RUNNING", 0), {.state = "active"}));
  EXPECT_FALSE(Matches(row, {.user = "bob"}));
}

TEST(JobQueryTest, RowsAreSortedByTheColumnAndCutBehindThePage) {
  std::vector<JobRow> rows = {Row("local-1", "b", "FAILED", 1), Row("local-2", "a", "RUNNING", 2),
                              Row("local-3", "c", "FAILED", 3)};
  SortRows(rows, {});
  EXPECT_THAT(Ids(rows), ElementsAre("local-3", "local-2", "local-1"));
  SortRows(rows, {.order = JobOrder::kName, .ascending = true});
  EXPECT_THAT(Ids(rows), ElementsAre("local-2", "local-1", "local-3"));
  SortRows(rows, {.order = JobOrder::kTook});
  EXPECT_EQ(Ids(rows).front(), "local-2") << "a running job takes longest";
  std::vector<JobRow> many(120, Row("local-1", "", "FAILED", 0));
  SortRows(many, {.page = 2});
  EXPECT_EQ(many.size(), 2 * kJobsPerPage);
}

TEST(UserJobsTest, TheJobsOfAUserSurviveJson) {
  UserJobs jobs{.rows = {Row("local-1", "n", "RUNNING", 0)}, .matched = 7, .complaints = {"one"}};
  jobs.rows[0].tags = {"a"};
  const auto read = UserJobsFromJson(ToJson(jobs));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->rows, jobs.rows);
  EXPECT_EQ(read->matched, 7u);
  EXPECT_EQ(read->complaints, jobs.complaints);
  EXPECT_FALSE(UserJobsFromJson("[]").ok());
}

TEST(PortalListHtmlTest, TextFromUsersIsEscaped) {
  const std::string evil = "<script>x</script>\"'";
  UserJobs jobs{.rows = {Row("local-1", evil, "FAILED", 0)}, .matched = 1, .complaints = {evil}};
  jobs.rows[0].user = jobs.rows[0].news = evil;
  jobs.rows[0].tags = {evil};
  const JobQuery query{.text = evil, .tag = evil, .name = evil};
  const std::string html = PortalListHtml({query, jobs, kStart, /*many_users=*/true});
  EXPECT_THAT(html, Not(HasSubstr("<script>x")));
  EXPECT_THAT(html, Not(HasSubstr(evil)));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;x"));
}

TEST(PortalListHtmlTest, PagesLeadToEachOtherAndKeepTheQuery) {
  UserJobs jobs{.rows = std::vector<JobRow>(100, Row("local-1", "n", "FAILED", 0)), .matched = 101};
  const std::string html = PortalListHtml({{.state = "FAILED", .page = 2}, jobs, kStart});
  EXPECT_THAT(html, AllOf(HasSubstr("Jobs 51 to 100 of 101"), HasSubstr("<a href=\"./?state=FAILED\">Newer</a>"),
                          HasSubstr("<a href=\"./?state=FAILED&amp;page=3\">Next page</a>")));
}

TEST(PortalListHtmlTest, AJobWithoutAFolderHasNoLink) {
  UserJobs jobs{.rows = {Row("local-1", "n", "FAILED", 0)}, .matched = 1};
  EXPECT_THAT(PortalListHtml({{}, jobs, kStart}), HasSubstr("href=\"~ann/local-1/\""));
  jobs.rows[0].is_kept = false;
  EXPECT_THAT(PortalListHtml({{}, jobs, kStart}), Not(HasSubstr("~ann/local-1")));
}

}  // namespace
}  // namespace tony
