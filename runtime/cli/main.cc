// The program `tony`, the command line of TonY. `tony help` lists the verbs. New readers best begin with submit.cc.
#include <csignal>

#include "runtime/cli/commands.h"
#include "runtime/cli/output.h"

int main(int argc, char** argv) {
  tony::ReserveOutputs();
  // SIGPIPE is ignored. If the other side closes a pipe or a socket, only the writes to this pipe or socket fail, and
  // the process continues.
  signal(SIGPIPE, SIG_IGN);
  return tony::RunTony({argv + 1, argv + argc});
}
