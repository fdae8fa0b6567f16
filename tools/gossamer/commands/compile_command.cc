// gossamer compile: a model file to a package, and for the web the page that runs it.
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>

#include "api/open_model.h"
#include "compiler/compile.h"
#include "gossamer/commands/commands.h"
#include "gossamer/commands/compile_options.h"
#include "gossamer/commands/fixed_inputs.h"
#include "gossamer/commands/opening.h"
#include "gossamer/commands/page.h"
#include "gossamer/commands/progress.h"
#include "gossamer/commands/records_file.h"
#include "gossamer/runners/runner.h"
#include "library/library.h"
#include "runtime/manifest.h"
#include "shipped/shipped.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

struct CompileOptions {
  std::string model, output, emit, labels, weights, dtype, side = "wasm";
  RecordOptions records;
  std::vector<std::string> targets;
  compiler::Options compile;
  FixedInputs fixed;
  int threads = 1;
  bool single_file = false, json = false, relaxed_given = false;
};

struct Row {
  std::string target;
  package::Files files;  // until join() takes them
  std::vector<std::pair<std::string, size_t>> sizes;
  size_t kernels = 0;
  int recorded = 0, nearest = 0, shipped = 0, refused = 0;  // points of records
  int layouts = 0;                                          // stages whose layout one set
  int64_t memory = 0;
  double milliseconds = 0;
  Opening opening;
  size_t bytes() const {
    size_t sum = 0;
    for (const auto& [name, size] : sizes) sum += size;
    return sum;
  }
};

bool is_library(const std::string& emit) {
  return !emit.empty() && emit != "package" && emit != "page";
}

// What libraries and programs are called where nobody says: as the file or, where that is
// model.onnx, as its folder.
std::string name_of(const CompileOptions& options) {
  if (!options.compile.name.empty()) return options.compile.name;
  const fs::path path = fs::absolute(options.model);
  return path.stem() == "model" ? path.parent_path().filename().string() : path.stem().string();
}

Result<Row> compile_for(const std::string& target, const Bytes& model,
                        onnx::ExternalFiles& external, const CompileOptions& options) {
  compiler::Options compile = options.compile;
  compile.target = target;
  compile.external = &external;
  Progress progress(options.json);
  compile.progress = [&](std::string_view step, double fraction) {
    progress.show(cat(target, ": ", step), fraction);
  };
  const bool here = runs_here(target) || compile.native_side;
  // C is for any machine, and what engines without JavaScript run is not known.
  RecordOptions recorded = options.records;
  const bool any_machine = is_library(options.emit) && (options.emit == "c" || target == "wasm");
  if (any_machine && recorded.device_class.empty()) recorded.device_class = shipped::no_class;
  GS_ASSIGN(const records::Records records,
            records_for(recorded, compile, here ? Here::yes : Here::no));
  const records::LayoutWatch watch(&records, &records);
  compile.records = &watch;
  Row row;
  row.target = target;
  const bool compares = !is_library(options.emit);  // libraries have kernels of their own
  compile.view_weights = !is_library(options.emit) && !options.single_file;
  if (compares) count_launches(compile, row.opening);
  const auto begin = std::chrono::steady_clock::now();
  compiler::Report report;
  auto files = [&]() -> Result<package::Files> {
    if (!is_library(options.emit)) return compiler::compile(model, compile, &report);
    GS_ASSIGN(const library::Form form, library::form_named(options.emit));
    compile.name = name_of(options);
    return library::make_library(model, compile,
                                 {form, options.weights == "beside", options.threads}, &report);
  }();
  if (!files) {
    Diagnostic error = files.error();
    if (error.where.empty()) error.where = options.model;
    return std::unexpected(std::move(error));
  }
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
  for (const package::File& file : *files)
    row.sizes.emplace_back(cat(file.above ? "../" : "", file.name),
                           static_cast<size_t>(file.length()));
  row.files = std::move(*files);
  row.kernels = report.kernels.size();
  row.memory = report.memory_bytes;
  row.recorded = report.recorded;
  row.nearest = report.nearest;
  row.shipped = report.shipped;
  row.refused = report.refused;
  row.layouts = static_cast<int>(std::ranges::count_if(
      watch.seen(), [](const auto& one) { return one.recorded.has_value(); }));
  row.milliseconds = time.count();
  if (compares) compare_fixed(model, compile, report, row.opening);
  return row;
}

// Several packages lie in folders of their own, listed by index.json, and what they share is there
// once.
package::Files join(std::vector<Row>& rows) {
  if (rows.size() == 1) return std::move(rows[0].files);
  package::Files files;
  std::string index = "{\"variants\":{";
  std::set<std::string> shared;
  for (Row& row : rows) {
    index += cat(index.back() == '{' ? "" : ",", "\"", row.target, "\":\"", row.target, "/\"");
    for (package::File& file : row.files) {
      if (file.above && !shared.insert(file.name).second) continue;
      if (!file.above) file.name = cat(row.target, "/", file.name);
      files.push_back(std::move(file));
    }
    row.files.clear();
  }
  index += "}}";
  const auto* begin = reinterpret_cast<const std::byte*>(index.data());
  files.insert(files.begin(), {"index.json", {begin, begin + index.size()}});
  return files;
}

