#include "rewrite/winograd.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "ir/build.h"
#include "ir/estimate.h"
#include "ir/rewrite.h"
#include "rewrite/sliding_sum.h"
#include "stages/access.h"
#include "target/costs.h"

namespace gossamer::rewrite {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Var;
using records::direct;
using records::PointSource;
using records::winograd_tiles;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;
using target::Costs;

// Transforms of one axis, a row an output, by Lavin and Gray: of the input (B^T), the weights (G)
// and the products (A^T).
using Row = std::vector<double>;
struct Transforms {
  std::vector<Row> input, weights, output;
};
const Transforms& transforms_of(int tile) {
  static const Transforms two{
      {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
      {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
      {{1, 1, 1, 0}, {0, 1, -1, -1}},
  };
  static const Transforms four{
      {{4, 0, -5, 0, 1, 0},
       {0, -4, -4, 1, 1, 0},
       {0, 4, -4, -1, 1, 0},
       {0, -2, -1, 2, 1, 0},
       {0, 2, -1, -2, 1, 0},
       {0, 4, 0, -5, 0, 1}},
      {{1.0 / 4, 0, 0},
       {-1.0 / 6, -1.0 / 6, -1.0 / 6},
       {-1.0 / 6, 1.0 / 6, -1.0 / 6},
       {1.0 / 24, 1.0 / 12, 1.0 / 6},
       {1.0 / 24, -1.0 / 12, 1.0 / 6},
       {0, 0, 1}},
      {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
  };
  return tile == 2 ? two : four;
}

Expr combine(const Row& row, const std::vector<Expr>& terms) {
  Expr sum;
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] == 0) continue;
    const double size = std::abs(row[i]);
    const Expr term = size == 1 ? terms[i] : terms[i] * size;
    if (!sum.get()) {
      sum = row[i] < 0 ? -term : term;
    } else {
      sum = row[i] < 0 ? sum - term : sum + term;
    }
  }
  return sum;
}

// The output of a transform whose number is `which`.
Expr transformed(const std::vector<Row>& rows, const Expr& which, const std::vector<Expr>& terms) {
  Expr result = combine(rows.back(), terms);
  for (size_t i = rows.size() - 1; i-- > 0;)
    result =
        ir::select(which == ir::index(static_cast<int64_t>(i)), combine(rows[i], terms), result);
  return result;
}

// Of both axes of a square of `edge` elements.
Expr transformed(const std::vector<Row>& rows, const Expr& down, const Expr& across, int edge,
                 const std::function<Expr(int, int)>& element) {
  std::vector<Expr> lines;
  for (int i = 0; i < edge; ++i) {
    std::vector<Expr> line;
    for (int j = 0; j < edge; ++j) line.push_back(element(i, j));
    lines.push_back(transformed(rows, across, line));
  }
  return transformed(rows, down, lines);
}

// In multiply-adds.
double cost_of(const SlidingSum& sliding, int tile, const Costs& costs) {
  const auto channels = static_cast<double>(sliding.channels);
  const auto columns = static_cast<double>(sliding.columns);
  const auto rows_of = [&](int edge) {
    int64_t rows = sliding.tiled_batches;
    for (const Slide& slide : sliding.slides)
      rows *= (ir::estimate(slide.points) + edge - 1) / edge;
    return static_cast<double>(rows);
  };
  const auto product = [&](double places, double rows) {
    return places * channels * columns * (rows + costs.weight);
  };
  if (tile == direct) {
    return product(window_edge * window_edge, rows_of(1));
  }
  const double places = (tile + window_edge - 1) * (tile + window_edge - 1);
  const double rows = rows_of(tile);
  return product(places, rows) + costs.transform * places * rows * (channels + columns) +
         2 * costs.launch;
}

int tile_by_rule(const SlidingSum& sliding, const Capabilities& caps) {
  const Costs& costs = costs_of(caps);
  int best = direct;
  if (costs.transform == 0) return best;
  double least = cost_of(sliding, direct, costs) * costs.another;
  for (const int tile : winograd_tiles) {
    if (const double cost = cost_of(sliding, tile, costs); cost < least) best = tile, least = cost;
  }
  return best;
}

int tile_for(const Stage& stage, const SlidingSum& sliding, const Capabilities& caps,
             const PointSource* records, const Capabilities* hardware) {
  const int rule = tile_by_rule(sliding, hardware ? *hardware : caps);
  return recorded_for(records, &PointSource::tile_of, stage, caps, hardware, rule).value_or(rule);
}

// The stages in place of one.
class Maker {
 public:
  Maker(const Stage& stage, const SlidingSum& sliding, int tile)
      : stage_(stage),
        sliding_(sliding),
        tile_(tile),
        edge_(tile + window_edge - 1),
        places_(static_cast<int64_t>(edge_) * edge_),
        down_(stages::ceil_div(sliding.slides[0].points, tile)),
        across_(stages::ceil_div(sliding.slides[1].points, tile)),
        tiles_(ir::index(sliding.tiled_batches) * down_ * across_) {}

