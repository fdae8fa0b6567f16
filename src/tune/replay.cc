#include "tune/replay.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "tune/bench.h"
#include "tune/planner.h"
#include "tune/search.h"

namespace gossamer::tune {
namespace {

constexpr double noise = 0.006;  // of a turn, in logarithms: searches see ratios of H100s spread so

// The device that the points describe.
class Described {
 public:
  explicit Described(const std::vector<MeasuredKernel>& kernels) {
    std::vector<float> rows;
    std::vector<double> targets;
    for (const MeasuredKernel& kernel : kernels) {
      Known& known = kernels_[kernel.key];
      known.kernel = &kernel;
      known.space = std::make_unique<Space>(kernel.group, kernel.capabilities);
      for (const MeasuredPoint& one : kernel.points) {
        known.measured[to_string(one.point)] = one.ratio;
        const std::vector<float> row = known.space->features(one.point);
        rows.insert(rows.end(), row.begin(), row.end());
        targets.push_back(std::log(std::clamp(one.ratio, 0.05, 4.0)));
      }
    }
    trees_ = BoostedTrees::fit(rows, targets,
                               {.trees = 500, .depth = 8, .rate = 0.08, .least = 2, .shrink = 0.3});
  }

  double ms_of(const std::string& key, const schedule::Point& point) const {
    const Known& known = kernels_.at(key);
    const auto found = known.measured.find(to_string(point));
    return known.kernel->ms * (found != known.measured.end()
                                   ? found->second
                                   : std::exp(trees_.predict(known.space->features(point))));
  }

 private:
  struct Known {
    const MeasuredKernel* kernel = nullptr;
    std::unique_ptr<Space> space;
    std::map<std::string, double> measured;  // ratio of a point
  };
  std::map<std::string, Known> kernels_;
  BoostedTrees trees_;
};

Survey survey_of(const std::vector<MeasuredKernel>& kernels) {
  Survey survey;
  survey.timing.adapter = "replayed";
  for (const MeasuredKernel& kernel : kernels) {
    survey.timing.run_ms += kernel.ms;
    survey.timing.kernels.push_back({static_cast<int>(survey.kernels.size()), kernel.ms, 0});
    compiler::KernelReport& report = survey.kernels.emplace_back();
    report.name = kernel.name;
    report.key = kernel.key;
    report.machine = records::class_of(kernel.capabilities);
    report.group = kernel.group;
    report.capabilities = kernel.capabilities;
  }
  return survey;
}

// As a bench would answer.
Measurement measure(const Batch& batch, const Described& device, Random& random) {
  std::map<std::string, const schedule::Point*> best;
  if (batch.kind == Batch::Kind::points)
    for (const Placed& one : batch.best) best[one.key] = &one.point;
  std::normal_distribution<double> spread(0, noise);
  Measurement made;
  for (const Placed& one : batch.challengers) {
    const double after = device.ms_of(one.key, one.point);
    const double before = best.contains(one.key) ? device.ms_of(one.key, *best.at(one.key)) : after;
    Measured& measured = made.points.emplace_back();
    for (int turn = 0; turn < turns; ++turn) {
      measured.before.push_back(before * std::exp(spread(random)));
      measured.after.push_back(after * std::exp(spread(random)));
    }
  }
  return made;
}

}  // namespace

Result<Replayed> replay(const std::vector<MeasuredKernel>& kernels, const ReplayOptions& options) {
  const Described device(kernels);
  Replayed all;
  for (const MeasuredKernel& kernel : kernels) all.ms += kernel.ms;
  double batches = 0, points = 0;
  for (int search = 0; search < options.searches; ++search) {
    double spent = 0;
    Options planned;
    planned.costs = options.costs;
    planned.seed = static_cast<unsigned>(search + 1);
    planned.is_stopped = [&] { return spent >= options.seconds; };
    GS_ASSIGN(const auto planner, Planner::create(survey_of(kernels), planned));
    Random random(planned.seed);
    std::map<std::string, schedule::Point> found;
    while (const auto batch = planner->next()) {
      for (const Placed& one : batch->best) found.insert_or_assign(one.key, one.point);
      // What was found is known: nothing is compared.
      if (batch->kind == Batch::Kind::comparison) break;
      const auto count = static_cast<double>(batch->challengers.size());
      spent += options.of_batch + count * options.of_point;
      batches += 1;
      points += count;
      planner->take(batch->number, measure(*batch, device, random));
    }
    double after = all.ms;
    for (const MeasuredKernel& kernel : kernels)
      if (const auto at = found.find(kernel.key); at != found.end())
        after += device.ms_of(kernel.key, at->second) - kernel.ms;
    all.after.push_back(after);
  }
  std::ranges::sort(all.after);
  all.batches = batches / options.searches;
  all.points = points / options.searches;
  return all;
}

}  // namespace gossamer::tune
