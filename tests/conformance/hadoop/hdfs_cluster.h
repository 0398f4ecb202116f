// A cluster's HDFS for checks, which are plain functions.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/hadoop/hdfs.h"
#include "tests/support/run_until.h"

namespace tony::hadoop {

inline constexpr Duration kLimit{120'000};  // far above any measured time

inline std::string UserName() { return ::geteuid() == 0 ? "root" : StrCat(::getenv("USER")); }

// The reason why a check failed; empty if it passed.
using Why = std::string;

#define MUST(condition)                                                                      \
  do {                                                                                       \
    if (!(condition)) return StrCat("line ", __LINE__, ": ", #condition, " ", cluster.said); \
  } while (false)

template <class T>
bool Is(const Result<T>& result, const T& value) {
  return result.ok() && *result == value;
}

// Returns the options for `place`: "http://HOST:PORT" is the NameNode's web server, "rpc://HOST:PORT" its RPC server,
// and "rpc://HOST:PORT,http://HOST:PORT" its RPC server and a gateway. Several NameNodes are
// "http://HOST:PORT,http://HOST:PORT" or "rpc://HOST:PORT,HOST:PORT".
inline Hdfs::Options OptionsFor(const std::string& place, const std::string& user) {
  constexpr std::string_view kRpc = "rpc://";
  Hdfs::Options options{.user = user, .limits = {.answer = 128 << 20}};
  if (place.starts_with(kRpc)) {
    for (const std::string& server : Split(place.substr(kRpc.size()), ',')) {
      if (server.starts_with("http")) {
        options.gateway = server;
      } else {
        options.rpc.name_nodes.push_back(*ParseEndpoint(server, 0));
      }
    }
  } else {
    options.bases = Split(place, ',');
  }
  return options;
}

// Makes one call after the other, as the cluster's superuser or as the ordinary user eve.
class Cluster {
 public:
  explicit Cluster(const std::string& at)
      : url(at),
        of_root_(MakeHdfs(loop, OptionsFor(url, UserName()))),
        of_eve_(MakeHdfs(loop, OptionsFor(url, "eve"))) {}

  bool has_rpc() const { return url.starts_with("rpc:"); }

  // Returns the result of a call. The newest error is in `said`.
  template <class T, class Start>
  T Run(Start start) {
    std::optional<T> result;
    const Hdfs::Handle handle = start([&](T value) { result = std::move(value); });
    RunUntil(
        loop, [&] { return result.has_value(); }, kLimit);
    if (!result) result = T(Error{ErrorCode::kInternal, "never answered"});
    said = result->ok() ? "" : result->error().message;
    return *std::move(result);
  }
  Status MakeFolders(Hdfs& hdfs, const std::string& path, int permission = 0755) {
    return Run<Status>([&](auto done) { return hdfs.MakeFolders(path, permission, done); });
  }
  Result<bool> Put(const std::string& path, std::string bytes, HdfsRename how = HdfsRename::kIfNew) {
    return Run<Result<bool>>([&](auto done) { return PutCompleteFile(eve, path, {bytes, {}, {}}, how, 0640, done); });
  }
  Result<std::string> Read(const std::string& path, int64_t offset = 0, int64_t length = 1 << 20) {
    return Run<Result<std::string>>([&](auto done) { return eve.Read(path, offset, length, done); });
  }
  Result<HdfsEntry> GetEntry(const std::string& path) {
    return Run<Result<HdfsEntry>>([&](auto done) { return eve.GetEntry(path, done); });
  }
  Result<std::vector<HdfsEntry>> List(const std::string& path) {
    return Run<Result<std::vector<HdfsEntry>>>([&](auto done) { return eve.List(path, done); });
  }
  Result<bool> SetXattr(const std::string& name, std::string_view value, HdfsXattr how = HdfsXattr::kIfNew) {
    return Run<Result<bool>>([&](auto done) { return eve.SetXattr("/user/eve", name, value, how, done); });
  }
  // Also returns an empty map after an error.
  std::map<std::string, std::string> GetXattrs() {
    using Xattrs = std::map<std::string, std::string>;
    const auto xattrs = Run<Result<Xattrs>>([&](auto done) { return eve.GetXattrs("/user/eve", done); });
    return xattrs.ok() ? *xattrs : Xattrs();
  }
  std::vector<std::string> NamesIn(const std::string& path) {
    std::vector<std::string> names;
    const auto entries = List(path);
    if (!entries.ok()) return names;
    for (const HdfsEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }
  Result<bool> Remove(const std::string& path) {
    return Run<Result<bool>>([&](auto done) { return eve.Remove(path, done); });
  }

  const std::string url;
  EventLoop loop;

 private:
  const std::unique_ptr<Hdfs> of_root_, of_eve_;

 public:
  Hdfs &root = *of_root_, &eve = *of_eve_;
  std::string said;
};

template <class Call>
inline long long MedianMicros(int count, Call call) {
  std::vector<long long> times;
  for (int i = 0; i < count; ++i) {
    const auto began = std::chrono::steady_clock::now();
    call(i);
    times.push_back(
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

struct Check {
  const char* group;
  const char* name;
  Why (*run)(Cluster&);
};

// Runs the checks of the group and returns the exit code.
template <class Checks>
int RunChecks(const std::string& suite, const Checks& checks, const std::string& url, const std::string& group) {
  Cluster cluster(url);
  const std::string way = cluster.has_rpc() ? ", by RPC" : "";
  int failed = 0;
  for (const Check& check : checks) {
    if (group != check.group) continue;
    const Instant began = cluster.loop.Now();
    const Why why = check.run(cluster);
    const auto took = static_cast<long long>((cluster.loop.Now() - began).count());
    if (why.empty()) {
      std::printf("ok %s%s: %s (%lld ms)\n", suite.c_str(), way.c_str(), check.name, took);
    } else {
      std::printf("FAILED %s%s: %s: %s\n", suite.c_str(), way.c_str(), check.name, why.c_str());
      ++failed;
    }
    std::fflush(stdout);
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace tony::hadoop
