#include "shipped/shipped.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "shipped/files.h"
#ifdef GOSSAMER_LLVM
#include "codegen/llvm/emit.h"
#endif

namespace gossamer::shipped {
namespace {

// `words`: of names of adapters, in small letters. web/compiler/src/shipped.ts has the rows of
// pages.
struct Class {
  std::string_view name;
  std::array<std::string_view, 3> words;
};
constexpr std::array<Class, 8> classes{{{"avx512", {}},
                                        {"avx2", {}},
                                        {"v8", {}},
                                        {"wasmtime", {"wasmtime"}},
                                        {"nvidia", {"nvidia", "geforce", "tesla"}},
                                        {"swiftshader", {"swiftshader"}},
                                        {"llvmpipe", {"llvmpipe", "lavapipe"}},
                                        {"pocl", {"pocl", "opencl, pthread-", "opencl, cpu-"}}}};
constexpr auto names = [] {
  std::array<std::string_view, classes.size()> all;
  for (size_t at = 0; at < all.size(); ++at) all[at] = classes[at].name;
  return all;
}();

template <class Range>
bool contains(const Range& range, std::string_view word) {
  return std::ranges::find(range, word) != std::ranges::end(range);
}

// Of the processor that machine code is for; "": neither vectors of 256 bits nor of 512.
std::string_view class_of_cpu([[maybe_unused]] const std::string& cpu) {
#ifdef GOSSAMER_LLVM
  const auto needs = codegen::llvm_::needs_of({cpu});
  for (const auto& [need, name] :
       {std::pair("cpu-avx512", "avx512"), std::pair("cpu-avx2", "avx2")}) {
    if (needs && contains(*needs, need)) return name;
  }
#endif
  return "";
}

// What acts as a GPU where there is none: in pages Chromium's, natively Mesa's and PoCL.
std::string_view software_of(const compiler::Options& options) {
  if (options.target == "opencl") return "pocl";
  if (options.target == "opengl" || options.native_side) return "llvmpipe";
  return "swiftshader";
}

// Whether any class has records that hang on the device, not on the target alone.
bool has_hardware(const std::string& target) {
  const std::string words = cat(R"("class":")", target, target == "webgl" ? "\"" : ".hardware\"");
  return std::ranges::any_of(
      files, [&](const File& file) { return file.text.find(words) != std::string_view::npos; });
}

}  // namespace

std::string_view device_class_of(std::string_view adapter) {
  std::string small(adapter);
  for (char& letter : small)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  for (const Class& one : classes) {
    for (std::string_view word : one.words)
      if (!word.empty() && small.find(word) != std::string::npos) return one.name;
  }
  return "";
}

std::span<const std::string_view> device_classes() { return names; }

Result<std::vector<std::string_view>> classes_for(const compiler::Options& options,
                                                  std::string_view device_class) {
  if (device_class == no_class) return {};
  if (!device_class.empty() && !contains(names, device_class)) {
    std::string known;
    for (std::string_view name : names) known += cat(name, ", ");
    return fail_at(cat("device class \"", device_class, "\""), "there is none of that name",
                   cat("one of ", known, "none"));
  }
  std::vector<std::string_view> taken;
  const auto take = [&](std::string_view name) {
    if (!name.empty() && !contains(taken, name)) taken.push_back(name);
  };
  take(device_class);
  GS_ASSIGN(const TargetKind target, target_named(options.target));
  const bool machine_code = options.native_side || side_of(target) == TargetKind::cpu;
  constexpr std::array<std::string_view, 4> of_side{"avx512", "avx2", "v8", "wasmtime"};
  const bool native_wasm = target == TargetKind::wasm && options.native_side;
  if (!contains(of_side, device_class))
    take(native_wasm ? "wasmtime" : machine_code ? class_of_cpu(options.cpu) : "v8");
  // Textures have one kind of kernels, for all devices.
  const bool software =
      device_class == "swiftshader" || device_class == "llvmpipe" || device_class == "pocl";
  if (has_adapters(target) && !software) take(software_of(options));
  return taken;
}

std::string_view lines_of(std::string_view device_class) {
  for (const File& file : files)
    if (file.device_class == device_class) return file.text;
  return "";
}

Result<> add_to(records::Records& records, const compiler::Options& options,
                std::string_view device_class, const Adapter& adapter) {
  tune::Recorded recorded;
  GS_TRY(add_to(recorded, options, device_class, adapter));
  records.add(std::move(recorded.records));
  return {};
}

Result<> add_to(tune::Recorded& recorded, const compiler::Options& options,
                std::string_view device_class, const Adapter& adapter) {
  if (device_class.empty() && adapter && has_hardware(options.target))
    device_class = device_class_of(adapter());
  GS_ASSIGN(const auto taken, classes_for(options, device_class));
  for (const std::string_view name : taken) {
    tune::Recorded read = tune::read_records(lines_of(name), name);
    GS_CHECK(read.left_out.empty(), read.left_out.front().to_string());
    recorded.records.add(std::move(read.records));
    std::ranges::move(read.costs, std::back_inserter(recorded.costs));
  }
  return {};
}

}  // namespace gossamer::shipped
