// Cannot start, because its library is not found. For tests.
extern "C" int Gone();
int main() { return Gone(); }
