// Typed access to properties by the key table: the value or the default, and errors that name key, value, origin
// and what was expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/config/properties.h"

namespace tony {

// The problems found in a job's properties so far.
class Problems {
 public:
  // Adds the error, unless its text was added before.
  void Note(const Error& error);
  size_t count() const { return errors_.size(); }
  // Returns Ok, or all errors, one on each line, then a line "warning: ..." for each of `warnings`. The result has the
  // code of the first error. Warnings about a key that also has an error are left out.
  Status All(const std::vector<std::string>& warnings) const;

 private:
  std::vector<Error> errors_;
};

class PropertyValues {
 public:
  // `properties` and `problems` must outlive this object. A bad number is noted as a problem and then read as the
  // default, so that all problems are found in one run.
  PropertyValues(const Properties& properties, Problems& problems) : properties_(properties), problems_(problems) {}

  const Properties& properties() const { return properties_; }
  Problems& problems() const { return problems_; }
  bool Has(std::string_view key) const { return properties_.Has(key); }

  // Returns the text of the key, or the default of the key table, which must contain the key. The functions for numbers
  // below fail only if the table's default is not a number.
  std::string Text(std::string_view key) const;
  // Returns the items of a list, trimmed and without empty items.
  std::vector<std::string> List(std::string_view key) const;
  // Reads true or false in any case, e.g. "True".
  Result<bool> Flag(std::string_view key) const;
  Result<int64_t> Number(std::string_view key, int64_t least, int64_t most) const;
  Result<int> Count(std::string_view key, int least, int most) const;
  Result<int64_t> MemoryMb(std::string_view key, int64_t least = 1) const;
  Result<Duration> Millis(std::string_view key, int64_t least) const;
  Result<Duration> Seconds(std::string_view key, int64_t least, int64_t most) const;

  // Returns an error that quotes the value or the default: `tony.worker.memory: "1.5x" (from -conf): expected ...`. The
  // value of a secret is masked.
  Error Bad(std::string_view key, std::string_view expected) const;
  // Adds the message of Bad() to the warnings.
  void Warn(std::string_view key, std::string_view what, std::vector<std::string>& warnings) const {
    warnings.push_back(Bad(key, what).message);
  }

 private:
  // Returns the result of `read` for the key's text. If `read` fails, notes the problem and returns the result for the
  // default.
  template <class Read>
  auto OrDefault(std::string_view key, Read read) const;
  Result<int64_t> ReadMemoryMb(std::string_view key, const std::string& value, int64_t least) const;

  const Properties& properties_;
  Problems& problems_;
};

// Returns the text in quotes for messages: on one line, and cut after `longest` bytes.
std::string Quoted(std::string_view text, size_t longest = 60);

// ---- Hadoop's site files that a job names in addition to those of $HADOOP_CONF_DIR.

// The absolute paths of these files on the submitting machine; empty: none. They are not part of the job's spec,
// because other machines cannot read them.
struct SiteFiles {
  // The files are read in this order. Each one overrides values that were read before.
  std::string hdfs, yarn;
  bool operator==(const SiteFiles&) const = default;
};

inline constexpr char kHdfsSiteKey[] = "tony.application.hdfs-conf-path";
inline constexpr char kYarnSiteKey[] = "tony.application.yarn-conf-path";

}  // namespace tony
