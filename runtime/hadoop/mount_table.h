// The mount tables of ViewFs, which show in which HDFS a path of a "viewfs://" address is. They are properties of the
// site files, whose keys begin with kMountTablePrefix and the name of a table:
//
//   NAME.link./data        hdfs://ns2/data    the paths below /data; of several links the longest one counts
//   NAME.linkFallback      hdfs://ns1/        the paths that have no link
//   NAME.linkMergeSlash    hdfs://ns1/        all paths, in a table without links
//   NAME.homedir           /user              the folder of the users' home folders
//
// A target may be an address of ViewFs again. Links of other kinds (linkNfly, linkRegex, linkMerge) are not followed.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace tony::hadoop {

inline constexpr std::string_view kMountTablePrefix = "fs.viewfs.mounttable.";

// A property of a table. `key` has no prefix. `origin` is the file with its line, or empty if it is not known.
struct MountEntry {
  std::string key, value, origin;
};

// A value. A bad entry harms only callers whose path it concerns.
class MountTables {
 public:
  MountTables() = default;
  explicit MountTables(std::vector<MountEntry> entries);

  bool empty() const { return entries_.empty(); }
  // Returns the "hdfs://" address of "viewfs://NAME/PATH" or "viewfs:///PATH". kInvalid: the table does not exist, has
  // no link for the path or a link that cannot be followed, or links lead round in a circle. The message names the key.
  Result<std::string> Resolve(const std::string& address) const;
  // Returns the home folder of `user` in the table that `address` names, as an address of ViewFs.
  Result<std::string> HomeOf(const std::string& address, const std::string& user) const;

  // Returns the tables as a word of a text, without blanks and quotes. Their origins are left out.
  std::string ToText() const;
  static MountTables FromText(const std::string& text);

 private:
  struct Link {
    std::string key, target, origin;
  };
  struct Table {
    std::string home = "/user";
    // By path. "/" is for the paths without another link.
    std::map<std::string, Link> links;
    int entries = 0;      // number of links
    std::string merge;    // key of linkMergeSlash
    std::string refusal;  // empty: usable
  };

  void Add(const MountEntry& entry);
  Result<const Table*> TableOf(const std::string& name) const;
  Result<std::string> Follow(const std::string& address) const;

  std::vector<MountEntry> entries_;
  std::map<std::string, Table> tables_;
  std::string default_name_ = "default";  // the table of "viewfs:///"
};

}  // namespace tony::hadoop
