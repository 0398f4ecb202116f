#include "runtime/page/job_page.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/logs/log_source.h"
#include "runtime/os/files.h"
#include "runtime/page/html.h"
#include "runtime/page/job_html.h"
#include "runtime/page/merged_logs.h"
#include "runtime/records/journal_format.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {
namespace {

constexpr int64_t kLongestWait = 30;  // seconds
constexpr int64_t kLogPiece = 64 << 10;
constexpr int64_t kLongestLogPiece = 256 << 10;
// Reading the journal of a big job is expensive. After a read, the page does not read the journal again for a time that
// is 20 times as long as the read.
constexpr int kReadingShare = 20;
// The longest time that a browser is expected to need between the arrival of a page and its script's request for news.
constexpr Duration kShowing{1000};

HttpAnswer Page(std::string html) {
  HttpAnswer answer;
  answer.body = std::make_shared<const std::string>(std::move(html));
  return answer;
}

HttpAnswer Json(std::shared_ptr<const std::string> json) {
  HttpAnswer answer;
  answer.content_type = "application/json";
  answer.body = std::move(json);
  return answer;
}

// Returns the number `name` of the query; `otherwise` if the query does not contain `name`; nullopt if the value is not
// a number from 0 to `most`.
std::optional<int64_t> Number(const HttpRequest& request, const std::string& name, int64_t otherwise, int64_t most) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return otherwise;
  const auto number = ParseInt(found->second);
  return number && *number >= 0 && *number <= most ? number : std::nullopt;
}

// Returns the attempt that two components of a URL name; nullopt if the job has no such attempt. Without this check a
// visitor's text would become part of a file's path.
std::optional<AttemptId> KnownAttempt(const JobStatus& status, const std::string& folder, const std::string& number) {
  const auto attempt = ParseInt(number);
  if (!attempt || std::to_string(*attempt) != number) return std::nullopt;
  for (const TaskStatus& task : status.tasks) {
    if (FolderName(task.id) == folder && *attempt >= 1 && *attempt <= task.attempt)
      return AttemptId{task.id, static_cast<int>(*attempt)};
  }
  return std::nullopt;
}

// The name of a log in a URL. With the ending ".txt" (stderr.txt) the visitor gets only the text of the log, without a
// page around it.
struct LogName {
  std::string stream;
  bool plain = false;
};
std::optional<LogName> ReadLogName(std::string name, int processes) {
  const bool plain = name.ends_with(".txt");
  if (plain) name.resize(name.size() - 4);
  const std::vector<std::string> known = LogNames(processes);
  if (std::ranges::find(known, name) == known.end()) return std::nullopt;
  return LogName{std::move(name), plain};
}

Result<HistoryDocument> ReadTold(const JobRecords& records, const JobStatus& status, Instant now) {
  TRY_ASSIGN(const auto bytes, records.ReadJournal());
  if (!bytes) return Error{ErrorCode::kNotFound, StrCat(records.PlaceOfJournal(), ": the job has no journal yet")};
  TRY_ASSIGN(const DecodedJournal journal, DecodeJournal(*bytes));
  HistoryDocument told{.status = status};
  told.torn_bytes = bytes->size() - journal.valid_bytes;
  told.history = HistoryOf(journal.decisions, status.submitted, status.ended.value_or(now));
  return told;
}

}  // namespace

std::optional<HttpAnswer> AssetAnswer(const std::string& name) {
  if (name != "page.css" && name != "page.js") return std::nullopt;
  HttpAnswer answer = Page(std::string(name == "page.css" ? kPageStyle : kPageScript));
  answer.content_type = name == "page.css" ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8";
  return answer;
}

// The redirect is relative, like all links of the page, so a prefix that a proxy has put before the path stays.
HttpAnswer AddSlash(const HttpRequest& request) {
  HttpAnswer answer = TextAnswer(308, "");
  answer.headers.emplace_back("Location", StrCat("./", request.path.back(), "/"));
  return answer;
}

