#include "schedule/layout.h"

#include <algorithm>
#include <map>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ops/states.h"
#include "schedule/access.h"

namespace gossamer::schedule {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Layout;
using ops::Program;
using ops::Stage;
using ops::StageKind;

int64_t product_or(const std::vector<Expr>& extents, int64_t fallback) {
  int64_t product = 1;
  for (const Expr& e : extents) {
    const auto known = ir::as_int(e);
    if (!known) return fallback;
    product *= *known;
  }
  return product;
}

// [.., dim/lanes, .., dim%lanes]; `order` lists the dims from outermost to innermost.
Layout blocked(const std::vector<int>& order, int dim, int lanes) {
  Layout layout;
  for (int d : order) layout.axes.push_back({d, d == dim ? lanes : 1, 0});
  layout.axes.push_back({dim, 1, lanes});
  return layout;
}

class Chooser {
 public:
  Chooser(Program& program, const Ports& ports, const Capabilities& capabilities)
      : program_(program), ports_(ports), caps_(capabilities) {
    for (const ir::BufferNode* constant : ports.constants) constant_.insert(constant);
  }

  void run(std::vector<std::pair<Buffer, Buffer>>& replaced) {
    Program result;
    find_states();
    const std::vector<int> blocks = ops::blocks_of(program_);
    for (size_t i = 0; i < program_.size(); ++i) {
      if (!program_[i].stage() || !program_[i].stage()->side.empty()) {
        result.push_back(program_[i]);
        continue;
      }
      Stage& stage = *program_[i].stage();
      const bool is_state = states_.contains(stage.output.get());
      const bool is_constant =
          !is_state && std::ranges::all_of(ops::inputs_of(stage), [&](const Buffer& b) {
            return constant_.contains(b.get());
          });
      if (is_constant) constant_.insert(stage.output.get());
      block_ = blocks[i];
      place_stage(stage, result);
    }
    for (ops::Entry& entry : result) substitute_all(entry);
    // Ports that no stage touches: an output that is a constant or an input handed through.
    for (const auto* ports : {&ports_.inputs, &ports_.outputs, &ports_.constants}) {
      for (const ir::BufferNode* port : *ports) fresh_of(Buffer(port));
    }
    for (const auto& [old_buffer, fresh] : fresh_)
      replaced.emplace_back(old_owner_.at(old_buffer), fresh);
    program_ = std::move(result);
  }

 private:
  // Buffers that several stages write keep the layout of ports, in which all of them can write.
  void find_states() {
    std::set<const ir::BufferNode*> seen;
    for (const ops::Entry& entry : program_) {
      const ir::BufferNode* output = entry.output().get();
      if (output && !seen.insert(output).second) states_.insert(output);
    }
  }

  Layout layout_of(const ir::BufferNode* buffer) const {
    const auto found = layouts_.find(buffer);
    return found != layouts_.end() ? found->second : port_layout(buffer);
  }

  // Inputs, outputs, constants: row-major; in textures four consecutive elements a texel.
  Layout port_layout(const ir::BufferNode* buffer) const {
    Layout layout;
    if (caps_.texture_memory) {
      layout.flat = true;
      layout.axes = {{0, 4, 0}, {0, 1, 4}};
      set_texture(layout, product_or(buffer->shape, -1));
    }
    return layout;
  }

  void set_texture(Layout& layout, int64_t elements) const {
    layout.memory = ir::Memory::texture;
    layout.width = elements < 0 ? 1024 : texture_width((elements + 3) / 4, caps_.max_texture_size);
  }

  // How good the vector axis `axis` is for a stage: contiguous loads and constants that can be
  // packed for it count for it, gathers against it.
  int score(const Stage& stage, size_t axis, const ir::Bounds& bounds) const {
    const int lanes = caps_.vector_lanes;
    const auto extent = ir::as_int(stage.extents[axis]);
    if (extent && *extent < 2) return -1000;
    int points = 0;
    std::vector<Expr> exprs = stage.values;
    exprs.push_back(stage.result);
    const auto terms = loads_of(stage.values);
    for (const ir::Load* load : loads_of(exprs)) {
      const bool in_terms = std::ranges::find(terms, load) != terms.end();
      switch (along(*load, layout_of(load->buffer.get()), stage.axes[axis], lanes, bounds)) {
        case Along::still:
          points += in_terms ? 1 : 0;
          break;
        case Along::contiguous:
          points += 2;
          break;
        case Along::gather:
          points += in_terms && may_pack(stage, *load) ? 2 : -3;
          break;
      }
    }
    if (extent && *extent < lanes) points -= 2;
    return points;
  }

