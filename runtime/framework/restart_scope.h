// How much of a job has to start again when one of its tasks does. A pure function of the spec.
#pragma once

#include <string>
#include <vector>

#include "runtime/job/job_spec.h"

namespace tony {

// The smallest restart after which the tasks still compute the right thing. `same_address`: the task comes back under
// the address that the others were told.
//
//   sidecars, standalone and FCFS jobs, TensorFlow's
//   evaluator                                           task: nobody is connected to them
//   PyTorch, JAX, LightGBM and XGBoost, tracked roles   gang: a collective cannot take a member back
//   TensorFlow without ps (MultiWorkerMirrored)         gang: the same
//   TensorFlow with ps: a worker                        task, if it keeps its address; the coordinator connects again
//   TensorFlow with ps: ps, chief                       gang: the variables, or who knows of the progress, are gone
//   untracked roles of these                            task, if they keep their address
//   whose published values others wait for              gang: those who run were told the values of this attempt
//   others of staged                                    task, if they keep their address
RestartScope SmallestScope(const JobSpec& spec, const RoleSpec& role, bool same_address);

// One line for each role that asks for less than that, even where its tasks keep their address.
std::vector<std::string> ScopeWarnings(const JobSpec& spec);

// One line for each role whose tasks may fail without failing the job, and without whom the others cannot go on.
std::vector<std::string> ToleranceWarnings(const JobSpec& spec);

}  // namespace tony
