// Typed access to properties by the key table: value or default, and errors that name key, value, origin and what was
// expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/config/properties.h"

namespace tony {

// What is wrong with a job's properties, so far.
class Problems {
 public:
  // Each text once, in this order.
  void Note(const Error& error);
  size_t count() const { return errors_.size(); }
  // Ok, or all of them: one a line, then a line "warning: ..." for each of `warnings`. The code is the first one's.
  Status All(const std::vector<std::string>& warnings) const;

 private:
  std::vector<Error> errors_;
};

class PropertyValues {
 public:
  // Both are borrowed. A bad number is noted as a problem and read as the default, so that all are found in one go.
  PropertyValues(const Properties& properties, Problems& problems) : properties_(properties), problems_(problems) {}

  const Properties& properties() const { return properties_; }
  Problems& problems() const { return problems_; }
  bool Has(std::string_view key) const { return properties_.Has(key); }

  // The key must stand in the table. Without a property, the table's default. Numbers fail only if the default is none.
  std::string Text(std::string_view key) const;
  std::vector<std::string> List(std::string_view key) const;  // trimmed, without empty items
  Result<bool> Flag(std::string_view key) const;              // true or false, in any case of letters
  Result<int64_t> Number(std::string_view key, int64_t least, int64_t most) const;
  Result<int> Count(std::string_view key, int least, int most) const;
  Result<int64_t> MemoryMb(std::string_view key, int64_t least = 1) const;
  Result<Duration> Millis(std::string_view key, int64_t least) const;
  Result<Duration> Seconds(std::string_view key, int64_t least, int64_t most) const;

  // `tony.worker.memory: "1.5x" (from -conf): expected ...`; the property with its value, or the default. A
  // secret's value is masked.
  Error Bad(std::string_view key, std::string_view expected) const;
  // The same words as a warning.
  void Warn(std::string_view key, std::string_view what, std::vector<std::string>& warnings) const {
    warnings.push_back(Bad(key, what).message);
  }

 private:
  // What Read() makes of the key's text, or of its default after the text's problem has been noted.
  template <class Read>
  auto OrDefault(std::string_view key, Read read) const;
  Result<int64_t> ReadMemoryMb(std::string_view key, const std::string& value, int64_t least) const;

  const Properties& properties_;
  Problems& problems_;
};

std::string Quoted(std::string_view text, size_t longest = 60);  // for messages: one line, cut after so many bytes

// Hadoop's site files that a job names beside those of $HADOOP_CONF_DIR.

// Of the submitting machine, absolute; empty: none. Not of the job's spec: no other machine can read them.
struct SiteFiles {
  std::string hdfs, yarn;  // read in this order, each replaces what was said before
  bool operator==(const SiteFiles&) const = default;
};

inline constexpr char kHdfsSiteKey[] = "tony.application.hdfs-conf-path";
inline constexpr char kYarnSiteKey[] = "tony.application.yarn-conf-path";

}  // namespace tony
