#include "serve/model_queue.h"

#include <gtest/gtest.h>

#include <cstring>
#include <future>

namespace gossamer::serve {
namespace {

using ir::DType;
using runtime::HostTensor;
using Tensors = ModelQueue::Tensors;

HostTensor column(const std::vector<float>& values) {
  HostTensor tensor{DType::f32, {static_cast<int64_t>(values.size()), 1}, {}};
  const auto bytes = std::as_bytes(std::span(values));
  tensor.bytes.assign(bytes.begin(), bytes.end());
  return tensor;
}

std::vector<float> values_of(const HostTensor& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

Signature rows() {
  return {"m", "", {{"x", DType::f32, {-1, 1}, {"N", ""}}}, {{"y", DType::f32, {-1, 1}, {}}}};
}

// A model that a test holds until its requests wait.
class Held {
 public:
  // `sum`: each row becomes the sum of all, else twice itself. A negative value is an error.
  explicit Held(bool sum) : sum_(sum) {}
  Result<> operator()(std::span<const runtime::TensorView> feeds, Tensors& outputs) {
    open_.wait();
    std::vector<float> values(feeds[0].bytes.size() / sizeof(float));
    std::memcpy(values.data(), feeds[0].bytes.data(), feeds[0].bytes.size());
    runs.push_back(values.size());
    float all = 0;
    for (const float value : values) {
      if (value < 0) return fail("negative");
      all += value;
    }
    for (float& value : values) value = sum_ ? all : 2 * value;
    outputs = {column(values)};
    return {};
  }
  void let_go() { gate_.set_value(); }
  std::vector<size_t> runs;  // rows of each

 private:
  bool sum_;
  std::promise<void> gate_;
  std::shared_future<void> open_ = gate_.get_future().share();
};

struct Asked {
  std::vector<std::future<ModelQueue::Answer>> answers;
  void ask(ModelQueue& queue, const std::vector<float>& values, double seconds = 60) {
    auto promise = std::make_shared<std::promise<ModelQueue::Answer>>();
    answers.push_back(promise->get_future());
    const auto until = ModelQueue::Clock::now() + std::chrono::milliseconds(int(1000 * seconds));
    ASSERT_TRUE(queue.submit({column(values)}, until, [promise](ModelQueue::Answer answer) {
      promise->set_value(std::move(answer));
    }));
  }
};

TEST(ModelQueue, JoinsWhatWaits) {
  Held model(false);
  Asked asked;
  {
    ModelQueue queue(rows(), std::ref(model), {.max_batch = 4});
    asked.ask(queue, {1});
    while (queue.waiting() > 0) std::this_thread::yield();  // it runs, or is held in it
    for (const float first : {2.0F, 4.0F, 6.0F}) asked.ask(queue, {first, first + 1});
    model.let_go();
  }
  EXPECT_EQ(values_of(asked.answers[0].get().outputs->at(0)), std::vector<float>{2});
  EXPECT_EQ(values_of(asked.answers[1].get().outputs->at(0)), (std::vector<float>{4, 6}));
  EXPECT_EQ(values_of(asked.answers[2].get().outputs->at(0)), (std::vector<float>{8, 10}));
  EXPECT_EQ(values_of(asked.answers[3].get().outputs->at(0)), (std::vector<float>{12, 14}));
  // The second and third joined, each of them alone to compare, and what was too much for four.
  EXPECT_EQ(model.runs, (std::vector<size_t>{1, 4, 2, 2, 2}));
}

TEST(ModelQueue, RowsThatDependOnEachOtherRunAlone) {
  Held model(true);
  Asked asked;
  std::string notice;
  {
    ModelQueue queue(rows(), std::ref(model), {.max_batch = 8}, {},
                     [&](const std::string& line) { notice = line; });
    asked.ask(queue, {1});
    while (queue.waiting() > 0) std::this_thread::yield();
    for (const float value : {2.0F, 3.0F}) asked.ask(queue, {value});
    model.let_go();
  }
  EXPECT_EQ(values_of(asked.answers[1].get().outputs->at(0)), std::vector<float>{2});
  EXPECT_EQ(values_of(asked.answers[2].get().outputs->at(0)), std::vector<float>{3});
  EXPECT_NE(notice.find("none are joined"), std::string::npos);
}

TEST(ModelQueue, OneBadRequestSpoilsNoOther) {
  Held model(false);
  Asked asked;
  {
    ModelQueue queue(rows(), std::ref(model), {.max_batch = 8});
    asked.ask(queue, {1});
    while (queue.waiting() > 0) std::this_thread::yield();
    for (const float value : {2.0F, -1.0F}) asked.ask(queue, {value});
    model.let_go();
  }
  EXPECT_EQ(values_of(asked.answers[1].get().outputs->at(0)), std::vector<float>{4});
  EXPECT_EQ(asked.answers[2].get().outputs.error().message, "negative");
}

TEST(ModelQueue, FullAndLate) {
  Held model(false);
  Asked asked;
  {
    ModelQueue queue(rows(), std::ref(model), {.max_waiting = 1});
    asked.ask(queue, {1});
    while (queue.waiting() > 0) std::this_thread::yield();
    asked.ask(queue, {2}, 0);
    EXPECT_FALSE(queue.submit({column({3})}, {}, [](const ModelQueue::Answer&) { FAIL(); }));
    model.let_go();
  }
  const auto late = asked.answers[1].get();
  EXPECT_FALSE(late.outputs);
  EXPECT_TRUE(late.expired);
}

TEST(ModelQueue, JoinsOnlyOneFreeFirstDimension) {
  Signature model = rows();
  EXPECT_TRUE(ModelQueue::joinable(model));
  model.outputs[0].shape = {1, 1};
  EXPECT_FALSE(ModelQueue::joinable(model));
  model = rows();
  model.inputs.push_back({"z", DType::f32, {-1}, {"M"}});
  EXPECT_FALSE(ModelQueue::joinable(model));
  model.inputs[1].symbols = {"N"};
  EXPECT_TRUE(ModelQueue::joinable(model));
  model.inputs[1].shape = {};
  EXPECT_FALSE(ModelQueue::joinable(model));
}

}  // namespace
}  // namespace gossamer::serve
