// The ResourceManager's answers for who may wait for them: verbs, and the check before a submit. Each call has a loop
// and a connection of its own, and takes some milliseconds, or as long as `limit`. Any thread.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/rm_client.h"

namespace tony {

// Errors are RmClient's.
class RmCalls {
 public:
  RmCalls(Endpoint rm, std::string user, Duration limit) : rm_(std::move(rm)), user_(std::move(user)), limit_(limit) {}

  Result<hadoop::NewApplication> MakeApplication() const;
  Status Submit(const hadoop::Submission& submission) const;
  Result<hadoop::ApplicationReport> Report(const hadoop::ApplicationId& id) const;
  Result<std::vector<hadoop::ApplicationReport>> Applications() const;
  Status Kill(const hadoop::ApplicationId& id, const std::string& reason) const;  // begun, or done
  Result<hadoop::QueueReport> Queue(const std::string& name) const;
  Result<std::vector<std::string>> QueuesOfUser() const;
  Result<std::vector<std::string>> NodeLabels() const;
  Result<hadoop::ClusterMetrics> Metrics() const;
  Result<std::vector<hadoop::NodeReport>> RunningNodes() const;

 private:
  template <class T, class Ask>
  Result<T> Await(Ask ask) const;

  const Endpoint rm_;
  const std::string user_;
  const Duration limit_;
};

}  // namespace tony
