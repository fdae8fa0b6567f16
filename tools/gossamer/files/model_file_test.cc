#include "gossamer/files/model_file.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "onnx/model_writer.h"

namespace gossamer::command {
namespace {

using onnx::Message;

constexpr int count = 200;
constexpr size_t small = 4, large = 32768;  // bytes: on both sides of the reader's copy limit

size_t size_of(int tensor) { return tensor % 2 ? large : small; }

// x plus 200 tensors of data/w.bin, one after the other.
Bytes model_of_many() {
  onnx::GraphParts parts;
  std::string sum = "x";
  size_t offset = 0;
  for (int i = 0; i < count; ++i) {
    const std::string name = cat("w", i), next = i + 1 < count ? cat("s", i) : "y";
    const auto extent = static_cast<int64_t>(size_of(i) / sizeof(float));
    Message tensor = Message().integer(1, extent).integer(2, 1).text(8, name);
    const auto entry = [&](const char* key, const std::string& text) {
      tensor.add(13, Message().text(1, key).text(2, text));
    };
    entry("location", "data/w.bin");
    entry("offset", std::to_string(offset));
    entry("length", std::to_string(size_of(i)));
    parts.initializers.push_back(tensor.integer(14, 1));
    parts.nodes.push_back(onnx::node("Add", {sum, name}, {next}));
    sum = next;
    offset += size_of(i);
  }
  parts.inputs = {onnx::value("x", {"8192"})};
  parts.outputs = {onnx::value("y", {"8192"})};
  const Message model = Message().integer(1, 10).add(8, onnx::opset(21)).add(7, onnx::graph(parts));
  const auto bytes = onnx::bytes_of(model);
  return {bytes.begin(), bytes.end()};
}

// Byte i of a tensor's data tells it from its neighbours.
Bytes weights() {
  Bytes bytes;
  for (int i = 0; i < count; ++i) bytes.insert(bytes.end(), size_of(i), std::byte(i));
  return bytes;
}

TEST(ModelFile, OpensExternalDataOnce) {
  const Bytes data = weights();
  int opened = 0;
  const auto external = std::make_shared<onnx::ExternalFiles>(
      [&](const std::string& path) -> Result<std::span<const std::byte>> {
        EXPECT_EQ(path, "data/w.bin");
        ++opened;
        return data;
      });
  const auto model = read_model(model_of_many(), "many.onnx", external);
  ASSERT_TRUE(model) << model.error().to_string();
  int found = 0;
  for (const graph::Value& value : model->graph.values) {
    if (!value.constant || !value.name.starts_with("w")) continue;
    const int tensor = std::stoi(value.name.substr(1));
    const auto bytes = constant_bytes(*model, *value.constant);
    ASSERT_TRUE(bytes) << bytes.error().to_string();
    EXPECT_EQ(*bytes, Bytes(size_of(tensor), std::byte(tensor))) << tensor;
    ++found;
  }
  EXPECT_EQ(found, count);
  compiler::Options options;
  options.target = "webgpu";
  options.external = model->external.get();
  const auto files = compiler::compile(model->bytes, options);
  ASSERT_TRUE(files) << files.error().to_string();
  EXPECT_EQ(opened, 1);
}

TEST(ModelFile, MapsTheFilesOfItsFolderAlone) {
  const auto folder = TemporaryFolder::create();
  ASSERT_TRUE(folder);
  std::filesystem::create_directories(folder->path() / "model/data");
  const Bytes data = weights();
  ASSERT_TRUE(write_file(folder->path() / "model/data/w.bin", data));
  ASSERT_TRUE(write_file(folder->path() / "secret.bin", data));
  std::filesystem::create_symlink(folder->path() / "secret.bin", folder->path() / "model/link.bin");
  const auto external = external_files(folder->path() / "model");
  const auto first = external->range("data/w.bin", 0, small);
  const auto second = external->range("data/w.bin", small, large);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(second->data(), first->data() + small);  // two views of one mapping
  EXPECT_EQ(second->front(), std::byte(1));
  for (const char* path : {"link.bin", "../secret.bin", "none.bin", "data"})
    EXPECT_FALSE(external->range(path, 0, small)) << path;
  EXPECT_FALSE(external->range("data/w.bin", data.size(), 1));
  EXPECT_FALSE(external->range("data/w.bin", ~uint64_t{0}, 2));
}

}  // namespace
}  // namespace gossamer::command
