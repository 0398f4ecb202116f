#include "runtime/ledger/machine.h"

#include <sched.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/cgroup.h"
#include "runtime/os/files.h"
#include "runtime/os/users.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMegabyte = 1 << 20;
constexpr int64_t kMostGpus = 1024;
constexpr int64_t kMostMinutes = 100LL * 365 * 24 * 60;

// Returns the uid for a user name, or for a uid as text.
std::optional<int64_t> UserNumber(const std::string& name) {
  if (const auto user = FindUser(name); user.ok() && *user) return (*user)->uid;
  const auto number = ParseInt(name);
  return number && *number >= 0 && *number < (int64_t{1} << 32) ? number : std::nullopt;
}

int64_t MemTotalMb(const fs::path& root) {
  const auto text = ReadFile(root / "proc/meminfo");
  if (!text.ok()) return 0;
  for (const std::string& line : Split(*text, '\n')) {
    if (!line.starts_with("MemTotal:")) continue;
    const std::string_view number = Trim(std::string_view(line).substr(9));
    return ParseInt(number.substr(0, number.find(' '))).value_or(0) / 1024;  // e.g. "MemTotal:  8123456 kB"
  }
  return 0;
}

// Returns the lowest limit among the cgroup of this process and the cgroups above it.
std::optional<int64_t> CgroupLimitMb(const fs::path& root) {
  const auto own = OwnMemoryCgroup(root);
  if (!own) return std::nullopt;
  const char* const file = own->version == CgroupVersion::kOne ? "memory.limit_in_bytes" : "memory.max";
  std::optional<int64_t> least;
  for (fs::path folder = own->folder; folder.native().size() >= own->mount.native().size();
       folder = folder.parent_path()) {
    const auto text = ReadFile(folder / file);
    // "max" is not a number and means no limit. A number near 2^63 also means no limit, because it exceeds the
    // machine's memory.
    const auto limit = text.ok() ? ParseInt(Trim(*text)) : std::nullopt;
    if (limit && (!least || *limit < *least)) least = limit;
  }
  return least ? std::optional(*least / kMegabyte) : std::nullopt;
}

int64_t UsableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  // The call fails on a machine with more processors than the set has bits.
  return std::max(1U, std::thread::hardware_concurrency());
}

