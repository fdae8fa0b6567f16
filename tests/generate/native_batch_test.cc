// Of target cpu.
// Texts that are generated together: each is what generate() gives for it alone, whatever its
// neighbours are, and whenever they join and leave.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "generate/decoders.h"
#include "runtime/generate/choose.h"

namespace gossamer {
namespace {

using namespace generate_test;

struct Said {
  Ids text;
  GenerationEnd end = GenerationEnd::none;
  std::string error;
};

// Steps until no text is left.
std::map<int64_t, Said> finish(GenerationBatch& batch, std::map<int64_t, Said> said = {}) {
  for (;;) {
    const auto steps = batch.step();
    if (steps.empty() && batch.running() + batch.waiting() == 0) return said;
    for (const BatchToken& each : steps) {
      Said& mine = said[each.text];
      EXPECT_EQ(mine.end, GenerationEnd::none) << each.text << " goes on after its end";
      if (each.token) mine.text.push_back(each.token->id);
      mine.end = each.end;
      if (each.error) mine.error = each.error->to_string();
    }
  }
}

Said alone(Model& model, const Ids& from, const GenerateOptions& options) {
  Said said;
  auto generation = model.generate(from, options).value();
  while (auto token = generation.next().value()) said.text.push_back(token->id);
  said.end = generation.how();
  return said;
}

const std::vector<Ids> prompts{{5, 7, 13},        {1},     {9, 9, 9, 2, 4, 40, 3}, {30, 2},
                               {8, 1, 59, 0, 22}, {17, 18}};

class NativeBatchTest : public DecoderTest {};

TEST_P(NativeBatchTest, TextsAreThoseOfEachAlone) {
  std::vector<GenerateOptions> options;
  std::vector<Said> wanted;
  for (size_t at = 0; at < prompts.size(); ++at) {
    options.push_back({.max_tokens = 4 + 3 * static_cast<int64_t>(at)});
    wanted.push_back(alone(*model, prompts[at], options.back()));
  }
  // A token ends one of them.
  options[2].stop_tokens = {wanted[2].text[3]};
  wanted[2] = alone(*model, prompts[2], options[2]);
  EXPECT_EQ(wanted[2].end, GenerationEnd::stop);
  for (const BatchOptions& how : {BatchOptions{},
                                  {.places = 1},
                                  {.places = 2},
                                  {.places = 4, .prompt_chunk = 2},
                                  {.prompt_chunk = 1}}) {
    auto batch = model->generate_batch(how).value();
    // webgl's state does not grow in place.
    const bool together = std::string_view(GetParam()) != "webgl";
    EXPECT_EQ(batch.places(), together ? how.places : 1);
    for (size_t at = 0; at < prompts.size(); ++at)
      EXPECT_EQ(batch.add(prompts[at], options[at]).value(), static_cast<int64_t>(at));
    const auto said = finish(batch);
    ASSERT_EQ(said.size(), prompts.size());
    for (const auto& [at, each] : said) {
      EXPECT_EQ(each.text, wanted[static_cast<size_t>(at)].text) << at << " of " << how.places;
      EXPECT_EQ(each.end, wanted[static_cast<size_t>(at)].end);
    }
  }
}

TEST_P(NativeBatchTest, TextsJoinAndLeave) {
  std::mt19937 random(3);
  const auto below = [&](int64_t most) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(most));
  };
  auto batch = model->generate_batch({.places = 5, .prompt_chunk = 3}).value();
  std::map<int64_t, Said> said;
  std::map<int64_t, std::pair<Ids, GenerateOptions>> asked;
  std::set<int64_t> removed;
  for (int round = 0; round < 60; ++round) {
    if (asked.size() < 24 && below(3) > 0) {
      Ids from(static_cast<size_t>(1 + below(12)));
      for (int64_t& id : from) id = below(words);
      const GenerateOptions options{.max_tokens = below(20)};
      asked[batch.add(from, options).value()] = {from, options};
    }
    if (below(12) == 0 && !asked.empty()) {
      const int64_t text = below(static_cast<int64_t>(asked.size()));
      batch.remove(text);
      removed.insert(text);
    }
    for (const BatchToken& each : batch.step()) {
      EXPECT_FALSE(removed.contains(each.text));
      if (each.token) said[each.text].text.push_back(each.token->id);
      said[each.text].end = each.end;
    }
    EXPECT_LE(batch.running(), 5u);
  }
  said = finish(batch, std::move(said));
  {
    const GenerationBatch done = std::move(batch);
  }
  EXPECT_GT(asked.size(), 20u);
  for (const auto& [text, of] : asked) {
    const Said wanted = alone(*model, of.first, of.second);
    const Ids& has = said[text].text;
    if (removed.contains(text)) {
      ASSERT_LE(has.size(), wanted.text.size());
      EXPECT_TRUE(std::ranges::equal(has, std::span(wanted.text).first(has.size()))) << text;
    } else {
      EXPECT_EQ(has, wanted.text) << text;
      EXPECT_EQ(said[text].end, wanted.end) << text;
    }
  }
}

