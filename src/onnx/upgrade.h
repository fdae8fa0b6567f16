// Brings operators of old opsets to the newest form, the only one that the catalog defines.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "onnx/proto.h"

namespace gossamer::onnx {

// A node on its way into the graph: values are still named; the empty name is an absent one.
struct ImportNode {
  std::string op, domain, name;
  std::vector<std::string> inputs, outputs;
  ops::Attributes attributes;
  std::map<std::string, const ProtoGraph*, std::less<>> bodies;
};

// What is known of a value before shapes are inferred.
struct ValueFacts {
  std::optional<ir::DType> dtype;
  std::optional<int> rank;
  const stages::ConstantSource* constant = nullptr;  // with its bytes, else null
};

struct UpgradeScope {
  std::function<ValueFacts(const std::string& name)> facts;
  std::function<std::string(ops::TensorData data)> add_constant;  // returns the new value's name
  std::function<std::string()> new_name;                          // for a value between nodes
};

constexpr int newest_opset = 28;  // of ai.onnx

// The nodes that do in the newest opset what `node` did in `version`. Errors: forms without an
// equivalent.
Result<std::vector<ImportNode>> upgrade(ImportNode node, int64_t version,
                                        const UpgradeScope& scope);

}  // namespace gossamer::onnx
