// What a row of the upgrade table works with: one node, and means to move attributes and add nodes
// around it.
#pragma once

#include <span>

#include "onnx/upgrade.h"

namespace gossamer::onnx {

class UpgradeStep {
 public:
  UpgradeStep(ImportNode subject, const UpgradeScope& scope)
      : node(std::move(subject)), scope_(scope) {}

  ImportNode node;
  std::vector<ImportNode> before, after;

  bool has(std::string_view attribute) const { return node.attributes.contains(attribute); }
  // Remove an attribute and return its value.
  int64_t take_integer(std::string_view attribute, int64_t fallback);
  double take_number(std::string_view attribute, double fallback);
  std::string take_text(std::string_view attribute, std::string fallback);
  std::vector<int64_t> take_integers(std::string_view attribute);
  std::vector<double> take_numbers(std::string_view attribute);
  void drop(std::initializer_list<std::string_view> attributes);
  void set_default(std::string_view attribute, ops::Attribute value);

  // Sets an input, growing the list with absent ones.
  void set_input(size_t index, std::string name);
  std::string input(size_t index) const;                     // "" where absent
  std::string constant(const std::vector<int64_t>& values);  // i64, one axis
  std::string constant_scalar(int64_t value);
  // A scalar, or one axis, of the type of value `like` (f32 where unknown).
  std::string constant_like(const std::string& like, double value);
  std::string constant_floats(const std::vector<double>& values);
  // Turns an attribute of integers into an input, where the attribute is present.
  void integers_to_input(std::string_view attribute, size_t index);

  ValueFacts facts(const std::string& value) const { return scope_.facts(value); }
  // The elements of a constant value of integers or floats, where known.
  std::optional<std::vector<double>> known(const std::string& value) const;

  // Adds a node before this one; returns its output.
  std::string prepend(std::string op, std::vector<std::string> inputs,
                      ops::Attributes attributes = {});
  // Adds a node after this one that consumes its first output (as first input) and gives its name.
  void append(std::string op, std::vector<std::string> more_inputs,
              ops::Attributes attributes = {});
  // Stands in for an operator of another name.
  void rename(std::string op) { node.op = std::move(op); }
  std::unexpected<Diagnostic> error(std::string message, std::string hint = {}) const;

 private:
  const UpgradeScope& scope_;
};

// Applies to nodes whose opset is below `below` (of operators since version 1 of ai.onnx).
struct UpgradeRow {
  std::string_view op;
  int below;
  Result<> (*apply)(UpgradeStep&);
};

std::span<const UpgradeRow> upgrade_rows();

}  // namespace gossamer::onnx
