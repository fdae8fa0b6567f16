// Of target cpu.
// State in the native run time: caches that grow by rows and tensors that are written whole, kept
// from run to run, on every device that this machine has; runs that fail leave it as it was.
#include <gtest/gtest.h>

#include <filesystem>

#include "compiler/compile.h"
#include "gossamer/compile.hpp"
#include "onnx/model_writer.h"
#include "runtime/cpu/device.h"
#include "runtime/model.h"
#include "runtime/test_device.h"
#include "runtime/test_folder.h"

namespace gossamer {
namespace {

using Floats = std::vector<float>;

// past [b, 2, p, 3] and n rows more give present, its sum of squares along rows, and total + x, a
// state of one shape.
onnx::Message grower() {
  using onnx::node, onnx::value;
  return onnx::model(
      {{value("past", {"b", "2", "p", "3"}), value("rows", {"b", "2", "n", "3"}),
        value("total", {"2"}), value("x", {"2"})},
       {node("Concat", {"past", "rows"}, {"present"}, {onnx::attribute("axis", int64_t{2})}),
        node("Mul", {"present", "present"}, {"square"}),
        node("ReduceSum", {"square", "two"}, {"squares"},
             {onnx::attribute("keepdims", int64_t{0})}),
        node("Add", {"total", "x"}, {"sum"})},
       {value("present", {"b", "2", "q", "3"}), value("squares", {"b", "2", "3"}),
        value("sum", {"2"})},
       {onnx::int64s("two", {1}, {2})}});
}

const std::map<std::string, std::string> pairs{{"past", "present"}, {"total", "sum"}};

// What a sequence should be, by the definition.
struct Expected {
  Floats halves[2], total{0, 0};

