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

class PropertyValues {
 public:
  explicit PropertyValues(const Properties& properties) : properties_(properties) {}  // borrowed

  const Properties& properties() const { return properties_; }
  bool Has(std::string_view key) const;  // set, and to more than blanks

  // The key must stand in the table. Without a property, the table's default.
  std::string Text(std::string_view key) const;
  std::vector<std::string> List(std::string_view key) const;  // trimmed, without empty items
  Result<int64_t> Number(std::string_view key, int64_t least, int64_t most) const;
  Result<int64_t> MemoryMb(std::string_view key, int64_t least = 1) const;
  Result<Duration> Millis(std::string_view key, int64_t least) const;
  Result<Duration> Seconds(std::string_view key, int64_t least, int64_t most) const;

  // `tony.worker.memory: "1.5x" (from -conf): expected ...`; the property with its value, or the default. A
  // secret's value is masked.
  Error Bad(std::string_view key, std::string_view expected) const;

 private:
  const Properties& properties_;
};

std::string Quoted(std::string_view text);  // for messages: one line, long values are cut

}  // namespace tony
