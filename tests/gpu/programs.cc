// Programs with loops, registers, group memory and textures of several layers.
#include <cmath>
#include <functional>
#include <random>

#include "gpu/cases.h"
#include "ir/build.h"

namespace gossamer::tests::gpu {
namespace {

using namespace ir;

Data random_floats(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> pick(-1, 1);
  Data data{DType::f32, {}};
  for (int64_t i = 0; i < count; ++i) {
    data.values.push_back(Scalar::of_float(DType::f32, pick(random)));
  }
  return data;
}

Data computed(int64_t count, const std::function<double(int64_t)>& value) {
  Data data{DType::f32, {}};
  for (int64_t i = 0; i < count; ++i) {
    data.values.push_back(Scalar::of_float(DType::f32, value(i)));
  }
  return data;
}

Data product(const Data& a, const Data& b, int64_t m, int64_t n, int64_t k) {
  return computed(m * n, [&](int64_t i) {
    double sum = 0;
    for (int64_t x = 0; x < k; ++x) {
      sum += a.values[static_cast<size_t>(i / n * k + x)].f *
             b.values[static_cast<size_t>(x * n + i % n)].f;
    }
    return sum;
  });
}

Buffer linear(const std::string& name, std::vector<int64_t> shape, Scope scope = Scope::global) {
  std::vector<Expr> extents;
  for (int64_t extent : shape) extents.push_back(index(extent));
  return buffer(name, DType::f32, std::move(extents), scope);
}

Expr load4(const Buffer& b, const Expr& at) { return load(b, {ramp(at, 1, 4)}); }
Stmt store4(const Buffer& b, const Expr& at, const Expr& value) {
  return store(b, {ramp(at, 1, 4)}, value);
}
const Type f32x4(DType::f32, 4);

Case case_of(const std::string& name, const std::vector<Buffer>& buffers, int64_t range,
             const Stmt& body) {
  Case test;
  test.name = name;
  test.kernel.name = name;
  for (size_t i = 0; i < buffers.size(); ++i) {
    test.kernel.params.push_back({buffers[i], i + 1 == buffers.size()});
  }
  test.kernel.body = body;
  test.range = range;
  return test;
}

// Each invocation computes 8 rows of one vec4 column, k by 4, unrolled; tiles in registers.
Case tile_product(int64_t m, int64_t n, int64_t k) {
  constexpr int rows = 8, group = 64;
  const Buffer a = linear("a", {m, k}), b = linear("b", {k, n}), c = linear("c", {m, n});
  const Buffer sums = linear("acc", {rows * 4}, Scope::priv);
  const Var g = var("g"), t = var("t"), step = var("k");
  const Expr item = g * index(group) + t;
  const Expr column = floormod(item, index(n / 4)) * index(4);
  const Expr row = floordiv(item, index(n / 4)) * index(rows);
  std::vector<Stmt> first, inner, last;
  for (int r = 0; r < rows; ++r) first.push_back(store4(sums, index(4 * r), zero(f32x4)));
  for (int x = 0; x < 4; ++x) {
    const Expr depth = step * index(4) + index(x);
    const Var right = var("bv", f32x4);
    std::vector<Stmt> products;
    for (int r = 0; r < rows; ++r) {
      const Expr left = load(a, {(row + index(r)) * index(k) + depth});
      products.push_back(
          store4(sums, index(4 * r), fma(broadcast(left, 4), right, load4(sums, index(4 * r)))));
    }
    inner.push_back(let(right, load4(b, depth * index(n) + column), block(products)));
  }
  for (int r = 0; r < rows; ++r) {
    last.push_back(store4(c, (row + index(r)) * index(n) + column, load4(sums, index(4 * r))));
  }
  const Stmt body =
      block({block(first), loop(step, index(k / 4), LoopKind::serial, block(inner)), block(last)});
  const int64_t range = m / rows * (n / 4) / group;
  Case test = case_of(cat("register tile product ", m, "x", n, "x", k), {a, b, c}, range,
                      loop(g, index(range), LoopKind::grid,
                           loop(t, index(group), LoopKind::group, alloc(sums, body))));
  test.inputs = {random_floats(m * k, 1), random_floats(k * n, 2)};
  test.expected = product(test.inputs[0], test.inputs[1], m, n, k);
  test.absolute = 1e-4;
  test.relative = 1e-5;
  return test;
}

// 16 x 16 outputs a group, both operands staged in group memory, with barriers.
Case staged_product(int64_t size) {
  constexpr int edge = 16;
  const Buffer a = linear("a", {size, size}), b = linear("b", {size, size}),
               c = linear("c", {size, size});
  const Buffer left = linear("left", {edge * edge}, Scope::group),
               right = linear("right", {edge * edge}, Scope::group);
  const Buffer sum = linear("sum", {1}, Scope::priv);
  const Var g = var("g"), t = var("t"), block_index = var("kb"), x = var("k");
  const int64_t tiles = size / edge;
  const Expr y = floordiv(t, edge), lane_x = floormod(t, edge);
  const Expr row = floordiv(g, tiles) * index(edge) + y;
  const Expr column = floormod(g, tiles) * index(edge) + lane_x;
  const Expr depth = block_index * index(edge);
  const Stmt add = store(sum, {index(0)},
                         fma(load(left, {y * index(edge) + x}),
                             load(right, {x * index(edge) + lane_x}), load(sum, {index(0)})));
  const Stmt steps = block({store(left, {t}, load(a, {row * index(size) + depth + lane_x})),
                            store(right, {t}, load(b, {(depth + y) * index(size) + column})),
                            barrier(), loop(x, index(edge), LoopKind::serial, add), barrier()});
  const Stmt body = block({store(sum, {index(0)}, constant(DType::f32, 0)),
                           loop(block_index, index(tiles), LoopKind::serial, steps),
                           store(c, {row * index(size) + column}, load(sum, {index(0)}))});
  Case test = case_of("staged product", {a, b, c}, tiles * tiles,
                      loop(g, index(tiles * tiles), LoopKind::grid,
                           loop(t, index(edge * edge), LoopKind::group,
                                alloc(left, alloc(right, alloc(sum, body))))));
  test.inputs = {random_floats(size * size, 3), random_floats(size * size, 4)};
  test.expected = product(test.inputs[0], test.inputs[1], size, size, size);
  test.absolute = 1e-4;
  return test;
}

// Group memory of vec4, a tree of barriers in a loop whose bound shrinks by a private cell.
Case group_sum(int64_t rows, int64_t width) {
  constexpr int group = 32;
  const Buffer in = linear("in", {rows, width}), out = linear("out", {rows});
  const Buffer parts = linear("parts", {group * 4}, Scope::group);
  const Buffer sum = linear("sum", {4}, Scope::priv);
  const Var g = var("g"), t = var("t"), i = var("i"), l = var("level");
  const Expr at = g * index(width) + (i * index(group) + t) * index(4);
  const Expr half = binary(BinaryOp::shr, index(group / 2), l);
  const Stmt fold =
      branch(t < half, store4(parts, t * index(4),
                              load4(parts, t * index(4)) + load4(parts, (t + half) * index(4))));
  const Expr whole = load4(parts, index(0));
  Expr total = lane(whole, index(0));
  for (int x = 1; x < 4; ++x) total = total + lane(whole, index(x));
  const Stmt body = block({store4(sum, index(0), zero(f32x4)),
                           loop(i, index(width / 4 / group), LoopKind::serial,
                                store4(sum, index(0), load4(sum, index(0)) + load4(in, at))),
                           store4(parts, t * index(4), load4(sum, index(0))), barrier(),
                           loop(l, index(5), LoopKind::serial, block({fold, barrier()})),
                           branch(t == index(0), store(out, {g}, total))});
  Case test = case_of("group sum", {in, out}, rows,
                      loop(g, index(rows), LoopKind::grid,
                           loop(t, index(group), LoopKind::group, alloc(parts, alloc(sum, body)))));
  test.inputs = {random_floats(rows * width, 5)};
  test.expected = computed(rows, [&](int64_t r) {
    double all = 0;
    for (int64_t c = 0; c < width; ++c) all += test.inputs[0].values[size_t(r * width + c)].f;
    return all;
  });
  test.absolute = 1e-4;
  return test;
}

// Softmax of rows, scalars of a width that is no multiple of 4, dimensions known only at run time.
Case dynamic_softmax(int64_t rows, int64_t width) {
  const Var n = var("rows"), w = var("width");
  const Buffer in = buffer("in", DType::f32, {n, w}), out = buffer("out", DType::f32, {n, w});
  const Buffer top = linear("top", {1}, Scope::priv), sum = linear("sum", {1}, Scope::priv);
  const Var g = var("g"), t = var("t"), i = var("i"), j = var("j"), k = var("k");
  const Expr row = g * index(64) + t;
  auto at = [&](const Var& c) { return std::vector<Expr>{row * w + c}; };
  const Expr zero_index = index(0);
  const Expr powered = exp(load(in, at(j)) - load(top, {zero_index}));
  const Stmt body = block(
      {store(top, {zero_index}, lowest(DType::f32)),
       loop(i, w, LoopKind::serial,
            store(top, {zero_index}, max(load(top, {zero_index}), load(in, at(i))))),
       store(sum, {zero_index}, constant(DType::f32, 0)),
       loop(j, w, LoopKind::serial, store(sum, {zero_index}, load(sum, {zero_index}) + powered)),
       loop(k, w, LoopKind::serial,
            store(out, at(k),
                  exp(load(in, at(k)) - load(top, {zero_index})) / load(sum, {zero_index})))});
  Case test = case_of(
      "dynamic softmax", {in, out}, (rows + 63) / 64,
      loop(g, floordiv(n + index(63), 64), LoopKind::grid,
           loop(t, index(64), LoopKind::group, branch(row < n, alloc(top, alloc(sum, body))))));
  test.kernel.scalars = {n, w};
  test.scalars = {rows, width};
  test.inputs = {random_floats(rows * width, 6)};
  test.expected = computed(rows * width, [&](int64_t i) {
    double all = 0;
    for (int64_t c = 0; c < width; ++c)
      all += std::exp(test.inputs[0].values[size_t(i / width * width + c)].f);
    return std::exp(test.inputs[0].values[size_t(i)].f) / all;
  });
  test.absolute = 1e-6;
  test.relative = 1e-5;
  return test;
}

// More workgroups than one dimension of a dispatch holds.
Case many_groups() {
  constexpr int64_t count = 70000;
  const Buffer in = linear("in", {count}), out = linear("out", {count});
  const Var g = var("g"), t = var("t");
  Case test = case_of("70000 groups", {in, out}, count,
                      loop(g, index(count), LoopKind::grid,
                           loop(t, index(1), LoopKind::group,
                                store(out, {g}, load(in, {index(count - 1) - g}) * 2.0))));
  test.inputs = {random_floats(count, 7)};
  test.expected = computed(count, [&](int64_t i) {
    return test.inputs[0].values[static_cast<size_t>(count - 1 - i)].f * 2;
  });
  return test;
}

// A while loop over a private cell, a private array with dynamic indices, a gather, unaligned
// vectors.
Case collatz() {
  constexpr int64_t count = 256;
  const Buffer in = buffer("in", DType::i32, {index(count)}), out = linear("out", {count});
  const Buffer cell = buffer("cell", DType::i32, {index(2)}, Scope::priv);
  const Buffer table = linear("table", {8}, Scope::priv);
  const Var g = var("g"), t = var("t"), i = var("i");
  const Expr item = g * index(64) + t;
  const Expr n = load(cell, {index(0)}), steps = load(cell, {index(1)});
  const Expr odd = binary(BinaryOp::bit_and, n, constant_int(DType::i32, 1)) == 1.0;
  const Stmt next = block({store(cell, {index(0)}, select(odd, n * 3.0 + 1.0, n / 2.0)),
                           store(cell, {index(1)}, steps + 1.0)});
  const Expr slot = cast(DType::index, floormod(steps, constant_int(DType::i32, 8)));
  const Stmt body =
      block({loop(i, index(8), LoopKind::serial, store(table, {i}, cast(DType::f32, i * i))),
             store(cell, {index(0)}, load(in, {item})),
             store(cell, {index(1)}, constant_int(DType::i32, 0)), while_loop(n > 1.0, next),
             store(out, {item}, load(table, {slot}) * 1000.0 + cast(DType::f32, steps))});
  Case test = case_of("while", {in, out}, count / 64,
                      loop(g, index(count / 64), LoopKind::grid,
                           loop(t, index(64), LoopKind::group, alloc(cell, alloc(table, body)))));
  Data starts{DType::i32, {}};
  for (int64_t x = 0; x < count; ++x) starts.values.push_back(Scalar::of_int(DType::i32, x + 1));
  test.inputs = {starts};
  test.expected = computed(count, [](int64_t x) {
    int64_t value = x + 1, taken = 0;
    for (; value > 1; ++taken) value = value % 2 ? 3 * value + 1 : value / 2;
    return static_cast<double>((taken % 8) * (taken % 8) * 1000 + taken);
  });
  return test;
}

Case unaligned() {
  constexpr int64_t count = 256;
  const Buffer in = linear("in", {count + 1}), out = linear("out", {count});
  const Var g = var("g"), t = var("t");
  const Expr at = (g * index(16) + t) * index(4);
  const Expr next = load4(in, at + index(1)), here = load4(in, at);
  Case test = case_of("unaligned vectors", {in, out}, count / 64,
                      loop(g, index(count / 64), LoopKind::grid,
                           loop(t, index(16), LoopKind::group, store4(out, at, next - here))));
  test.inputs = {random_floats(count + 1, 8)};
  test.expected = computed(count, [&](int64_t i) {
    const auto& v = test.inputs[0].values;
    return static_cast<float>(v[static_cast<size_t>(i + 1)].f) -
           static_cast<float>(v[static_cast<size_t>(i)].f);
  });
  return test;
}

// The texel index of (x, y) in a texture as wide as a power of two.
std::vector<Expr> texel_of(const Expr& t, int width, int layer) {
  return {floormod(t, width), floordiv(t, width), index(layer)};
}

Buffer texture(const std::string& name, std::vector<int64_t> shape, int width, int layers) {
  auto* node = new BufferNode(name, DType::f32, {});
  for (int64_t extent : shape) node->shape.push_back(index(extent));
  node->layout.axes = {{0, layers, 0}, {1, 4, 0}, {0, 1, layers}, {1, 1, 4}};
  if (layers == 1) node->layout.axes = {{0, 1, 0}, {1, 4, 0}, {1, 1, 4}};
  node->layout.memory = Memory::texture;
  node->layout.width = width;
  node->layout.layers = layers;
  return Buffer(node);
}

Expr fetch(const Buffer& from, const Expr& t, int layer) {
  auto* node = new Load(f32x4);
  node->buffer = from;
  node->indices = texel_of(t, from->layout.width, layer);
  return Expr(node);
}

// Rows of a matrix in `layers` layers: layer r of texel (y, x) holds row 4 y + r, columns 4 x ... 4
// x + 3.
Data in_layers(const Data& rows, int64_t width, int layers) {
  Data data{DType::f32, rows.values};
  const auto texels = static_cast<int64_t>(rows.values.size()) / 4 / layers;
  for (int64_t i = 0; i < static_cast<int64_t>(rows.values.size()); ++i) {
    const int64_t y = i / width, x = i % width;
    const int64_t texel = y / layers * (width / 4) + x / 4;
    data.values[static_cast<size_t>((y % layers * texels + texel) * 4 + x % 4)] =
        rows.values[static_cast<size_t>(i)];
  }
  return data;
}

// Four rows of a vec4 column a fragment, one layer each; the left operand has layers, too.
Case texture_product(int64_t m, int64_t n, int64_t k, int layers) {
  const Buffer a = texture("a", {m, k}, 16, layers), b = texture("b", {k, n}, 32, 1),
               c = texture("c", {m, n}, 32, layers);
  const Buffer sums = linear("acc", {4 * layers}, Scope::priv);
  const Var t = var("t"), step = var("k");
  const Expr y = floordiv(t, n / 4), x = floormod(t, n / 4);
  std::vector<Stmt> first, inner, last;
  std::vector<Expr> left;
  for (int r = 0; r < layers; ++r) {
    first.push_back(store4(sums, index(4 * r), zero(f32x4)));
    left.push_back(fetch(a, y * index(k / 4) + step, r));
  }
  for (int d = 0; d < 4; ++d) {
    const Expr right = fetch(b, (step * index(4) + index(d)) * index(n / 4) + x, 0);
    for (int r = 0; r < layers; ++r) {
      inner.push_back(store4(sums, index(4 * r),
                             fma(broadcast(lane(left[static_cast<size_t>(r)], index(d)), 4), right,
                                 load4(sums, index(4 * r)))));
    }
  }
  for (int r = 0; r < layers; ++r) {
    last.push_back(store(c, texel_of(t, 32, r), load4(sums, index(4 * r))));
  }
  const int64_t range = m / layers * (n / 4);
  Case test = case_of(
      cat("texture product of ", layers, " layers"), {a, b, c}, range,
      loop(
          t, index(range), LoopKind::grid,
          alloc(sums, block({block(first), loop(step, index(k / 4), LoopKind::serial, block(inner)),
                             block(last)}))));
  const Data left_rows = random_floats(m * k, 9);
  test.inputs = {in_layers(left_rows, k, layers), random_floats(k * n, 10)};
  test.expected = in_layers(product(left_rows, test.inputs[1], m, n, k), n, layers);
  test.absolute = 1e-4;
  return test;
}

// One element of a texel, picked by a dynamic lane, scaled by a uniform; dynamic layer.
Case texture_gather(int64_t rows, int64_t columns) {
  const Buffer in = texture("in", {rows, columns}, 16, 4),
               out = texture("out", {rows / 4, columns}, 16, 1);
  const Var t = var("t"), shift = var("shift");
  const Expr layer = floormod(t + shift, 4);
  auto* node = new Load(f32x4);
  node->buffer = in;
  node->indices = {floormod(t, 16), floordiv(t, 16), layer};
  const Expr texel(node);
  std::vector<Expr> lanes;
  for (int i = 0; i < 4; ++i) lanes.push_back(lane(texel, floormod(t + shift + index(i), 4)));
  Case test = case_of("texture gather", {in, out}, rows / 4 * columns / 4,
                      loop(t, index(rows / 4 * columns / 4), LoopKind::grid,
                           store(out, texel_of(t, 16, 0), make_vector(lanes))));
  test.kernel.scalars = {shift};
  test.scalars = {3};
  test.inputs = {random_floats(rows * columns, 11)};
  const int64_t texels = rows * columns / 16;
  test.expected = computed(rows / 4 * columns, [&](int64_t i) {
    const int64_t at = i / 4, from = (at + 3) % 4 * texels + at;
    return test.inputs[0].values[static_cast<size_t>(from * 4 + (at + 3 + i % 4) % 4)].f;
  });
  return test;
}

}  // namespace

void add_programs(Cases& cases) {
  cases.add_webgpu(tile_product(64, 128, 96));
  cases.add_webgpu(staged_product(64));
  cases.add_webgpu(group_sum(9, 512));
  cases.add_webgpu(dynamic_softmax(100, 37));
  cases.add_webgpu(many_groups());
  cases.add_webgpu(collatz());
  cases.add_webgpu(unaligned());
  for (int layers : {1, 2, 4, 8}) cases.add_webgl(texture_product(32, 64, 48, layers));
  cases.add_webgl(texture_gather(32, 64));
}

}  // namespace gossamer::tests::gpu