TEST_P(NativeBatchTest, EachHasItsOwnSettings) {
  const std::vector<GenerateOptions> options{
      {.max_tokens = 12, .temperature = 1, .seed = 7},
      {.max_tokens = 12},
      {.max_tokens = 12, .temperature = 1.5, .top_k = 5, .seed = 7},
      {.max_tokens = 12, .temperature = 1, .top_p = 0.6, .seed = uint64_t{1} << 40},
      {.max_tokens = 12,
       .repetition_penalty = 1.3,
       .frequency_penalty = 0.5,
       .logit_bias = {{3, 0.5}, {8, -100}}},
      {.max_tokens = 12, .temperature = 1.2, .min_p = 0.1, .presence_penalty = 0.5, .seed = 9}};
  std::vector<Ids> wanted;
  for (size_t at = 0; at < options.size(); ++at)
    wanted.push_back(alone(*model, prompts[at], options[at]).text);
  auto batch = model->generate_batch().value();
  for (size_t at = 0; at < options.size(); ++at) (void)batch.add(prompts[at], options[at]).value();
  const auto said = finish(batch);
  for (size_t at = 0; at < options.size(); ++at)
    EXPECT_EQ(said.at(static_cast<int64_t>(at)).text, wanted[at]) << at;
}

TEST_P(NativeBatchTest, LogProbabilitiesAreThoseOfEachAlone) {
  const GenerateOptions options{.max_tokens = 3, .top_logprobs = 4};
  auto batch = model->generate_batch().value();
  for (const Ids& from : prompts) (void)batch.add(from, options).value();
  std::map<int64_t, std::vector<Token>> said;
  while (batch.running() + batch.waiting() > 0)
    for (const BatchToken& each : batch.step())
      if (each.token) said[each.text].push_back(*each.token);
  {
    const GenerationBatch done = std::move(batch);
  }
  for (size_t at = 0; at < prompts.size(); ++at) {
    auto generation = model->generate(prompts[at], options).value();
    for (const Token& has : said[static_cast<int64_t>(at)]) {
      const Token wanted = generation.next().value().value();
      ASSERT_EQ(has.top.size(), 4u);
      EXPECT_EQ(has.id, wanted.id);
      EXPECT_NEAR(has.logprob, wanted.logprob, 1e-4);
      EXPECT_EQ(has.top[2].id, wanted.top[2].id);
    }
  }
}

TEST_P(NativeBatchTest, MasksRestrict) {
  const auto mask_of = [](std::initializer_list<int64_t> ids) {
    std::vector<int32_t> mask((words + 31) / 32);
    for (const int64_t id : ids) mask[static_cast<size_t>(id / 32)] |= int32_t{1} << (id % 32);
    return mask;
  };
  auto batch = model->generate_batch().value();
  const int64_t free = batch.add(prompts[0], {.max_tokens = 6}).value();
  const int64_t bound = batch.add(prompts[1], {.max_tokens = 6}, mask_of({3})).value();
  Ids text;
  std::map<int64_t, Said> said;
  while (batch.running() + batch.waiting() > 0) {
    for (const BatchToken& each : batch.step()) {
      if (!each.token) continue;
      said[each.text].text.push_back(each.token->id);
      if (each.text == bound && each.end == GenerationEnd::none) {
        const int64_t next = 40 + static_cast<int64_t>(said[bound].text.size());
        ASSERT_TRUE(batch.restrict(bound, mask_of({next, 31})));
      }
    }
  }
  ASSERT_EQ(said[bound].text.size(), 6u);
  EXPECT_EQ(said[bound].text[0], 3);
  for (int64_t at = 1; at < 6; ++at) {
    const int64_t id = said[bound].text[static_cast<size_t>(at)];
    EXPECT_TRUE(id == 40 + at || id == 31) << id;
  }
  EXPECT_NE(batch.add(prompts[1], {}, mask_of({})).error().message.find("allows no token"),
            std::string::npos);
  EXPECT_NE(batch.add(prompts[1], {}, std::vector<int32_t>(9, 1)).error().message.find("2 are"),
            std::string::npos);
  {
    const GenerationBatch done = std::move(batch);
  }
  EXPECT_EQ(said[free].text, alone(*model, prompts[0], {.max_tokens = 6}).text);
}

