// Proves the user's Kerberos identity on a connection to a Hadoop server (SASL mechanism GSSAPI, RFC 4752). Private to
// this folder, because it exposes protobuf types.
#pragma once

#include <memory>
#include <string>

#include "runtime/base/time.h"
#include "runtime/hadoop/sasl.h"

namespace tony::hadoop {

// Each method blocks while tony-gss (gss_context.h) answers, at most `limit`. `principal` is the one that the site
// files give to the server, such as "rm/_HOST@EXAMPLE.ORG". `host` is the name of the server, which replaces _HOST. The
// mechanism refuses a server that claims another principal.
std::unique_ptr<SaslMechanism> MakeGssMechanism(std::string principal, std::string host, Duration limit);

}  // namespace tony::hadoop
