// A machine for tests of the search: the times of kernels are a formula of their schedules.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "onnx/model_writer.h"
#include "tune/tuner.h"

namespace gossamer::tune {

inline onnx::Message products() {
  using onnx::attribute, onnx::node, onnx::value;
  // Over the first axis: over the last one, all three are one walk, which has no points.
  const std::vector<onnx::Message> first{attribute("axis", int64_t{0})};
  return onnx::model({{value("a", {"96", "96"}), value("b", {"96", "96"})},
                      {node("MatMul", {"a", "b"}, {"c"}), node("Softmax", {"c"}, {"d"}, first),
                       node("MatMul", {"d", "b"}, {"e"})},
                      {value("e", {"96", "96"})}});
}

// The numbers in a kernel's schedule outside of names: factors of splits.
inline std::vector<int> factors_of(const std::string& schedule) {
  std::vector<int> factors;
  for (size_t at = 0; at < schedule.size(); ++at) {
    if (!std::isdigit(static_cast<unsigned char>(schedule[at]))) continue;
    if (at > 0 && schedule[at - 1] != ' ') continue;
    size_t digits = 0;
    factors.push_back(std::stoi(schedule.substr(at), &digits));
    at += digits;
  }
  return factors;
}

class FormulaMachine : public Measurer {
 public:
  int unloadable = 0, deadly = 0, wrong = 0;  // factors that are so; 0: none
  int heavy = -1;                             // a kernel that takes a hundredfold
  int loads = 0;
  size_t most_alive = 0;  // models at the same time
  std::vector<package::Files> loaded;

  Task<Result<int>> load(package::Files files) override {
    ++loads;
    loaded.push_back(files);
    std::vector<std::vector<int>> kernels;
    for (const package::File& file : files) {
      if (file.name != "manifest.json") continue;
      const std::string text(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
      const std::string word = R"("schedule":")";
      for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        const size_t begin = at + word.size();
        kernels.push_back(factors_of(text.substr(begin, text.find('"', begin) - begin)));
      }
    }
    if (has(kernels, unloadable)) return fail("it does not load");
    models_.push_back(kernels);
    asked_.emplace_back(kernels.size());
    const int number = static_cast<int>(models_.size()) - 1;
    alive_.insert(number);
    most_alive = std::max(most_alive, alive_.size());
    return number;
  }
  void free(int model) override { EXPECT_EQ(alive_.erase(model), 1u); }

  Task<Result<Timing>> profile(int model, int, const std::vector<int>& which) override {
    EXPECT_TRUE(alive_.contains(model));
    for (const int kernel : which)
      ++asked_[static_cast<size_t>(model)][static_cast<size_t>(kernel)];
    const auto& kernels = models_[static_cast<size_t>(model)];
    if (has(kernels, deadly)) return fail("the device is gone");
    Timing timing{"a formula", 1, {}};
    for (size_t at = 0; at < kernels.size(); ++at)
      timing.kernels.push_back({static_cast<int>(at), cost(kernels[at]), 0.5});
    if (heavy >= 0) timing.kernels[static_cast<size_t>(heavy)].ms *= 100;
    return timing;
  }
  Task<Result<double>> time(int, int) override { return 1.0; }
  Task<Result<>> check(int model) override {
    if (has(models_[static_cast<size_t>(model)], wrong)) return fail("wrong numbers");
    return {};
  }

  // How often each kernel of each model was asked for by its number.
  const std::vector<std::vector<int>>& asked() const { return asked_; }
  size_t alive() const { return alive_.size(); }

  // Least where all factors are 3 and many are there.
  static double cost(const std::vector<int>& factors) {
    double cost = 1;
    for (const int factor : factors) cost += std::pow(std::log2(std::max(factor, 1) / 3.0), 2);
    return cost;
  }

 private:
  static bool has(const std::vector<std::vector<int>>& kernels, int factor) {
    return factor != 0 && std::ranges::any_of(kernels, [&](const std::vector<int>& factors) {
             return std::ranges::find(factors, factor) != factors.end();
           });
  }

  std::vector<std::vector<std::vector<int>>> models_;
  std::vector<std::vector<int>> asked_;
  std::set<int> alive_;
};

// A search of the points of kernels alone, each kernel once.
inline Options on_software(int trials = 0) {
  Options options;
  options.compile.target = "webgpu";
  options.compile.adapters = "software";
  options.layout_share = 0;
  options.trials = trials;
  return options;
}

}  // namespace gossamer::tune
