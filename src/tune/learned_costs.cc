#include "tune/learned_costs.h"

#include "tune/features.h"
#include "tune/json.h"

namespace gossamer::tune {

std::string line_of(const LearnedCosts& costs) {
  Writer line;
  auto& json = line.json();
  json.StartObject();
  line.text("costs", costs.machine);
  line.text("adapter", costs.adapter);
  line.count("kernels", costs.kernels);
  line.count("points", costs.points);
  line.count("features", static_cast<int>(feature_count));
  line.text("version", GOSSAMER_VERSION);
  line.number("base", costs.trees.base());
  json.Key("trees");
  json.StartArray();
  for (const BoostedTrees::Walk& walk : costs.trees.walks()) {
    json.StartArray();
    for (size_t at = 0; at < walk.size(); ++at) {
      if (at % 2 == 0) {
        json.Int(static_cast<int>(walk[at]));
      } else {
        json.Double(std::round(walk[at] * 1e4) / 1e4);
      }
    }
    json.EndArray();
  }
  json.EndArray();
  json.EndObject();
  return line.take();
}

}  // namespace gossamer::tune
