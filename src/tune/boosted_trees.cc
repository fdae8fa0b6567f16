#include "tune/boosted_trees.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gossamer::tune {
namespace {

constexpr size_t most_bins = 32;

// The values that part a feature's bins: bin b holds what is above edges[b - 1], up to edges[b].
std::vector<float> edges_of(std::vector<float> values) {
  std::ranges::sort(values);
  const auto repeated = std::ranges::unique(values);
  values.erase(repeated.begin(), repeated.end());
  std::vector<float> edges;
  const size_t bins = std::min(values.size(), most_bins);
  for (size_t bin = 1; bin < bins; ++bin) {
    const size_t at = bin * values.size() / bins;
    edges.push_back((values[at - 1] + values[at]) / 2);
  }
  return edges;
}

}  // namespace

class BoostedTrees::Fit {
 public:
  Fit(std::span<const float> rows, std::span<const double> targets, const BoostingOptions& options)
      : options_(options), count_(targets.size()), features_(rows.size() / targets.size()) {
    std::vector<float> column(count_);
    for (size_t feature = 0; feature < features_; ++feature) {
      for (size_t i = 0; i < count_; ++i) column[i] = rows[i * features_ + feature];
      edges_.push_back(edges_of(column));
    }
    bins_.resize(count_ * features_);
    for (size_t at = 0; at < bins_.size(); ++at) {
      const auto& edges = edges_[at % features_];
      bins_[at] = static_cast<uint8_t>(std::ranges::lower_bound(edges, rows[at]) - edges.begin());
    }
    left_.assign(targets.begin(), targets.end());
  }

  BoostedTrees run() {
    BoostedTrees made;
    made.base_ =
        std::accumulate(left_.begin(), left_.end(), 0.0) / static_cast<double>(left_.size());
    for (double& one : left_) one -= made.base_;
    std::vector<uint32_t> all(count_);
    std::iota(all.begin(), all.end(), 0);
    for (int turn = 0; turn < options_.trees; ++turn) {
      nodes_.clear();
      grow(all, options_.depth);
      made.trees_.push_back(nodes_);
    }
    return made;
  }

 private:
  struct Split {
    double gain = 0;
    size_t feature = 0, bin = 0;
  };
  struct Sum {
    double sum = 0;
    int count = 0;
    double score(double shrink) const { return sum * sum / (count + shrink); }
  };

  Split best_split(std::span<const uint32_t> samples, const Sum& whole) const {
    Split best;
    for (size_t feature = 0; feature < features_; ++feature) {
      if (edges_[feature].empty()) continue;
      std::array<Sum, most_bins> bins{};
      for (const uint32_t sample : samples) {
        Sum& bin = bins[bins_[sample * features_ + feature]];
        bin.sum += left_[sample];
        ++bin.count;
      }
      Sum below;
      for (size_t bin = 0; bin < edges_[feature].size(); ++bin) {
        below.sum += bins[bin].sum;
        below.count += bins[bin].count;
        const Sum above{whole.sum - below.sum, whole.count - below.count};
        if (below.count < options_.least || above.count < options_.least) continue;
        const double gain = below.score(options_.shrink) + above.score(options_.shrink) -
                            whole.score(options_.shrink);
        if (gain > best.gain) best = {gain, feature, bin};
      }
    }
    return best;
  }

  int grow(std::span<uint32_t> samples, int depth) {
    Sum whole;
    for (const uint32_t sample : samples) whole.sum += left_[sample];
    whole.count = static_cast<int>(samples.size());
    const auto at = static_cast<int>(nodes_.size());
    nodes_.emplace_back();
    const Split split = depth > 0 ? best_split(samples, whole) : Split{};
    if (split.gain <= 1e-12) {
      const double step = options_.rate * whole.sum / (whole.count + options_.shrink);
      nodes_.back().value = step;
      for (const uint32_t sample : samples) left_[sample] -= step;
      return at;
    }
    const auto middle = std::partition(samples.begin(), samples.end(), [&](uint32_t sample) {
      return bins_[sample * features_ + split.feature] <= split.bin;
    });
    const auto below = static_cast<size_t>(middle - samples.begin());
    const int left = grow(samples.first(below), depth - 1);
    const int right = grow(samples.subspan(below), depth - 1);
    nodes_[static_cast<size_t>(at)] = {static_cast<int>(split.feature),
                                       edges_[split.feature][split.bin], left, right, 0};
    return at;
  }

  const BoostingOptions options_;
  const size_t count_, features_;
  std::vector<std::vector<float>> edges_;  // of each feature
  std::vector<uint8_t> bins_;              // of each sample's features
  std::vector<double> left_;               // of the targets, after the trees so far
  std::vector<Node> nodes_;
};

BoostedTrees BoostedTrees::fit(std::span<const float> rows, std::span<const double> targets,
                               const BoostingOptions& options) {
  return targets.empty() ? BoostedTrees() : Fit(rows, targets, options).run();
}

std::vector<BoostedTrees::Walk> BoostedTrees::walks() const {
  std::vector<Walk> all;
  for (const std::vector<Node>& tree : trees_) {
    Walk& walk = all.emplace_back();
    // Nodes lie as a walk meets them.
    for (const Node& node : tree) {
      walk.push_back(node.feature);
      walk.push_back(node.feature < 0 ? node.value : double{node.threshold});
    }
  }
  return all;
}

Result<BoostedTrees> BoostedTrees::of_walks(double base, std::span<const Walk> walks,
                                            size_t features) {
  BoostedTrees made;
  made.base_ = base;
  for (const Walk& walk : walks) {
    std::vector<Node> tree(walk.size() / 2);
    std::vector<size_t> open;  // nodes whose larger side is to come
    for (size_t at = 0; at < tree.size(); ++at) {
      const double feature = walk[2 * at], value = walk[2 * at + 1];
      if (!std::isfinite(value) || (at > 0 && open.empty())) return fail("is no tree");
      if (at > 0 && tree[at - 1].feature < 0) {
        tree[open.back()].right = static_cast<int>(at);
        open.pop_back();
      }
      if (feature == -1) {
        tree[at].value = value;
        continue;
      }
      if (!(feature >= 0 && feature < static_cast<double>(features)))
        return fail(cat("asks for feature ", feature, " of ", features));
      tree[at].feature = static_cast<int>(feature);
      tree[at].threshold = static_cast<float>(value);
      tree[at].left = static_cast<int>(at) + 1;
      open.push_back(at);
    }
    if (walk.size() % 2 != 0 || tree.empty() || !open.empty() || tree.back().feature >= 0)
      return fail("is no tree");
    made.trees_.push_back(std::move(tree));
  }
  return made;
}

double BoostedTrees::predict(std::span<const float> row) const {
  double sum = base_;
  for (const std::vector<Node>& tree : trees_) {
    const Node* node = tree.data();
    while (node->feature >= 0) {
      const bool left = row[static_cast<size_t>(node->feature)] <= node->threshold;
      node = &tree[static_cast<size_t>(left ? node->left : node->right)];
    }
    sum += node->value;
  }
  return sum;
}

}  // namespace gossamer::tune