  bool may_pack(const Stage& stage, const ir::Load& load) const {
    return stage.kind == StageKind::reduce && constant_.contains(load.buffer.get()) &&
           simple_indices(load);
  }

  int choose_axis(const Stage& stage) const {
    const ir::Bounds bounds = bounds_of(stage);
    int best = -1, best_score = -999;
    for (int i = static_cast<int>(stage.axes.size()) - 1; i >= 0; --i) {
      int points = score(stage, static_cast<size_t>(i), bounds) * 4;
      // Between equals: the axis that a packed constant shares (output channels), then the last
      // axis.
      if (stage.kind == StageKind::reduce) {
        for (const ir::Load* load : loads_of(stage.values)) {
          const bool moves = std::ranges::any_of(load->indices, [&](const Expr& e) {
            return ir::uses(e, stage.axes[static_cast<size_t>(i)].get());
          });
          if (moves && may_pack(stage, *load)) points += 2;
        }
      }
      if (points > best_score) best = i, best_score = points;
    }
    // A reduction that would gather runs along its own axes instead.
    return stage.kind == StageKind::reduce && best_score < 0 ? -1 : best;
  }

  void place_stage(Stage& stage, Program& result) {
    const int rank = static_cast<int>(stage.output->shape.size());
    const bool port =
        ports_.outputs.contains(stage.output.get()) || states_.contains(stage.output.get());
    const bool pointwise = stage.kind == StageKind::compute || stage.kind == StageKind::reduce;
    const int axis = pointwise ? choose_axis(stage) : -1;
    Layout layout = port_layout(stage.output.get());
    if (axis >= 0) layout = vector_layout(stage.output->shape, axis, rank);
    if (axis >= 0 && caps_.texture_memory && !port) add_layers(stage, axis, layout);
    if (stage.kind == StageKind::reduce && axis >= 0) pack_operands(stage, axis, result);
    if (!port || layout == port_layout(stage.output.get())) {
      place(stage.output, layout);
      result.push_back(stage);
      return;
    }
    if (stage.kind == StageKind::compute) {  // computed straight into the plain output
      place(stage.output, port_layout(stage.output.get()));
      result.push_back(stage);
      return;
    }
    const Buffer plain = stage.output;
    const Buffer inner = ir::buffer(plain->name + ".blocked", plain->dtype, plain->shape);
    place(inner, layout);
    place(plain, port_layout(plain.get()));
    stage.output = inner;
    result.push_back(stage);
    result.push_back(copy_stage(inner, plain, "unblock", stage.origin));
  }

  // Blocked along `dim` unless plain memory is the same thing.
  Layout vector_layout(const std::vector<Expr>& shape, int dim, int rank) const {
    const int lanes = caps_.vector_lanes;
    const auto extent = ir::as_int(shape[static_cast<size_t>(dim)]);
    Layout layout;
    const bool whole = dim == rank - 1 && extent && *extent % lanes == 0;
    if (!whole || caps_.texture_memory) {
      std::vector<int> order;
      for (int d = 0; d < rank; ++d) order.push_back(d);
      layout = blocked(order, dim, lanes);
    }
    if (caps_.texture_memory) set_texture(layout, padded_elements(shape, dim, lanes));
    return layout;
  }

