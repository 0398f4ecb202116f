#include "runtime/backend/backend.h"

#include "runtime/backend/local_backend.h"

namespace tony {

// There is one so far.
const Backend& BackendOf(const JobId&) { return LocalBackend(); }
const Backend& BackendFor(const JobSpec&) { return LocalBackend(); }
const Backend& DefaultBackend() { return LocalBackend(); }

}  // namespace tony
