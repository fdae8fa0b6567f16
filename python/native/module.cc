// What Python needs of the compiler and the run time: bytes, names and numbers. Arrays, element
// types and texts for notebooks are Python's (python/gossamer).
#include <nanobind/stl/map.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <span>

#include "errors.h"
#include "generate.h"
#include "gossamer/compile.hpp"
#include "interruptible.h"
#include "lazy.h"
#include "programs.h"
#include "rpc.h"
#include "runtime/api/element_type.h"
#include "runtime/model.h"
#include "runtime/opengl/device.h"
#include "tensors.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace gossamer::python {
namespace {

Package compile_bytes(const nb::bytes& onnx, const CompileOptions& options) {
  const auto* data = static_cast<const std::byte*>(onnx.data());
  const auto model = std::make_shared<std::vector<std::byte>>(data, data + onnx.size());
  return value_of(interruptible<std::expected<Package, Error>>(
      [model, options] { return compile(*model, options); }));
}

Package compile_path(const std::string& path, const CompileOptions& options) {
  return value_of(interruptible<std::expected<Package, Error>>(
      [path, options] { return compile_file(path, options); }));
}

std::map<std::string, std::string> texts_of_gguf_file(const std::string& path) {
  return value_of(texts_of_gguf(path));
}

// A model on this machine. Feeds and outputs are tuples (element type, shape, bytes or strings).
class Loaded {
 public:
  explicit Loaded(std::unique_ptr<runtime::Model> model) : model_(std::move(model)) {}

  static std::unique_ptr<Loaded> load(const std::string& folder, int threads,
                                      const std::map<std::string, std::string>& state,
                                      bool state_by_name, int64_t state_rows) {
    Result<std::unique_ptr<runtime::Model>> model = [&] {
      const nb::gil_scoped_release release;
      runtime::LoadOptions options;
      options.threads = threads;
      options.state = {state, state_by_name, state_rows};
      return runtime::Model::load(folder, std::move(options));
    }();
    return std::make_unique<Loaded>(value_of(std::move(model)));
  }

  nb::list run(const nb::list& given) {
    const Feeds feeds(given);
    std::vector<runtime::HostTensor> outputs;
    Result<> done = [&] {
      const nb::gil_scoped_release release;
      return model_->run(feeds.views, outputs);
    }();
    if (!done) fail(done.error().where, done.error().message, done.error().hint);
    nb::list made;
    for (runtime::HostTensor& output : outputs) made.append(tuple_of(std::move(output)));
    return made;
  }

  Profile profile(const nb::list& given, int runs) {
    const Feeds feeds(given);
    Result<Profile> made = [&] {
      const nb::gil_scoped_release release;
      return model_->profile(feeds.views, {.runs = runs});
    }();
    return value_of(std::move(made));
  }

  // Without groups.
  nb::list state() const { return ports_of(model_->state(), {}); }
  // None at the beginning.
  nb::object read_state(const std::string& name) {
    auto value = [&] {
      const nb::gil_scoped_release release;
      return model_->read_state(name);
    }();
    std::optional<runtime::HostTensor> read = value_of(std::move(value));
    return read ? tuple_of(*std::move(read)) : nb::object(nb::none());
  }
  void write_state(const std::string& name, nb::handle value) {
    const Given given(value);
    const Result<> done = [&] {
      const nb::gil_scoped_release release;
      return model_->write_state(name, {given.dtype, given.shape, given.bytes(), given.strings});
    }();
    if (!done) fail(done.error().where, done.error().message, done.error().hint);
  }
  void reset_state() {
    const nb::gil_scoped_release release;
    model_->reset_state();
  }
  int64_t state_capacity(const std::string& name) const {
    Result<int64_t> rows = [&] {
      const nb::gil_scoped_release release;
      return model_->state_capacity(name);
    }();
    return value_of(std::move(rows));
  }

  // By name: (element type, shape, bytes).
  std::unique_ptr<Generation> generate(const std::vector<int64_t>& prompt,
                                       const GenerateOptions& options, const nb::dict& feeds,
                                       const runtime::TextCache* cache) {
    return make_generation(*model_, prompt, options, feeds, cache);
  }

  std::unique_ptr<GenerationBatch> generate_batch(int64_t places, int64_t prompt_chunk,
                                                  const nb::dict& feeds) {
    return make_batch(*model_, places, prompt_chunk, feeds);
  }

  std::string name() const { return model_->name(); }
  nb::list inputs() const { return ports_of(model_->inputs(), model_->input_groups()); }
  // None where the input has none.
  nb::object default_of(const std::string& input) const {
    const runtime::HostTensor* value = model_->default_of(input);
    return value ? nb::object(tuple_of(*value)) : nb::object(nb::none());
  }
  nb::list outputs() const { return ports_of(model_->outputs(), model_->output_groups()); }

  nb::dict report() const {
    const runtime::Report report = model_->report();
    nb::dict told;
    told["device"] = report.device;
    told["load_ms"] = report.load_ms;
    told["last_run_ms"] = report.last_run_ms;
    told["memory_bytes"] = report.memory_bytes;
    told["weight_bytes"] = report.weight_bytes;
    nb::list kernels;
    for (const runtime::LaunchReport& launch : report.launches) {
      nb::dict kernel;
      kernel["kernel"] = launch.kernel;
      kernel["schedule"] = launch.schedule;
      kernel["origin"] = launch.origin;
      kernel["times"] = launch.times;
      kernels.append(kernel);
    }
    told["kernels"] = kernels;
    return told;
  }