TEST_P(NativeBatchTest, TheContextEndsTheLongestAlone) {
  const Said wanted = alone(*model, prompts[1], {.max_tokens = 12});
  auto batch = model->generate_batch().value();
  const int64_t endless = batch.add(Ids(context - 5, 3)).value();
  const int64_t longer = batch.add(Ids(context + 1, 3)).value();
  const int64_t other = batch.add(prompts[1], {.max_tokens = 12}).value();
  auto said = finish(batch);
  EXPECT_EQ(said[endless].text.size(), 6u);
  EXPECT_NE(said[endless].error.find("40 positions"), std::string::npos) << said[endless].error;
  EXPECT_NE(said[longer].error.find("shorter prompt"), std::string::npos) << said[longer].error;
  EXPECT_EQ(said[other].text, wanted.text);
}

TEST_P(NativeBatchTest, PromptsShareWhatTheyBeginWith) {
  const Ids begin{5, 7, 13, 2, 9, 40, 3, 11, 12, 1, 8};
  const auto with = [&](Ids more) {
    more.insert(more.begin(), begin.begin(), begin.end());
    return more;
  };
  const std::vector<Ids> asked{with({1}), with({30, 2, 7}), with({}), with({4, 4}), {7, 7}};
  std::vector<Ids> wanted;
  for (const Ids& from : asked) wanted.push_back(alone(*model, from, {.max_tokens = 8}).text);
  Ids turn = asked[1];
  turn.insert(turn.end(), wanted[1].begin(), wanted[1].end());
  turn.push_back(3);
  const Ids turned = alone(*model, turn, {.max_tokens = 6}).text;
  const Ids other = alone(*model, prompts[2], {.max_tokens = 30}).text;
  auto batch = model->generate_batch({.places = 3, .prompt_chunk = 4}).value();
  const bool shares = batch.places() > 1;
  // On GPUs, rows of texts that ended are kept only where that takes no copy.
  const std::string_view target = GetParam();
  const bool keeps = target == "cpu" || target == "wasm" || !shares;
  // Without a text next to it that runs on, and with one.
  for (const bool beside : {false, true}) {
    std::map<int64_t, Said> said;
    std::map<int64_t, int64_t> reused;
    if (beside) (void)batch.add(prompts[2], {.max_tokens = 30}).value();
    const auto run = [&](const Ids& from, int64_t tokens) {
      const int64_t text = batch.add(from, {.max_tokens = tokens}).value();
      while (said[text].end == GenerationEnd::none)
        for (const BatchToken& each : batch.step()) {
          if (each.token) said[each.text].text.push_back(each.token->id);
          said[each.text].end = each.end;
          reused[each.text] = each.reused;
        }
      return text;
    };
    for (size_t at = 0; at < asked.size(); ++at) {
      const int64_t text = run(asked[at], 8);
      EXPECT_EQ(said[text].text, wanted[at]) << at << beside;
      const bool knows = shares && (at > 0 || beside) && at < 4;
      if (keeps) EXPECT_EQ(reused[text] >= 10, knows) << at << beside << ": " << reused[text];
    }
    (void)run(asked[1], 8);
    const int64_t text = run(turn, 6);
    EXPECT_EQ(said[text].text, turned);
    if (keeps) EXPECT_EQ(reused[text], shares ? static_cast<int64_t>(turn.size()) - 2 : 0);
    for (const auto& [number, each] : finish(batch, std::move(said)))
      if (beside && each.text.size() == 30) EXPECT_EQ(each.text, other);
  }
}

