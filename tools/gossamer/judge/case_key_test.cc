#include "gossamer/judge/case_key.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "api/files.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

struct Parts {
  package::Files files;
  std::vector<ops::TensorData> feeds;
  CaseContent content;
  ModelTraits traits;
};

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Parts make_parts() {
  Parts run;
  run.files = {{.name = "manifest.json", .bytes = bytes_of("{}")},
               {.name = "kernels.wgsl", .bytes = bytes_of("fn")}};
  run.feeds = {ops::floats({2}, {1, 2}), ops::strings({1}, {"ab"})};
  run.content.expected = {{{"y", ops::floats({2}, {3, 4})}, std::nullopt},
                          {{"z", ops::floats({1}, {5})}, Sample{{9}, {4}, 0.5, 0.25, -1, 1}}};
  run.content.groups = {{"s", true, true, 0, 2}};
  run.traits = {true, {{1, 0.5}}};
  return run;
}

std::string key_of(const Parts& run) {
  KeyBuilder key;
  add_run(run.files, run.feeds, run.content, run.traits, key);
  return key.key();
}

TEST(CaseKeyTest, FollowsEverythingOfARun) {
  const std::function<void(Parts&)> changes[] = {
      [](Parts&) {},
      [](Parts& run) { run.files[0].name = "manifest.txt"; },
      [](Parts& run) { run.files[1].bytes = bytes_of("fm"); },
      [](Parts& run) { run.files[1].above = true; },
      [](Parts& run) { run.files.pop_back(); },
      [](Parts& run) { run.feeds[0].bytes[3] = std::byte{1}; },
      [](Parts& run) { run.feeds[0].shape = {1, 2}; },
      [](Parts& run) { run.feeds[0].dtype = ir::DType::i32; },
      [](Parts& run) { run.feeds[1].strings[0] = "ac"; },
      [](Parts& run) { std::swap(run.feeds[0], run.feeds[1]); },
      [](Parts& run) { run.feeds.pop_back(); },
      [](Parts& run) { run.content.expected[0].tensor.data.bytes[0] = std::byte{1}; },
      [](Parts& run) { run.content.expected[0].sample = Sample{}; },
      [](Parts& run) { run.content.expected[1].sample.reset(); },
      [](Parts& run) { run.content.expected[1].sample->shape = {3, 3}; },
      [](Parts& run) { run.content.expected[1].sample->index = {5}; },
      [](Parts& run) { run.content.expected[1].sample->mean = 0.75; },
      [](Parts& run) { run.content.expected[1].sample->deviation = 0.75; },
      [](Parts& run) { run.content.expected[1].sample->least = 0.75; },
      [](Parts& run) { run.content.expected[1].sample->largest = 0.75; },
      [](Parts& run) { run.content.expected.pop_back(); },
      [](Parts& run) { run.content.groups[0].sequence = false; },
      [](Parts& run) { run.content.groups[0].first = 1; },
      [](Parts& run) { run.content.groups[0].count = 1; },
      [](Parts& run) { run.content.groups.clear(); },
      [](Parts& run) { run.traits.quantized = false; },
      [](Parts& run) { run.traits.outputs[0].tolerated_steps = 0; },
      [](Parts& run) { run.traits.outputs[0].step = 0.25; },
      [](Parts& run) { run.traits.outputs.clear(); },
  };
  std::set<std::string> keys;
  for (const auto& change : changes) {
    Parts run = make_parts();
    change(run);
    keys.insert(key_of(run));
  }
  EXPECT_EQ(keys.size(), std::size(changes));
  EXPECT_EQ(key_of(make_parts()), key_of(make_parts()));
  EXPECT_EQ(key_of(make_parts()).size(), KeyBuilder::digits);
}

TEST(CaseKeyTest, TakesHashesThatAreComputed) {
  Parts run = make_parts();
  const std::string key = key_of(run);
  for (package::File& file : run.files) {
    file.sha256 = std::string(64, 'a');
  }
  EXPECT_NE(key_of(run), key);
}

