// TonY's sidecar: TensorBoard beside the job, on a folder of its logs.
#pragma once

#include <string>

#include "runtime/config/properties.h"

namespace tony {

// What tony.application.tensorboard-log-dir says in short, said in properties that others understand: every task has
// TB_LOG_DIR, and a job with roles has one more, "tensorboard", a sidecar of one task. What is set of all that already
// stays. `python`: the interpreter of the job's command; empty: python3.
void AddTensorBoard(const std::string& python, Properties& properties);

}  // namespace tony