  std::vector<Stage> make() const {
    std::vector<Stage> made;
    made.push_back(weights());
    made.push_back(input());
    made.push_back(products(made[0].output, made[1].output));
    made.push_back(points(made[2].output));
    return made;
  }

 private:
  Stage stage(std::string_view what, std::vector<Var> axes, std::vector<Expr> extents) const {
    Stage made;
    made.name = cat(stage_.name, ".", what);
    made.origin = stage_.origin;
    made.output = ir::buffer(cat(stage_.output->name, ".", what), DType::f32, extents);
    made.axes = std::move(axes);
    made.extents = std::move(extents);
    return made;
  }

  // Of tiles and products, an axis for each whose extent only a run tells.
  std::vector<Var> open_axes() const {
    std::vector<Var> axes;
    for (const size_t axis : sliding_.open) axes.push_back(ir::var(stage_.axes[axis]->name));
    return axes;
  }
  std::vector<Expr> open_extents() const {
    std::vector<Expr> extents;
    for (const size_t axis : sliding_.open) extents.push_back(stage_.extents[axis]);
    return extents;
  }
  template <class T>
  static std::vector<T> with_open(T place, const std::vector<T>& open, T number, T last) {
    std::vector<T> all{std::move(place)};
    all.insert(all.end(), open.begin(), open.end());
    all.push_back(std::move(number));
    all.push_back(std::move(last));
    return all;
  }

  Expr down_of(const Expr& place) const { return ir::floordiv(place, edge_); }
  Expr across_of(const Expr& place) const { return ir::floormod(place, edge_); }

  // [places, columns, channels]
  Stage weights() const {
    const Var place = ir::var("place"), column = ir::var("o"), channel = ir::var("c");
    Stage made =
        stage("weights", {place, column, channel},
              {ir::index(places_), ir::index(sliding_.columns), ir::index(sliding_.channels)});
    made.result = transformed(
        transforms_of(tile_).weights, down_of(place), across_of(place), window_edge,
        [&](int i, int j) {
          return ir::substitute(sliding_.weights,
                                {{stage_.axes[sliding_.column].get(), column},
                                 {stage_.reduce_axes[sliding_.channel].get(), channel},
                                 {stage_.reduce_axes[sliding_.slides[0].tap].get(), ir::index(i)},
                                 {stage_.reduce_axes[sliding_.slides[1].tap].get(), ir::index(j)}});
        });
    return made;
  }

