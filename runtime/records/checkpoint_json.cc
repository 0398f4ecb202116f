#include "runtime/records/checkpoint_json.h"

#include <boost/json.hpp>
#include <limits>

namespace tony {

namespace json = boost::json;

namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

json::object EntryJson(const ListedCheckpoint& entry) {
  json::object out;
  out["name"] = entry.name;
  out["inode"] = entry.inode;
  out["bytes"] = entry.bytes;
  out["modified_ns"] = entry.modified_ns;
  if (entry.earlier_job) out["earlier_job"] = true;
  return out;
}

Result<ListedCheckpoint> ReadEntry(JsonFields& fields) {
  ListedCheckpoint entry;
  entry.name = fields.String("name");
  entry.inode = fields.Int("inode", kLeast);
  entry.bytes = fields.Int("bytes");
  entry.modified_ns = fields.Int("modified_ns", kLeast);
  entry.earlier_job = fields.Has("earlier_job") && fields.Bool("earlier_job");
  TRY(fields.status());
  return entry;
}

}  // namespace

json::object CheckpointJson(const Checkpoint& checkpoint) {
  json::object out;
  out["path"] = checkpoint.path;
  out["step"] = checkpoint.step;
  out["modified"] = ToMillis(checkpoint.modified);
  out["writer"] = ToString(checkpoint.writer);
  return out;
}

void WriteListing(json::object& out, const CheckpointListing& listing) {
  out["folder"] = listing.folder;
  if (!listing.unknown.empty()) out["unknown"] = listing.unknown;
  if (listing.earlier_job) out["earlier_job"] = listing.earlier_job->value;
  if (listing.newest) out["newest"] = CheckpointJson(*listing.newest);
  json::array there;
  for (const ListedCheckpoint& entry : listing.there) there.push_back(EntryJson(entry));
  out["there"] = std::move(there);
}

Result<std::optional<Checkpoint>> ReadCheckpointIfThere(JsonFields& fields, std::string_view name) {
  if (!fields.Has(name)) return std::optional<Checkpoint>();
  JsonFields found = fields.Fields(name);
  Checkpoint checkpoint{found.String("path"), found.Int("step", -1), FromMillis(found.Int("modified", kLeast))};
  const auto writer = CheckpointWriterFromString(found.Has("writer") ? found.String("writer") : "unknown");
  if (!writer) found.Fail("writer", "this_job, earlier_job, others or unknown");
  TRY(found.status());
  checkpoint.writer = *writer;
  return std::optional(std::move(checkpoint));
}

Result<CheckpointListing> ReadListing(JsonFields& fields) {
  CheckpointListing listing;
  listing.folder = fields.String("folder");
  if (fields.Has("unknown")) listing.unknown = fields.String("unknown");
  if (fields.Has("earlier_job")) listing.earlier_job = JobId{fields.String("earlier_job")};
  TRY_ASSIGN(listing.newest, ReadCheckpointIfThere(fields, "newest"));
  for (JsonFields& item : fields.List("there")) {
    TRY_ASSIGN(ListedCheckpoint entry, ReadEntry(item));
    listing.there.push_back(std::move(entry));
  }
  return listing;
}

}  // namespace tony
