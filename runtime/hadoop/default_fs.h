// The file system that fs.defaultFS names: which HDFS has the user's home folder, and how a client gets there.
//
//   hdfs://HOST:PORT, hdfs://NAME     that HDFS
//   viewfs://NAME, viewfs:///         the HDFS to which a mount table (mount_table.h) links the home folder
//   webhdfs://, swebhdfs://HOST:PORT  the HDFS whose NameNode has this web address. Any other server is a gateway
//                                     (HttpFS), through which the bytes of files go. dfs.namenode.rpc-address names its
//                                     NameNode, unless dfs.nameservices has only one name
#pragma once

#include <map>
#include <string>

#include "runtime/base/result.h"
#include "runtime/hadoop/hadoop_xml.h"
#include "runtime/hadoop/mount_table.h"

namespace tony::hadoop {

inline constexpr char kDefaultFsKey[] = "fs.defaultFS";

struct DefaultFs {
  HdfsAddresses hdfs;
  // The path of the user's home folder in `hdfs`.
  std::string home;
  // "viewfs://NAME" if fs.defaultFS is an address of ViewFs.
  std::string view;
  // Empty: none.
  std::string gateway;  // e.g. "http://gate.example.org:14000"
};

// Returns the mount tables of the site files. kInvalid: a value cannot be expanded.
Result<MountTables> MountTablesOf(const SiteConfiguration& site);

// Returns the file system for `user`. kInvalid names file and key: the value has another form, a mount table does not
// lead to an HDFS, the HDFS behind a gateway is not known, or the address is that of a Knox gateway, which TonY cannot
// use.
Result<DefaultFs> DefaultFsOf(const SiteConfiguration& site, const MountTables& mounts, const std::string& user);

// Returns the name of the HDFS in `named` of which a NameNode has this web address, or that has this logical name.
// Empty: none.
std::string NameAtWeb(const std::map<std::string, HdfsAddresses>& named, const Endpoint& web);

}  // namespace tony::hadoop