  Floats past() const {
    Floats all = halves[0];
    all.insert(all.end(), halves[1].begin(), halves[1].end());
    return all;
  }
  Floats squares() const {
    Floats all;
    for (const Floats& half : halves)
      for (size_t column = 0; column < 3; ++column) {
        float sum = 0;
        for (size_t at = column; at < half.size(); at += 3) sum += half[at] * half[at];
        all.push_back(sum);
      }
    return all;
  }
  // The feeds of the next run, of so many rows.
  std::map<std::string, Tensor> next(int64_t rows) {
    Floats values;
    for (Floats& half : halves)
      for (int64_t at = 0; at < 3 * rows; ++at) {
        values.push_back(static_cast<float>((half.size() * 7 + values.size()) % 5) - 1.5f);
        half.push_back(values.back());
      }
    const Floats x{1, static_cast<float>(rows)};
    for (size_t at = 0; at < 2; ++at) total[at] += x[at];
    return {{"rows", Tensor::of<float>({1, 2, rows, 3}, values)}, {"x", Tensor::of<float>({2}, x)}};
  }
};

Floats floats_of(const Tensor& tensor) {
  const auto data = tensor.data<float>().value();
  return {data.begin(), data.end()};
}

struct Form {
  const char* name;
  const char* target;
  bool in_place;
};

class NativeStateTest : public testing::TestWithParam<Form> {
 protected:
  // Nothing where this machine has no such device.
  std::optional<Model> load_with(StateOptions state) {
    CompileOptions options;
    options.target = GetParam().target;
    options.state = GetParam().in_place;
    if (options.target == "webgpu") options.side = "cpu";
    const auto package = compile(onnx::bytes_of(grower()), options);
    EXPECT_TRUE(package) << package.error().to_string();
    if (!package) return std::nullopt;
    auto model = load(*package, {.threads = 1, .state = std::move(state)});
    if (!model) why = model.error().to_string();
    return model ? std::optional(*std::move(model)) : std::nullopt;
  }
  static void expect_state(const Model& model, const Expected& expected) {
    const auto past = model.state().read("past").value();
    ASSERT_TRUE(past.has_value());
    const auto rows = static_cast<int64_t>(expected.halves[0].size() / 3);
    EXPECT_EQ(past->shape(), (std::vector<int64_t>{1, 2, rows, 3}));
    EXPECT_EQ(floats_of(*past), expected.past());
    EXPECT_EQ(floats_of(*model.state().read("total").value()), expected.total);
  }
  std::string why;
};

TEST_P(NativeStateTest, GrowsFromRunToRun) {
  auto model = load_with({.pairs = pairs});
  if (!model && why.find("install") != std::string::npos)
    GTEST_SKIP() << "this machine has no such device: " << why;
  ASSERT_TRUE(model) << why;
  EXPECT_EQ(model->inputs().size(), 2u);
  EXPECT_EQ(model->outputs().size(), 1u);
  ASSERT_EQ(model->state().ports().size(), 2u);
  EXPECT_EQ(model->state().ports()[0].name, "past");
  EXPECT_FALSE(model->state().read("past").value().has_value());
  EXPECT_EQ(model->state().capacity("past").value(), 0);
  Expected expected;
  for (int64_t rows : {3, 1, 5, 20, 1, 40}) {
    const auto outputs = model->run(expected.next(rows));
    ASSERT_TRUE(outputs) << outputs.error().to_string();
    EXPECT_EQ(outputs->size(), 1u);
    EXPECT_EQ(floats_of(outputs->at("squares")), expected.squares());
    expect_state(*model, expected);
    const int64_t capacity = model->state().capacity("past").value();
    if (GetParam().in_place)
      EXPECT_GE(capacity, static_cast<int64_t>(expected.halves[0].size() / 3));
    else
      EXPECT_EQ(capacity, 0);
    EXPECT_EQ(model->state().capacity("total").value(), 0);
  }
}

TEST_P(NativeStateTest, RoomThatIsAskedForIsMadeOnce) {
  auto model = load_with({.pairs = pairs, .rows = 40});
  if (!model && why.find("install") != std::string::npos)
    GTEST_SKIP() << "this machine has no such device: " << why;
  ASSERT_TRUE(model) << why;
  Expected expected;
  int64_t memory = 0;
  for (int run = 0; run < 40; ++run) {
    const auto outputs = model->run(expected.next(1));
    ASSERT_TRUE(outputs) << outputs.error().to_string();
    EXPECT_EQ(floats_of(outputs->at("squares")), expected.squares());
    if (!GetParam().in_place) continue;
    EXPECT_EQ(model->state().capacity("past").value(), 40);
    const int64_t now = model->report().memory_bytes;
    EXPECT_EQ(run == 0 ? now : memory, now);
    memory = now;
  }
  expect_state(*model, expected);
}

TEST_P(NativeStateTest, IsReadWrittenAndReset) {
  auto model = load_with({.pairs = pairs});
  if (!model && why.find("install") != std::string::npos)
    GTEST_SKIP() << "this machine has no such device: " << why;
  ASSERT_TRUE(model) << why;
  ModelState state = model->state();
  Expected expected;
  ASSERT_TRUE(model->run(expected.next(4)));
  // Another sequence, in the middle of its course.
  Expected other;
  (void)other.next(30);
  ASSERT_TRUE(state.write("past", Tensor::of<float>({1, 2, 30, 3}, other.past())));
  ASSERT_TRUE(state.write("total", Tensor::of<float>({2}, other.total)));
  expect_state(*model, other);
  const auto outputs = model->run(other.next(2));
  ASSERT_TRUE(outputs) << outputs.error().to_string();
  EXPECT_EQ(floats_of(outputs->at("squares")), other.squares());
  expect_state(*model, other);
  state.reset();
  EXPECT_FALSE(state.read("past").value().has_value());
  Expected again;
  EXPECT_EQ(floats_of(model->run(again.next(3)).value().at("squares")), again.squares());
  expect_state(*model, again);
}

TEST_P(NativeStateTest, WhatDoesNotFitIsAnErrorAndChangesNothing) {
  auto model = load_with({.pairs = pairs});
  if (!model && why.find("install") != std::string::npos)
    GTEST_SKIP() << "this machine has no such device: " << why;
  ASSERT_TRUE(model) << why;
  ModelState state = model->state();
  // A first run that fails leaves no shape behind.
  auto wrong = Expected().next(2);
  wrong["rows"] = Tensor::of<float>({2, 2, 1, 3}, Floats(12));
  wrong["x"] = Tensor::of<float>({3}, Floats(3));
  EXPECT_FALSE(model->run(wrong));
  EXPECT_FALSE(state.read("past").value().has_value());
  Expected expected;
  ASSERT_TRUE(model->run(expected.next(2)));
  const auto refused = [&](const char* name, const Tensor& feed) {
    auto feeds = Expected().next(1);
    feeds[name] = feed;
    const auto outputs = model->run(feeds);
    EXPECT_FALSE(outputs);
    expect_state(*model, expected);
    return outputs ? "" : outputs.error().to_string();
  };
  EXPECT_NE(refused("rows", Tensor::of<int32_t>({1, 2, 1, 3}, std::vector<int32_t>(6))), "");
  EXPECT_NE(refused("rows", Tensor::of<float>({1, 2, 1, 4}, Floats(8))), "");
  // Of two sequences where the state has one.
  EXPECT_NE(refused("rows", Tensor::of<float>({2, 2, 1, 3}, Floats(12))), "");
  const std::string given = refused("past", Tensor::of<float>({1, 2, 0, 3}, Floats()));
  EXPECT_NE(given.find("\"past\": is no input"), std::string::npos) << given;
  EXPECT_FALSE(state.write("past", Tensor::of<float>({1, 2, 1, 4}, Floats(8))));
  EXPECT_FALSE(state.write("past", Tensor::of<double>({1, 2, 0, 3}, std::vector<double>())));
  EXPECT_FALSE(state.write("total", Tensor::of<float>({2}, Floats(1))));
  for (const std::string name : {"present", "rows", "no such"}) {
    EXPECT_FALSE(state.read(name));
    EXPECT_FALSE(state.write(name, Tensor::of<float>({2}, Floats(2))));
    EXPECT_FALSE(state.capacity(name));
  }
  expect_state(*model, expected);
  EXPECT_EQ(floats_of(model->run(expected.next(50)).value().at("squares")), expected.squares());
}

TEST_P(NativeStateTest, ProfilesLeaveItAsItWas) {
  auto model = load_with({.pairs = pairs});
  if (!model && why.find("install") != std::string::npos)
    GTEST_SKIP() << "this machine has no such device: " << why;
  ASSERT_TRUE(model) << why;
  ASSERT_TRUE(model->profile(Expected().next(9), {.runs = 2}));
  EXPECT_FALSE(model->state().read("past").value().has_value());
  Expected expected;
  ASSERT_TRUE(model->run(expected.next(2)));
  for (int64_t rows : {1, 70}) {
    Expected ahead = expected;
    const auto profile = model->profile(ahead.next(rows), {.runs = 2});
    ASSERT_TRUE(profile) << profile.error().to_string();
    expect_state(*model, expected);
  }
  EXPECT_EQ(floats_of(model->run(expected.next(1)).value().at("squares")), expected.squares());
  expect_state(*model, expected);
}

INSTANTIATE_TEST_SUITE_P(Forms, NativeStateTest,
                         testing::Values(Form{"cpu", "cpu", true}, Form{"cpu_copied", "cpu", false},
                                         Form{"opencl", "opencl", true},
                                         Form{"opencl_copied", "opencl", false},
                                         Form{"opengl", "opengl", true},
                                         Form{"webgpu", "webgpu", true},
                                         Form{"opengl_copied", "opengl", false}),
                         [](const auto& form) { return std::string(form.param.name); });

std::string error_of_load(const Package& package, StateOptions state) {
  const auto model = load(package, {.threads = 1, .state = std::move(state)});
  return model ? "" : model.error().to_string();
}

TEST(NativeState, PairsThatAreNoneAreErrors) {
  CompileOptions options;
  options.state = true;
  const auto package = compile(onnx::bytes_of(grower()), options);
  ASSERT_TRUE(package) << package.error().to_string();
  const auto says = [&](StateOptions state, const char* piece) {
    const std::string text = error_of_load(*package, std::move(state));
    EXPECT_NE(text.find(piece), std::string::npos) << text;
  };
  says({.pairs = {{"nothing", "present"}}}, "\"nothing\": is no input");
  says({.pairs = {{"past", "nothing"}}}, "no output \"nothing\"");
  says({.pairs = {{"past", "sum"}}}, "is f32 of 4 axes, \"sum\" is f32 of 1 axes");
  says({.pairs = {{"rows", "present"}}}, "\"present\" continues another input");
  says({.pairs = {{"total", "sum"}, {"x", "sum"}}}, "no output \"sum\"");
  EXPECT_EQ(error_of_load(*package, {.pairs = pairs}), "");
  EXPECT_EQ(error_of_load(*package, {.by_name = true}), "");
}

TEST(NativeState, NamesOfPastAndPresentArePairs) {
  using onnx::value;
  std::vector<onnx::Message> nodes, inputs{value("x", {"1", "n"})}, outputs;
  const std::string names[][2] = {{"past_key_values.0.key", "present.0.key"},
                                  {"past_1", "present_1"}};
  for (const auto& [past, present] : names) {
    nodes.push_back(
        onnx::node("Concat", {past, "x"}, {present}, {onnx::attribute("axis", int64_t{1})}));
    inputs.push_back(value(past, {"1", "p"}));
    outputs.push_back(value(present, {"1", "q"}));
  }
  nodes.push_back(onnx::node("Neg", {"x"}, {"y"}));
  outputs.push_back(value("y", {"1", "n"}));
  const auto package = compile(onnx::bytes_of(onnx::model({inputs, nodes, outputs})));
  ASSERT_TRUE(package) << package.error().to_string();
  auto model = load(*package, {.threads = 1, .state = {.by_name = true}});
  ASSERT_TRUE(model) << model.error().to_string();
  ASSERT_EQ(model->state().ports().size(), 2u);
  const Floats x{1, 2};
  for (int run = 0; run < 2; ++run) ASSERT_TRUE(model->run({{"x", Tensor::of<float>({1, 2}, x)}}));
  for (const auto& [past, present] : names)
    EXPECT_EQ(floats_of(*model->state().read(past).value()), (Floats{1, 2, 1, 2}));
  const auto none = compile(onnx::bytes_of(
      onnx::model({{value("a", {"2"})}, {onnx::node("Neg", {"a"}, {"b"})}, {value("b", {"2"})}})));
  EXPECT_NE(error_of_load(*none, {.by_name = true}), "");
}

// A CPU that fails when it is told to: the call after `left` more of one kind.
struct Failures {
  enum class Kind : uint8_t { nothing, allocate, write, launch, submit } kind = Kind::nothing;
  int left = 0;
  int seen = 0;  // of that kind
  Result<> at(Kind now) {
    if (now != kind) return {};
    ++seen;
    if (left-- != 0) return {};
    return fail("the device fails, as the test wants");
  }
};
using Kind = Failures::Kind;

class FailingQueue : public runtime::ForwardingQueue {
 public:
  FailingQueue(runtime::Queue& queue, Failures& failures)
      : ForwardingQueue(queue), failures_(failures) {}
  Result<> write(runtime::Buffer& to, size_t offset, std::span<const std::byte> bytes,
                 ir::DType storage) override {
    GS_TRY(failures_.at(Kind::write));
    return ForwardingQueue::write(to, offset, bytes, storage);
  }
  Result<> launch(const runtime::Executable& code,
                  const runtime::LaunchArguments& arguments) override {
    GS_TRY(failures_.at(Kind::launch));
    return ForwardingQueue::launch(code, arguments);
  }
  Result<std::unique_ptr<runtime::Fence>> submit() override {
    GS_TRY(failures_.at(Kind::submit));
    return ForwardingQueue::submit();
  }

