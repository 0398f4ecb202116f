// needs_library is linked with this library, and does not find it when it runs.
extern "C" int Gone();
int Gone() { return 0; }
