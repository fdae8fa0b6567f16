#include "interp/stages.h"

#include "interp/steps.h"

namespace gossamer::interp {
namespace {

using ir::Scalar;
using ops::Stage;
using ops::StageKind;
using ops::TensorData;

// More than this is a mistake, or nothing to wait for.
constexpr int64_t max_elements = int64_t{1} << 28;

struct Runner {
  Values& values;
  Variables& variables;

  Scalar eval(const ir::Expr& e) const { return evaluate(e, variables, values); }

  Result<std::vector<int64_t>> extents_of(const std::vector<ir::Expr>& exprs) const {
    std::vector<int64_t> extents;
    int64_t count = 1;
    for (const ir::Expr& e : exprs) {
      int64_t extent = eval(e).as_int();
      if (extent < 0 || extent > max_elements) return fail(cat("extent ", extent, " is absurd"));
      extents.push_back(extent);
      count *= extent;
      if (count > max_elements) return fail("a tensor is too large for the interpreter");
    }
    return extents;
  }

  Result<TensorData> make(const ir::Buffer& buffer) const {
    GS_ASSIGN(std::vector<int64_t> shape, extents_of(buffer->shape));
    TensorData data{buffer->dtype, std::move(shape), {}, {}};
    data.bytes.resize(static_cast<size_t>(data.element_count() * ir::byte_size(data.dtype)));
    return data;
  }

  // Calls `body` with the axes set to each point, in row-major order.
  void each(const std::vector<ir::Var>& axes, const std::vector<int64_t>& extents,
            const std::function<void()>& body) {
    for (int64_t extent : extents) {
      if (extent == 0) return;
    }
    std::vector<int64_t> at(axes.size(), 0);
    for (const ir::Var& axis : axes) variables[axis.get()] = Scalar::of_int(ir::DType::index, 0);
    while (true) {
      body();
      size_t i = axes.size();
      while (i > 0) {
        --i;
        at[i] = at[i] + 1 < extents[i] ? at[i] + 1 : 0;
        variables[axes[i].get()] = Scalar::of_int(ir::DType::index, at[i]);
        if (at[i] != 0) break;
        if (i == 0) return;
      }
      if (axes.empty()) return;
    }
  }

  // The accumulators of a reduction at the current point, as the variables combiner.left.
  void accumulate(const Stage& stage, const std::vector<int64_t>& reduce_extents) {
    const ops::Combiner& combiner = stage.combiner;
    size_t count = combiner.left.size();
    std::vector<Scalar> state;
    for (const ir::Expr& first : combiner.identity) state.push_back(eval(first));
    each(stage.reduce_axes, reduce_extents, [&] {
      std::vector<Scalar> terms;
      for (const ir::Expr& value : stage.values) terms.push_back(eval(value));
      for (size_t k = 0; k < count; ++k) {
        variables[combiner.left[k].get()] = state[k];
        variables[combiner.right[k].get()] = terms[k];
      }
      for (size_t k = 0; k < count; ++k) state[k] = eval(combiner.joined[k]);
    });
    for (size_t k = 0; k < count; ++k) variables[combiner.left[k].get()] = state[k];
  }

  Result<> run_points(const Stage& stage) {
    GS_ASSIGN(TensorData output, make(stage.output));
    GS_ASSIGN(std::vector<int64_t> extents, extents_of(stage.extents));
    GS_ASSIGN(std::vector<int64_t> reduce_extents, extents_of(stage.reduce_extents));
    int64_t offset = 0;
    each(stage.axes, extents, [&] {
      if (stage.kind == StageKind::reduce) accumulate(stage, reduce_extents);
      set_element(output, offset++, eval(stage.result));
    });
    values[stage.output.get()] = std::move(output);
    return {};
  }

  Result<> run_scatter(const Stage& stage) {
    TensorData output = values.at(stage.initial ? stage.initial.get() : stage.output.get());
    GS_ASSIGN(std::vector<int64_t> extents, extents_of(stage.extents));
    each(stage.axes, extents, [&] {
      if (stage.condition && !eval(stage.condition).truthy()) return;
      std::vector<int64_t> point;
      for (const ir::Expr& e : stage.target) point.push_back(eval(e).as_int());
      int64_t offset = offset_of(output.shape, point);
      if (offset < 0) return;
      Scalar value = eval(stage.values[0]);
      if (!stage.combiner.left.empty()) {
        variables[stage.combiner.left[0].get()] = element(output, offset);
        variables[stage.combiner.right[0].get()] = value;
        value = eval(stage.combiner.joined[0]);
      }
      set_element(output, offset, value);
    });
    values[stage.output.get()] = std::move(output);
    return {};
  }
};

}  // namespace

namespace {

Result<> run_points_of(Runner& runner, const Stage& stage) {
  Result<> status;
  switch (stage.kind) {
    case StageKind::compute:
    case StageKind::reduce:
      status = runner.run_points(stage);
      break;
    case StageKind::scatter:
      status = runner.run_scatter(stage);
      break;
  }
  if (!status) {
    Diagnostic error = status.error();
    error.where = cat(stage.name, " of \"", stage.origin, "\"");
    return std::unexpected(std::move(error));
  }
  return {};
}

}  // namespace

Result<> run_stage(const Stage& stage, Values& values, Variables variables) {
  Runner runner{values, variables};
  return run_points_of(runner, stage);
}

Result<> run_program(std::span<const ops::Entry> program, Values& values, Variables variables) {
  StepRunner steps;
  steps.variables = std::move(variables);
  Runner runner{values, steps.variables};
  steps.run = [&](const Stage& stage) { return run_points_of(runner, stage); };
  steps.element = [&](const ir::BufferNode* tensor, int64_t at) {
    return element(values.at(tensor), at);
  };
  return run_steps(program, steps);
}

}  // namespace gossamer::interp