  // [places, batches of open extents.., tiles, channels]
  Stage input() const {
    const Var place = ir::var("place"), number = ir::var("tile"), channel = ir::var("c");
    const std::vector<Var> open = open_axes();
    Stage made =
        stage("tiles", with_open(place, open, number, channel),
              with_open(ir::index(places_), open_extents(), tiles_, ir::index(sliding_.channels)));
    std::vector<Expr> extents;
    for (const size_t batch : sliding_.batches) extents.push_back(stage_.extents[batch]);
    extents.insert(extents.end(), {down_, across_});
    const std::vector<Expr> tile = stages::unravel(number, extents);
    ir::VarMap at{{stage_.reduce_axes[sliding_.channel].get(), channel}};
    for (size_t i = 0; i < sliding_.batches.size(); ++i)
      at[stage_.axes[sliding_.batches[i]].get()] = tile[i];
    for (size_t i = 0; i < open.size(); ++i) at[stage_.axes[sliding_.open[i]].get()] = open[i];
    const std::array<Expr, 2> first{tile[tile.size() - 2] * ir::index(tile_),
                                    tile[tile.size() - 1] * ir::index(tile_)};
    made.result = transformed(
        transforms_of(tile_).input, down_of(place), across_of(place), edge_, [&](int i, int j) {
          Expr inside;
          for (const auto& [which, step] : {std::pair(0, i), {1, j}}) {
            const auto w = static_cast<size_t>(which);
            const Expr place_in = first[w] + ir::index(step);
            at[sliding_.at[w].get()] = place_in;
            // Behind the last window that counts there may be no memory.
            const Expr end = sliding_.slides[w].points + ir::index(window_edge - 1);
            const auto known = ir::as_int(sliding_.slides[w].points);
            if (known && (*known + tile_ - 1) / tile_ * tile_ - tile_ + step < *ir::as_int(end))
              continue;
            const Expr is_in = place_in < end;
            inside = inside ? Expr(inside && is_in) : is_in;
          }
          const Expr element = ir::substitute(sliding_.input, at);
          return inside ? ir::select(inside, element, ir::constant(DType::f32, 0)) : element;
        });
    return made;
  }

  // [places, batches of open extents.., tiles, columns]
  Stage products(const Buffer& weights, const Buffer& input) const {
    const Var place = ir::var("place"), number = ir::var("tile"), column = ir::var("o"),
              channel = ir::var("c");
    const std::vector<Var> open = open_axes();
    Stage made =
        stage("products", with_open(place, open, number, column),
              with_open(ir::index(places_), open_extents(), tiles_, ir::index(sliding_.columns)));
    made.kind = StageKind::reduce;
    made.reduce_axes = {channel};
    made.reduce_extents = {ir::index(sliding_.channels)};
    const std::vector<Expr> batches(open.begin(), open.end());
    made.values = {ir::load(input, with_open<Expr>(place, batches, number, channel)) *
                   ir::load(weights, {place, column, channel})};
    const Var left = ir::var("left", DType::f32), right = ir::var("right", DType::f32);
    made.accumulators = {stages::sum_accumulator(left, right)};
    made.result = left;
    return made;
  }

  // As the whole stage has them, by its result.
  Stage points(const Buffer& products) const {
    Stage made = stage_;
    made.kind = StageKind::compute;
    made.reduce_axes.clear();
    made.reduce_extents.clear();
    made.values.clear();
    made.accumulators = {};
    Expr number = ir::index(0);
    for (const size_t batch : sliding_.batches)
      number = number * stage_.extents[batch] + stage_.axes[batch];
    std::array<Expr, 2> within;
    for (size_t w = 0; w < 2; ++w) {
      const Var& axis = stage_.axes[sliding_.slides[w].axis];
      number = number * (w == 0 ? down_ : across_) + ir::floordiv(axis, tile_);
      within[w] = ir::floormod(axis, tile_);
    }
    std::vector<Expr> open;
    for (const size_t axis : sliding_.open) open.push_back(stage_.axes[axis]);
    const Expr sum =
        transformed(transforms_of(tile_).output, within[0], within[1], edge_, [&](int i, int j) {
          return ir::load(products, with_open<Expr>(ir::index(int64_t{i} * edge_ + j), open, number,
                                                    stage_.axes[sliding_.column]));
        });
    made.result = ir::substitute(stage_.result, {{stage_.accumulators[0].left.get(), sum}});
    return made;
  }

