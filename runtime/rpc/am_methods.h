// The methods of tony.thrift. Arguments are converted into TonY's types; an invalid argument is refused with the
// name of its field. The service's reply is converted into the method's result.
#pragma once

#include "runtime/rpc/server_connection.h"

namespace tony {

// Returns the dispatcher of all methods. `service` must outlive the dispatcher.
Dispatcher MakeAmDispatcher(AmService& service);

}  // namespace tony