 private:
  std::unique_ptr<runtime::Model> model_;
};

}  // namespace
}  // namespace gossamer::python

NB_MODULE(_core, m) {
  using namespace gossamer;
  using gossamer::python::Loaded;
  nb::list options;
#define GS_WORDS(...)
#define GS_OPTION(Type, name, initial, choices, help) options.append(#name);
#include "gossamer/options.def"
  m.attr("COMPILE_OPTIONS") = options;
  nb::class_<CompileOptions>(m, "CompileOptions")
      .def(nb::init<>())
      .def_rw("target", &CompileOptions::target)
      .def_rw("side", &CompileOptions::side)
#define GS_WORDS(...)
#define GS_OPTION(Type, name, initial, choices, help) .def_rw(#name, &CompileOptions::name)
#include "gossamer/options.def"
      .def_rw("device_class", &CompileOptions::device_class)
      .def_rw("dtype", &CompileOptions::dtype)
      .def_rw("shapes", &CompileOptions::shapes)
      .def_rw("dims", &CompileOptions::dims)
      .def_rw("lengths", &CompileOptions::lengths)
      .def_rw("keep_inputs", &CompileOptions::keep_inputs)
      .def_prop_rw(
          "functions",
          [](const CompileOptions& options) {
            return nb::bytes(options.functions.data(), options.functions.size());
          },
          [](CompileOptions& options, const nb::bytes& functions) {
            const auto* data = static_cast<const std::byte*>(functions.data());
            options.functions.assign(data, data + functions.size());
          })
      .def("add_constant", [](CompileOptions& options, const std::string& name, nb::handle type,
                              nb::handle shape, nb::handle data) {
        const python::Given given(nb::make_tuple(type, shape, data));
        const std::span<const std::byte> bytes = given.bytes();
        options.constants[name] = given.dtype == ir::DType::string
                                      ? Tensor::of_strings(given.shape, given.strings)
                                      : Tensor(runtime::public_type(given.dtype), given.shape,
                                               {bytes.begin(), bytes.end()});
      });
  nb::class_<Package>(m, "Package")
      .def("files",
           [](const Package& package) {
             nb::dict files;
             for (const Package::File& file : package.files)
               files[nb::str(file.name.c_str(), file.name.size())] =
                   nb::bytes(file.bytes.data(), file.bytes.size());
             return files;
           })
      .def("with_files",
           [](const Package& package, const nb::dict& more) {
             Package whole = package;
             for (auto [name, given] : more) {
               const nb::bytes data = nb::cast<nb::bytes>(given);
               const auto* bytes = static_cast<const std::byte*>(data.data());
               whole.files.push_back({nb::cast<std::string>(name), {bytes, bytes + data.size()}});
             }
             return whole;
           })
      .def("write",
           [](const Package& package, const std::string& folder) {
             const auto written = [&] {
               const nb::gil_scoped_release release;
               return package.write(folder);
             }();
             if (!written)
               python::fail(written.error().where, written.error().message, written.error().hint);
           })
      .def("sizes", [](const Package& package) {
        std::map<std::string, size_t> sizes;
        for (const Package::File& file : package.files) sizes[file.name] = file.bytes.size();
        return sizes;
      });
  m.def("compile_bytes", &python::compile_bytes, "onnx"_a, "options"_a);
  m.def("compile_path", &python::compile_path, "path"_a, "options"_a);
  m.def("texts_of_gguf", &python::texts_of_gguf_file, "path"_a,
        "The files of a model folder that a GGUF file has in it, without the network.");
  m.def("opengl_limits", nb::overload_cast<>(&runtime::opengl_limits),
        "What kernels for this machine's OpenGL are compiled with (CompileOptions.limits).");
  python::define_generate(m);
  python::define_lazy(m);
  python::define_programs(m);
  python::define_rpc(m);
  nb::class_<Profile>(m, "Profile")
      .def_ro("run_ms", &Profile::run_ms)
      .def_ro("kernel_ms", &Profile::kernel_ms)
      .def_ro("device", &Profile::device)
      .def_ro("adapter", &Profile::adapter)
      .def("table", &Profile::table, "Text for people: a line a kernel.")
      .def("trace", &Profile::trace, "One run as JSON that ui.perfetto.dev opens.")
      .def("json", &Profile::json)
      .def("__repr__", &Profile::table);
  nb::class_<Loaded>(m, "Loaded")
      .def_static("load", &Loaded::load, "folder"_a, "threads"_a, "state"_a, "state_by_name"_a,
                  "state_rows"_a)
      .def_prop_ro("state", &Loaded::state)
      .def("read_state", &Loaded::read_state, "name"_a)
      .def("write_state", &Loaded::write_state, "name"_a, "value"_a)
      .def("reset_state", &Loaded::reset_state)
      .def("state_capacity", &Loaded::state_capacity, "name"_a)
      .def_prop_ro("name", &Loaded::name)
      .def_prop_ro("inputs", &Loaded::inputs)
      .def_prop_ro("outputs", &Loaded::outputs)
      .def("default_of", &Loaded::default_of, "input"_a)
      .def("run", &Loaded::run, "feeds"_a)
      .def("generate", &Loaded::generate, "prompt"_a, "options"_a, "feeds"_a,
           "cache"_a = nb::none(), nb::keep_alive<0, 1>())
      .def("generate_batch", &Loaded::generate_batch, "places"_a, "prompt_chunk"_a, "feeds"_a,
           nb::keep_alive<0, 1>())
      .def("profile", &Loaded::profile, "feeds"_a, "runs"_a)
      .def("report", &Loaded::report);
}
