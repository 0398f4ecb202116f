// A job with one of each record that submit makes, except its secrets.
#pragma once

#include "runtime/records/job_records.h"

namespace tony {

inline NewJob SmallJob() {
  NewJob job;
  RoleSpec worker;
  worker.name = "worker";
  worker.command = "true";
  job.spec.roles = {worker};
  job.environment = {"A=b"};
  job.staged.job = {{.name = "data", .path = "/staged/data"}};
  job.id = {"local-20261122-000000-abcdef"};
  job.configuration = "{}";
  return job;
}

}  // namespace tony