  // Rows of a fragment's tile go to the layers of an array texture: a reduction's rows reuse what
  // it loads for the vector axis; a map keeps the layers of what it reads.
  void add_layers(const Stage& stage, int axis, Layout& layout) const {
    int row = -1, layers = 1;
    if (stage.kind == StageKind::reduce) {
      for (int i = static_cast<int>(stage.axes.size()) - 1; i >= 0 && row < 0; --i) {
        const auto extent = ir::as_int(stage.extents[static_cast<size_t>(i)]);
        if (i == axis || !extent || *extent < 2) continue;
        row = i;
        while (layers < caps_.max_layers && *extent % (layers * 2) == 0) layers *= 2;
        if (layers == 1 && *extent > 4) layers = 2;
      }
    } else {
      for (const ir::Load* load : loads_of(stage.result)) {
        const Layout from = layout_of(load->buffer.get());
        if (from.layers == 1 || from.axes.back().dim >= static_cast<int>(load->indices.size()))
          continue;
        const auto d = static_cast<size_t>(from.axes[from.axes.size() - 2].dim);
        for (size_t i = 0; i < stage.axes.size(); ++i) {
          if (load->indices[d].get() != stage.axes[i].get() || static_cast<int>(i) == axis)
            continue;
          row = static_cast<int>(i);
          layers = from.layers;
        }
      }
    }
    if (row < 0 || layers == 1) return;
    int64_t elements = padded_elements(stage.output->shape, axis, caps_.vector_lanes);
    const auto extent = ir::as_int(stage.extents[static_cast<size_t>(row)]);
    if (elements > 0 && extent) elements = elements / *extent * ((*extent + layers - 1) / layers);
    for (ir::LayoutAxis& a : layout.axes) {
      if (a.dim == row) a.divide = layers;
    }
    layout.axes.insert(layout.axes.end() - 1, ir::LayoutAxis{row, 1, layers});
    layout.layers = layers;
    set_texture(layout, elements);
  }

  static int64_t padded_elements(const std::vector<Expr>& shape, int dim, int lanes) {
    const int64_t all = product_or(shape, -1);
    const auto extent = ir::as_int(shape[static_cast<size_t>(dim)]);
    if (all < 0 || !extent || *extent == 0) return all;
    return all / *extent * ((*extent + lanes - 1) / lanes * lanes);
  }

  static Stage copy_stage(const Buffer& from, const Buffer& to, const std::string& name,
                          const std::string& origin) {
    Stage copy = ops::copy_stage(name, from, to);
    copy.origin = origin;
    return copy;
  }

  // Operands of a reduction that a vector along `axis` would gather, or that are constant, are laid
  // out in the order in which the reduction walks them: [axis/lanes, other axes, reduction loops,
  // axis%lanes].
  void pack_operands(Stage& stage, int axis, Program& result) {
    const ir::Bounds bounds = bounds_of(stage);
    const ir::Var& v = stage.axes[static_cast<size_t>(axis)];
    const int64_t output_points = product_or(stage.extents, 1 << 20);
    const std::vector<Expr> before =
        stage.values;  // keeps the loads alive while they are redirected
    for (const ir::Load* load : loads_of(before)) {
      const ir::BufferNode* source = load->buffer.get();
      if (!simple_indices(*load)) continue;
      const auto moving =
          std::ranges::find_if(load->indices, [&](const Expr& e) { return e.get() == v.get(); });
      if (moving == load->indices.end()) continue;
      const Along now = along(*load, layout_of(source), v, caps_.vector_lanes, bounds);
      const bool constant = constant_.contains(source);
      const int64_t size = product_or(source->shape, 1);
      if (now == Along::contiguous && (!constant || !caps_.texture_memory)) {
        if (!constant || size <= 64) continue;
      }
      if (!constant &&
          output_points < 8 * product_or({stage.extents[static_cast<size_t>(axis)]}, 64))
        continue;
      if (stage.reduce_axes.empty()) continue;
      const Layout layout =
          packed_layout(stage, *load, static_cast<int>(moving - load->indices.begin()));
      const std::pair place_of{source, constant ? 0 : block_};
      if (const auto known = packed_.find(place_of);
          known != packed_.end() && layouts_.at(known->second.get()) == layout) {
        redirect(stage, source, known->second);
        continue;
      }
      const Buffer packed =
          ir::buffer(load->buffer->name + ".packed", source->dtype, source->shape);
      place(packed, layout);
      if (constant) constant_.insert(packed.get());
      packed_[place_of] = packed;
      result.push_back(copy_stage(load->buffer, packed, "pack", stage.origin));
      redirect(stage, source, packed);
    }
  }

