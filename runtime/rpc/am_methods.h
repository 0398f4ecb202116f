// The methods of tony.thrift: the arguments become our types, or are refused naming the field; the service's reply
// becomes the method's result.
#pragma once

#include "runtime/rpc/server_connection.h"

namespace tony {

// The service must outlive the dispatcher.
Dispatcher MakeAmDispatcher(AmService& service);

}  // namespace tony