void JobPage::Serve(const HttpRequest& request, size_t below, const HttpReply& reply) {
  const size_t left = request.path.size() - below;
  if (left == 0) return reply.Send(AddSlash(request));
  const std::string& name = request.path[below];
  if (left == 4 && name == "logs") return ServeLog(request, below, reply);
  const bool all = request.query.contains("all");
  if (left == 2 && name == "logs" && request.path.back().empty())
    return ServeStatus(request, {Form::Document::kLogs, all}, reply);
  if (left == 2 && name == "logs" && request.path.back() == "all") return ServeMergedLogs(request, reply);
  if (left != 1) return reply.Send(NotFound());
  if (name.empty()) return ServeStatus(request, {Form::Document::kJob, all}, reply);
  if (name == "logs") return reply.Send(AddSlash(request));
  if (name == "status.json") return ServeStatus(request, {Form::Document::kJson}, reply);
  if (name == "history.json") return ServeHistory(reply);
  if (name == "conf") return reply.Send(ConfigurationAnswer());
  if (name == "tensorboard") return ServeTensorBoard(reply);
  reply.Send(AssetAnswer(name).value_or(NotFound()));
}

bool JobPage::ExpectsVisitor() const { return !shown_.empty() && parts_.loop.Now() - shown_.back() < kShowing; }

void JobPage::ServeStatus(const HttpRequest& request, Form form, const HttpReply& reply) {
  const auto since = Number(request, "since", -1, INT64_MAX);
  const auto timeout = Number(request, "timeout", 0, INT64_MAX);
  if (!since || !timeout) return reply.Send(TextAnswer(400, "since and timeout must be whole numbers\n"));
  const int64_t longest = parts_.pause > Duration(0) ? 0 : kLongestWait;
  const Duration limit = std::chrono::seconds(std::min(*timeout, longest));
  if (form.document != Form::Document::kJson && request.query.contains("since") && !shown_.empty()) shown_.pop_front();
  const auto answer = [this, form, reply](const Shown& shown) { reply.Send(StatusAnswer(shown, form)); };
  if (request.query.contains("since")) return feed_.Next(*since, limit, answer);
  feed_.Latest(answer);
}

HttpAnswer JobPage::StatusAnswer(const Shown& shown, Form form) {
  if (!shown) return TextAnswer(503, "the job's application master does not answer; try again\n");
  if (form.document == Form::Document::kJson) {
    if (!shown->json) shown->json = std::make_shared<const std::string>(ToJson(shown->status) + "\n");
    return Json(shown->json);
  }
  if (!shown->status.verdict) shown_.push_back(parts_.loop.Now());
  while (!shown_.empty() && parts_.loop.Now() - shown_.front() >= kShowing) shown_.pop_front();
  auto& pages = form.document == Form::Document::kLogs ? shown->logs_page : shown->job_page;
  auto& page = pages[form.all_tasks ? 1 : 0];
  if (!page) page = std::make_shared<const std::string>(Html(*shown, form));
  HttpAnswer answer;
  answer.body = page;
  return answer;
}

std::string JobPage::Html(const ShownStatus& shown, Form form) {
  if (form.document == Form::Document::kLogs) {
    return LogListHtml({.status = shown.status,
                        .logs = [this](const TaskStatus& task, int most) { return ListLogs(*parts_.logs, task, most); },
                        .all_tasks = form.all_tasks,
                        .ends_with_job = parts_.ends_with_job,
                        .pause = parts_.pause});
  }
  const HistoryDocument* told = Told(shown.status);
  return JobHtml({.status = shown.status,
                  .history = told ? &told->history : nullptr,
                  .now = shown.time,
                  .all_tasks = form.all_tasks,
                  .ends_with_job = parts_.ends_with_job,
                  .pause = parts_.pause,
                  .list = parts_.list});
}

void JobPage::ServeHistory(const HttpReply& reply) {
  feed_.Latest([this, reply](const Shown& shown) {
    const HistoryDocument* told = shown ? Told(shown->status) : nullptr;
    if (!told) return reply.Send(TextAnswer(503, "the job's journal cannot be read\n"));
    reply.Send(Json(std::make_shared<const std::string>(HistoryJson(*told, /*with_events=*/false) + "\n")));
  });
}

