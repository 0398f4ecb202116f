// Reads and writes files in HDFS with our client, so that another client's results can be compared: "put PATH" reads
// the bytes from standard input, "get PATH" prints them, "list PATH" prints one line for each entry: name, length,
// permission, owner.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/conformance/hadoop/hdfs_cluster.h"

namespace tony::hadoop {
namespace {

Status Put(Cluster& cluster, const std::string& path) {
  const std::string bytes{std::istreambuf_iterator<char>(std::cin), {}};
  const auto put = cluster.Run<Result<bool>>([&](auto done) {
    return PutCompleteFile(cluster.root, path, {bytes, {}, {}}, HdfsRename::kIfNew, 0640, done);
  });
  return put.ok() ? Ok() : Status(put.error());
}

Status Get(Cluster& cluster, const std::string& path) {
  constexpr int64_t kMost = 64 << 20;
  TRY_ASSIGN(const std::string bytes,
             cluster.Run<Result<std::string>>([&](auto done) { return cluster.root.Read(path, 0, kMost, done); }));
  std::cout << bytes;
  return Ok();
}

Status List(Cluster& cluster, const std::string& path) {
  TRY_ASSIGN(const auto entries,
             cluster.Run<Result<std::vector<HdfsEntry>>>([&](auto done) { return cluster.root.List(path, done); }));
  for (const HdfsEntry& entry : entries)
    std::printf("%s %lld %o %s\n", entry.name.c_str(), static_cast<long long>(entry.length), entry.permission,
                entry.owner.c_str());
  return Ok();
}

int Do(const std::string& url, std::string_view verb, const std::string& path) {
  Cluster cluster(url);
  const Status done = verb == "put" ? Put(cluster, path) : verb == "get" ? Get(cluster, path) : List(cluster, path);
  if (!done.ok()) std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done.ok() ? 0 : 1;
}

}  // namespace
}  // namespace tony::hadoop

int main(int argc, char** argv) {
  const std::string_view verb = argc == 4 ? argv[2] : "";
  if (verb == "put" || verb == "get" || verb == "list") return tony::hadoop::Do(argv[1], verb, argv[3]);
  std::fprintf(stderr, "usage: %s NAMENODE_URL put|get|list PATH\n", argv[0]);
  return 64;
}
