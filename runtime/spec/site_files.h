// Hadoop's site files that a job names beside those of $HADOOP_CONF_DIR.
#pragma once

#include <string>

namespace tony {

// Of the submitting machine, absolute; empty: none. Not of the job's spec: no other machine can read them.
struct SiteFiles {
  std::string hdfs, yarn;  // read in this order, each replaces what was said before
  bool operator==(const SiteFiles&) const = default;
};

inline constexpr char kHdfsSiteKey[] = "tony.application.hdfs-conf-path";
inline constexpr char kYarnSiteKey[] = "tony.application.yarn-conf-path";

}  // namespace tony