 private:
  Failures& failures_;
};

class FailingDevice : public runtime::ForwardingDevice {
 public:
  explicit FailingDevice(Failures& failures)
      : ForwardingDevice(runtime::make_cpu_device(1)),
        queue_(ForwardingDevice::queue(), failures),
        failures_(failures) {}
  std::string description() const override { return "a cpu that fails"; }
  Result<std::unique_ptr<runtime::Buffer>> allocate(size_t bytes) override {
    GS_TRY(failures_.at(Kind::allocate));
    return ForwardingDevice::allocate(bytes);
  }
  runtime::Queue& queue() override { return queue_; }

 private:
  FailingQueue queue_;
  Failures& failures_;
};

class FailingStateTest : public runtime::FolderTest {
 protected:
  // Runs of so many rows; then one more, which fails at every call of a kind in turn, and is asked
  // for again.
  void fails_everywhere(bool in_place, Kind kind, int64_t more) {
    compiler::Options options;
    options.target = "cpu";
    options.state = in_place;
    const auto files = compiler::compile(onnx::bytes_of(grower()), options);
    ASSERT_TRUE(files) << files.error().to_string();
    for (const package::File& file : *files) put(file.name, file.bytes);
    int seen = 1;
    for (int at = 0; at < seen; ++at) {
      Failures failures;
      runtime::LoadOptions load;
      load.device = std::make_unique<FailingDevice>(failures);
      load.state.pairs = pairs;
      auto model = runtime::Model::load(folder, std::move(load));
      ASSERT_TRUE(model) << model.error().to_string();
      Expected expected;
      const auto run = [&](const std::map<std::string, Tensor>& feeds) {
        std::vector<runtime::HostTensor> given;
        for (const runtime::Port& port : (*model)->inputs()) {
          const Tensor& feed = feeds.at(port.name);
          given.push_back(
              {ir::DType::f32, feed.shape(), {feed.bytes().begin(), feed.bytes().end()}});
        }
        return (*model)->run(given);
      };
      for (int64_t rows : {3, 10}) ASSERT_TRUE(run(expected.next(rows)));
      const auto past = (*model)->read_state("past").value()->bytes;
      const auto total = (*model)->read_state("total").value()->bytes;
      failures = {kind, at, 0};
      Expected after = expected;
      const auto feeds = after.next(more);
      const auto failed = run(feeds);
      // What was to be large enough for all rows there is room for need not be.
      if (kind == Kind::allocate && failed) continue;
      EXPECT_FALSE(failed) << "at call " << at;
      if (at == 0) {
        // How many such calls there are.
        failures = {kind, 1 << 20, 0};
        EXPECT_TRUE(run(feeds));
        seen = failures.seen;
        EXPECT_GT(seen, 0);
        failures = {};
        ASSERT_TRUE((*model)->write_state(
            "past", {ir::DType::f32, std::vector<int64_t>{1, 2, 13, 3}, past}));
        ASSERT_TRUE(
            (*model)->write_state("total", {ir::DType::f32, std::vector<int64_t>{2}, total}));
      }
      failures = {};
      EXPECT_EQ((*model)->read_state("past").value()->bytes, past);
      EXPECT_EQ((*model)->read_state("total").value()->bytes, total);
      const auto outputs = run(feeds);
      ASSERT_TRUE(outputs) << outputs.error().to_string();
      const Tensor squares(ElementType::f32, (*outputs)[0].shape, (*outputs)[0].bytes);
      EXPECT_EQ(floats_of(squares), after.squares()) << "after call " << at;
      const auto grown = (*model)->read_state("past").value();
      EXPECT_EQ(floats_of(Tensor(ElementType::f32, grown->shape, grown->bytes)), after.past());
    }
  }
};

TEST_F(FailingStateTest, LaunchesFail) {
  for (bool in_place : {true, false})
    for (int64_t more : {1, 30}) fails_everywhere(in_place, Kind::launch, more);
}
TEST_F(FailingStateTest, ThereIsNoMemory) {
  fails_everywhere(true, Kind::allocate, 30);
  fails_everywhere(false, Kind::allocate, 30);
}
TEST_F(FailingStateTest, UploadsFail) {
  for (bool in_place : {true, false})
    for (int64_t more : {1, 30}) fails_everywhere(in_place, Kind::write, more);
}
TEST_F(FailingStateTest, TheDeviceDoesNotFinish) {
  for (bool in_place : {true, false})
    for (int64_t more : {1, 30}) fails_everywhere(in_place, Kind::submit, more);
}

}  // namespace
}  // namespace gossamer