void print_rows(const std::vector<Row>& rows, const CompileOptions& options) {
  if (!options.json) {
    for (const Row& row : rows)
      std::printf("%s: %zu kernels, %.1f KB in %zu files, %.1f MB of memory, %.0f ms -> %s\n",
                  row.target.c_str(), row.kernels, static_cast<double>(row.bytes()) / 1e3,
                  row.sizes.size(), static_cast<double>(row.memory) / 1e6, row.milliseconds,
                  options.output.c_str());
    for (const Row& row : rows) {
      if (!options.records.file.empty() || row.shipped > 0)
        std::printf(
            "%s: %d kernels as recorded, %d as a kernel near them (of both, %d by records that "
            "come with the compiler), %d whose recorded point is not legal; %d layouts as "
            "recorded\n",
            row.target.c_str(), row.recorded, row.nearest, row.shipped, row.refused, row.layouts);
      if (!row.opening.dims.empty())
        std::printf("%s: %s\n", row.target.c_str(), to_string(row.opening).c_str());
    }
    return;
  }
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> json(text);
  json.StartObject();
  json.Key("output");
  json.String(options.output);
  json.Key("packages");
  json.StartArray();
  for (const Row& row : rows) {
    json.StartObject();
    json.Key("target");
    json.String(row.target);
    json.Key("kernels");
    json.Uint64(row.kernels);
    json.Key("recorded");
    json.Int(row.recorded);
    json.Key("nearest");
    json.Int(row.nearest);
    json.Key("shipped");
    json.Int(row.shipped);
    json.Key("refused");
    json.Int(row.refused);
    json.Key("layouts");
    json.Int(row.layouts);
    json.Key("memory_bytes");
    json.Int64(row.memory);
    json.Key("ms");
    json.Double(row.milliseconds);
    if (!row.opening.dims.empty()) {
      json.Key("open");
      json.StartObject();
      json.Key("dims");
      json.StartObject();
      for (const auto& [name, extent] : row.opening.dims) {
        json.Key(name.c_str());
        json.Int64(extent);
      }
      json.EndObject();
      json.Key("instructions");
      json.Double(row.opening.instructions);
      json.Key("fixed_instructions");
      json.Double(row.opening.fixed);
      json.Key("launches");
      json.Uint64(row.opening.launches);
      json.Key("fixed_launches");
      json.Uint64(row.opening.fixed_launches);
      json.EndObject();
    }
    json.Key("files");
    json.StartArray();
    for (const auto& [name, size] : row.sizes) {
      json.StartObject();
      json.Key("name");
      json.String(name);
      json.Key("bytes");
      json.Uint64(size);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  std::printf("%s\n", text.GetString());
}

Result<> compile_all(CompileOptions& options) {
  GS_TRY(apply(options.fixed, options.compile.known));
  const bool page_asked = options.emit == "page" || options.single_file;
  const bool web = !options.compile.native_side && std::ranges::none_of(options.targets, runs_here);
  PageOptions page{options.compile.name, {}, options.targets.size() > 1};
  if (page.name.empty()) page.name = fs::path(options.model).parent_path().filename().string();
  if (fs::path(options.model).stem() != "model" && options.compile.name.empty())
    page.name = fs::path(options.model).stem().string();
  if (is_model_folder(options.model) && options.compile.name.empty())
    page.name = fs::canonical(options.model).filename().string();
  if (!options.labels.empty()) {
    GS_ASSIGN(page.labels, read_text(options.labels));
  }
  GS_ASSIGN(const OpenedModel model, gossamer::open_model(options.model, options.dtype));
  std::vector<Row> rows;
  options.compile.share_weights = options.targets.size() > 1;
  for (const std::string& target : options.targets) {
    GS_ASSIGN(Row row, compile_for(target, model.bytes, *model.external, options));
    rows.push_back(std::move(row));
  }
  package::Files files = join(rows);
  if (options.single_file) {
    GS_ASSIGN(const std::string html, single_page(files, page));
    const std::string temporary = options.output + ".part";
    GS_TRY(write_file(temporary, std::as_bytes(std::span(html))));
    std::error_code error;
    fs::rename(temporary, options.output, error);
    if (error) return fail_at(options.output, cat("cannot be made: ", error.message()));
  } else {
    if (web && !is_library(options.emit) && options.emit != "package" &&
        (page_asked || page_is_built()))
      GS_TRY(add_page(files, page));
    else if (web && options.emit.empty())
      std::fprintf(stderr, "gossamer: no page: the web run time is not built\n");
    if (is_library(options.emit))
      GS_TRY(write_files(options.output, files));
    else
      GS_TRY(write_package(options.output, files, model.external.get()));
  }
  print_rows(rows, options);
  return {};
}

bool takes_native_side(const std::string& target) {
  const auto kind = target_named(target);
  return kind && is_gpu_of_pages(*kind);
}

int run_compile(CompileOptions& options) {
  const auto native = std::ranges::find_if(options.targets, runs_here);
  options.compile.native_side = options.side == "cpu";
  if (options.compile.native_side &&
      (options.targets.size() != 1 || !takes_native_side(options.targets.front())))
    return report_usage("--side cpu is for --target webgpu or --target webgl");
  const bool here = native != options.targets.end() || options.compile.native_side;
  if (std::set<std::string>(options.targets.begin(), options.targets.end()).size() !=
      options.targets.size())
    return report_usage("--target names one target twice");
  if (here && options.targets.size() > 1)
    return report_usage(cat("--target ", *native, " makes a package of its own"));
  if (is_library(options.emit) && options.targets.size() > 1)
    return report_usage(cat("--emit ", options.emit, " is for one target"));
  if (is_library(options.emit) && options.single_file)
    return report_usage("--single-file makes a page");
  if (!options.weights.empty() && !is_library(options.emit))
    return report_usage("--weights is for libraries (--emit)");
  if (options.threads != 1 && options.emit != "wasi" && options.emit != "oci")
    return report_usage("--threads is for programs (--emit wasi, oci)");
  // Programs run in engines that lack it, too: there it is asked for.
  if (is_library(options.emit) && !options.relaxed_given) options.compile.relaxed_simd = false;
  if (here && (options.emit == "page" || options.single_file))
    return report_usage("--emit page is for the web targets");
  if (options.single_file && options.emit == "package")
    return report_usage("--single-file makes a page");
  if (auto done = compile_all(options); !done) return report_error(done.error(), options.json);
  return 0;
}

}  // namespace

void add_compile(CommandLine& app, Chosen& chosen) {
  auto options = std::make_shared<CompileOptions>();
  const Command command = app.add_command("compile", "Compile a model to a package");
  command
      .add_option("model", options->model,
                  "An ONNX file, a GGUF file, or a folder with safetensors files")
      .required();
  command
      .add_option("--target,-t", options->targets,
                  "Where it runs; several web targets, separated by commas, share a page")
      .required()
      .delimiter(',')
      .one_of(target_names());
  command.add_option("--output,-o", options->output, "The folder (or .html file) to write")
      .required();
  command
      .add_option(
          "--emit", options->emit,
          "package: only that; page: also the page that runs it (default for the web); cpu, "
          "wasm: object, static-lib or shared-lib with a C header; cpu: c, one file of C11 for any "
          "machine; wasm: wasi, a program for engines without JavaScript, oci, an image of it for "
          "containers, or component, a service for wasi:http; webgpu: wasi, for engines that have "
          "a "
          "GPU")
      .one_of({"package", "page", "object", "static-lib", "shared-lib", "c", "wasi", "oci",
               "component"});
  command
      .add_option("--weights", options->weights, "Libraries: weights inside, or in a file beside")
      .one_of({"inside", "beside"});
  command
      .add_option("--threads", options->threads,
                  "Programs (wasi, oci): threads of a run, for engines with wasi-threads")
      .within(1, 64);
  command.add_flag("--single-file", options->single_file, "Write one .html with everything inside");
  command.add_option("--labels", options->labels, "Class names for the page, one a line");
  add_fixed_inputs(command, options->fixed);
  const CompileOptionNames compiling = add_compile_options(command, options->compile);
  command
      .add_option(
          "--side", options->side,
          "webgpu, webgl: what the GPU leaves to the CPU is wasm, for pages, or cpu, machine code "
          "for `run` and other native programs")
      .one_of({"wasm", "cpu"})
      .show_default();
  add_records_option(command, options->records,
                     "Points of search spaces to take, a JSON object a line (inspect --space)");
  add_device_class_option(command, options->records.device_class);
  command.add_flag("--records-exact", options->records.exact,
                   "No kernel takes a point of one that is near it");
  command
      .add_option("--dtype", options->dtype,
                  "Folders with safetensors files: matrices in 4 bits with a scale for each 32 "
                  "numbers (q4, the default), in 8 bits (q8), in 16 bits (fp16), or as they are")
      .one_of({"q4", "q8", "fp16", "fp32"});
  command.add_flag("--json", options->json, "Machine-readable output");
  command.chosen([options, compiling, &chosen] {
    options->relaxed_given = compiling.at("relaxed-simd").given();
    chosen.run = [options] { return run_compile(*options); };
  });
}

}  // namespace gossamer::command
