// What every device must do. A device is one row of `devices`; a case that it cannot meet says why.
#include <gtest/gtest.h>
#include <algorithm>

#include <atomic>
#include <cstring>
#include <limits>
#include <thread>

#include "codegen/glsl/emit.h"
#include "codegen/glsl/emit_compute.h"
#include "codegen/llvm/emit.h"
#include "codegen/opencl/emit.h"
#include "codegen/wasm/emit.h"
#include "codegen/wgsl/emit.h"
#include "ir/build.h"
#include "runtime/cpu/device.h"
#include "runtime/null/device.h"
#include "runtime/opencl/device.h"
#include "runtime/opengl/device.h"
#include "runtime/wasm/device.h"
#include "runtime/webgl/device.h"
#include "runtime/webgpu/device.h"

namespace gossamer::runtime {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::index;

using Made = Result<std::unique_ptr<Device>>;

// out[i] = in[i] * scalar, one element a work item.
ir::Kernel example_kernel() {
  const ir::Buffer in = ir::buffer("in", DType::i32, {index(1 << 20)}),
                   out = ir::buffer("out", DType::i32, {index(1 << 20)});
  const ir::Var g = ir::var("g"), factor = ir::var("factor");
  return {
      "scale",
      {{in, false}, {out, true}},
      {factor},
      ir::loop(g, index(1 << 20), ir::LoopKind::grid,
               ir::store(out, {Expr(g)},
                         ir::load(in, {Expr(g)}) * ir::cast(ir::Type(DType::i32), Expr(factor))))};
}

// The same, a texel of four elements a work item.
ir::Kernel texel_kernel() {
  const auto texture = [](const char* name) {
    auto* node = new ir::BufferNode(name, DType::i32, {index(1 << 20)});
    node->layout.flat = true;
    node->layout.axes = {{0, 4, 0}, {0, 4, 1}, {0, 1, 4}};
    node->layout.memory = ir::Memory::texture;
    node->layout.width = webgl_width;
    return ir::Buffer(node);
  };
  const ir::Buffer in = texture("in"), out = texture("out");
  const ir::Var t = ir::var("t"), factor = ir::var("factor");
  const std::vector<Expr> place = {ir::floormod(t, webgl_width), ir::floordiv(t, webgl_width),
                                   index(0)};
  auto* read = new ir::Load(ir::Type(DType::i32, 4));
  read->buffer = in;
  read->indices = place;
  const Expr by = ir::broadcast(ir::cast(ir::Type(DType::i32), Expr(factor)), 4);
  return {"scale",
          {{in, false}, {out, true}},
          {factor},
          ir::loop(t, index(1 << 18), ir::LoopKind::grid, ir::store(out, place, Expr(read) * by))};
}

// values = {2 h, h * w, } and, in segment 1, {, , h + w}.
codegen::PlanFunction example_plan() {
  codegen::PlanFunction plan;
  plan.dims = {ir::var("h"), ir::var("w")};
  const Expr h = plan.dims[0], w = plan.dims[1];
  plan.values = {h * index(2), h * w, h + w};
  plan.segments = {0, 0, 1};
  return plan;
}

// k0 as a library.
std::vector<std::byte> library_code() {
  const ir::Kernel kernel = example_kernel();
  const codegen::PlanFunction plan = example_plan();
  const auto object = codegen::llvm_::emit_object({&kernel, 1}, &plan, {});
  GS_CHECK(object.has_value(), object ? "" : object.error().to_string());
  const auto library = codegen::llvm_::link_shared_library(*object);
  GS_CHECK(library.has_value(), library ? "" : library.error().to_string());
  return *library;
}

std::vector<std::byte> module_code() {
  const ir::Kernel kernel = example_kernel();
  const codegen::PlanFunction plan = example_plan();
  return codegen::wasm::emit_module({&kernel, 1}, &plan, {});
}

// kernels.json with one shader.
std::vector<std::byte> shader_code(auto* emit, const ir::Kernel& kernel = example_kernel()) {
  const auto shader = emit(kernel, {});
  GS_CHECK(shader.has_value(), shader ? "" : shader.error().to_string());
  std::string text = "[\"";
  for (const char c : shader->code) text += c == '\n' ? "\\n" : std::string(1, c);
  text += "\"]";
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

struct DeviceRow {
  const char* name;
  Made (*make)();
  std::vector<std::byte> (*code)() = library_code;
  KernelEntry kernel = {"k0", 2, 1};
  int segments = 2;  // of the plan; 0: packages for it have none, the CPU beside it computes sizes
  int64_t elements = 1;  // that a work item computes
  int64_t row = 1;       // so many of them run together
};
const DeviceRow devices[] = {
    {"cpu_one_thread", [] { return Made(make_cpu_device(1)); }},
    {"cpu_three_threads", [] { return Made(make_cpu_device(3)); }},
    {"null", [] { return Made(make_null_device()); }},
    {"wasm_one_thread", [] { return make_wasm_device(1); }, module_code},
    {"wasm_three_threads", [] { return make_wasm_device(3); }, module_code},
    {"opencl",
     make_opencl_device,
     [] { return shader_code(codegen::opencl::emit); },
     {"run", 2, 1, 0},
     0},
    {"opengl",
     make_opengl_device,
     [] { return shader_code(codegen::glsl::emit_compute); },
     {"main", 2, 1, 0},
     0},
    {"webgpu",
     make_webgpu_device,
     [] { return shader_code(codegen::wgsl::emit); },
     {"main", 2, 1, 0},
     0},
    {"webgl",
     make_webgl_device,
     [] { return shader_code(codegen::glsl::emit, texel_kernel()); },
     {"main", 2, 1, 0},
     0,
     4,
     webgl_width},
};

class Conformance : public ::testing::TestWithParam<DeviceRow> {
 protected:
  std::unique_ptr<Device> device;
  void SetUp() override {
    auto made = GetParam().make();
    if (!made) GTEST_SKIP() << "this machine has no such device: " << made.error().to_string();
    device = std::move(*made);
  }
  std::unique_ptr<runtime::Buffer> allocate(size_t bytes) {
    auto buffer = device->allocate(bytes);
    EXPECT_TRUE(buffer.has_value());
    return std::move(*buffer);
  }
  std::unique_ptr<Executable> load_example() {
    auto loaded = device->load(GetParam().code(), {&GetParam().kernel, 1}, GetParam().segments);
    EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().to_string());
    return std::move(*loaded);
  }
};
class Computing : public Conformance {};  // all but the null device, which runs and reads no code
class Planning : public Conformance {};   // code with a plan
class Shading : public Conformance {};    // code that is text and has no plan

TEST_P(Conformance, KeepsWhatIsWritten) {
  const auto buffer = allocate(1000);
  EXPECT_EQ(buffer->size(), 1000u);
  std::vector<std::byte> written(1000), read(400);
  for (size_t at = 0; at < written.size(); ++at) written[at] = static_cast<std::byte>(at * 7);
  ASSERT_TRUE(device->queue().write(*buffer, 0, written));
  ASSERT_TRUE(device->queue().read(*buffer, 300, read));
  const auto fence = device->queue().submit();
  ASSERT_TRUE(fence.has_value());
  ASSERT_TRUE((*fence)->wait());
  EXPECT_TRUE((*fence)->passed());
  ASSERT_TRUE((*fence)->wait());
  EXPECT_EQ(std::memcmp(read.data(), written.data() + 300, 400), 0);
  if (const auto seen = buffer->mapped(); !seen.empty())
    EXPECT_TRUE(std::ranges::equal(seen, written));
}

TEST_P(Conformance, BuffersMayBeEmpty) {
  const auto buffer = allocate(0);
  EXPECT_EQ(buffer->size(), 0u);
  EXPECT_TRUE(device->queue().write(*buffer, 0, {}));
  EXPECT_TRUE(device->queue().read(*buffer, 0, {}));
}

TEST_P(Conformance, RefusesAbsurdSizes) {
  EXPECT_FALSE(device->allocate(std::numeric_limits<size_t>::max()).has_value());
  EXPECT_FALSE(device->allocate(std::numeric_limits<size_t>::max() - 100).has_value());
}

TEST_P(Conformance, RefusesCopiesOutsideOfABuffer) {
  const auto buffer = allocate(64);
  std::vector<std::byte> bytes(65);
  EXPECT_FALSE(device->queue().write(*buffer, 0, bytes));
  EXPECT_FALSE(device->queue().read(*buffer, 32, {bytes.data(), 33}));
  EXPECT_FALSE(
      device->queue().read(*buffer, std::numeric_limits<size_t>::max(), {bytes.data(), 1}));
  EXPECT_TRUE(device->queue().write(*buffer, 64, {}));
}

TEST_P(Conformance, RefusesLaunchesThatDoNotFit) {
  const auto code = load_example();
  const auto a = allocate(64), b = allocate(64);
  runtime::Buffer* pair[] = {a.get(), b.get()};
  runtime::Buffer* same[] = {a.get(), a.get()};
  const int64_t scalar = 1;
  Queue& queue = device->queue();
  EXPECT_FALSE(queue.launch(*code, {1, pair, {&scalar, 1}, 4}));
  EXPECT_FALSE(queue.launch(*code, {-1, pair, {&scalar, 1}, 4}));
  EXPECT_FALSE(queue.launch(*code, {0, {pair, 1}, {&scalar, 1}, 4}));
  EXPECT_FALSE(queue.launch(*code, {0, pair, {}, 4}));
  EXPECT_FALSE(queue.launch(*code, {0, pair, {&scalar, 1}, -4}));
  EXPECT_FALSE(queue.launch(*code, {0, same, {&scalar, 1}, 4}));
}

TEST_P(Computing, RunsEveryWorkItemOnce) {
  const auto code = load_example();
  constexpr int64_t count = 10240;
  const auto [elements, row] = std::pair(GetParam().elements, GetParam().row);
  const auto in = allocate(4 * count), out = allocate(4 * count);
  std::vector<int32_t> x(count), y(count);
  for (int64_t at = 0; at < count; ++at) x[static_cast<size_t>(at)] = static_cast<int32_t>(at);
  Queue& queue = device->queue();
  ASSERT_TRUE(queue.write(*in, 0, std::as_bytes(std::span(x))));
  runtime::Buffer* buffers[] = {in.get(), out.get()};
  for (int64_t range : {int64_t{0}, int64_t{1}, int64_t{7}, count / elements}) {
    // Whole rows of a texture, but for a single one.
    const int64_t computed = elements * (range <= row ? range : (range + row - 1) / row * row);
    std::fill(y.begin(), y.end(), -1);
    ASSERT_TRUE(queue.write(*out, 0, std::as_bytes(std::span(y))));
    const int64_t factor = -3;
    ASSERT_TRUE(queue.launch(*code, {0, buffers, {&factor, 1}, range}));
    ASSERT_TRUE((*queue.submit())->wait());
    ASSERT_TRUE(queue.read(*out, 0, std::as_writable_bytes(std::span(y))));
    for (int64_t at = 0; at < count; ++at)
      ASSERT_EQ(y[static_cast<size_t>(at)], at < computed ? -3 * at : -1) << range << " " << at;
  }
}

TEST_P(Computing, LaunchesRunInOrder) {
  const auto code = load_example();
  const auto a = allocate(4 * 256), b = allocate(4 * 256);
  std::vector<int32_t> x(256, 1);
  Queue& queue = device->queue();
  ASSERT_TRUE(queue.write(*a, 0, std::as_bytes(std::span(x))));
  runtime::Buffer* there[] = {a.get(), b.get()};
  runtime::Buffer* back[] = {b.get(), a.get()};
  const int64_t two = 2, range = 256 / GetParam().elements;
  for (int turn = 0; turn < 15; ++turn) {
    ASSERT_TRUE(queue.launch(*code, {0, there, {&two, 1}, range}));
    ASSERT_TRUE(queue.launch(*code, {0, back, {&two, 1}, range}));
  }
  ASSERT_TRUE(queue.read(*a, 0, std::as_writable_bytes(std::span(x))));
  for (int32_t value : x) ASSERT_EQ(value, 1 << 30);
}

TEST_P(Conformance, CopiesAreCommandsLikeOthers) {
  const auto code = load_example();
  constexpr size_t count = 1024;
  const auto a = allocate(4 * count), b = allocate(4 * count), c = allocate(4 * count);
  std::vector<int32_t> x(count, 5), y(count);
  Queue& queue = device->queue();
  const auto bytes_of = [](auto& values) { return std::as_writable_bytes(std::span(values)); };
  ASSERT_TRUE(queue.write(*a, 0, bytes_of(x)));
  ASSERT_TRUE(queue.copy(*c, *a, 4 * count, DType::i32));
  // What is written after a copy is not in it.
  std::ranges::fill(x, 7);
  ASSERT_TRUE(queue.write(*a, 0, bytes_of(x)));
  ASSERT_TRUE(queue.read(*c, 0, bytes_of(y)));
  EXPECT_EQ(y, std::vector<int32_t>(count, 5));
  EXPECT_FALSE(queue.copy(*c, *a, 4 * count + 16, DType::i32));
  EXPECT_TRUE(queue.copy(*c, *a, 0, DType::i32));
  if (!device->computes()) return;
  // What a launch computes before one is, and what a launch reads after one is there.
  runtime::Buffer* there[] = {a.get(), b.get()};
  runtime::Buffer* on[] = {c.get(), b.get()};
  const int64_t two = 2, range = count / static_cast<size_t>(GetParam().elements);
  ASSERT_TRUE(queue.launch(*code, {0, there, {&two, 1}, range}));
  ASSERT_TRUE(queue.copy(*c, *b, 4 * count, DType::i32));
  ASSERT_TRUE(queue.launch(*code, {0, on, {&two, 1}, range}));
  ASSERT_TRUE(queue.copy(*a, *b, 2 * count, DType::i32));
  ASSERT_TRUE(queue.read(*a, 0, bytes_of(y)));
  for (size_t at = 0; at < count; ++at) ASSERT_EQ(y[at], at < count / 2 ? 28 : 7) << at;
}

// What is written after launches is not what they read, also where nothing was read since.
TEST_P(Computing, WritesAreCommandsLikeOthers) {
  const auto code = load_example();
  constexpr int count = 16, turns = 20;
  const auto from = allocate(4 * count);
  std::vector<std::unique_ptr<runtime::Buffer>> made;
  Queue& queue = device->queue();
  const int64_t two = 2;
  for (int turn = 0; turn < turns; ++turn) {
    made.push_back(allocate(4 * count));
    const std::vector<int32_t> x(count, turn + 1);
    ASSERT_TRUE(queue.write(*from, 0, std::as_bytes(std::span(x))));
    runtime::Buffer* there[] = {from.get(), made.back().get()};
    ASSERT_TRUE(queue.launch(*code, {0, there, {&two, 1}, count / GetParam().elements}));
  }
  for (int turn = 0; turn < turns; ++turn) {
    std::vector<int32_t> y(count);
    ASSERT_TRUE(
        queue.read(*made[static_cast<size_t>(turn)], 0, std::as_writable_bytes(std::span(y))));
    EXPECT_EQ(y, std::vector<int32_t>(count, 2 * (turn + 1))) << turn;
  }
}

// Devices of a process may share what the driver has one of.
TEST_P(Computing, SeveralDevicesRunInThreads) {
  constexpr size_t count = 1024;
  std::atomic<int> right = 0;
  const auto use = [&] {
    auto own = GetParam().make();
    auto code = (*own)->load(GetParam().code(), {&GetParam().kernel, 1}, GetParam().segments);
    for (int32_t turn = 1; own && code && turn <= 20; ++turn) {
      // Memory that comes and goes while others run.
      auto in = (*own)->allocate(4 * count), out = (*own)->allocate(4 * count);
      std::vector<int32_t> x(count, turn), y(count);
      Queue& queue = (*own)->queue();
      runtime::Buffer* buffers[] = {in->get(), out->get()};
      const int64_t factor = 3, range = count / static_cast<size_t>(GetParam().elements);
      const bool done = queue.write(**in, 0, std::as_bytes(std::span(x))) &&
                        queue.launch(**code, {0, buffers, {&factor, 1}, range}) &&
                        queue.read(**out, 0, std::as_writable_bytes(std::span(y)));
      if (done && y == std::vector<int32_t>(count, 3 * turn)) ++right;
    }
  };
  {
    const std::jthread first(use), second(use), third(use);
  }
  EXPECT_EQ(right, 60);
}

TEST_P(Planning, PlansFromDimensions) {
  const auto code = load_example();
  const int64_t dims[] = {5, 7};
  double values[3] = {-1, -1, -1};
  ASSERT_TRUE(code->plan(0, dims, values));
  if (!device->computes()) return;  // its plans are all zero
  EXPECT_EQ(values[0], 10);
  EXPECT_EQ(values[1], 35);
  EXPECT_EQ(values[2], -1);
  ASSERT_TRUE(code->plan(1, dims, values));
  EXPECT_EQ(values[0], 10);
  EXPECT_EQ(values[2], 12);
  EXPECT_FALSE(code->plan(2, dims, values));
  EXPECT_FALSE(code->plan(-1, dims, values));
}

TEST_P(Conformance, CodeWithoutAPlanSaysSo) {
  const auto loaded = device->load(GetParam().code(), {&GetParam().kernel, 1}, 0);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_FALSE((*loaded)->plan(0, {}, {}));
}

TEST_P(Shading, RefusesShadersThatDoNotCompile) {
  const std::string_view text = R"(["this is no shader"])";
  const auto loaded = device->load(std::as_bytes(std::span(text)), {&GetParam().kernel, 1}, 0);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_NE(loaded.error().message.find("compiler refuses"), std::string::npos);
}

TEST_P(Computing, RefusesWhatIsNoCode) {
  const std::vector<std::byte> noise(1000, std::byte{0x5a});
  EXPECT_FALSE(device->load(noise, {&GetParam().kernel, 1}, 0).has_value());
  EXPECT_FALSE(device->load({}, {&GetParam().kernel, 1}, 0).has_value());
  const std::vector<KernelEntry> missing{{"k7", 1, 0, 7}};
  const auto loaded = device->load(GetParam().code(), missing, 0);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_NE(loaded.error().message.find("k7"), std::string::npos);
}

// OpenGL 4.3 and OpenGL ES 3.1 promise 8 and 4 blocks, groups of 1024 and 128.
TEST(OpenGl, DriversWithLittleRoomHaveKernelsOfTheirOwn) {
  EXPECT_EQ(opengl_limits(8, 1024), "");
  EXPECT_EQ(opengl_limits(16, 256), "");
  EXPECT_EQ(opengl_limits(4, 128), "es31");
  EXPECT_EQ(opengl_limits(8, 128), "es31");
  EXPECT_EQ(opengl_limits(4, 1024), "es31");
}

std::vector<DeviceRow> devices_where(auto fits) {
  std::vector<DeviceRow> rows;
  std::ranges::copy_if(devices, std::back_inserter(rows), fits);
  return rows;
}
const auto computing =
    devices_where([](const DeviceRow& row) { return row.name != std::string_view("null"); });
const auto planning = devices_where([](const DeviceRow& row) { return row.segments > 0; });
const auto shading = devices_where([](const DeviceRow& row) { return row.segments == 0; });
const auto name_of = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Devices, Conformance, ::testing::ValuesIn(devices), name_of);
INSTANTIATE_TEST_SUITE_P(Devices, Computing, ::testing::ValuesIn(computing), name_of);
INSTANTIATE_TEST_SUITE_P(Devices, Planning, ::testing::ValuesIn(planning), name_of);
INSTANTIATE_TEST_SUITE_P(Devices, Shading, ::testing::ValuesIn(shading), name_of);

}  // namespace
}  // namespace gossamer::runtime
