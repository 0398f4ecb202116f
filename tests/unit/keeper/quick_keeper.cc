// tony-keeper with limits from the job's stored environment, so that tests need not wait for the usual limits.
#include <cstdlib>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/keeper/run_keeper.h"
#include "runtime/os/start_program.h"

namespace {

tony::Duration Limit(const char* name, tony::Duration usual) {
  const char* text = std::getenv(name);
  return text ? tony::Duration(tony::ParseInt(text).value_or(0)) : usual;
}

}  // namespace

int main(int, char** argv) {
  tony::OpenLog("tony-keeper");
  tony::keeper::AmOptions am;
  am.program = tony::SiblingProgram("tony-am");
  am.silence = Limit("QUICK_KEEPER_SILENCE", am.silence);
  am.adoption = Limit("QUICK_KEEPER_ADOPTION", am.adoption);
  am.farewell = Limit("QUICK_KEEPER_FAREWELL", am.farewell);
  am.stop_margin = Limit("QUICK_KEEPER_STOP_MARGIN", am.stop_margin);
  am.patience = Limit("QUICK_KEEPER_PATIENCE", am.patience);
  const auto ended = tony::keeper::RunKeeper(argv[1], am);
  if (!ended.ok()) tony::LogError(ended.error().message);
  return ended.ok() ? 0 : static_cast<int>(ended.error().code);
}
