// `tony notebook`. A small server stands in for JupyterLab (tests/support/jupyter).
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class NotebookTest : public TonyTest {
 protected:
  const Sandbox::Variables with_jupyter_ = {{"PYTHONPATH", SourceFolder() + "/tests/support/jupyter"}};

  static Words Notebook(const Words& more = {}) { return Words{"notebook", "--memory", "300m"} + more; }
  std::unique_ptr<Background> Start(const Words& more = {}) const {
    return box_.StartTony(Notebook(more), with_jupyter_);
  }

  // Waits until the client prints an address, and returns it; empty if the client prints none.
  static std::string Address(const Background& client) {
    EXPECT_TRUE(WaitFor([&] { return client.out().find("/?token=") != std::string::npos; })) << client.err();
    const std::string out = client.out();
    const size_t begin = out.find("http://");
    return begin == std::string::npos ? "" : out.substr(begin, out.find('\n', begin) - begin);
  }
  static std::string TokenOf(const std::string& address) { return address.substr(address.find('=') + 1); }
  // Returns the body of the answer.
  std::string Fetch(const std::string& url, const std::string& method = "GET") const {
    const size_t colon = url.rfind(':', url.find('?')), path = url.find('/', colon);
    const std::string ask = "exec 3<>/dev/tcp/127.0.0.1/" + url.substr(colon + 1, path - colon - 1) + "; printf '" +
                            method + " " + url.substr(path) + " HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3";
    const std::string answer = Background({"/bin/bash", "-c", ask}, box_.Environment(), box_.folder()).Wait().out;
    const size_t body = answer.find("\r\n\r\n");
    return body == std::string::npos ? "" : answer.substr(body + 4);
  }
  // Returns the answer at a path of the server at `address`.
  std::string FetchAt(const std::string& address, const std::string& path) const {
    return Fetch(address.substr(0, address.find("/?")) + path + "?token=" + TokenOf(address));
  }
  // Returns the names of all files of all jobs that contain `text`.
  std::set<std::string> FilesWith(const std::string& text) const {
    std::set<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(box_.folder()))
      if (entry.is_regular_file() && ReadText(entry.path()).find(text) != std::string::npos)
        files.insert(entry.path().filename());
    return files;
  }
  int64_t Pid(const std::string& address) const { return Number(ParseJson(Fetch(address)), "/pid"); }
  void ShutDown(const std::string& address) const {
    Fetch(address.substr(0, address.find("/?")) + "/api/shutdown", "POST");
  }
};

TEST_F(NotebookTest, TheAddressNeedsItsTokenAndTheServersExitEndsTheJob) {
  const auto client = Start({"--idle", "90s"});
  const std::string address = Address(*client);
  EXPECT_THAT(address, StartsWith("http://127.0.0.1:"));
  EXPECT_EQ(Fetch(address.substr(0, address.find('?'))), "Forbidden");
  const value seen = ParseJson(Fetch(address));
  ExpectJson(seen, {{"/options/ServerApp.ip", "127.0.0.1"},
                    {"/options/ServerApp.port_retries", "0"},
                    {"/options/ServerApp.shutdown_no_activity_timeout", "90"},
                    {"/options/MappingKernelManager.cull_idle_timeout", "90"},
                    {"/options/MappingKernelManager.cull_interval", "60"},
                    {"/options/ServerApp.root_dir", box_.folder().string()},
                    {"/environment/JUPYTER_RUNTIME_DIR", Text(seen, "/environment/PWD") + "/.jupyter-runtime"}});
  EXPECT_EQ(Text(Status(), "/notebook_url"), address.substr(0, address.find('?')));
  EXPECT_THAT(box_.Tony({"status", Job()}).out, HasSubstr("tony notebook --attach " + Job()));
  ShutDown(address);
  const Ran ran = Ends(*client);
  EXPECT_EQ(StateOf(Job()), "SUCCEEDED") << ran.err;
  EXPECT_FALSE(At(Status(), "/notebook_url").is_string());
  ExpectNothingLeft();
}

TEST_F(NotebookTest, TheTokenIsOnlyInPrivateFilesOfTheNotebook) {
  const auto client = Start();
  const std::string token = TokenOf(Address(*client));
  ASSERT_GE(token.size(), 32u);
  for (const Process& process : box_.Processes()) EXPECT_THAT(process.command_line, Not(HasSubstr(token)));
  EXPECT_THAT(box_.Tony({"status", Job(), "--json"}).out, Not(HasSubstr(token)));
  EXPECT_THAT(FilesWith(token), ElementsAre("secrets", "token"));
  EXPECT_EQ(fs::status(box_.JobFolder(Job())).permissions() & fs::perms(077), fs::perms::none);
  client->Signal(SIGTERM);
  client->Wait();
}