TEST_P(NativeBatchTest, WrongUse) {
  {
    auto batch = model->generate_batch().value();
    EXPECT_FALSE(model->generate(prompt));
    EXPECT_FALSE(model->generate_batch());
    EXPECT_FALSE(batch.add({}));
    EXPECT_FALSE(batch.add(Ids{words}));
    EXPECT_FALSE(batch.add(prompt, {.top_p = 7}));
    EXPECT_TRUE(batch.step().empty());
    batch.remove(77);
  }
  EXPECT_FALSE(model->generate_batch({.places = 0}));
  EXPECT_EQ(alone(*model, prompt, {.max_tokens = 1}).text.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Targets, NativeBatchTest,
                         testing::Values("cpu", "opencl", "opengl", "webgpu", "webgl", "wasm"),
                         [](const auto& info) { return std::string(info.param); });

// Keys are joined to those that all texts have, so texts of different lengths have no rows of their
// own: one is generated after the other.
TEST(Batch, ModelsThatCannotMixLengths) {
  auto model = load(compile(onnx::bytes_of(plain_decoder()), options_for("cpu")).value(),
                    {.threads = 1, .state = {.by_name = true, .rows = context}})
                   .value();
  std::vector<Ids> wanted;
  for (const Ids& from : prompts) wanted.push_back(alone(model, from, {.max_tokens = 9}).text);
  auto batch = model.generate_batch().value();
  EXPECT_EQ(batch.places(), 1);
  for (const Ids& from : prompts) (void)batch.add(from, {.max_tokens = 9}).value();
  const auto said = finish(batch);
  for (size_t at = 0; at < prompts.size(); ++at)
    EXPECT_EQ(said.at(static_cast<int64_t>(at)).text, wanted[at]);
}

// Masks say what each token sees, of texts of any length.
TEST(Batch, MasksForEachToken) {
  const auto loaded = [](bool masked) {
    return load(compile(onnx::bytes_of(plain_decoder(masked)), options_for("cpu")).value(),
                {.threads = 1, .state = {.by_name = true, .rows = context}})
        .value();
  };
  const GenerateOptions options{.max_tokens = 9, .prompt_chunk = 2};
  Model causal = loaded(false), masked = loaded(true);
  std::vector<Ids> wanted;
  for (const Ids& from : prompts) {
    wanted.push_back(alone(causal, from, options).text);
    EXPECT_EQ(alone(masked, from, options).text, wanted.back());
  }
  auto batch = masked.generate_batch({.places = 4, .prompt_chunk = 3}).value();
  for (const Ids& from : prompts) (void)batch.add(from, options).value();
  for (const auto& [text, each] : finish(batch))
    EXPECT_EQ(each.text, wanted[static_cast<size_t>(text)]);
}

// State that does not grow by rows has a sample for each text, too.
TEST(Batch, CachesThatSlide) {
  auto model = load(compile(onnx::bytes_of(decoder(true)), options_for("cpu")).value(),
                    {.threads = 1, .state = {.by_name = true}})
                   .value();
  std::vector<Ids> wanted;
  for (size_t at = 0; at < prompts.size(); ++at)
    wanted.push_back(
        alone(model, prompts[at], {.max_tokens = 20 - 2 * static_cast<int64_t>(at)}).text);
  for (const int64_t places : {2, 32}) {
    auto batch = model.generate_batch({.places = places, .prompt_chunk = 2}).value();
    EXPECT_EQ(batch.places(), places);
    for (size_t at = 0; at < prompts.size(); ++at)
      (void)batch.add(prompts[at], {.max_tokens = 20 - 2 * static_cast<int64_t>(at)}).value();
    const auto said = finish(batch);
    for (size_t at = 0; at < prompts.size(); ++at)
      EXPECT_EQ(said.at(static_cast<int64_t>(at)).text, wanted[at]) << at;
  }
}

// The distribution of draws on the host, where generate() draws on the device.
TEST(Chooser, DrawsByChances) {
  const std::vector<float> logits{1, 0, 2, -1, 1.5f, -30};
  double sum = 0;
  for (const float each : logits) sum += std::exp(each / 0.8);
  std::vector<int> counts(logits.size());
  constexpr int draws = 20000;
  for (int draw = 0; draw < draws; ++draw) {
    runtime::Chooser chooser({.temperature = 0.8, .seed = static_cast<uint64_t>(draw)}, {}, 6);
    ++counts[static_cast<size_t>(chooser.choose(logits, 5, {}))];
  }
  double distance = 0;
  for (size_t at = 0; at + 1 < logits.size(); ++at) {
    const double wanted = draws * std::exp(logits[at] / 0.8) / sum;
    distance += (counts[at] - wanted) * (counts[at] - wanted) / wanted;
  }
  EXPECT_LT(distance, 18.5);  // chi-square, 4 degrees of freedom: exceeded once in a thousand
  EXPECT_EQ(counts[5], 0);
}

// Filters keep the tokens of their definition: the fewest likeliest ones that have the share.
TEST(Chooser, FiltersKeepTheLikeliest) {
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    std::vector<float> logits(50);
    for (float& each : logits) each = static_cast<float>(random() % 1000) / 150;
    std::vector<float> sorted = logits;
    std::ranges::sort(sorted, std::greater());
    const size_t by_k = round % 2 == 0 ? 50 : 1 + random() % 20;
    const double share = 0.05 + static_cast<double>(random() % 90) / 100;
    double mass = 0, sum = 0;
    for (size_t at = 0; at < by_k; ++at) mass += std::exp(sorted[at]);
    size_t count = 0;
    while (count < by_k && sum < share * mass) sum += std::exp(sorted[count++]);
    float least = sorted[0];
    for (uint64_t seed = 0; seed < 3000; ++seed) {
      runtime::Chooser chooser(
          {.temperature = 1, .top_k = static_cast<int64_t>(by_k), .top_p = share, .seed = seed}, {},
          50);
      const int64_t id = chooser.choose(logits, 3, {});
      least = std::min(least, logits[static_cast<size_t>(id)]);
    }
    EXPECT_EQ(least, sorted[count - 1]) << round;
  }
}

}  // namespace
}  // namespace gossamer