  Layout packed_layout(const Stage& stage, const ir::Load& load, int vector) const {
    const int lanes = caps_.vector_lanes;
    std::vector<int> order{vector};
    const auto position = [&](const Expr& e, const std::vector<ir::Var>& axes) {
      for (size_t i = 0; i < axes.size(); ++i) {
        if (axes[i].get() == e.get()) return static_cast<int>(i);
      }
      return -1;
    };
    for (size_t d = 0; d < load.indices.size(); ++d) {
      if (static_cast<int>(d) != vector && position(load.indices[d], stage.reduce_axes) < 0) {
        order.push_back(static_cast<int>(d));
      }
    }
    int split =
        -1;  // the reduction axis walked in blocks, because another operand is blocked along it
    for (size_t r = 0; r < stage.reduce_axes.size(); ++r) {
      for (size_t d = 0; d < load.indices.size(); ++d) {
        if (load.indices[d].get() != stage.reduce_axes[r].get()) continue;
        order.push_back(static_cast<int>(d));
        if (reduces_along_vector(stage, r)) split = static_cast<int>(d);
      }
    }
    Layout layout = blocked(order, vector, lanes);
    if (split >= 0) {
      for (ir::LayoutAxis& a : layout.axes) {
        if (a.dim == split) a.divide = lanes;
      }
      layout.axes.insert(layout.axes.end() - 1, ir::LayoutAxis{split, 1, lanes});
    }
    if (caps_.texture_memory) {
      int64_t elements = padded_elements(load.buffer->shape, vector, lanes);
      if (split >= 0) {
        const auto e = ir::as_int(load.buffer->shape[static_cast<size_t>(split)]);
        if (e && elements > 0) elements = elements / *e * ((*e + lanes - 1) / lanes * lanes);
      }
      set_texture(layout, elements);
    }
    return layout;
  }

  bool reduces_along_vector(const Stage& stage, size_t r) const {
    const ir::Bounds bounds = bounds_of(stage);
    for (const ir::Load* load : loads_of(stage.values)) {
      if (constant_.contains(load->buffer.get())) continue;
      if (along(*load, layout_of(load->buffer.get()), stage.reduce_axes[r], caps_.vector_lanes,
                bounds) == Along::contiguous) {
        return true;
      }
    }
    return false;
  }

  static void redirect(Stage& stage, const ir::BufferNode* from, const Buffer& to) {
    const ir::BufferMap map{{from, to}};
    for (Expr& value : stage.values) value = ir::substitute_buffers(value, map);
  }

  void place(const Buffer& buffer, const Layout& layout) {
    if (by_old_.contains(buffer.get())) return;  // a state: always as a port
    layouts_[buffer.get()] = layout;
    auto fresh = Buffer(new ir::BufferNode(*buffer));
    const_cast<ir::BufferNode*>(fresh.get())->layout = layout;
    fresh_.emplace_back(buffer.get(), fresh);
    by_old_[buffer.get()] = fresh;
    old_owner_[buffer.get()] = buffer;
  }

  // New buffers carry the layouts; ports that no stage writes get theirs on first sight.
  Buffer fresh_of(const Buffer& buffer) {
    if (ports_.side.contains(buffer.get())) return buffer;
    if (!by_old_.contains(buffer.get())) place(buffer, port_layout(buffer.get()));
    return by_old_.at(buffer.get());
  }

  void substitute_all(ops::Entry& entry) {
    ir::BufferMap map;
    for (const Buffer& input : entry.inputs()) map[input.get()] = fresh_of(input);
    if (entry.output()) entry.set_output(fresh_of(entry.output()));
    ops::replace_inputs(entry, map);
  }

  Program& program_;
  const Ports& ports_;
  const Capabilities& caps_;
  std::set<const ir::BufferNode*> constant_;
  std::map<const ir::BufferNode*, Layout> layouts_;
  std::set<const ir::BufferNode*> states_;
  int block_ = 0;
  // By source and block: a copy made in one branch is not there in the other.
  std::map<std::pair<const ir::BufferNode*, int>, Buffer> packed_;
  std::map<const ir::BufferNode*, Buffer> by_old_, old_owner_;
  std::vector<std::pair<const ir::BufferNode*, Buffer>> fresh_;
};

}  // namespace

void choose_layouts(Program& program, const Ports& ports, const Capabilities& capabilities,
                    std::vector<std::pair<Buffer, Buffer>>& replaced) {
  Chooser(program, ports, capabilities).run(replaced);
}

int texture_width(int64_t texels, int max_size) {
  int width = 1;
  while (static_cast<int64_t>(width) * width < texels && width < max_size) width *= 2;
  return width;
}

}  // namespace gossamer::schedule
