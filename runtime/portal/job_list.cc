#include "runtime/portal/job_list.h"

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/job/job_status.h"
#include "runtime/job/json_fields.h"
#include "runtime/page/html.h"

namespace tony {

void Fields(auto& io, Is<JobRow> auto& row) {
  io.Field("job", row.job);
  io.Field("name", row.name);
  io.Field("user", row.user);
  io.Field("state", row.state);
  io.IfSet("tags", row.tags);
  io.Field("submitted", row.submitted);
  io.IfSet("ended", row.ended);
  io.Field("tasks", row.tasks);
  io.Field("restarts", row.restarts);
  io.IfSet("news", row.news);
  io.Field("kept", row.is_kept);
}

void Fields(auto& io, Is<UserJobs> auto& jobs) {
  io.Field("jobs", jobs.rows);
  io.Field("matched", jobs.matched);
  io.Field("complaints", jobs.complaints);
}

std::string ToJson(const UserJobs& jobs) { return WriteJson(jobs); }
Result<UserJobs> UserJobsFromJson(std::string_view json) { return ReadJson<UserJobs>(json, "list of jobs"); }

namespace {

constexpr std::pair<std::string_view, JobOrder> kOrders[] = {{"submitted", JobOrder::kSubmitted},
                                                             {"took", JobOrder::kTook},
                                                             {"name", JobOrder::kName},
                                                             {"user", JobOrder::kUser},
                                                             {"state", JobOrder::kState}};
constexpr std::pair<std::string_view, std::string_view> kStates[] = {
    {"", "any state"}, {"active", "not ended"}, {"SUCCEEDED", "SUCCEEDED"}, {"FAILED", "FAILED"}, {"KILLED", "KILLED"}};

// Texts of a query are cut, because the query must fit into the header of a request.
constexpr size_t kLongestText = 200;  // bytes

std::string_view WordOf(JobOrder order) {
  return std::ranges::find(kOrders, order, &std::pair<std::string_view, JobOrder>::second)->first;
}

bool HasText(std::string_view text, std::string_view lower) { return ToLower(text).find(lower) != std::string::npos; }

Duration Took(const JobRow& row) { return row.ended ? *row.ended - row.submitted : Duration::max(); }

// Returns whether `a` stands before `b` in ascending order. Jobs that are equal in the column are ordered by time.
bool IsBefore(const JobRow& a, const JobRow& b, JobOrder order) {
  const auto by = [&](const auto& x, const auto& y) {
    return x != y ? x < y : std::tie(a.submitted, a.job.value) < std::tie(b.submitted, b.job.value);
  };
  switch (order) {
    case JobOrder::kSubmitted:
      return by(a.submitted, b.submitted);
    case JobOrder::kTook:
      return by(Took(a), Took(b));
    case JobOrder::kName:
      return by(a.name, b.name);
    case JobOrder::kUser:
      return by(a.user, b.user);
    case JobOrder::kState:
      return by(a.state, b.state);
  }
  return false;
}

}  // namespace

JobQuery ReadJobQuery(const std::map<std::string, std::string>& query) {
  const auto value = [&](const char* name) {
    const auto found = query.find(name);
    return found == query.end() ? std::string() : std::string(Trim(found->second)).substr(0, kLongestText);
  };
  JobQuery read{.text = value("q"), .user = value("user"), .tag = value("tag"), .name = value("name")};
  const auto* state = std::ranges::find(kStates, value("state"), &std::pair<std::string_view, std::string_view>::first);
  if (state != std::end(kStates)) read.state = state->first;
  const std::string sort = value("sort");
  for (const auto& [word, order] : kOrders) {
    if (sort != word && sort != StrCat("-", word)) continue;
    read.order = order;
    read.ascending = sort == word;
  }
  const auto page = ParseInt(value("page"));
  if (page && *page > 0) read.page = std::min<size_t>(static_cast<size_t>(*page), kMostPages);
  return read;
}

std::string ToText(const JobQuery& query) {
  std::vector<std::string> parts;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) parts.push_back(StrCat(name, "=", PercentEncoded(value)));
  };
  add("q", query.text);
  add("state", query.state);
  add("user", query.user);
  add("tag", query.tag);
  add("name", query.name);
  if (query.order != JobOrder::kSubmitted || query.ascending)
    add("sort", StrCat(query.ascending ? "" : "-", WordOf(query.order)));
  if (query.page > 1) add("page", StrCat(query.page));
  return Join(parts, "&");
}

bool Matches(const JobRow& row, const JobQuery& query) {
  if (query.state == "active" ? row.ended.has_value() : !query.state.empty() && row.state != query.state) return false;
  if (!query.user.empty() && row.user != query.user) return false;
  if (!query.name.empty() && !HasText(row.name, ToLower(query.name))) return false;
  if (query.text.empty()) return true;
  const std::string wanted = ToLower(query.text);
  return HasText(row.job.value, wanted) || HasText(row.name, wanted) || HasText(row.user, wanted) ||
         HasText(row.news, wanted);
}

void SortRows(std::vector<JobRow>& rows, const JobQuery& query) {
  const auto is_before = [&](const JobRow& a, const JobRow& b) {
    return query.ascending ? IsBefore(a, b, query.order) : IsBefore(b, a, query.order);
  };
  const size_t end = std::min(rows.size(), query.page * kJobsPerPage);
  std::partial_sort(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(end), rows.end(), is_before);
  rows.resize(end);
}

std::string JobPath(const std::string& user, const JobId& job) {
  return StrCat("~", PercentEncoded(user), "/", PercentEncoded(job.value), "/");
}

