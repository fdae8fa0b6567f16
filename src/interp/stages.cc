#include "interp/stages.h"

#include <algorithm>

#include "interp/steps.h"

namespace gossamer::interp {
namespace {

using ir::Scalar;
using ops::TensorData;
using stages::Stage;
using stages::StageKind;

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

  // Joins the terms of the current point to the accumulators.
  void join(const stages::Accumulators& accumulators, std::vector<Scalar>& state,
            const std::vector<ir::Expr>& terms_of) {
    for (size_t k = 0; k < state.size(); ++k) variables[accumulators[k].left.get()] = state[k];
    std::vector<Scalar> terms;
    for (const ir::Expr& value : terms_of) terms.push_back(eval(value));
    for (size_t k = 0; k < state.size(); ++k) variables[accumulators[k].right.get()] = terms[k];
    for (size_t k = 0; k < state.size(); ++k) state[k] = eval(accumulators[k].joined);
  }

  // The accumulators of a reduction at the current point, as the variables Accumulator::left.
  void accumulate(const Stage& stage, const std::vector<int64_t>& reduce_extents) {
    const stages::Accumulators& accumulators = stage.accumulators;
    std::vector<Scalar> state;
    for (const ir::Expr& first : stages::starts_of(stage)) state.push_back(eval(first));
    each(stage.reduce_axes, reduce_extents, [&] { join(accumulators, state, stage.values); });
    for (size_t k = 0; k < state.size(); ++k) variables[accumulators[k].left.get()] = state[k];
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

  Result<> run_tally(const Stage& stage) {
    GS_ASSIGN(TensorData output, make(stage.output));
    GS_ASSIGN(std::vector<int64_t> extents, extents_of(stage.extents));
    GS_ASSIGN(const std::vector<int64_t> buckets, extents_of(stage.reduce_extents));
    std::vector<int64_t> table;
    each(stage.axes, extents, [&] {
      if (variables.at(stage.axes.back().get()).as_int() == 0) {
        table.clear();
        each(stage.reduce_axes, buckets, [&] { table.push_back(eval(stage.starts[0]).as_int()); });
      }
      if (stage.condition && !eval(stage.condition).truthy()) return;
      int64_t& next = table.at(static_cast<size_t>(eval(stage.values[1]).as_int()));
      variables[stage.tally.get()] = Scalar::of_int(stage.tally->type.dtype, next++);
      std::vector<int64_t> point;
      for (const ir::Expr& e : stage.target) point.push_back(eval(e).as_int());
      const int64_t offset = offset_of(output.shape, point);
      if (offset >= 0) set_element(output, offset, eval(stage.values[0]));
    });
    values[stage.output.get()] = std::move(output);
    return {};
  }

  Result<> run_scatter(const Stage& stage) {
    if (stage.table) return run_tally(stage);
    TensorData output = values.at(stage.initial ? stage.initial.get() : stage.output.get());
    GS_ASSIGN(std::vector<int64_t> extents, extents_of(stage.extents));
    each(stage.axes, extents, [&] {
      if (stage.condition && !eval(stage.condition).truthy()) return;
      std::vector<int64_t> point;
      for (const ir::Expr& e : stage.target) point.push_back(eval(e).as_int());
      int64_t offset = offset_of(output.shape, point);
      if (offset < 0) return;
      Scalar value = eval(stage.values[0]);
      if (!stage.accumulators.empty()) {
        variables[stage.accumulators[0].left.get()] = element(output, offset);
        variables[stage.accumulators[0].right.get()] = value;
        value = eval(stage.accumulators[0].joined);
      }
      set_element(output, offset, value);
    });
    values[stage.output.get()] = std::move(output);
    return {};
  }

  // Calls `body` with all axes set but the one that a scan or sort goes along.
  void each_row(const Stage& stage, const std::vector<int64_t>& extents,
                const std::function<void()>& body) {
    std::vector<ir::Var> rest = stage.axes;
    std::vector<int64_t> rows = extents;
    const auto along = static_cast<std::ptrdiff_t>(stage.along);
    rest.erase(rest.begin() + along);
    rows.erase(rows.begin() + along);
    each(rest, rows, body);
  }

  void set_index(const ir::Var& axis, int64_t at) {
    variables[axis.get()] = Scalar::of_int(ir::DType::index, at);
  }

  // Where the present point lies in a row-major tensor.
  int64_t place(const Stage& stage, const TensorData& output) const {
    std::vector<int64_t> point;
    for (const ir::Var& axis : stage.axes) point.push_back(variables.at(axis.get()).as_int());
    return offset_of(output.shape, point);
  }

  Result<> run_sort(const Stage& stage) {
    GS_ASSIGN(TensorData output, make(stage.output));
    GS_ASSIGN(std::vector<int64_t> extents, extents_of(stage.extents));
    GS_ASSIGN(std::vector<int64_t> reduce_extents, extents_of(stage.reduce_extents));
    const stages::Accumulators& accumulators = stage.accumulators;
    each_row(stage, extents, [&] {
      std::vector<std::vector<Scalar>> keys;
      std::vector<int64_t> places;
      for (int64_t at = 0; at < reduce_extents[0]; ++at) {
        set_index(stage.reduce_axes[0], at);
        std::vector<Scalar>& key = keys.emplace_back();
        for (const ir::Expr& value : stage.values) key.push_back(eval(value));
        places.push_back(at);
      }
      const auto comes_before = [&](int64_t a, int64_t b) {
        for (size_t k = 0; k < stage.values.size(); ++k) {
          variables[accumulators[k].left.get()] = keys[static_cast<size_t>(a)][k];
          variables[accumulators[k].right.get()] = keys[static_cast<size_t>(b)][k];
        }
        return eval(accumulators[0].joined).truthy();
      };
      std::ranges::sort(places, [&](int64_t a, int64_t b) {
        return comes_before(a, b) || (a < b && !comes_before(b, a));
      });
      for (int64_t at = 0; at < extents[stage.along]; ++at) {
        set_index(stage.axes[stage.along], at);
        set_element(output, place(stage, output),
                    Scalar::of_int(stage.output->dtype, places[static_cast<size_t>(at)]));
      }
    });
    values[stage.output.get()] = std::move(output);
    return {};
  }

  Result<> run_scan(const Stage& stage) {
    GS_ASSIGN(TensorData output, make(stage.output));
    GS_ASSIGN(std::vector<int64_t> extents, extents_of(stage.extents));
    const stages::Accumulators& accumulators = stage.accumulators;
    const size_t count = accumulators.size();
    each_row(stage, extents, [&] {
      std::vector<Scalar> state;
      for (int64_t at = 0; at < extents[stage.along]; ++at) {
        set_index(stage.axes[stage.along], at);
        if (at == 0 || (stage.segment > 0 && at % stage.segment == 0)) {
          state.clear();
          for (const ir::Expr& first : stages::starts_of(stage)) state.push_back(eval(first));
        }
        join(accumulators, state, stage.values);
        for (size_t k = 0; k < count; ++k) variables[accumulators[k].left.get()] = state[k];
        set_element(output, place(stage, output), eval(stage.result));
      }
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
    case StageKind::scan:
      status = runner.run_scan(stage);
      break;
    case StageKind::sort:
      status = runner.run_sort(stage);
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

Result<> run_program(std::span<const stages::Entry> program, Values& values, Variables variables) {
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
