// When the tasks of a job start whose roles wait for each other, said again from the manual and not from runtime/ or
// am/. Whoever changes one of the two has to change the other.
#pragma once

#include <set>
#include <string>

#include "runtime/job/job_spec.h"

namespace tony::sim {

// ---- for what others publish, once the gang is there
int StageRule(const JobSpec& spec, const std::string& role);
bool MustPublish(const JobSpec& spec, const std::string& role);         // others wait for it
std::string PublishedBy(const JobSpec& spec, const std::string& role);  // the name of the one value that it has
bool WaitsForReady(const JobSpec& spec, const std::string& role);
bool IsReadyFor(const JobSpec& spec, const std::string& publisher, const std::string& role);  // as ready, directly

// ---- for their success, before anything is asked for
std::set<std::string> PreparersOf(const JobSpec& spec, const std::string& role);  // those that have to succeed before
bool Prepares(const JobSpec& spec, const std::string& role);
int WaveRule(const JobSpec& spec, const std::string& role);  // how many such waits come one after the other

}  // namespace tony::sim
