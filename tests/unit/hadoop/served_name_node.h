// A NameNode that serves on its own thread, for tests that block until it answers.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <thread>

#include "runtime/records/job_records.h"
#include "tests/unit/hadoop/fake_name_node.h"

namespace tony::hadoop {

class ServedNameNodeTest : public testing::Test {
 protected:
  ServedNameNodeTest() : server_([this] { loop_.Run(); }) {}
  ~ServedNameNodeTest() override {
    loop_.Post([this] { loop_.Stop(); });
    server_.join();
  }

  // Runs `fn` on the NameNode's thread, the only thread that may change its files.
  void OnServer(const std::function<void()>& fn) {
    std::promise<void> done;
    loop_.Post([&] {
      fn();
      done.set_value();
    });
    done.get_future().wait();
  }
  static std::string Bytes(const RecordStore& store, const std::string& name) {  // "none" if the record is missing
    const auto record = store.Get(name);
    EXPECT_TRUE(record.ok()) << record.error().message;
    return record.ok() && *record ? (*record)->bytes : "none";
  }

  EventLoop loop_;
  FakeNameNode node_{loop_};

 private:
  std::thread server_;
};

}  // namespace tony::hadoop
