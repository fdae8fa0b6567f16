// Tensors that stay on the device, from run to run.
#include <functional>
#include <set>

#include "runtime/device_tensor.h"
#include "runtime/model_test.h"
#include "runtime/null/device.h"

namespace gossamer::runtime {
namespace {

using ir::DType;
using package::Number;

class OnDeviceTest : public ModelTest {
 protected:
  // The example with other launches and ends.
  std::unique_ptr<Model> load_changed(const std::function<void(package::Module&)>& change) {
    Example example = make_example();
    change(example.module);
    const package::Files files{{"kernels.so", example.code}, example.weights};
    for (const package::File& file : files) put(file.name, file.bytes);
    put("manifest.json", package::write_manifest(example.module, files).bytes);
    auto model = Model::load(folder);
    EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().to_string());
    return model ? std::move(*model) : nullptr;
  }
  DeviceTensor only_output(Model& model, const DeviceFeed& feed) {
    auto results = model.run_on_device({&feed, 1}, pool);
    EXPECT_TRUE(results.has_value()) << (results ? "" : results.error().to_string());
    return results ? std::move(results->outputs.at(0)) : DeviceTensor{};
  }
  static HostTensor read(const DeviceTensor& tensor) { return *tensor.read(); }

  std::shared_ptr<BufferPool> pool = std::make_shared<BufferPool>();
};

TEST_F(OnDeviceTest, OutputsAreFeedsWhereTheyLie) {
  const auto model = load_changed([](package::Module&) {});
  ASSERT_TRUE(model);
  const HostTensor x = ramp(8);
  const DeviceTensor once = only_output(*model, {view_of(x)});
  const DeviceTensor twice = only_output(*model, {{}, &once});
  expect_sum(read(once), 8);  // it is what it was
  EXPECT_NE(once.memory->buffer(), twice.memory->buffer());
  EXPECT_EQ(read(twice).bytes, (*model->run(std::vector{read(once)}))[0].bytes);
  // Runs of other lengths, and from and to the host, go on as before.
  for (int64_t count : {16, 4, 8}) expect_sum((*model->run(std::vector{ramp(count)}))[0], count);
  EXPECT_EQ(read(twice).bytes, (*model->run(std::vector{read(once)}))[0].bytes);
}

TEST_F(OnDeviceTest, MemoryThatNobodyHasIsTakenAgain) {
  const auto model = load_changed([](package::Module&) {});
  ASSERT_TRUE(model);
  const HostTensor x = ramp(8);
  std::set<const runtime::Buffer*> seen;
  for (int turn = 0; turn < 100; ++turn)
    seen.insert(only_output(*model, {view_of(x)}).memory->buffer().get());
  EXPECT_LE(seen.size(), 2u);
  // What the host gave stays where it was written, if it is to.
  const DeviceFeed feed{view_of(x)};
  auto kept = model->run_on_device({&feed, 1}, pool, true);
  ASSERT_TRUE(kept.has_value());
  ASSERT_TRUE(kept->feeds[0].has_value());
  EXPECT_EQ(read(*kept->feeds[0]).bytes, x.bytes);
  expect_sum(read(only_output(*model, {{}, &*kept->feeds[0]})), 8);
}

TEST_F(OnDeviceTest, FeedsStayWhatTheyAreWhereTheirSlotIsWritten) {
  // y = x + w, then z = y + w in the place of x.
  const auto model = load_changed([](package::Module& module) {
    module.tensors.push_back({"z", DType::f32, DType::f32, Number::plan(0), 0});
    module.outputs[0].tensor = 4;
    module.run.push_back({.kernel = 1, .tensors = {1, 3, 4}, .range = Number::plan(0)});
  });
  ASSERT_TRUE(model);
  const auto first = load_changed([](package::Module&) {});
  const HostTensor x = ramp(8);
  const DeviceTensor y = only_output(*first, {view_of(x)});
  const DeviceTensor z = only_output(*model, {{}, &y});
  expect_sum(read(y), 8);
  const DeviceTensor again = only_output(*model, {{}, &y});
  EXPECT_EQ(read(again).bytes, read(z).bytes);
  EXPECT_EQ(read(z).bytes, (*model->run(std::vector{read(y)}))[0].bytes);
}

TEST_F(OnDeviceTest, AnOutputThatIsAnInputIsACopy) {
  const auto model = load_changed([](package::Module& module) { module.outputs[0].tensor = 0; });
  ASSERT_TRUE(model);
  const HostTensor x = ramp(8);
  const DeviceTensor once = only_output(*model, {view_of(x)});
  const DeviceTensor twice = only_output(*model, {{}, &once});
  EXPECT_NE(once.memory->buffer(), twice.memory->buffer());
  EXPECT_EQ(read(once).bytes, x.bytes);
  EXPECT_EQ(read(twice).bytes, x.bytes);
}

TEST_F(OnDeviceTest, WhatIsElsewhereComesByTheHostAndWhatIsWrongIsRefused) {
  const auto model = load_changed([](package::Module&) {});
  ASSERT_TRUE(model);
  const HostTensor x = ramp(8);
  const DeviceTensor host{DType::f32, {8}, DType::f32, nullptr, x};
  expect_sum(read(only_output(*model, {{}, &host})), 8);
  const std::shared_ptr<Device> null = make_null_device();
  std::shared_ptr<runtime::Buffer> memory = *null->allocate(32);
  ASSERT_TRUE(null->queue().write(*memory, 0, x.bytes));
  const DeviceTensor elsewhere{
      DType::f32, {8}, DType::f32, std::make_shared<Block>(pool, BufferPool::Kind{null}, memory)};
  expect_sum(read(only_output(*model, {{}, &elsewhere})), 8);

  DeviceTensor wrong = only_output(*model, {view_of(x)});
  const DeviceFeed feed{{}, &wrong};
  const auto error = [&] {
    auto results = model->run_on_device({&feed, 1}, pool);
    return results ? "" : results.error().to_string();
  };
  wrong.dtype = DType::i32;
  EXPECT_SAYS(error(), "\"x\": is f32, the tensor given is i32");
  wrong.dtype = DType::f32;
  wrong.shape = {2, 4};
  EXPECT_SAYS(error(), "[2, 4]");
  wrong.shape = {6};
  EXPECT_SAYS(error(), "n must be a multiple of 4");
  EXPECT_FALSE(model->run_on_device({}, pool).has_value());
  wrong.shape = {8};
  EXPECT_EQ(error(), "");
}

}  // namespace
}  // namespace gossamer::runtime
