#include "lower/stage_builder.h"

#include <algorithm>
#include <iterator>

#include "ir/build.h"
#include "ir/estimate.h"
#include "ir/rewrite.h"
#include "lower/unpack.h"
#include "ops/host_value.h"

namespace gossamer::lower {
namespace {

using stages::Check;
using stages::ConstantSource;
using stages::Dim;
using stages::StageGraph;

std::string unique(std::unordered_set<std::string>& taken, const std::string& name) {
  std::string result = name;
  for (int i = 2; !taken.insert(result).second; ++i) result = cat(name, "#", i);
  return result;
}

}  // namespace

StageBuilder::StageBuilder(StageGraph signature, ir::Bounds known_bounds)
    : bounds(std::move(known_bounds)), graph_(std::move(signature)) {}

void StageBuilder::append(stages::Entry entry) {
  if (const stages::Step* step = entry.step()) {
    const size_t here = graph_.program.size();
    switch (step->kind) {
      case stages::StepKind::check:
        checked_.push_back({step->condition, here});
        break;
      case stages::StepKind::branch:
      case stages::StepKind::loop:
        open_.push_back(here);
        break;
      case stages::StepKind::otherwise:
        forget(open_.back());
        break;
      case stages::StepKind::end:
        forget(open_.back());
        open_.pop_back();
        break;
      default:
        break;
    }
  }
  graph_.program.push_back(std::move(entry));
}

void StageBuilder::append(stages::Program entries) {
  for (stages::Entry& entry : entries) append(std::move(entry));
}

void StageBuilder::forget(size_t first) {
  while (!checked_.empty() && checked_.back().entry >= first) checked_.pop_back();
  while (!named_.empty() && named_.back().entry >= first) named_.pop_back();
}

Expr StageBuilder::named(const std::string& name, const Expr& value) {
  for (const Named& one : named_)
    if (ir::equal(one.value, value)) return one.variable;
  const ir::Var variable = ir::dimension(name, ir::estimate(value));
  bounds.set(variable.get(), bounds.of(value));
  named_.push_back({value, variable, graph_.program.size()});
  append(stages::set_step({variable}, {value}));
  return variable;
}

stages::Program StageBuilder::cut(size_t first) {
  forget(first);
  const auto from = graph_.program.begin() + static_cast<std::ptrdiff_t>(first);
  stages::Program entries(std::make_move_iterator(from),
                          std::make_move_iterator(graph_.program.end()));
  graph_.program.erase(from, graph_.program.end());
  return entries;
}

Tensor StageBuilder::add_constant(const std::string& name, ConstantSource source) {
  if (source.dtype == ir::DType::string) {
    const auto part = [&](const std::string& part_name, ops::TensorData data) {
      ConstantSource plain;
      plain.dtype = data.dtype;
      plain.shape = std::move(data.shape);
      plain.bytes = std::move(data.bytes);
      return add_constant(part_name, std::move(plain)).buffer;
    };
    ops::StringsData parts =
        ops::split_strings({source.dtype, source.shape, {}, std::move(source.strings)});
    Tensor tensor;
    tensor.bytes = part(name, std::move(parts.bytes));
    tensor.lengths = part(name + ".lengths", std::move(parts.lengths));
    tensor.buffer = ir::buffer(name, ir::DType::string, tensor.lengths->shape);
    return tensor;
  }
  std::string own_name = unique(constant_names_, name);
  std::vector<Expr> shape;
  for (int64_t extent : source.shape) shape.push_back(ir::index(extent));
  Tensor tensor{ir::buffer(own_name, source.dtype, std::move(shape)), std::nullopt};
  if (source.file < 0) tensor.host = ops::host_elements(source.dtype, source.bytes);
  if (source.packed > 1) {
    const auto words = static_cast<int64_t>(source.length);
    const std::string packed_name = unique(constant_names_, own_name + ".packed");
    const ir::Buffer words_buffer = ir::buffer(packed_name, ir::DType::u8, {ir::index(words)});
    append(unpack_stage(words_buffer, tensor.buffer, source.packed));
    source.dtype = ir::DType::u8;
    source.shape = {words};
    source.packed = 1;
    graph_.constants.push_back({packed_name, words_buffer, std::move(source)});
    return tensor;
  }
  graph_.constants.push_back({std::move(own_name), tensor.buffer, std::move(source)});
  return tensor;
}

void StageBuilder::add_constant(const ir::Buffer& buffer, ConstantSource source) {
  graph_.constants.push_back({unique(constant_names_, buffer->name), buffer, std::move(source)});
}

// Dimensions of inputs are known before a run; other variables when their step has run.
void StageBuilder::add_check(Expr condition, std::string message, Expr elements,
                             std::string counted) {
  const auto is_dimension = [&](const ir::VarNode* var) {
    return std::ranges::any_of(graph_.dims, [&](const Dim& dim) { return dim.var.get() == var; });
  };
  bool early = true;
  ir::visit(condition, [&](const Expr& e) {
    if (const auto* var = ir::as<ir::VarNode>(e)) early = early && is_dimension(var);
    return true;
  });
  const auto same = [&](const auto& other) { return ir::equal(other.condition, condition); };
  if (early) {
    const auto known = [&](const Check& check) { return same(check) && check.counted == counted; };
    if (std::ranges::any_of(graph_.checks, known)) return;
    graph_.checks.push_back(
        {std::move(condition), std::move(message), std::move(elements), std::move(counted)});
  } else if (std::ranges::none_of(checked_, same)) {
    append(stages::check_step(std::move(condition), std::move(message), std::move(elements)));
  }
}

void StageBuilder::add_branch_check(Expr condition, std::string message) {
  for (const Expr& branch : skipped) condition = branch || condition;
  add_check(std::move(condition), std::move(message));
}

std::string StageBuilder::unique_origin(const std::string& name) { return unique(origins_, name); }

}  // namespace gossamer::lower