// Returns the job's history; null if the journal cannot be read. The journal is read again only if the last read is old
// enough, or if the job has ended since then.
const HistoryDocument* JobPage::Told(const JobStatus& status) {
  const Instant began = parts_.loop.Now();
  const bool has_ended = told_ && status.verdict && !told_->status.verdict;
  if (began >= read_again_ || has_ended) {
    auto told = ReadTold(parts_.records, status, began);
    told_ = told.ok() ? std::make_optional(*std::move(told)) : std::nullopt;
    const Instant ended = parts_.loop.Now();
    read_again_ = ended + kReadingShare * (ended - began);
  }
  return told_ ? &*told_ : nullptr;
}

HttpAnswer JobPage::ConfigurationAnswer() const {
  const auto json = parts_.records.ReadConfiguration();
  if (!json.ok() || !*json) return TextAnswer(404, "the configuration of this job was not recorded\n");
  const auto configuration = ConfigurationFromJson(**json);
  if (!configuration.ok()) return TextAnswer(503, configuration.error().message + "\n");
  return Page(ConfigurationHtml(*configuration));
}

// A Refresh header leads the browser to TensorBoard. A redirect would not work, because YARN's proxy would follow it
// itself and show TensorBoard's first page at the address of our page.
void JobPage::ServeTensorBoard(const HttpReply& reply) {
  feed_.Latest([reply](const Shown& shown) {
    if (!shown) return reply.Send(TextAnswer(503, "the job's application master does not answer; try again\n"));
    const std::string& url = shown->status.tensorboard_url;
    HttpAnswer answer = url.empty() ? Page(NoTensorBoardHtml(shown->status)) : TextAnswer(200, url + "\n");
    if (!url.empty()) {
      answer.headers.emplace_back("Refresh", "0; url=" + url);
    } else if (!shown->status.verdict) {
      answer.headers.emplace_back("Refresh", "2");
    }
    reply.Send(std::move(answer));
  });
}

void JobPage::ServeMergedLogs(const HttpRequest& request, const HttpReply& reply) {
  const auto value = [&](const char* name) {
    const auto found = request.query.find(name);
    return found == request.query.end() ? std::string() : found->second;
  };
  const MergedQuery query{value("q"), value("task")};
  feed_.Latest([this, query, reply](const Shown& shown) {
    if (!shown) return reply.Send(TextAnswer(503, "the job's application master does not answer; try again\n"));
    const MergedLogs merged = ReadMergedLogs(*parts_.logs, shown->status, query, parts_.loop.Now());
    reply.Send(Page(MergedLogsHtml(shown->status, query, merged)));
  });
}

void JobPage::ServeLog(const HttpRequest& request, size_t below, const HttpReply& reply) {
  const auto cursor = Number(request, "cursor", -1, INT64_MAX);
  const auto most = Number(request, "max", kLogPiece, INT64_MAX);
  if (!ReadLogName(request.path[below + 3], kMostProcesses)) return reply.Send(NotFound());
  if (!cursor || !most) return reply.Send(TextAnswer(400, "cursor and max must be whole numbers\n"));
  const std::vector<std::string> path(request.path.begin() + static_cast<ptrdiff_t>(below), request.path.end());
  feed_.Latest([=, this](const Shown& shown) {
    const auto attempt = shown ? KnownAttempt(shown->status, path[1], path[2]) : std::nullopt;
    if (!attempt) return reply.Send(NotFound());
    const auto name = ReadLogName(path[3], parts_.logs->Processes(attempt->task));
    if (!name) return reply.Send(NotFound());
    const auto from = *cursor < 0 ? std::nullopt : cursor;
    // The minimum of 4 bytes has room for any UTF-8 character.
    const int64_t limit = std::clamp<int64_t>(*most, 4, kLongestLogPiece);
    const LogPiece piece = ReadLogPiece(*parts_.logs, *attempt, name->stream, from, limit);
    if (!name->plain) return reply.Send(Page(LogHtml({*attempt, name->stream, piece, !from.has_value()})));
    HttpAnswer answer = TextAnswer(200, ReadableLog(piece.text));
    answer.headers.emplace_back("X-Tony-Cursor", std::to_string(piece.next));
    reply.Send(std::move(answer));
  });
}

}  // namespace tony