std::vector<int> NvidiaGpus(const fs::path& root) {
  size_t count = 0;
  std::error_code error;
  for (fs::directory_iterator entry(root / "dev", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("nvidia") && ParseInt(name.substr(6)).value_or(-1) >= 0) ++count;
  }
  std::vector<int> gpus(count);
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

// Returns the names of `count` GPUs in the order of the PCI bus, or none if the driver lists another number of GPUs. It
// has a folder for each GPU, whose name is the GPU's address on the bus.
std::map<int, std::string> NvidiaNames(const fs::path& root, size_t count) {
  std::map<std::string, std::string> by_address;
  std::error_code error;
  for (fs::directory_iterator entry(root / "proc/driver/nvidia/gpus", error), end; !error && entry != end;
       entry.increment(error)) {
    const auto text = ReadFile(entry->path() / "information");
    if (!text.ok()) continue;
    for (const std::string& line : Split(*text, '\n'))
      if (line.starts_with("GPU UUID:")) by_address[entry->path().filename()] = Trim(std::string_view(line).substr(9));
  }
  std::map<int, std::string> names;
  if (by_address.size() != count) return names;
  for (const auto& [address, name] : by_address) names[static_cast<int>(names.size())] = name;
  return names;
}

// Reads the GPUs of machine.json, all as numbers or all as names.
Status ReadGpus(JsonReader& fields, const boost::json::value& json, Machine& machine) {
  const boost::json::value& listed = json.as_object().at("gpus");
  if (!listed.is_array() || listed.as_array().empty() || !listed.as_array().front().is_string()) {
    std::set<int> gpus;
    for (const int64_t gpu : fields.Ints("gpus", 0, kMostGpus - 1)) gpus.insert(static_cast<int>(gpu));
    machine.gpus.assign(gpus.begin(), gpus.end());
    return fields.status();
  }
  const std::vector<std::string> names = fields.Strings("gpus");
  TRY(fields.status());
  int next = static_cast<int>(machine.gpus.size());
  machine.gpus.clear();
  machine.shows_gpu_names = true;
  for (const std::string& name : names) {
    const auto known = std::ranges::find(machine.gpu_names, name, [](const auto& entry) { return entry.second; });
    const int number = known == machine.gpu_names.end() ? next++ : known->first;
    const bool is_name = name.starts_with("GPU-") || name.starts_with("MIG-");
    if (!is_name || std::ranges::count(machine.gpus, number) > 0)
      fields.Fail("gpus", "different numbers, or different names such as GPU-8f3c and MIG-5a1b");
    machine.gpu_names[number] = name;
    machine.gpus.push_back(number);
  }
  return fields.status();
}

std::vector<std::string> Unknown(const JsonReader& fields, const std::vector<std::string>& known) {
  std::vector<std::string> unknown = fields.Names();
  std::erase_if(unknown, [&](const std::string& name) { return std::ranges::count(known, name) > 0; });
  return unknown;
}

Result<UserLimits> LimitsFrom(JsonReader fields) {
  TRY(fields.status());
  // A misspelt name is an error, because the intended limit would silently not apply.
  for (const std::string& name : Unknown(fields, {"memory_mb", "gpus", "run_minutes"}))
    fields.Fail(name, "one of memory_mb, gpus, run_minutes");
  UserLimits limits;
  if (fields.Has("memory_mb")) limits.memory_mb = fields.Int("memory_mb", 0, kMostAsked);
  if (fields.Has("gpus")) limits.gpus = fields.Int("gpus", 0, kMostGpus);
  if (fields.Has("run_minutes")) limits.run_minutes = fields.Int("run_minutes", 1, kMostMinutes);
  TRY(fields.status());
  return limits;
}

}  // namespace

Machine DetectMachine(const fs::path& root) {
  Machine machine{.memory_mb = MemTotalMb(root), .cores = UsableCores(), .gpus = NvidiaGpus(root)};
  machine.gpu_names = NvidiaNames(root, machine.gpus.size());
  if (const auto limit = CgroupLimitMb(root)) machine.memory_mb = std::min(machine.memory_mb, *limit);
  return machine;
}

Result<StatedMachine> MachineFromJson(std::string_view json, Machine detected) {
  TRY_ASSIGN(const boost::json::value value, ParseJson(json, "machine"));
  JsonReader fields(value);
  if (fields.Has("memory_mb")) detected.memory_mb = fields.Int("memory_mb", 1, kMostAsked);
  if (fields.Has("gpus")) TRY(ReadGpus(fields, value, detected));
  TRY(fields.status());
  StatedMachine stated{std::move(detected), {}};
  // Unknown fields are only a warning, because earlier releases ignored them and such files must stay valid.
  for (const std::string& name : Unknown(fields, {"schema", "memory_mb", "gpus", "user_limits", "users"}))
    stated.warnings.push_back(StrCat("has the unknown field ", name, ", which is ignored"));
  if (fields.Has("user_limits")) {
    TRY_ASSIGN(stated.machine.user_limits, LimitsFrom(fields.Nested("user_limits")));
  }
  TRY(fields.status());
  if (!fields.Has("users")) return stated;
  JsonReader users = fields.Nested("users");
  for (const std::string& name : users.Names()) {
    JsonReader said = users.Nested(name);
    TRY(users.status());
    TRY_ASSIGN(UserLimits limits, LimitsFrom(std::move(said)));
    if (const auto user = UserNumber(name)) {
      stated.machine.users[*user] = limits;
    } else {
      stated.warnings.push_back(StrCat("has no effect for ", name, ": this machine has no such user"));
    }
  }
  TRY(fields.status());
  return stated;
}

}  // namespace tony
