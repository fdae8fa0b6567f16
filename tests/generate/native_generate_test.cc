// Of target cpu.
// generate() of the native run time: the text of runs whose logits are read, on every device that
// this machine has; ends, errors, and what a step asks of a queue that runs ahead.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/compile.h"
#include "generate/decoders.h"
#include "runtime/cpu/device.h"
#include "runtime/generate/generator.h"
#include "runtime/generate/lookup.h"
#include "runtime/test_device.h"
#include "runtime/test_folder.h"

namespace gossamer {
namespace {

using namespace generate_test;

// Until it ends; fails for an error.
Ids text_of(Model& model, const GenerateOptions& options, const Ids& from = prompt) {
  Ids said;
  auto generation = model.generate(from, options);
  EXPECT_TRUE(generation) << generation.error().to_string();
  if (!generation) return said;
  for (const auto& token : *generation) {
    EXPECT_TRUE(token) << token.error().to_string();
    if (token) said.push_back(token->id);
  }
  return said;
}

// A text without a limit gives a token for each position of the context, and one more: the last is
// read though no run may follow.
void expect_end_of_context(Generation generation) {
  int64_t count = 0;
  std::string problem;
  for (const auto& token : generation) {
    if (!token) problem = token.error().to_string();
    count += token.has_value();
  }
  EXPECT_EQ(count, context - static_cast<int64_t>(prompt.size()) + 1);
  EXPECT_NE(problem.find("40 positions"), std::string::npos) << problem;
}

class NativeGenerateTest : public DecoderTest {
 protected:
  int64_t rows() { return model->state().read("past.key").value()->shape()[2]; }
  std::string error_of(const GenerateOptions& options, const Ids& from = prompt) {
    const auto made = model->generate(from, options);
    return made ? "it began" : made.error().to_string();
  }
};

TEST_P(NativeGenerateTest, GreedyTextIsThatOfRuns) {
  const Ids said = text_by_runs(*model, 12);
  EXPECT_EQ(text_of(*model, {.max_tokens = 12}), said);
  for (const int ahead : {0, 1, 5})
    EXPECT_EQ(text_of(*model, {.max_tokens = 12, .ahead = ahead}), said);
  for (const int64_t chunk : {1, 2, 3})
    EXPECT_EQ(text_of(*model, {.max_tokens = 12, .prompt_chunk = chunk}), said);
  EXPECT_EQ(text_of(*model, {.max_tokens = 0}), Ids());
}

TEST_P(NativeGenerateTest, BiasesExcludeAndForceTokens) {
  const Ids said = text_of(*model, {.max_tokens = 8});
  const Ids without = text_of(*model, {.max_tokens = 8, .logit_bias = {{said[0], -100}}});
  EXPECT_EQ(std::ranges::count(without, said[0]), 0);
  EXPECT_EQ(text_of(*model, {.max_tokens = 4, .temperature = 1, .logit_bias = {{7, 100}}}),
            Ids(4, 7));
  EXPECT_EQ(text_of(*model, {.max_tokens = 8}), said);
}

TEST_P(NativeGenerateTest, OneSeedOneText) {
  for (GenerateOptions options : {GenerateOptions{.temperature = 1},
                                  {.temperature = 1.5, .top_k = 5},
                                  {.temperature = 1, .top_p = 0.6},
                                  {.temperature = 1, .min_p = 0.1},
                                  {.temperature = 1.2,
                                   .repetition_penalty = 1.3,
                                   .presence_penalty = 0.2,
                                   .frequency_penalty = 0.1}}) {
    options.max_tokens = 16;
    options.seed = 7;
    const Ids said = text_of(*model, options);
    EXPECT_EQ(text_of(*model, options), said);
    options.prompt_chunk = 2;
    EXPECT_EQ(text_of(*model, options), said);
    options.seed = uint64_t{1} << 40;
    EXPECT_NE(text_of(*model, options), said);
  }
}

TEST_P(NativeGenerateTest, Ends) {
  const Ids said = text_by_runs(*model, 20);
  const auto stop = std::ranges::find_if(said, [&](const int64_t& id) {
    return &id > &said[2] && std::ranges::find(said, id) == said.begin() + (&id - said.data());
  });
  ASSERT_NE(stop, said.end());
  const Ids before(said.begin(), stop);
  for (const int ahead : {0, 3, 8}) {
    auto generation = model->generate(prompt, {.stop_tokens = {*stop}, .ahead = ahead}).value();
    Ids text;
    for (const auto& token : generation) text.push_back(token.value().id);
    EXPECT_EQ(text, before);
    EXPECT_EQ(generation.how(), GenerationEnd::stop);
    EXPECT_EQ(rows(), static_cast<int64_t>(prompt.size() + before.size()));
  }
  // The loop is left: so does the state.
  {
    auto generation = model->generate(prompt).value();
    for (int at = 0; at < 3; ++at)
      EXPECT_EQ(generation.next().value()->id, said[static_cast<size_t>(at)]);
    EXPECT_NE(error_of({}).find("under way"), std::string::npos);
  }
  EXPECT_LE(rows(), static_cast<int64_t>(prompt.size()) + 3);
  EXPECT_EQ(text_of(*model, {.max_tokens = 6}), Ids(said.begin(), said.begin() + 6));
}

TEST_P(NativeGenerateTest, TheContextEndsAfterItsTokens) {
  for (const int ahead : {0, 4})
    expect_end_of_context(model->generate(prompt, {.ahead = ahead}).value());
  auto longer = model->generate(Ids(context + 1, 3)).value();
  const auto token = longer.next();
  ASSERT_FALSE(token);
  EXPECT_NE(token.error().message.find("shorter prompt"), std::string::npos);
}

TEST_P(NativeGenerateTest, LogProbabilities) {
  auto generation = model->generate(prompt, {.max_tokens = 4, .top_logprobs = words}).value();
  for (const auto& token : generation) {
    ASSERT_EQ(token->top.size(), static_cast<size_t>(words));
    double sum = 0;
    for (const auto& [id, logprob] : token->top) sum += std::exp(logprob);
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_EQ(token->top[0].id, token->id);
    EXPECT_EQ(token->top[0].value, token->logprob);
    EXPECT_TRUE(std::ranges::is_sorted(token->top, std::greater(), &LogProbability::value));
  }
}

TEST_P(NativeGenerateTest, GuessesLeaveTheText) {
  EXPECT_NE(error_of({.prompt_lookup_num_tokens = 3}).find("compile the model with speculate"),
            std::string::npos);
  EXPECT_NE(error_of({.prompt_lookup_num_tokens = -1}).find("prompt_lookup_num_tokens is -1"),
            std::string::npos);
  const auto& package = package_for(GetParam(), true);
  ASSERT_TRUE(package) << package.error().to_string();
  auto guesser =
      load(*package, {.threads = 1, .state = {.by_name = true, .rows = context}}).value();
  for (const Ids& from : {prompt, Ids{5, 7, 13, 2, 5, 7, 13, 2, 5, 7}}) {
    const Ids said = text_of(*model, {.max_tokens = 20}, from);
    EXPECT_EQ(text_of(guesser, {.max_tokens = 20}, from), said);
    for (const int guesses : {1, 3, 8}) {
      EXPECT_EQ(text_of(guesser, {.max_tokens = 20, .prompt_lookup_num_tokens = guesses}, from),
                said);
      EXPECT_EQ(guesser.state().read("past.key").value()->shape()[2],
                static_cast<int64_t>(from.size() + said.size()) - 1);
      GenerationCache cache;
      const GenerateOptions stop{
          .stop_tokens = {said[9]}, .prompt_lookup_num_tokens = guesses, .cache = &cache};
      const auto at = std::ranges::find(said, said[9]);
      EXPECT_EQ(text_of(guesser, stop, from), Ids(said.begin(), at));
      EXPECT_EQ(cache.tokens().size(), from.size() + static_cast<size_t>(at - said.begin()));
    }
    const GenerateOptions drawn{.max_tokens = 9, .temperature = 1, .seed = 3};
    GenerateOptions both = drawn;
    both.prompt_lookup_num_tokens = 4;
    EXPECT_EQ(text_of(guesser, both, from), text_of(guesser, drawn, from));
  }
  expect_end_of_context(guesser.generate(prompt, {.prompt_lookup_num_tokens = 8}).value());
}

TEST_P(NativeGenerateTest, RowsAreTakenBack) {
  static const onnx::Message file = plain_decoder();
  const auto package = compile(onnx::bytes_of(file), options_for(GetParam(), true));
  ASSERT_TRUE(package) << package.error().to_string();
  auto plain = load(*package, {.threads = 1, .state = {.by_name = true, .rows = context}}).value();
  const Ids said = text_of(plain, {.max_tokens = 12}),
            other = {prompt[0], prompt[1], 2, 3, prompt[0], prompt[1], 2, 3},
            wanted = text_of(plain, {.max_tokens = 12}, other);
  EXPECT_NE(said, wanted);
  GenerationCache cache;
  EXPECT_EQ(text_of(plain, {.max_tokens = 12, .cache = &cache}), said);
  GenerationCache fork = cache.fork().value();
  const bool cuts = std::string_view(GetParam()) != "webgl";
  EXPECT_EQ(text_of(plain, {.max_tokens = 12, .cache = &cache}, other), wanted);
  EXPECT_EQ(cache.reused(), cuts ? 2 : 0);
  // From the host.
  EXPECT_EQ(text_of(plain, {.max_tokens = 12, .cache = &fork}, other), wanted);
  EXPECT_EQ(fork.reused(), cuts ? 2 : 0);
  for (const Ids& from : {prompt, other})
    for (const int guesses : {1, 3, 8})
      EXPECT_EQ(text_of(plain, {.max_tokens = 12, .prompt_lookup_num_tokens = guesses}, from),
                from == prompt ? said : wanted);
  EXPECT_EQ(
      text_of(plain, {.max_tokens = 12, .stop_tokens = {said[5]}, .ahead = 8, .cache = &cache}),
      Ids(said.begin(), std::ranges::find(said, said[5])));
  Ids longer = cache.tokens();
  longer.push_back(1);
  const Ids after = text_of(plain, {.max_tokens = 6}, longer);
  EXPECT_EQ(text_of(plain, {.max_tokens = 6, .cache = &cache}, longer), after);
}

TEST(Lookup, GuessesWhatFollowed) {
  runtime::Lookup lookup(Ids{1, 2, 3, 4, 5, 2, 3});
  EXPECT_EQ(lookup.next(2), (Ids{4, 5}));
  EXPECT_EQ(lookup.next(5), (Ids{4, 5, 2, 3, 4}));
  EXPECT_EQ(lookup.next(0), Ids());
  lookup.push(9);
  EXPECT_EQ(lookup.next(4), Ids());
  // Three tokens that are the same count before two, and the latest place before others.
  EXPECT_EQ(runtime::Lookup(Ids{1, 2, 3, 4, 0, 2, 3, 5, 1, 2, 3}).next(1), (Ids{4}));
  EXPECT_EQ(runtime::Lookup(Ids{1, 2, 7, 0, 1, 2, 8, 6, 1, 2}).next(1), (Ids{8}));
  EXPECT_EQ(runtime::Lookup(Ids{4, 4, 4}).next(3), (Ids{4, 4, 4}));
}

TEST_P(NativeGenerateTest, CachesGoOn) {
  GenerateOptions options{.max_tokens = 6};
  const auto cached = [&](const GenerationCache& cache, const Ids& from, const Ids& wanted,
                          size_t reused) {
    options.cache = &cache;
    EXPECT_EQ(text_of(*model, options, from), wanted);
    Ids all = from;
    all.insert(all.end(), wanted.begin(), wanted.end() - 1);
    EXPECT_EQ(cache.tokens(), all);
    EXPECT_EQ(cache.reused(), static_cast<int64_t>(reused));
    options.cache = nullptr;
  };
  const Ids first = text_of(*model, options);
  Ids longer = prompt, other = prompt;
  longer.insert(longer.end(), first.begin(), first.end());
  longer.push_back(9);
  other.insert(other.end(), first.begin(), first.begin() + 2);
  other.push_back((first[2] + 1) % words);
  const Ids longer_text = text_of(*model, options, longer);
  const Ids other_text = text_of(*model, options, other);
  // State that does not grow in place cannot be set back.
  const bool cuts = model->state().capacity("past.key").value() > 0;
  EXPECT_EQ(cuts, std::string_view(GetParam()) != "webgl");
  const size_t all = prompt.size() + first.size() - 1;
  GenerationCache cache;
  EXPECT_EQ(cache.tokens(), Ids());
  cached(cache, prompt, first, 0);
  GenerationCache two = cache.fork().value(), three = cache.fork().value();
  cached(cache, longer, longer_text, all);
  cached(two, longer, longer_text, all);
  const std::vector<std::byte> saved = three.save().value();
  cached(three, other, other_text, cuts ? prompt.size() + 2 : 0);
  cached(three, prompt, first, cuts ? prompt.size() - 1 : 0);
  GenerationCache loaded = GenerationCache::load(saved).value();
  EXPECT_EQ(loaded.tokens().size(), all);
  cached(loaded, longer, longer_text, all);
  cached(loaded, other, other_text, cuts ? prompt.size() + 2 : 0);
  GenerationCache again = GenerationCache::load(saved).value();
  cached(again, other, other_text, cuts ? prompt.size() + 2 : 0);
  // The state of a cache outlives what others do with the model.
  EXPECT_EQ(text_of(*model, options), first);
  cached(again, other, other_text, cuts ? other.size() - 1 : 0);
  GenerateOptions penalties{.max_tokens = 6, .repetition_penalty = 1.3, .frequency_penalty = 0.5};
  const Ids wanted = text_of(*model, penalties, longer);
  penalties.cache = &two;
  EXPECT_EQ(text_of(*model, penalties, longer), wanted);
  EXPECT_EQ(text_of(*model, penalties, longer), wanted);
  {
    const GenerateOptions stop{.stop_tokens = {longer_text[3]}, .ahead = 8, .cache = &cache};
    const auto at = std::ranges::find(longer_text, longer_text[3]);
    EXPECT_EQ(text_of(*model, stop, longer), Ids(longer_text.begin(), at));
    EXPECT_EQ(cache.tokens().size(), longer.size() + static_cast<size_t>(at - longer_text.begin()));
  }
  {
    options.cache = &cache;
    auto generation = model->generate(longer, options).value();
    ASSERT_TRUE(generation.next().value());
    EXPECT_NE(cache.fork().error().to_string().find("a generation goes on"), std::string::npos);
    EXPECT_FALSE(cache.save());
  }
  cached(cache, longer, longer_text, cuts ? longer.size() - 1 : 0);
}

TEST_P(NativeGenerateTest, CachesOutliveTheirModel) {
  GenerationCache cache;
  const Ids first = text_of(*model, {.max_tokens = 4, .cache = &cache});
  Ids longer = cache.tokens();
  longer.push_back(9);
  const Ids wanted = text_of(*model, {.max_tokens = 4}, longer);
  model.reset();
  auto other = load(*package_for(GetParam()), {.threads = 1, .state = {.by_name = true}}).value();
  EXPECT_EQ(text_of(other, {.max_tokens = 4, .cache = &cache}, longer), wanted);
  EXPECT_EQ(cache.reused(), static_cast<int64_t>(longer.size()) - 1);
}

TEST(Generate, CachesOfSomethingElse) {
  const auto says = [](const auto& result, const char* part) {
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().to_string().find(part), std::string::npos)
        << result.error().to_string();
  };
  says(GenerationCache::load(std::vector(40, std::byte{7})), "the saved cache");
  auto model =
      load(*package_for("cpu"), {.threads = 1, .state = {.by_name = true, .rows = context}})
          .value();
  GenerationCache cache;
  text_of(model, {.max_tokens = 2, .cache = &cache});
  std::vector<std::byte> saved = cache.save().value();
  const std::string name = "past.value", others = "past.other";
  const auto at = std::ranges::search(saved, std::as_bytes(std::span(name)));
  ASSERT_FALSE(at.empty());
  std::ranges::copy(std::as_bytes(std::span(others)), at.begin());
  auto renamed = GenerationCache::load(saved).value();
  says(model.generate(Ids{5, 7, 13, 2}, {.cache = &renamed}), "the cache is of another model");
  EXPECT_EQ(renamed.tokens().size(), prompt.size() + 1);
  saved.resize(saved.size() - 8);
  says(GenerationCache::load(saved), "the saved cache");
  EXPECT_EQ(text_of(model, {.max_tokens = 2}).size(), 2u);
}

TEST_P(NativeGenerateTest, WrongUse) {
  const auto says = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(error_of({}, {}), "no tokens");
  says(error_of({}, {1, words}), "token 60, the model's vocabulary is 0 to 59");
  says(error_of({}, {-1}), "token -1");
  says(error_of({.top_p = 7}), "top_p is 7");
  says(error_of({.temperature = std::nan("")}), "temperature");
  says(error_of({.prompt_chunk = 0}), "prompt_chunk is 0");
  says(error_of({.logit_bias = {{words, 1}}}),
       "logit_bias has token 60, the vocabulary is 0 to 59");
  says(error_of({.logit_bias = {{1, std::nan("")}}}), "logit_bias of token 1");
  EXPECT_FALSE(model->generate(prompt, {}, {{"other", Tensor::of<float>({1}, std::vector{1.f})}}));
  // None of them holds the model.
  EXPECT_EQ(text_of(*model, {.max_tokens = 1}).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Targets, NativeGenerateTest,
                         testing::Values("cpu", "opencl", "opengl", "webgpu", "webgl", "wasm"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Generate, PackagesThatDoNotChoose) {
  CompileOptions options = options_for("cpu");
  options.generate = false;
  auto plain =
      load(compile(onnx::bytes_of(model_file()), options).value(), {.state = {.by_name = true}})
          .value();
  EXPECT_NE(plain.generate(prompt).error().to_string().find("compile the model with generate"),
            std::string::npos);
  auto stateless = load(compile(onnx::bytes_of(model_file()), options_for("cpu")).value()).value();
  EXPECT_NE(stateless.generate(prompt).error().to_string().find("with its state"),
            std::string::npos);
}

// A CPU that says it is something else, so that runs are sent ahead, and counts what it is asked.
struct Asked {
  int reads = 0, writes = 0;  // that move bytes
};

class CountingQueue : public runtime::ForwardingQueue {
 public:
  CountingQueue(runtime::Queue& queue, Asked& asked) : ForwardingQueue(queue), asked_(asked) {}
  Result<> write(runtime::Buffer& to, size_t offset, std::span<const std::byte> bytes,
                 ir::DType storage) override {
    asked_.writes += !bytes.empty();
    return ForwardingQueue::write(to, offset, bytes, storage);
  }
  Result<> read(std::span<const runtime::ReadArguments> reads) override {
    ++asked_.reads;
    return ForwardingQueue::read(reads);
  }

 private:
  Asked& asked_;
};

class CountingDevice : public runtime::ForwardingDevice {
 public:
  explicit CountingDevice(Asked& asked)
      : ForwardingDevice(runtime::make_cpu_device(1)), queue_(ForwardingDevice::queue(), asked) {}
  std::string_view name() const override { return "counting"; }
  std::string description() const override { return "a cpu that counts"; }
  runtime::Queue& queue() override { return queue_; }

 private:
  CountingQueue queue_;
};

// Reads so many tokens, and is lost.
class LosingQueue : public runtime::ForwardingQueue {
 public:
  LosingQueue(runtime::Queue& queue, int& left) : ForwardingQueue(queue), left_(left) {}
  Result<> read(std::span<const runtime::ReadArguments> reads) override {
    if (left_-- <= 0) return fail("the device is lost");
    return ForwardingQueue::read(reads);
  }

 private:
  int& left_;
};

class LosingDevice : public runtime::ForwardingDevice {
 public:
  explicit LosingDevice(int& left)
      : ForwardingDevice(runtime::make_cpu_device(1)), queue_(ForwardingDevice::queue(), left) {}
  std::string_view name() const override { return "losing"; }
  runtime::Queue& queue() override { return queue_; }

 private:
  LosingQueue queue_;
};

class ChainedTest : public runtime::FolderTest {};

TEST_F(ChainedTest, StepsTakeTheTokenWhereItLies) {
  compiler::Options options;
  options.target = "cpu";
  options.state = options.generate = true;
  for (const package::File& file : compiler::compile(onnx::bytes_of(model_file()), options).value())
    put(file.name, file.bytes);
  Asked asked;
  runtime::LoadOptions load;
  load.device = std::make_unique<CountingDevice>(asked);
  load.state = {.by_name = true, .rows = context};
  const auto model = runtime::Model::load(folder, std::move(load)).value();
  for (const bool penalties : {false, true}) {
    const auto generator =
        runtime::Generator::begin(*model, prompt,
                                  {.frequency_penalty = penalties ? 0.5 : 0, .ahead = 8})
            .value();
    // The prompt, and eight steps that it is ahead of.
    for (int at = 0; at < 9; ++at) ASSERT_TRUE(generator->next().value());
    const Asked before = asked;
    for (int at = 0; at < 16; ++at) ASSERT_TRUE(generator->next().value());
    EXPECT_EQ(asked.reads - before.reads, 16);    // of tokens
    EXPECT_EQ(asked.writes - before.writes, 16);  // of masks
  }
}

TEST_F(ChainedTest, TokensBeforeALossAreGiven) {
  compiler::Options options;
  options.target = "cpu";
  options.state = options.generate = true;
  for (const package::File& file : compiler::compile(onnx::bytes_of(model_file()), options).value())
    put(file.name, file.bytes);
  const auto loaded = [&](int& left) {
    runtime::LoadOptions load;
    load.device = std::make_unique<LosingDevice>(left);
    load.state = {.by_name = true, .rows = context};
    return runtime::Model::load(folder, std::move(load)).value();
  };
  int enough = 1000;
  const auto sound = loaded(enough);
  const auto text = [](runtime::Model& model, Ids from, int64_t tokens, std::string& problem,
                       const runtime::TextCache* cache = nullptr) {
    Ids said;
    const auto generator =
        runtime::Generator::begin(model, from, {.max_tokens = tokens, .ahead = 5}, {}, cache)
            .value();
    for (;;) {
      auto token = generator->next();
      if (!token) problem = token.error().message;
      if (!token || !*token) return said;
      said.push_back((*token)->id);
    }
  };
  std::string problem;
  const Ids wanted = text(*sound, prompt, 12, problem);
  EXPECT_EQ(problem, "");
  for (int left : {0, 1, 3, 8}) {
    const int reads = left;
    const auto model = loaded(left);
    runtime::TextCache cache;
    const Ids said = text(*model, prompt, 12, problem, &cache);
    EXPECT_EQ(problem, "the device is lost");
    EXPECT_EQ(said, Ids(wanted.begin(), wanted.begin() + reads));
    // Another model goes on after the tokens that were given.
    Ids from = prompt;
    from.insert(from.end(), said.begin(), said.end());
    problem = "";
    EXPECT_EQ(text(*sound, from, 12 - reads, problem, &cache),
              Ids(wanted.begin() + reads, wanted.end()));
    EXPECT_EQ(problem, "");
  }
}

}  // namespace
}  // namespace gossamer
