#include "runtime/portal/portal.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/page/html.h"
#include "runtime/page/job_page.h"

namespace tony {
namespace {

// A request to a user's process is a little longer than the request of the browser, and must fit into a header as well.
constexpr size_t kLongestTarget = RequestReader::kLongestHeader - 1024;
constexpr size_t kMostComplaints = 10;
constexpr size_t kLongestJob = 200;  // bytes of an id

HttpAnswer Page(std::string html, int status = 200) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = std::make_shared<const std::string>(std::move(html));
  return answer;
}

HttpAnswer Message(int status, std::string_view title, std::string_view text, const std::string& up) {
  return Page(WholePage({std::string(title), up, ""}, StrCat(Element("h1", title), Element("p", text),
                                                             "<p class=\"links\">", Link(up, "All jobs"), "</p>\n")),
              status);
}

std::string VisitorWord(const Visitor& visitor) { return visitor.sees_all ? "*" : "=" + PercentEncoded(visitor.name); }

// Returns the address of a request to a user's process: "/VISITOR/WHAT/REST?QUERY".
std::string Target(const Visitor& visitor, const std::string& what, const HttpRequest& request, size_t from) {
  std::string target = StrCat("/", VisitorWord(visitor), "/", what);
  for (size_t i = from; i < request.path.size(); ++i) target += "/" + PercentEncoded(request.path[i]);
  std::string_view before = "?";
  for (const auto& [name, value] : request.query)
    target += StrCat(std::exchange(before, "&"), PercentEncoded(name), "=", PercentEncoded(value));
  return target;
}

// The time that a list waits for all processes. The list is shown without the jobs of slower ones.
constexpr Duration kListPatience{3'000};

// Collects the answers of several processes. Calls `done` when all have arrived, or at a time limit.
struct Gathering {
  size_t missing = 0;
  std::map<std::string, Result<HttpAnswer>> answers;
  std::function<void(Gathering&)> done;
  EventLoop::Timer limit;

  void Take(const std::string& name, Result<HttpAnswer> answer) {
    answers.emplace(name, std::move(answer));
    if (--missing == 0) Finish();
  }
  void Finish() {
    limit.reset();
    if (const auto told = std::exchange(done, nullptr)) told(*this);
  }
};

}  // namespace

void Portal::Serve(const HttpRequest& request, const HttpReply& reply) {
  // The pages name these files in folders of many depths. They have no secrets, and a user's process cannot send them.
  if (auto asset = AssetAnswer(request.path.back())) return reply.Send(*std::move(asset));
  Entrance entrance = Enter(parts_.door, request);
  if (!entrance.visitor) return reply.Send(std::move(entrance.answer));
  if (entrance.base.empty()) return Serve(*entrance.visitor, request, reply);
  if (request.path.size() == 1) return reply.Send(AddSlash(request));
  HttpRequest below = request;
  below.path.erase(below.path.begin());
  Serve(*entrance.visitor, below, reply);
}

void Portal::Serve(const Visitor& visitor, const HttpRequest& request, const HttpReply& reply) {
  const std::vector<std::string>& path = request.path;
  if (request.method != HttpMethod::kGet && request.method != HttpMethod::kHead) return reply.Send(TextAnswer(405, ""));
  if (path.size() == 1 && path[0].empty()) return ServeList(visitor, request, reply);
  if (path.size() == 1 && path[0] == "compare") return Compare(visitor, request, reply);
  if (path.size() >= 2 && path[0].starts_with('~')) return ServeJob(visitor, request, reply);
  if (path.size() >= 2 && path[0] == "jobs") return FindJob(visitor, request, 1, reply);
  const bool is_job = path[0].starts_with("local-") || path[0].starts_with("application_");
  if (is_job) return FindJob(visitor, request, 0, reply);
  reply.Send(Message(404, "Not found", "The portal has no such page.", UpFrom(request)));
}

std::vector<std::string> Portal::UserNames() {
  std::vector<std::string> names;
  const std::vector<User> users = parts_.users();
  for (const User& user : users) {
    names.push_back(user.name);
    Reader& reader = readers_[user.name];
    if (reader.process && reader.uid == user.uid) continue;
    const auto start = [this, uid = user.uid](int socket) { return parts_.start(uid, socket); };
    reader = {user.uid, std::make_unique<ReaderProcess>(parts_.loop, start, parts_.limits)};
  }
  std::erase_if(readers_, [&](const auto& each) { return std::ranges::count(names, each.first) == 0; });
  return names;
}

ReaderProcess* Portal::ReaderOf(const std::string& user) {
  if (!readers_.contains(user)) UserNames();
  const auto found = readers_.find(user);
  return found == readers_.end() ? nullptr : found->second.process.get();
}

void Portal::ServeList(const Visitor& visitor, const HttpRequest& request, const HttpReply& reply) {
  const JobQuery query = ReadJobQuery(request.query);
  std::vector<std::string> users = UserNames();
  const bool many = users.size() > 1;
  if (!query.user.empty()) std::erase_if(users, [&](const std::string& name) { return name != query.user; });
  const auto all = std::make_shared<Gathering>();
  all->missing = users.size();
  all->done = [query, reply, many, visitor, users, now = parts_.loop.Now()](Gathering& gathered) {
    UserJobs jobs;
    size_t unread = 0;
    for (const std::string& user : users) {
      const auto found = gathered.answers.find(user);
      const Result<HttpAnswer> answer =
          found == gathered.answers.end() ? UnavailableError("they have not been read yet") : found->second;
      auto its = answer.ok() && answer->status == 200 ? UserJobsFromJson(*answer->body)
                 : answer.ok()                        ? Result<UserJobs>(UnavailableError(FirstLine(*answer->body)))
                                                      : Result<UserJobs>(answer.error());
      if (!its.ok()) {
        if (++unread <= kMostComplaints && visitor.sees_all)
          jobs.complaints.push_back(StrCat("The jobs of ", user, " cannot be read: ", its.error().message));
        continue;
      }
      if (its->rows.size() > query.page * kJobsPerPage) its->rows.resize(query.page * kJobsPerPage);
      for (JobRow& row : its->rows) {
        row.user = user;
        jobs.rows.push_back(std::move(row));
      }
      jobs.matched += its->matched;
      for (const std::string& complaint : its->complaints)
        if (jobs.complaints.size() < kMostComplaints) jobs.complaints.push_back(complaint);
    }
    SortRows(jobs.rows, query);
    reply.Send(Page(PortalListHtml({query, jobs, now, many})));
  };
  if (users.empty()) return all->Finish();
  all->limit = parts_.loop.After(kListPatience, [all] { all->Finish(); });
  for (const std::string& user : users) {
    readers_[user].process->Ask(StrCat("/", VisitorWord(visitor), "/list?", ToText(query)),
                                [all, user](Result<HttpAnswer> answer) { all->Take(user, std::move(answer)); });
  }
}

void Portal::ServeJob(const Visitor& visitor, const HttpRequest& request, const HttpReply& reply) {
  const std::string up = UpFrom(request);
  ReaderProcess* reader = ReaderOf(request.path[0].substr(1));
  if (!reader || request.path[1].empty()) return reply.Send(Message(404, "Not found", "This job is not known.", up));
  const std::string target = Target(visitor, "jobs", request, 1);
  if (target.size() > kLongestTarget) return reply.Send(TextAnswer(431, "this address is too long\n"));
  // The address of a job's page ends with a slash, so that relative links continue from it.
  if (request.path.size() == 2) return reply.Send(AddSlash(request));
  reader->Ask(target, [reply, up](Result<HttpAnswer> answer) {
    if (!answer.ok())
      return reply.Send(Message(503, "The job cannot be read",
                                StrCat("The process that reads it failed: ", answer.error().message), up));
    if (answer->status == 404 && answer->body && *answer->body == *NotFound().body)
      return reply.Send(Message(404, "Not found", "This job or page is not known; tony gc may have removed it.", up));
    if (answer->status == 403) return reply.Send(Message(403, "Not permitted", "You may not see this job.", up));
    reply.Send(*std::move(answer));
  });
}

// Redirects to the page of the job in the request's path. Asks all processes, because only they know the users' jobs.
void Portal::FindJob(const Visitor& visitor, const HttpRequest& request, size_t at, const HttpReply& reply) {
  const std::string up = UpFrom(request), job = request.path[at];
  if (job.empty() || job.size() > kLongestJob)
    return reply.Send(Message(404, "Not found", "This job is not known.", up));
  std::string rest;
  for (size_t i = at + 1; i < request.path.size() && !request.path[i].empty(); ++i)
    rest += StrCat(PercentEncoded(request.path[i]), i + 1 < request.path.size() ? "/" : "");
  const std::vector<std::string> users = UserNames();
  const auto all = std::make_shared<Gathering>();
  all->missing = users.size();
  all->done = [job, up, rest, reply](Gathering& gathered) {
    const auto with = [&](int status) {
      return std::ranges::find_if(gathered.answers,
                                  [&](const auto& each) { return each.second.ok() && each.second->status == status; });
    };
    if (const auto found = with(200); found != gathered.answers.end()) {
      HttpAnswer answer = TextAnswer(307, "");
      answer.headers.emplace_back("Location", StrCat(up, JobPath(found->first, {job}), rest));
      return reply.Send(std::move(answer));
    }
    if (with(403) != gathered.answers.end())
      return reply.Send(Message(403, "Not permitted", "You may not see this job.", up));
    reply.Send(Message(404, "Not found", "This job is not known; tony gc may have removed it.", up));
  };
  if (users.empty()) return all->Finish();
  all->limit = parts_.loop.After(kListPatience, [all] { all->Finish(); });
  for (const std::string& user : users) {
    readers_[user].process->Ask(StrCat("/", VisitorWord(visitor), "/jobs/", PercentEncoded(job)),
                                [all, user](Result<HttpAnswer> answer) { all->Take(user, std::move(answer)); });
  }
}

void Portal::Compare(const Visitor& visitor, const HttpRequest& request, const HttpReply& reply) {
  std::vector<std::pair<std::string, std::string>> chosen;  // user, job
  for (const auto& [name, value] : request.query) {
    const size_t slash = name.find('/');
    if (name.starts_with('~') && slash != std::string::npos)
      chosen.emplace_back(name.substr(1, slash - 1), name.substr(slash + 1));
  }
  if (chosen.size() != 2)
    return reply.Send(Message(400, "Two jobs are compared",
                              StrCat("Choose exactly two jobs in the list, not ", chosen.size(), "."), "./"));
  const auto all = std::make_shared<Gathering>();
  all->missing = 2;
  all->done = [reply, chosen](Gathering& gathered) {
    std::vector<JobFacts> facts;
    for (const auto& [job, answer] : gathered.answers) {
      if (!answer.ok() || answer->status != 200)
        return reply.Send(Message(answer.ok() ? answer->status : 503, "A job cannot be compared",
                                  StrCat(answer.ok() ? FirstLine(*answer->body) : answer.error().message), "./"));
      auto read = JobFactsFromJson(*answer->body);
      if (!read.ok()) return reply.Send(Message(503, "A job cannot be compared", read.error().message, "./"));
      facts.push_back(*std::move(read));
    }
    const auto path = [&](size_t i) { return JobPath(chosen[i].first, {chosen[i].second}); };
    reply.Send(Page(CompareHtml({facts[0], facts[1]}, {path(0), path(1)})));
  };
  for (size_t i = 0; i < 2; ++i) {
    const auto take = [all, key = StrCat(i)](Result<HttpAnswer> answer) { all->Take(key, std::move(answer)); };
    ReaderProcess* reader = ReaderOf(chosen[i].first);
    if (!reader) {
      take(NotFound());
    } else {
      reader->Ask(StrCat("/", VisitorWord(visitor), "/facts/", PercentEncoded(chosen[i].second)), take);
    }
  }
}

}  // namespace tony
