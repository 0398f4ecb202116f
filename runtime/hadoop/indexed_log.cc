#include "runtime/hadoop/indexed_log.h"

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/hadoop/java_objects.h"

namespace tony::hadoop {
namespace {

constexpr int64_t kIdSize = 32;
constexpr int64_t kLengthSize = 4;
constexpr int64_t kLargestLog = 1LL << 40;
// Limit of the entries that are looked at in an index. An index may refer to an entry more than once.
constexpr int kMostIndexEntries = 1 << 20;

const std::string kController =
    "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController$";

Result<const JavaObject*> ObjectOf(const JavaValue& value, std::string_view class_name) {
  const auto* object = std::get_if<const JavaObject*>(&value);
  if (object && (*object)->Is(class_name)) return *object;
  const std::string found = !object ? "no object" : (*object)->of ? "a " + (*object)->of->name : "a string";
  return BadLogFile(StrCat("the index has ", found, " in place of a ", class_name));
}
Result<std::string_view> TextOf(const JavaValue& value) {
  const auto* object = std::get_if<const JavaObject*>(&value);
  if (!object || (*object)->of) return BadLogFile("the index lacks a text");
  return std::string_view((*object)->text);
}
Result<int64_t> NumberOf(const JavaValue& value) {
  const auto* number = std::get_if<int64_t>(&value);
  return number ? Result<int64_t>(*number) : BadLogFile("the index lacks a number");
}
Result<const JavaObject*> ListOf(const JavaValue& value) { return ObjectOf(value, "java.util.ArrayList"); }

// Searches an index for the pieces of one log.
class IndexSearch {
 public:
  IndexSearch(const std::string& container, const std::string& stream) : container_(container), stream_(stream) {}

  Result<IndexedLog> Find(const JavaValue& root) {
    TRY_ASSIGN(const JavaObject* index, ObjectOf(root, kController + "IndexedLogsMeta"));
    TRY_ASSIGN(const std::string_view compression, TextOf(index->Field("compressName")));
    log_.compression = compression;
    TRY_ASSIGN(const JavaObject* uploads, ListOf(index->Field("logMetas")));
    for (const JavaValue& upload : uploads->elements) TRY(LookInUpload(upload));
    std::ranges::stable_sort(log_.pieces, {}, &LogPiece::uploaded);
    return std::move(log_);
  }

 private:
  Status Count() { return ++entries_ > kMostIndexEntries ? BadLogFile("the index has too many entries") : Ok(); }

  Status LookInUpload(const JavaValue& value) {
    TRY_ASSIGN(const JavaObject* upload, ObjectOf(value, kController + "IndexedPerAggregationLogMeta"));
    TRY_ASSIGN(const int64_t time, NumberOf(upload->Field("uploadTimeStamp")));
    TRY_ASSIGN(const JavaObject* containers, ObjectOf(upload->Field("logMetas"), "java.util.HashMap"));
    const std::vector<JavaValue>& entries = containers->elements;
    for (size_t i = 0; i + 1 < entries.size(); i += 2) {
      TRY(Count());
      TRY_ASSIGN(const std::string_view name, TextOf(entries[i]));
      if (name != container_) continue;
      log_.has_container = true;
      TRY_ASSIGN(const JavaObject* logs, ListOf(entries[i + 1]));
      for (const JavaValue& log : logs->elements) TRY(LookAtLog(log, time));
    }
    return Ok();
  }

  Status LookAtLog(const JavaValue& value, int64_t uploaded) {
    TRY(Count());
    TRY_ASSIGN(const JavaObject* log, ObjectOf(value, kController + "IndexedFileLogMeta"));
    TRY_ASSIGN(const std::string_view name, TextOf(log->Field("fileName")));
    if (name != stream_) return Ok();
    log_.is_log = true;
    TRY_ASSIGN(const int64_t size, NumberOf(log->Field("fileSize")));
    TRY_ASSIGN(const int64_t begin, NumberOf(log->Field("startIndex")));
    TRY_ASSIGN(const int64_t stored, NumberOf(log->Field("fileCompressedSize")));
    if (size < 0 || size > kLargestLog) return BadLogFile("a log has a wrong length");
    if (begin < 0 || stored < 0 || begin > kLargestLog || stored > kLargestLog)
      return BadLogFile("a log lies outside the file");
    log_.pieces.push_back({uploaded, size, {begin, begin + stored}});
    return Ok();
  }

  const std::string& container_;
  const std::string& stream_;
  IndexedLog log_;
  int entries_ = 0;
};

struct FoundIndex {
  std::string bytes;
  int64_t begin = 0;  // offset in the file
};

// A file that has an impossible length in place of the length of its index is most often one that its node has not
// finished.
Result<FoundIndex> ReadIndex(const ReadRange& read, int64_t length) {
  const Error unfinished = BadLogFile("the file ends without an index, or its node has not finished it");
  const int64_t end = length - kLengthSize - kIdSize;
  if (end < kIdSize) return unfinished;
  TRY_ASSIGN(const std::string digits, PlainLogBytes(read, {end, length})->Take(kLengthSize));
  const int64_t size = SignedBigEndian(digits);
  if (size > end - kIdSize) return unfinished;
  if (size > kLargestLogIndex) return BadLogFile("the index of the file is too large");
  FoundIndex index{.bytes = "", .begin = end - size};
  TRY_ASSIGN(index.bytes, PlainLogBytes(read, {index.begin, end})->Take(size));
  return index;
}

}  // namespace

Result<IndexedLog> FindInIndex(std::string_view index, const std::string& container, const std::string& stream) {
  const auto objects = JavaObjects::Parse(index);
  if (!objects.ok()) return BadLogFile(objects.error().message);
  return IndexSearch(container, stream).Find(objects->root());
}

Result<AggregatedLog> ReadIndexedLog(const ReadRange& read, int64_t length, const std::string& container,
                                     const std::string& stream, int64_t most) {
  TRY_ASSIGN(const FoundIndex index, ReadIndex(read, length));
  TRY_ASSIGN(IndexedLog found, FindInIndex(index.bytes, container, stream));
  if (!found.has_container) return NotFoundError("the file has no entry for ", container);
  AggregatedLog log{.size = 0, .tail = "", .is_log = found.is_log};
  int64_t budget = kMostInflated;
  for (auto piece = found.pieces.rbegin(); piece != found.pieces.rend(); ++piece) {
    if (piece->stored.end > index.begin) return BadLogFile("a log lies outside the file");
    log.size += piece->size;
    const int64_t wanted = std::min(piece->size, most - static_cast<int64_t>(log.tail.size()));
    if (wanted == 0) continue;
    TRY_ASSIGN(const auto bytes, OpenLogBytes(read, piece->stored, found.compression, budget));
    TRY(bytes->Skip(piece->size - wanted));
    TRY_ASSIGN(const std::string text, bytes->Take(wanted));
    log.tail.insert(0, text);
  }
  return log;
}

Result<UploadMark> ReadUploadMark(std::string_view content) {
  constexpr size_t kValid = 8;
  if (content.size() < kLengthSize + kValid ||
      SignedBigEndian(content.substr(0, kLengthSize)) != static_cast<int64_t>(content.size() - kLengthSize - kValid))
    return InvalidError("the file does not have the form of a node's upload mark");
  const std::string_view name = content.substr(kLengthSize, content.size() - kLengthSize - kValid);
  return UploadMark{std::string(name), SignedBigEndian(content.substr(content.size() - kValid))};
}

}  // namespace tony::hadoop