class CaseFilesTest : public testing::Test {
 protected:
  const TemporaryFolder temporary_ = *TemporaryFolder::create();
  const fs::path& folder_ = temporary_.path();
  const TestCase test_{"a/test_data_set_0", folder_ / "model.onnx", folder_ / "test_data_set_0"};

  void SetUp() override {
    write("model.onnx", "model");
    write("test_data_set_0/input_0.pb", "input");
    write("test_data_set_0/output_0.pb", "output");
  }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    ASSERT_TRUE(write_file(folder_ / name, std::as_bytes(std::span(text))));
  }
  std::string key(const TestCase& test) {
    KeyBuilder builder;
    return add_case_files(test, builder) ? builder.key() : "";
  }
  std::string key() { return key(test_); }
};

TEST_F(CaseFilesTest, FollowsEachFile) {
  std::set<std::string> keys{key()};
  const auto changed = [&] { return keys.insert(key()).second; };
  EXPECT_EQ(keys.count(key()), 1u);
  write("model.onnx", "other");
  EXPECT_TRUE(changed());
  write("test_data_set_0/input_0.pb", "other");
  EXPECT_TRUE(changed());
  write("test_data_set_0/output_0.pb", "other");
  EXPECT_TRUE(changed());
  write("test_data_set_0/input_1.pb", "");
  EXPECT_TRUE(changed());
  fs::rename(test_.data / "input_1.pb", test_.data / "input_2.pb");
  EXPECT_TRUE(changed());
  write("data/weights.bin", "weights");
  EXPECT_TRUE(changed());
  write("data/weights.bin", "heights");
  EXPECT_TRUE(changed());
  fs::create_symlink("data/weights.bin", folder_ / "link.bin");
  EXPECT_TRUE(changed());
  write("data/same.bin", "heights");
  EXPECT_TRUE(changed());
  fs::remove(folder_ / "link.bin");
  fs::create_symlink("data/same.bin", folder_ / "link.bin");
  EXPECT_TRUE(changed());
}

TEST_F(CaseFilesTest, LeavesOutOtherDataSets) {
  const std::string before = key();
  write("test_data_set_1/input_0.pb", "other");
  write("gold_ort/output_0.pb", "other");
  EXPECT_EQ(key(), before);
}

TEST_F(CaseFilesTest, DoesNotDependOnTheFoldersPlace) {
  const std::string before = key();
  fs::create_directories(folder_ / "deeper");
  for (const char* name : {"model.onnx", "test_data_set_0"})
    fs::rename(folder_ / name, folder_ / "deeper" / name);
  EXPECT_EQ(
      key({"b/test_data_set_0", folder_ / "deeper/model.onnx", folder_ / "deeper/test_data_set_0"}),
      before);
}

TEST_F(CaseFilesTest, TellsCasesOfAnOperatorFileApart) {
  write("add.jsonc", "[]");
  const std::string first = key({"add/0", folder_ / "add.jsonc", {}, 0});
  EXPECT_FALSE(first.empty());
  EXPECT_NE(first, key({"add/1", folder_ / "add.jsonc", {}, 1}));
  write("add.jsonc", "[1]");
  EXPECT_NE(first, key({"add/0", folder_ / "add.jsonc", {}, 0}));
}

TEST_F(CaseFilesTest, GivesUpOnFilesThatCannotBeReadAndOnTooMany) {
  EXPECT_EQ(key({"c", folder_ / "nowhere/model.onnx", folder_ / "nowhere/test_data_set_0"}), "");
  EXPECT_EQ(key({"c", folder_ / "nowhere.jsonc", {}, 0}), "");
  for (int at = 0; at < 1001; ++at) write(cat("many/", at), "");
  EXPECT_EQ(key(), "");
}

}  // namespace
}  // namespace gossamer::command
