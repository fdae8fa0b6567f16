// The search on a machine that is a formula: it finds what is best there, and goes on past
// candidates that do not load, that end the device or that give wrong numbers.
#include "tune/formula_machine.h"
#include "tune/model_quality.h"

namespace gossamer::tune {
namespace {

using onnx::bytes_of;
using onnx::model;
using onnx::node;
using onnx::value;

struct Searched {
  Result<Outcome> outcome;
  std::vector<Trial> trials, better;
};

Searched search(FormulaMachine& machine, int trials, std::vector<Trial> known = {}) {
  Searched run{Outcome(), {}, {}};
  Options options;
  options.compile.target = "webgpu";
  options.compile.adapters = "software";  // each kernel once
  options.known = std::move(known);
  options.trials = trials;
  options.on_trial = [&](const Trial& trial, const std::string&) { run.trials.push_back(trial); };
  options.on_better = [&](const Trial& trial, const std::string&) { run.better.push_back(trial); };
  run.outcome = tune(bytes_of(products()), machine, options).now();
  return run;
}

TEST(Tuner, FindsWhatIsBestOnTheMachine) {
  FormulaMachine machine;
  const Searched run = search(machine, 300);
  ASSERT_TRUE(run.outcome) << run.outcome.error().to_string();
  double before = 0, after = 0;
  for (const Tuned& kernel : run.outcome->kernels) {
    before += kernel.ms_before;
    after += kernel.ms_after;
    // No point that was measured is better than the one that is taken, but for what is near it.
    for (const Trial& trial : run.trials) {
      if (trial.key == kernel.key && trial.machine == kernel.machine)
        EXPECT_GE(trial.ms / (1 - 0.03), kernel.ms_after / 1.001) << to_string(trial.point);
    }
  }
  EXPECT_LT(after, 0.9 * before);
  EXPECT_FALSE(run.better.empty());
  EXPECT_EQ(run.outcome->failures, 0);
}

TEST(Tuner, ThoseThatLostHaveNoMoreTurns) {
  FormulaMachine machine;
  const Searched run = search(machine, 60);
  ASSERT_TRUE(run.outcome) << run.outcome.error().to_string();
  int stopped = 0, finished = 0;
  for (const std::vector<int>& times : machine.asked()) {
    for (const int times_of_one : times) {
      stopped += times_of_one == 1;
      finished += times_of_one >= turns;
    }
  }
  EXPECT_GT(stopped, 20);
  EXPECT_GT(finished, 0);
  for (const Trial& trial : run.trials) EXPECT_TRUE(trial.failure.empty()) << trial.failure;
}

// The model as it is, which stays, the best points, two that won and the challenger.
TEST(Tuner, FewModelsAreThereAtTheSameTime) {
  FormulaMachine machine;
  ASSERT_TRUE(search(machine, 60).outcome);
  EXPECT_LE(machine.most_alive, 5u);
  EXPECT_GE(machine.most_alive, 3u);
  EXPECT_EQ(machine.alive(), 2u);
}

TEST(Tuner, GoesOnPastBadCandidates) {
  FormulaMachine machine;
  machine.unloadable = 16;
  machine.deadly = 3;
  machine.wrong = 5;
  const Searched run = search(machine, 120);
  // The model as the compiler makes it must not have them.
  ASSERT_TRUE(run.outcome) << run.outcome.error().to_string();
  EXPECT_GT(run.outcome->failures, 0);
  EXPECT_GT(run.outcome->trials, 0);
  std::set<std::string> why;
  for (const Trial& trial : run.trials)
    if (!trial.failure.empty()) why.insert(trial.failure);
  EXPECT_GE(why.size(), 2u);
  for (const Trial& trial : run.better)
    for (const Trial& bad : run.trials)
      if (!bad.failure.empty() && bad.key == trial.key && bad.machine == trial.machine)
        EXPECT_NE(to_string(trial.point), to_string(bad.point));
}

TEST(Tuner, GoesOnWhereAnotherSearchEnded) {
  FormulaMachine machine;
  const Searched first = search(machine, 40);
  const Searched second = search(machine, 40, first.trials);
  ASSERT_TRUE(second.outcome);
  for (const Trial& trial : second.trials)
    for (const Trial& known : first.trials)
      if (known.key == trial.key && known.machine == trial.machine)
        EXPECT_NE(to_string(known.point), to_string(trial.point));
}

// The one that takes most, and would have a turn each round, has the fewest points.
TEST(Tuner, AKernelWithoutPointsEndsNoSearch) {
  for (int heavy = 0; heavy < 3; ++heavy) {
    FormulaMachine machine;
    machine.heavy = heavy;
    Options options;
    options.compile.target = "wasm";
    options.layout_share = 0;
    options.trials = 48;
    std::map<std::string, int> trials;
    options.on_trial = [&](const Trial& trial, const std::string&) { ++trials[trial.key]; };
    const auto outcome = tune(bytes_of(products()), machine, options).now();
    ASSERT_TRUE(outcome) << outcome.error().to_string();
    EXPECT_EQ(outcome->trials, 48) << heavy;
    EXPECT_EQ(trials.size(), 2u) << heavy;  // both products are one kernel
  }
}

// Of other products: its first points are better than those of a search that knows nothing.
TEST(Tuner, BeginsWithWhatWasLearnedElsewhere) {
  std::vector<MeasuredKernel> known;
  std::string known_machine;
  for (const char* size : {"64", "160", "192", "256"}) {
    const onnx::Message other = model({{value("a", {size, size}), value("b", {size, size})},
                                       {node("MatMul", {"a", "b"}, {"c"})},
                                       {value("c", {size, size})}});
    FormulaMachine machine;
    Options options = on_software(60);
    std::vector<MeasuredPoint> points;
    options.on_trial = [&](const Trial& trial, const std::string&) {
      points.push_back({trial.point, trial.ratio});
    };
    ASSERT_TRUE(tune(bytes_of(other), machine, options).now());
    auto survey = survey_without_times(bytes_of(other), options.compile);
    ASSERT_TRUE(survey);
    for (const compiler::KernelReport& kernel : survey->kernels) {
      known.push_back({kernel.key, kernel.name, *kernel.group, kernel.capabilities, points, 1});
      known_machine = kernel.machine;
    }
  }
  const LearnedCosts costs = learn_costs(known, known_machine, "");
  const auto gain_of = [&](bool begins, int trials) {
    FormulaMachine machine;
    Options options = on_software(trials);
    if (begins) options.costs = {costs};
    auto outcome = tune(bytes_of(products()), machine, options).now();
    EXPECT_TRUE(outcome) << outcome.error().to_string();
    double before = 0, after = 0;
    for (const Tuned& kernel : outcome->kernels) {
      before += kernel.ms_before;
      after += kernel.ms_after;
    }
    return before / after;
  };
  EXPECT_GT(gain_of(true, 6), gain_of(false, 6));
  EXPECT_GT(gain_of(true, 6), 1.05);
}

// Later packages name the files of weights that the first one has.
TEST(Tuner, WeightsComeOnce) {
  FormulaMachine machine;
  const std::vector<float> ones(64 * 64, 1);
  const onnx::Message weighted = model({{value("a", {"64", "64"})},
                                        {node("MatMul", {"a", "w"}, {"c"})},
                                        {value("c", {"64", "64"})},
                                        {onnx::tensor("w", 1, {64, 64}, ones)}});
  Options options;
  options.compile.target = "webgpu";
  options.compile.adapters = "software";
  options.trials = 2;
  ASSERT_TRUE(tune(bytes_of(weighted), machine, options).now());
  ASSERT_GT(machine.loaded.size(), 2u);
  const auto weights_of = [](const package::Files& files) {
    const auto found = std::ranges::find(files, "weights.safetensors", &package::File::name);
    return found == files.end() ? package::File() : *found;
  };
  const package::File first = weights_of(machine.loaded[0]);
  EXPECT_GT(first.bytes.size(), 64u * 64 * 4);
  const auto manifest_of = [](const package::Files& files) {
    return std::string(reinterpret_cast<const char*>(files[0].bytes.data()), files[0].bytes.size());
  };
  for (size_t at = 1; at < machine.loaded.size(); ++at) {
    const package::File later = weights_of(machine.loaded[at]);
    EXPECT_TRUE(later.bytes.empty());
    EXPECT_EQ(later.sha256, first.sha256);
    EXPECT_EQ(later.size, first.bytes.size());
    EXPECT_NE(manifest_of(machine.loaded[at]).find(first.sha256), std::string::npos);
    EXPECT_NE(manifest_of(machine.loaded[at]).find(first.xxh3), std::string::npos);
  }
}

// Once it is known what ran, candidates are for that alone.
TEST(Tuner, CandidatesAreForTheAdapterThatIsThere) {
  FormulaMachine machine;
  Options options;
  options.compile.target = "webgpu";
  options.trials = 2;
  const auto outcome = tune(bytes_of(products()), machine, options).now();
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  const auto says_hardware = [](const package::Files& files) {
    const std::string text(reinterpret_cast<const char*>(files[0].bytes.data()),
                           files[0].bytes.size());
    return text.find("\"hardware\"") != std::string::npos;
  };
  ASSERT_GT(machine.loaded.size(), 2u);
  EXPECT_TRUE(says_hardware(machine.loaded[0]));
  for (size_t at = 1; at < machine.loaded.size(); ++at)
    EXPECT_FALSE(says_hardware(machine.loaded[at]));
}

TEST(Tuner, OfAModelThatCannotBeCompiled) {
  FormulaMachine machine;
  Options options;
  options.compile.target = "nowhere";
  options.trials = 1;
  EXPECT_FALSE(tune(bytes_of(products()), machine, options).now());
}

}  // namespace
}  // namespace gossamer::tune
