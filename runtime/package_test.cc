// Packages that are bad in every way, where weights lie, and what constants are made of.
#include <filesystem>
#include <fstream>

#include "package/sha256.h"
#include "runtime/manifest.h"
#include "runtime/model_test.h"
#include "runtime/shared.h"
#include "runtime/wasm/device.h"

namespace gossamer::runtime {
namespace {

namespace fs = std::filesystem;
using ir::DType;
using package::Number;

TEST_F(ModelTest, GroupsSayWhatBelongsTogether) {
  const auto with = [&](const std::string& group) {
    put_package("\"dims\":", "\"groups\":[{\"name\":\"l\"," + group + "}],\"dims\":");
    return error_of_load();
  };
  EXPECT_SAYS(with(R"("kind":"map","inputs":[0,1])"), "groups[0].kind is not");
  EXPECT_SAYS(with(R"("kind":"sequence","outputs":[0,9])"),
              "groups[0].outputs[1] is not in [0, 2)");
  EXPECT_SAYS(with(R"("kind":"sequence","inputs":[-1,1])"), "groups[0].inputs[0] is not in");
  EXPECT_SAYS(with(R"("kind":"optional","inputs":[0,1])"), "kind is not that of something");
  EXPECT_EQ(with(R"("kind":"sequence","inputs":[0,1])"), "");
  const auto model = Model::load(folder);
  ASSERT_TRUE(model.has_value());
  EXPECT_TRUE((*model)->output_groups().empty());
  ASSERT_EQ((*model)->input_groups().size(), 1u);
  EXPECT_EQ((*model)->input_groups()[0].name, "l");
  EXPECT_EQ((*model)->input_groups()[0].count, 1u);
}

TEST_F(ModelTest, DefaultsFitTheirInputs) {
  const std::string name = make_example().module.inputs[0].name;
  const std::vector<float> values{0, 10, 20, 30};
  const auto put_default = [&](std::vector<int64_t> shape, ir::DType dtype) {
    const package::Constant constant{name, dtype, std::move(shape),
                                     std::as_bytes(std::span(values))};
    package::File file = package::write_safetensors({&constant, 1}).value();
    file.name = package::defaults_file;
    put(file.name, file.bytes);
    put_package("\"files\":[",
                cat("\"files\":[{\"name\":\"", file.name, "\",\"bytes\":", file.bytes.size(),
                    ",\"xxh3\":\"", package::content_hash(file.bytes), "\"},"));
    put(file.name, file.bytes);
    return error_of_load();
  };
  EXPECT_SAYS(put_default({4}, DType::i32), "does not fit input \"" + name + "\"");
  EXPECT_SAYS(put_default({2, 2}, DType::f32), "does not fit input");
  EXPECT_EQ(put_default({4}, DType::f32), "");
  const auto model = Model::load(folder);
  ASSERT_TRUE(model);
  const HostTensor* value = (*model)->default_of(name);
  ASSERT_TRUE(value);
  EXPECT_FALSE((*model)->default_of("none"));
  const auto made = (*model)->run(std::span(value, 1));
  ASSERT_TRUE(made) << made.error().to_string();
  expect_sum((*made)[0], 4);
}

TEST_F(ModelTest, WhatIsNotAPackageSaysWhichFolderToGive) {
  const auto error = [](const std::string& path) { return Model::load(path).error().to_string(); };
  EXPECT_SAYS(error(folder + "/none"), "no such folder");
  put("m.onnx", {});
  EXPECT_SAYS(error(folder + "/m.onnx"), "is a model, not the folder of a package (compile it");
  put("notes.txt", {});
  EXPECT_SAYS(error(folder + "/notes.txt"), "is a file, not the folder of a package");
  const std::string index = R"({"variants":{"webgpu":"webgpu/","wasm":"wasm/"}})";
  const auto bytes = std::as_bytes(std::span(index));
  put("index.json", {bytes.begin(), bytes.end()});
  EXPECT_SAYS(error_of_load(), "has packages for several targets: wasm, webgpu");
  EXPECT_SAYS(error_of_load(),
              "give the folder of one: " + folder + "/wasm/, " + folder + "/webgpu/");
}

TEST_F(ModelTest, BadPackagesAreErrorsThatNameTheFile) {
  EXPECT_SAYS(error_of_load(), "is not a package: it has no manifest.json");
  put("manifest.json", {});
  EXPECT_SAYS(error_of_load(), "not JSON");
  const auto changed = [&](const char* from, const char* to) {
    put_package(from, to);
    return error_of_load();
  };
  EXPECT_EQ(changed("example", "example"), "");
  EXPECT_SAYS(changed("gossamer-package", "zip"), "not a package");
  EXPECT_SAYS(changed("\"version\":2", "\"version\":1"),
              "version 1, this run time reads versions 2 to 4");
  EXPECT_SAYS(changed("\"target\":\"cpu\"", "\"target\":\"wasm\""),
              wasm_engine().empty() ? "wasmtime" : "the package has no kernels.wasm");
  EXPECT_SAYS(changed("\"needs\":[]", "\"needs\":[\"cpu-abacus\"]"), "needs cpu-abacus");
  EXPECT_SAYS(changed("\"slot\":3", "\"slot\":4"), "tensors[3].slot is not in [0, 4)");
  EXPECT_SAYS(changed("\"kernel\":1", "\"kernel\":-1"), "run[0].kernel is not");
  EXPECT_SAYS(changed("\"tensors\":[0,3,1]", "\"tensors\":[0,3]"),
              "run[0].kernel is not one with a buffer a tensor");
  EXPECT_SAYS(changed("\"tensors\":[0,3,1]", "\"tensors\":[0,3,9]"),
              "run[0].tensors[2] is not in [0, 4)");
  EXPECT_SAYS(changed("\"entry\":\"k1\"", "\"entry\":\"k9\""), "no kernel k9");
  EXPECT_SAYS(changed("{\"plan\":2}", "{\"plan\":3}"), "checks[0].value.plan is not in [0, 3)");
  EXPECT_SAYS(changed("\"name\":\"kernels.so\"", "\"name\":\"../kernels.so\""),
              "files[0].name is not a plain name");
  EXPECT_SAYS(changed("\"shape\":[4]", "\"shape\":[5]"), "weights[0].shape is not within");
  EXPECT_SAYS(changed("\"shape\":[4]", "\"shape\":[3]"), "weight \"w\"");

  put_package();
  const auto content = std::string(1000, 'x');
  put("weights.safetensors", std::as_bytes(std::span(content)));
  EXPECT_SAYS(error_of_load(), "weights.safetensors: has 1000 bytes, the manifest says");
  put_package();
  {
    std::fstream file(folder + "/kernels.so", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('!');
  }
  EXPECT_SAYS(error_of_load(), "kernels.so: is not the file that the manifest describes");
  fs::remove(folder + "/kernels.so");
  EXPECT_SAYS(error_of_load(), "kernels.so: no such file");
}

// A package's weights may lie in any of its files, and in the folder above it.
TEST_F(ModelTest, WeightsLieInOtherFiles) {
  const std::string outer = folder;
  folder = outer + "/package";
  fs::create_directory(folder);
  const auto loads = [&](const std::string& from, const std::string& to) {
    put_package(from, to);
    return error_of_load();
  };
  EXPECT_EQ(loads("\"tensor\":2}]", "\"tensor\":2,\"file\":1}]"), "");
  EXPECT_SAYS(loads("\"tensor\":2}]", "\"tensor\":2,\"file\":2}]"),
              "weights[0].file is not in [0, 2)");
  EXPECT_SAYS(loads("\"tensor\":2}]", "\"tensor\":2,\"file\":0}]"), "kernels.so");
  static const Example example = make_example();
  std::string digits = package::sha256(example.weights.bytes);
  const auto described = [&](const std::string& more) {
    return loads("}],\"inputs\"", "," + more + "}],\"inputs\"");
  };
  EXPECT_EQ(described("\"sha256\":\"" + digits + "\""), "");
  EXPECT_SAYS(described("\"sha256\":\"" + digits + "a\""),
              "files[1].sha256 is not 64 hexadecimal digits");
  EXPECT_EQ(described("\"pieces\":[\"" + digits + "\"]"), "");
  EXPECT_SAYS(described("\"pieces\":[]"),
              "files[1].pieces is not 64 hexadecimal digits for each 4194304 bytes");
  // As of a file that was made to have this xxh3.
  digits[0] = digits[0] == '0' ? '1' : '0';
  EXPECT_SAYS(described("\"sha256\":\"" + digits + "\""), "its SHA-256 differs");
  EXPECT_SAYS(described("\"above\":1"), "files[1].above is not true or false");
  const fs::path above = fs::path(outer) / "weights.safetensors";
  EXPECT_SAYS(described("\"above\":true"), "/../weights.safetensors: no such file");
  fs::rename(fs::path(folder) / "weights.safetensors", above);
  auto model = Model::load(folder);
  ASSERT_TRUE(model.has_value()) << model.error().to_string();
  const HostTensor x = ramp(64);
  const auto outputs = (*model)->run({&x, 1});
  ASSERT_TRUE(outputs.has_value());
  expect_sum((*outputs)[0], 64);
  EXPECT_GT((*model)->report().weight_bytes, 16);
  folder = outer;
}

TEST_F(ModelTest, TruncatedManifestsNeverCrash) {
  put_package();
  std::string text;
  {
    std::ifstream in(folder + "/manifest.json", std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (size_t length = 0; length < text.size(); length += 7)
    EXPECT_FALSE(parse_manifest(std::string_view(text).substr(0, length)).has_value()) << length;
}

// Slots 2 and 3 of the example: a weight, and what a launch makes of it.
TEST_F(ModelTest, OriginsSayWhatConstantsAreMadeOf) {
  Manifest manifest;
  manifest.module = make_example().module;
  manifest.module.kernels[1].writes = 1;
  manifest.files = {{"weights.safetensors", 16, "", "abc"}};
  const std::string code = "twice", other = "thrice";
  const auto origins = [&](const std::string* source) {
    return origins_of(manifest, {source, &code});
  };
  const Origins first = origins(&code);
  EXPECT_FALSE(first[0] || first[1]) << "what runs write";
  ASSERT_TRUE(first[2] && first[3]);
  EXPECT_NE(first[2], first[3]);
  EXPECT_EQ(origins(&code), first);
  EXPECT_EQ(origins(&other)[2], first[2]);
  EXPECT_NE(origins(&other)[3], first[3]);
  EXPECT_FALSE(origins(nullptr)[3]) << "by code that is not known";
  const auto changes = [&](auto change, bool weight) {
    const Manifest before = manifest;
    change();
    const Origins now = origins(&code);
    manifest = before;
    EXPECT_EQ(now[2] != first[2], weight);
    EXPECT_NE(now[3], first[3]);
  };
  package::Module& module = manifest.module;
  changes([&] { manifest.files[0].sha256 = "abd"; }, true);
  changes([&] { manifest.files[0].sha256 = ""; }, true);
  changes([&] { module.weights[0].name = "v"; }, true);
  changes([&] { module.weights[0].dtype = DType::i32; }, true);
  changes([&] { module.init[0].range = Number(8); }, false);
  changes([&] { module.init[0].scalars = {Number(1)}; }, false);
  changes([&] { module.kernels[0].group_size = 2; }, false);
  changes([&] { module.tensors[1].slot = 3; }, false);    // two tensors in one piece of memory
  changes([&] { module.run[0].tensors[2] = 3; }, false);  // a run writes it
}

}  // namespace
}  // namespace gossamer::runtime
