// The native device wasm with modules that no compiler of ours would write, and what it makes of
// memory. What all devices must do is in runtime/conformance_test.cc.
#include "runtime/wasm/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "codegen/wasm/emit.h"
#include "ir/build.h"
#include "runtime/wasm/memory.h"

namespace gossamer::runtime {
namespace {

using Bytes = std::vector<uint8_t>;

std::span<const std::byte> as_code(const Bytes& module) { return std::as_bytes(std::span(module)); }

Bytes section(uint8_t id, const Bytes& content) {
  Bytes made = {id, static_cast<uint8_t>(content.size())};
  made.insert(made.end(), content.begin(), content.end());
  return made;
}

// (import "env" "memory" (memory 1)), an exported function "k0" of (i32 i32 i32), or of `type`, and
// this code.
Bytes module_of(const Bytes& code, const Bytes& type = {1, 0x60, 3, 127, 127, 127, 0}) {
  Bytes made = {0, 'a', 's', 'm', 1, 0, 0, 0};
  Bytes body = {1, static_cast<uint8_t>(code.size() + 2), 0};
  body.insert(body.end(), code.begin(), code.end());
  body.push_back(11);
  for (const Bytes& part :
       {section(1, type),
        section(2, {1, 3, 'e', 'n', 'v', 6, 'm', 'e', 'm', 'o', 'r', 'y', 2, 0, 1}),
        section(3, {1, 0}), section(7, {1, 2, 'k', '0', 0, 0}), section(10, body)})
    made.insert(made.end(), part.begin(), part.end());
  return made;
}

const KernelEntry no_arguments = {"k0", 1, 0};

TEST(WasmImport, GetsTheLimitsOfTheMemory) {
  const Bytes module = module_of({});
  const auto made = wasm::with_shared_memory(as_code(module));
  ASSERT_TRUE(made.has_value());
  EXPECT_TRUE(made->imports);
  const std::array<uint8_t, 6> shared = {2, 3, 0, 128, 128, 4};
  const auto found = std::ranges::search(made->module, std::as_bytes(std::span(shared)));
  EXPECT_FALSE(found.empty());
  EXPECT_EQ(made->module.size(), module.size() + 3);
}

TEST(WasmImport, CutModulesAreErrorsOrStayWhatTheyAre) {
  const Bytes module = module_of({});
  for (size_t size = 0; size < module.size(); ++size) {
    const Bytes cut(module.begin(), module.begin() + static_cast<ptrdiff_t>(size));
    const auto made = wasm::with_shared_memory(as_code(cut));
    if (made && !made->imports) EXPECT_EQ(made->module.size(), size);
  }
  const Bytes other = {0, 'a', 's', 'm', 1, 0, 0, 0, 2, 7, 1, 1, 'a', 1, 'b', 0, 0};
  EXPECT_FALSE(wasm::with_shared_memory(as_code(other)).has_value());
}

class WasmDevice : public ::testing::Test {
 protected:
  std::unique_ptr<Device> device;
  void SetUp() override {
    auto made = make_wasm_device(2);
    if (!made) GTEST_SKIP() << "this machine has no such device: " << made.error().to_string();
    device = std::move(*made);
  }
  Result<std::unique_ptr<Executable>> load(const Bytes& module) {
    return device->load(as_code(module), {&no_arguments, 1}, 0);
  }
  std::string launch(const Executable& code) {
    const auto buffer = device->allocate(64);
    Buffer* all[] = {buffer->get()};
    const auto done = device->queue().launch(code, {0, all, {}, 100});
    return done ? "" : done.error().to_string();
  }
};

TEST_F(WasmDevice, TrapsAreErrors) {
  const auto unreachable = load(module_of({0}));
  ASSERT_TRUE(unreachable.has_value());
  EXPECT_NE(launch(**unreachable).find("kernel k0: trapped: wasm trap: wasm `unreachable`"),
            std::string::npos)
      << launch(**unreachable);
  // (i32.store (i32.const -4) (i32.const 1))
  const auto outside = load(module_of({0x41, 0x7c, 0x41, 1, 0x36, 2, 0}));
  ASSERT_TRUE(outside.has_value());
  EXPECT_NE(launch(**outside).find("out of bounds"), std::string::npos) << launch(**outside);
  // (call 0): without end
  const auto deep = load(module_of({0x20, 0, 0x20, 1, 0x20, 2, 0x10, 0}));
  ASSERT_TRUE(deep.has_value());
  EXPECT_NE(launch(**deep).find("stack"), std::string::npos) << launch(**deep);
  // The device goes on.
  const auto nothing = load(module_of({}));
  ASSERT_TRUE(nothing.has_value());
  EXPECT_EQ(launch(**nothing), "");
}

TEST_F(WasmDevice, FunctionsOfAnotherTypeAreRefused) {
  for (const Bytes& type : {Bytes{1, 0x60, 3, 127, 127, 126, 0}, Bytes{1, 0x60, 2, 127, 127, 0}}) {
    const auto loaded = load(module_of({}, type));
    ASSERT_FALSE(loaded.has_value());
    EXPECT_NE(loaded.error().message.find("another type"), std::string::npos);
  }
  const auto result = load(module_of({0x41, 0}, {1, 0x60, 3, 127, 127, 127, 1, 127}));
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("another type"), std::string::npos);
}

TEST_F(WasmDevice, RangesAndMemoryHave32Bits) {
  const auto code = load(module_of({}));
  ASSERT_TRUE(code.has_value());
  const auto buffer = device->allocate(64);
  Buffer* all[] = {buffer->get()};
  EXPECT_FALSE(device->queue().launch(**code, {0, all, {}, int64_t{1} << 31}));
  EXPECT_TRUE(device->queue().launch(**code, {0, all, {}, (int64_t{1} << 31) - 1}));
  EXPECT_FALSE(device->allocate(size_t{1} << 32).has_value());
}

// Instances are of two threads.
TEST_F(WasmDevice, EachThreadHasScratchMemoryOfItsOwn) {
  using ir::DType, ir::Expr, ir::index;
  // A private buffer that is read at an index that data decides: out[g] = own[(3 g) % 4096], where
  // own[i] = i + g.
  const ir::Buffer out = ir::buffer("out", DType::i32, {index(1 << 20)});
  const ir::Buffer own = ir::buffer("own", DType::i32, {index(4096)}, ir::Scope::priv);
  const ir::Var g = ir::var("g"), i = ir::var("i");
  const auto to_i32 = [](const Expr& value) { return ir::cast(ir::Type(DType::i32), value); };
  const ir::Stmt fill = ir::loop(i, index(4096), ir::LoopKind::serial,
                                 ir::store(own, {Expr(i)}, to_i32(Expr(i) + Expr(g))));
  const ir::Stmt take =
      ir::store(out, {Expr(g)}, ir::load(own, {ir::floormod(Expr(g) * index(3), index(4096))}));
  const ir::Kernel kernel{
      "k",
      {{out, true}},
      {},
      ir::loop(g, index(1 << 20), ir::LoopKind::grid, ir::alloc(own, ir::block({fill, take})))};
  const auto code = codegen::wasm::emit_module({&kernel, 1}, nullptr, {});
  const std::string_view text(reinterpret_cast<const char*>(code.data()), code.size());
  ASSERT_NE(text.find("scratch_bytes"), std::string_view::npos);
  const auto loaded = device->load(code, {&no_arguments, 1}, 0);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().to_string();
  constexpr size_t count = 2000;
  const auto guard = device->allocate(4096), buffer = device->allocate(4 * count);
  const std::vector<std::byte> sevens(4096, std::byte{7});
  ASSERT_TRUE(device->queue().write(**guard, 0, sevens));
  Buffer* all[] = {buffer->get()};
  ASSERT_TRUE(device->queue().launch(**loaded, {0, all, {}, count}));
  std::vector<int32_t> y(count);
  ASSERT_TRUE(device->queue().read(**buffer, 0, std::as_writable_bytes(std::span(y))));
  for (size_t at = 0; at < count; ++at)
    ASSERT_EQ(y[at], static_cast<int32_t>(3 * at % 4096 + at)) << at;
  EXPECT_TRUE(std::ranges::equal((*guard)->mapped(), sevens));
}

TEST_F(WasmDevice, MemoryThatGoesComesAgain) {
  std::vector<const std::byte*> places;
  for (int turn = 0; turn < 3; ++turn) {
    const auto a = device->allocate(1 << 20), b = device->allocate(1 << 20),
               c = device->allocate(1 << 20);
    ASSERT_TRUE(a && b && c);
    places.push_back((*a)->mapped().data());
    EXPECT_GE((*b)->mapped().data(), (*a)->mapped().data() + (1 << 20) + 64);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*b)->mapped().data()) % 64, 0u);
  }
  EXPECT_EQ(places[0], places[1]);
  EXPECT_EQ(places[0], places[2]);
}

}  // namespace
}  // namespace gossamer::runtime
