#include "runtime/page/side_html.h"

#include "runtime/base/strings.h"
#include "runtime/job/task_text.h"
#include "runtime/page/html.h"
#include "runtime/page/page_frame.h"

namespace tony {
namespace {

constexpr std::string_view kToJob = "../../../";  // from logs/worker-3/1/stderr

std::string Pieces(const LogView& view) {
  const std::string other = view.stream == "stdout" ? "stderr" : "stdout";
  std::string html = Link(StrCat(kToJob, "./"), "The job");
  html += StrCat(" · ", Link(other, other), " · ", Link("executor.log", "executor.log"));
  html += StrCat(" · ", Link(StrCat(view.stream, "?cursor=0"), "From the beginning"));
  if (view.piece.next < view.piece.size)
    html += StrCat(" · ", Link(StrCat(view.stream, "?cursor=", view.piece.next), "Go on"));
  html += StrCat(" · ", Link(view.stream, "The end"), " · ", Link(StrCat(view.stream, ".txt"), "Plain text"));
  return StrCat("<p class=\"links\">", html, "</p>\n");
}

}  // namespace

std::string LogHtml(const LogView& view) {
  const std::string title = StrCat(ToString(view.attempt), " ", view.stream);
  const LogPiece& piece = view.piece;
  const std::string where =
      piece.size == 0 ? "Nothing was written."
                      : StrCat("From byte ", piece.begin, " of ", piece.size, " (", SizeText(piece.size), ").");
  const std::string content =
      StrCat(Element("h1", title), "\n", Pieces(view), Element("p", "counts", where), "\n<pre id=\"log\" data-text=\"",
             Escape(view.stream), ".txt\" data-cursor=\"", view.at_end ? StrCat(piece.next) : "", "\">",
             Escape(ReadableLog(piece.text)), "</pre>\n");
  return WholePage({title, std::string(kToJob), ""}, content);
}

std::string ConfigurationHtml(const Configuration& configuration) {
  std::string content = StrCat(
      "<h1>Configuration</h1>\n<p class=\"links\">", Link("./", "The job"),
      "</p>\n<div class=\"wide\"><table>\n<thead><tr><th>Key</th><th>Value</th><th>From</th></tr></thead>\n<tbody>\n");
  for (const ConfiguredValue& value : configuration) {
    content += StrCat("<tr><td>", Element("code", value.key), "</td><td>", Element("code", value.value), "</td>",
                      Element("td", value.source), "</tr>\n");
  }
  return WholePage({"Configuration", "", ""}, content + "</tbody></table></div>\n");
}

std::string JobListHtml(const std::vector<ListedJob>& jobs, bool more) {
  std::string content =
      "<h1>Jobs</h1>\n<div class=\"wide\"><table>\n<thead><tr><th>Job</th><th>State</th><th>Name</th><th>User</th>"
      "<th>Submitted</th><th>Took</th><th>First cause</th></tr></thead>\n<tbody>\n";
  for (const ListedJob& job : jobs) {
    content +=
        StrCat("<tr><td>", job.kept ? Link(StrCat(job.job.value, "/"), job.job.value) : Escape(job.job.value),
               "</td><td>", StateBadge(job.state), "</td>", Element("td", job.name), Element("td", job.user), "<td>",
               TimeHtml(job.submitted), "</td>", Element("td", job.ended ? ClockText(*job.ended - job.submitted) : "-"),
               Element("td", job.cause), "</tr>\n");
  }
  content += "</tbody></table></div>\n";
  if (jobs.empty()) content += "<p>None.</p>\n";
  if (more) content += "<p>There are older ones: <code>tony history</code> finds them.</p>\n";
  return WholePage({"Jobs", "", ""}, content);
}

}  // namespace tony