TEST_F(NotebookTest, AKernelImportsThePackageAndSubmitsAJobThatDoesNotGetTheToken) {
  const auto client = Start();
  const std::string address = Address(*client);
  EXPECT_THAT(FetchAt(address, "/program"), HasAll({"0 ", "tony-python.zip/tony/__init__.py"}));
  EXPECT_THAT(FetchAt(address, "/submit"), AllOf(StartsWith("0 "), HasSubstr("SUCCEEDED")));
  EXPECT_EQ(box_.Jobs().size(), 2u);
  EXPECT_THAT(FilesWith(TokenOf(address)), ElementsAre("secrets", "token"));
  EXPECT_THAT(Fetch(address), Not(HasSubstr("JUPYTER_TOKEN\"")));
  client->Signal(SIGTERM);
  client->Wait();
}

TEST_F(NotebookTest, CtrlCEndsTheNotebook) {
  const auto client = Start();
  const std::string address = Address(*client);
  client->SignalGroup(SIGINT);
  EXPECT_EQ(client->Wait().exit, 130);
  EXPECT_EQ(StateOf(Job()), "KILLED");
  ExpectNothingLeft();
}

TEST_F(NotebookTest, AKilledClientLosesNothingBecauseAttachShowsTheSameAddress) {
  const auto client = Start();
  const std::string address = Address(*client);
  const int64_t pid = Pid(address);
  client->Signal(SIGKILL);
  client->Wait();
  SignalAll("tony-am", SIGKILL);
  const auto second = box_.StartTony({"notebook", "--attach", "last"});
  EXPECT_EQ(Address(*second), address);
  EXPECT_EQ(Pid(address), pid);
  second->Signal(SIGINT);
  const Ran ran = second->Wait();
  EXPECT_EQ(ran.exit, 130);
  EXPECT_THAT(ran.err, HasSubstr("continues"));
  const auto third = box_.StartTony({"notebook", "--attach", Job()});
  EXPECT_EQ(Address(*third), address);
  ShutDown(address);
  Ends(*third);
  FailsInALine(65, {"notebook", "--attach", Job()});
}

TEST_F(NotebookTest, APortOfThisMachineLeadsToTheServer) {
  const auto client = Start({"--port", "0"});
  EXPECT_EQ(client->Wait().exit, 64);
  // An address that this test holds for itself, so no other process can have its port.
  const std::string mine = "import socket,sys; s=socket.socket(); s.bind(('127.0.0.1',0)); print(s.getsockname()[1])";
  const Ran free = Background({"/usr/bin/python3", "-c", mine}, box_.Environment(), box_.folder()).Wait();
  const std::string port = free.out.substr(0, free.out.find('\n'));
  const auto second = Start({"--port", port});
  const std::string address = Address(*second);
  EXPECT_THAT(address, StartsWith("http://127.0.0.1:" + port + "/"));
  EXPECT_THAT(Fetch(address), HasSubstr("\"pid\""));
  const Ran third = box_.Tony(Notebook({"--port", port}), with_jupyter_);
  EXPECT_EQ(third.exit, 69);
  EXPECT_THAT(third.err, HasAll({port, "in use"}));
  EXPECT_EQ(box_.Jobs().size(), 1u);
  ShutDown(address);
  Ends(*second);
}

TEST_F(NotebookTest, ACommandOfTonysNotebookSubmitterListensAtItsPort) {
  const auto client = Start({"-executes", "python3 -m jupyterlab --ServerApp.ip=127.0.0.1 --ServerApp.port=$TB_PORT",
                             "--hdfs_classpath", "/libs/tony.jar", "-conf", "tony.application.timeout=86400000"});
  const std::string address = Address(*client);
  EXPECT_THAT(Fetch(address), HasSubstr("\"pid\""));
  ShutDown(address);
  Ends(*client);
}

TEST_F(NotebookTest, AnEnvironmentWithoutJupyterIsReportedInTheFirstLine) {
  const Ran ran = box_.Tony(Notebook(), {{"PYTHONNOUSERSITE", "1"}});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_THAT(ran.out, HasAll({"FAILED", "no Jupyter; run: ", "-m pip install jupyterlab"}));
  ExpectNothingLeft();
}

TEST_F(NotebookTest, BadInputIsRefusedInALine) {
  ExpectRefused({"notebook", "--idle", "soon"}, 64, {"--idle", "\"soon\""});
  ExpectRefused({"notebook", "--port", "70000"}, 64, {"--port", "1 to 65535"});
  ExpectRefused({"notebook", "--executes", "x", "--idle", "1h"}, 64, {"--idle", "-executes"});
  ExpectRefused({"notebook", "--detach", "--port", "5000"}, 64, {"--port", "--attach"});
  ExpectRefused({"notebook", "--attach", "x", "--idle", "1h"}, 64, {"--idle cannot be used with --attach"});
  ExpectRefused({"notebook", "--dir", "/none"}, 65, {"--dir /none: no such folder"});
  ExpectRefused({"notebook", "--memory", "much"}, 65, {"tony.notebook.memory", "much"});
  ExpectRefused({"notebook", "--conf", "tony.notebook.instances=2"}, 65, {"exactly one task"});
  HoldDetached(One(HoldUntilGo()));
  FailsInALine(65, {"notebook", "--attach", Job()});
  Go();
  box_.Tony({"wait", Job()});
}

}  // namespace
}  // namespace tony