namespace {

std::string ListLink(const JobQuery& query, std::string_view text) { return Link(StrCat("./?", ToText(query)), text); }

// Returns a field of the search form.
std::string Input(std::string_view name, std::string_view label, const std::string& value) {
  return StrCat("<label>", Escape(label), " <input name=\"", name, "\" value=\"", Escape(value), "\"></label>\n");
}

std::string SearchForm(const JobListView& view) {
  std::string options;
  for (const auto& [word, text] : kStates)
    options +=
        StrCat("<option value=\"", word, "\"", word == view.query.state ? " selected" : "", ">", text, "</option>");
  JobQuery sorted{.order = view.query.order, .ascending = view.query.ascending};
  const std::string sort = StrCat(sorted.ascending ? "" : "-", WordOf(sorted.order));
  return StrCat("<form class=\"search\" role=\"search\" action=\"./\">\n", Input("q", "Search", view.query.text),
                "<label>State <select name=\"state\">", options, "</select></label>\n",
                Input("name", "Name", view.query.name), Input("tag", "Tag", view.query.tag),
                view.many_users ? Input("user", "User", view.query.user) : "",
                "<input type=\"hidden\" name=\"sort\" value=\"", sort, "\">\n<button>Search</button> ",
                Link("./", "All jobs"), "\n</form>\n");
}

// Returns the heading of a column, which sorts the list by this column. A second click reverses the order.
std::string SortHeading(const JobQuery& query, JobOrder order, std::string_view text) {
  JobQuery sorted = query;
  sorted.page = 1;
  sorted.order = order;
  const bool is_sorted = query.order == order;
  const bool usually_ascending = order != JobOrder::kSubmitted && order != JobOrder::kTook;
  sorted.ascending = is_sorted ? !query.ascending : usually_ascending;
  const std::string_view mark = !is_sorted ? "" : query.ascending ? " ▲" : " ▼";
  return StrCat("<th scope=\"col\">", ListLink(sorted, StrCat(text, mark)), "</th>");
}

std::string TagLinks(const std::vector<std::string>& tags) {
  std::string html;
  for (const std::string& tag : tags) html += StrCat(" ", ListLink({.tag = tag}, StrCat("#", tag)));
  return html;
}

std::string RowHtml(const JobRow& row, const JobListView& view) {
  const std::string path = JobPath(row.user, row.job);
  const std::string name = row.name.empty() ? "-" : row.name;
  const std::string end = ClockText(row.ended.value_or(view.now) - row.submitted);
  return StrCat("<tr><td class=\"choice\">",
                row.is_kept ? StrCat("<input type=\"checkbox\" name=\"", Escape(path.substr(0, path.size() - 1)),
                                     "\" value=\"1\" aria-label=\"compare ", Escape(row.job.value), "\">")
                            : "",
                "</td><td>", row.is_kept ? Link(path, name) : Escape(name), TagLinks(row.tags),
                "<br><small class=\"id\">", Escape(row.job.value), "</small></td><td>", StateBadge(row.state), "</td>",
                view.many_users ? Element("td", row.user) : "", "<td>", TimeHtml(row.submitted), "</td>",
                Element("td", end),
                Element("td", StrCat(Counted(row.tasks, "task"),
                                     row.restarts > 0 ? StrCat(", ", Counted(row.restarts, "restart")) : "")),
                Element("td", row.news), "</tr>\n");
}

std::string PageLinks(const JobListView& view, size_t first) {
  const size_t last = std::min(first + kJobsPerPage, view.jobs.rows.size());
  if (view.jobs.matched == 0) return "<p class=\"links\">No job matches.</p>\n";
  if (first >= last) return StrCat("<p class=\"links\">The list has no such page. ", Link("./", "All jobs"), "</p>\n");
  std::string html = StrCat("Jobs ", first + 1, " to ", last, " of ", view.jobs.matched);
  JobQuery other = view.query;
  other.page = view.query.page - 1;
  if (view.query.page > 1) html += StrCat(" · ", ListLink(other, "Newer"));
  other.page = view.query.page + 1;
  if (last < view.jobs.matched && view.query.page < kMostPages) html += StrCat(" · ", ListLink(other, "Next page"));
  return StrCat("<p class=\"links\">", html, "</p>\n");
}

}  // namespace

std::string PortalListHtml(const JobListView& view) {
  const JobQuery& query = view.query;
  std::string content = StrCat("<h1>Jobs</h1>\n", SearchForm(view));
  for (const std::string& complaint : view.jobs.complaints)
    content += StrCat("<p class=\"banner warn\">", Escape(complaint), "</p>\n");
  const size_t first = (query.page - 1) * kJobsPerPage;
  const std::string pages = PageLinks(view, first);
  std::string rows;
  for (size_t i = first; i < view.jobs.rows.size(); ++i) rows += RowHtml(view.jobs.rows[i], view);
  content += pages;
  if (!rows.empty())
    content +=
        StrCat("<form class=\"jobs\" action=\"compare\">\n<div class=\"wide\"><table>\n<thead><tr><th></th>",
               SortHeading(query, JobOrder::kName, "Job"), SortHeading(query, JobOrder::kState, "State"),
               view.many_users ? SortHeading(query, JobOrder::kUser, "User") : "",
               SortHeading(query, JobOrder::kSubmitted, "Submitted (UTC)"), SortHeading(query, JobOrder::kTook, "Took"),
               "<th>Tasks</th><th>First cause, or news</th></tr></thead>\n<tbody>\n", rows,
               "</tbody></table></div>\n<p><button>Compare two jobs</button></p>\n</form>\n", pages);
  return WholePage({"Jobs · TonY", "", ""}, content);
}

}  // namespace tony
