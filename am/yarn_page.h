// The page of a job on YARN, which browsers reach through YARN's proxy alone: it is told who the visitor is, and we ask
// the ResourceManager whether he may see the application. Connections from elsewhere are closed, as by Hadoop's own
// AmIpFilter. The proxy answers with what we answer, byte for byte, but keeps it until it has 4 KB or all of it, and
// has a thread for each request under way: so browsers ask again and again, and nobody waits here for news.
#pragma once

#include <memory>
#include <string>

#include "runtime/page/live_page.h"
#include "runtime/records/job_records.h"
#include "runtime/yarn/master_logs.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony::am {

struct YarnPageParts {
  EventLoop& loop;
  JobRecords records;
  YarnCluster cluster;
  std::string host;  // of this node, as the ResourceManager is to reach it
  WayToMaster way;   // for the page's thread, which reads logs as every client does
};

// Null: the job can do without its page, and nobody could say who may look where the ResourceManager's web server is
// not known.
std::unique_ptr<LivePage> OpenYarnPage(YarnPageParts parts);

}  // namespace tony::am
