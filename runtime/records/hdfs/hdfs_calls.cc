#include "runtime/records/hdfs/hdfs_calls.h"

#include <utility>

#include "runtime/records/hdfs/await_answer.h"

namespace tony {

HttpCallLimits LimitsOfRecords() {
  return {.connect = Duration(5'000), .stalled = Duration(10'000), .whole = Duration(20'000), .answer = 64 << 20};
}

WebHdfsCalls::WebHdfsCalls(hadoop::WebHdfs::Options options)
    : largest_(static_cast<int64_t>(options.limits.answer)), hdfs_(loop_, std::move(options)) {}

template <class T, class Start>
T WebHdfsCalls::Ask(Start start) {
  const std::lock_guard lock(mutex_);
  return AwaitAnswer<T>(loop_, start);
}

Status WebHdfsCalls::MakeFolders(const std::string& path) {
  return Ask<Status>([&](auto done) { return hdfs_.MakeFolders(path, 0700, done); });
}

Result<hadoop::HdfsEntry> WebHdfsCalls::GetEntry(const std::string& path) {
  return Ask<Result<hadoop::HdfsEntry>>([&](auto done) { return hdfs_.GetEntry(path, done); });
}

Status WebHdfsCalls::CheckAccess(const std::string& path, const std::string& action) {
  return Ask<Status>([&](auto done) { return hdfs_.CheckAccess(path, action, done); });
}

Result<std::vector<hadoop::HdfsEntry>> WebHdfsCalls::List(const std::string& path) {
  return Ask<Result<std::vector<hadoop::HdfsEntry>>>([&](auto done) { return hdfs_.List(path, done); });
}

Result<bool> WebHdfsCalls::Create(const std::string& path, std::string_view bytes) {
  return Ask<Result<bool>>([&](auto done) { return hdfs_.Create(path, {std::string(bytes), {}, {}}, {}, done); });
}

Result<std::string> WebHdfsCalls::Read(const std::string& path) {
  return Ask<Result<std::string>>([&](auto done) { return hdfs_.Read(path, 0, largest_ + 1, done); });
}

Result<std::string> WebHdfsCalls::ReadPart(const std::string& path, int64_t offset, int64_t length) {
  return Ask<Result<std::string>>([&](auto done) { return hdfs_.Read(path, offset, length, done); });
}

Result<bool> WebHdfsCalls::Rename(const std::string& from, const std::string& to, hadoop::HdfsRename how) {
  return Ask<Result<bool>>([&](auto done) { return hdfs_.Rename(from, to, how, done); });
}

Result<bool> WebHdfsCalls::Remove(const std::string& path) {
  return Ask<Result<bool>>([&](auto done) { return hdfs_.Remove(path, done); });
}

Result<bool> WebHdfsCalls::SetXattr(const std::string& path, const std::string& name, std::string_view value) {
  return Ask<Result<bool>>(
      [&](auto done) { return hdfs_.SetXattr(path, name, value, hadoop::HdfsXattr::kIfNew, done); });
}

Result<HdfsCalls::Xattrs> WebHdfsCalls::GetXattrs(const std::string& path) {
  return Ask<Result<Xattrs>>([&](auto done) { return hdfs_.GetXattrs(path, done); });
}

}  // namespace tony
