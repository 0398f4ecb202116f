// Where a page is to be found, and by whom.
//
// The first component of every address is a random token, and all that another address gets is "not found". That is the
// whole protection: pages are served on the loopback device, where other users' processes and, by their scripts, the
// web sites a browser has open reach them, too. A script cannot guess the token, also after its name was bound to
// 127.0.0.1 (DNS rebinding); so the Host header is not looked at, and a proxy in front may pass its own. Nothing sends
// the token on: it is in no header (Referrer-Policy), and a page loads nothing from elsewhere
// (Content-Security-Policy).
#pragma once

#include <filesystem>
#include <string>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/net/http_server.h"
#include "runtime/records/job_records.h"

namespace tony {

struct PageSocket {
  UniqueFd listening;
  Endpoint at;
};

// The token of the job's page. kNotFound: it has no page.
Result<std::string> ReadPageToken(const JobRecords& records);

// The token of pages that no job has made one for, in a private file: made by the first who asks, the same ever after,
// also for those who ask at once; who removes the file gets a new one. An error: there is none, and none can be made.
Result<std::string> KeepPageToken(const std::filesystem::path& file);

// A new address of the job's page, at any port of `host`, noted in the folder. Where the page had one before, its
// token is a new one, too: whoever has taken the port since then was told the old one by the first browser that asked
// again. kNotFound: the job has no page. Only for whoever may be the only one who serves it.
Result<PageSocket> ListenForPage(const JobRecords& records, const std::string& host);

// A socket that another process of the job has opened for its page: the address stays as long as one of them lives.
Result<PageSocket> AdoptPageSocket(UniqueFd listening);

// By this variable a keeper tells the master that it starts which descriptor is the page's socket; empty: none.
inline constexpr char kPageSocketVariable[] = "TONY_PAGE_SOCKET";
UniqueFd InheritedPageSocket();  // of this process; once. Not valid: there is none

std::string PageUrl(const Endpoint& at, const std::string& token);  // "http://127.0.0.1:4711/TOKEN/"

bool HasToken(const HttpRequest& request, const std::string& token);

}  // namespace tony