  const Stage& stage_;
  const SlidingSum& sliding_;
  const int tile_, edge_;
  const int64_t places_;
  const Expr down_, across_, tiles_;
};

// The stages that have a convolution in another basis, in the program around it.
class Rewriter {
 public:
  Rewriter(stages::Program& program, std::set<const ir::BufferNode*> constants,
           const Capabilities& capabilities, const PointSource* records,
           const Capabilities* hardware)
      : program_(program),
        constant_(std::move(constants)),
        caps_(capabilities),
        records_(records),
        hardware_(hardware) {
    for (size_t i = 0; i < program.size(); ++i) {
      for (const Buffer& input : program[i].inputs()) ++readers_[input.get()];
      if (program[i].output()) writers_[program[i].output().get()].push_back(i);
    }
  }

  void run() {
    stages::Program made;
    for (stages::Entry& entry : program_) {
      Stage* stage = entry.stage();
      if (stage && !is_constant(*stage)) {
        if (const auto sliding = find_sliding_sum(*stage, constant_)) {
          if (const int tile = tile_for(*stage, *sliding, caps_, records_, hardware_)) {
            for (Stage& one : Maker(*stage, with_inlined(*sliding), tile).make())
              made.emplace_back(std::move(one));
            continue;
          }
        }
      }
      made.push_back(entry);
    }
    program_ = std::move(made);
  }

 private:
  bool is_constant(const Stage& stage) {
    const auto inputs = stages::inputs_of(stage);
    const bool constant =
        writers_.at(stage.output.get()).size() == 1 &&
        std::ranges::all_of(inputs, [&](const Buffer& b) { return constant_.contains(b.get()); });
    if (constant) constant_.insert(stage.output.get());
    return constant;
  }

  // Where launches cost, tiles read what a map has only moved and padded for them from where it
  // was.
  SlidingSum with_inlined(SlidingSum sliding) const {
    const Costs& costs = costs_of(hardware_ ? *hardware_ : caps_);
    const auto* load = ir::as<ir::Load>(sliding.input);
    if (costs.launch == 0 || !load) return sliding;
    const auto writers = writers_.find(load->buffer.get());
    if (writers == writers_.end() || writers->second.size() != 1 ||
        readers_.at(load->buffer.get()) != 1)
      return sliding;
    const Stage* producer = program_[writers->second[0]].stage();
    if (!producer || producer->kind != StageKind::compute || producer->view ||
        !producer->side.empty() || loads_of(producer->result).size() != 1 ||
        std::ranges::any_of(stages::inputs_of(*producer), [&](const Buffer& input) {
          const auto written = writers_.find(input.get());
          return written != writers_.end() && written->second.size() > 1;
        }))
      return sliding;
    ir::VarMap at;
    for (size_t i = 0; i < producer->axes.size(); ++i)
      at[producer->axes[i].get()] = load->indices[i];
    sliding.input = ir::substitute(producer->result, at);
    return sliding;
  }

  stages::Program& program_;
  std::set<const ir::BufferNode*> constant_;
  const Capabilities& caps_;
  const PointSource* records_;
  const Capabilities* hardware_;
  std::map<const ir::BufferNode*, int> readers_;
  std::map<const ir::BufferNode*, std::vector<size_t>> writers_;
};

}  // namespace

void use_winograd(stages::Program& program, const std::set<const ir::BufferNode*>& constants,
                  const Capabilities& capabilities, const PointSource* records,
                  const Capabilities* hardware) {
  // A texel would compute a whole transform for one element of it.
  if (capabilities.texture_memory) return;
  Rewriter(program, constants, capabilities, records, hardware).run();
}

}  // namespace gossamer::rewrite
