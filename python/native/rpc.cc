#include "rpc.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>

#include "errors.h"
#include "gossamer/compile.hpp"
#include "interruptible.h"
#include "rpc/remote.h"
#include "runtime/manifest.h"
#include "runtime/signature.h"
#include "tensors.h"

namespace gossamer::python {
namespace {

using namespace nb::literals;

rpc::Address address_of(const std::string& text, const nb::object& token) {
  rpc::Address address = value_of(rpc::parse_address(text));
  if (!token.is_none()) address.token = nb::cast<std::string>(token);
  return address;
}

nb::tuple described(const rpc::DeviceInfo& info) {
  return nb::make_tuple(info.name, nb::cast(info.targets), info.about);
}

nb::list list_devices(const std::string& text, const nb::object& token) {
  const rpc::Address address = address_of(text, token);
  nb::list all;
  for (const rpc::DeviceInfo& info : value_of(interruptible<Result<std::vector<rpc::DeviceInfo>>>(
           [address] { return rpc::RemoteDevice::list(address); })))
    all.append(described(info));
  return all;
}

// A package that was loaded over there, with what its manifest says of it here.
struct RemoteModel {
  std::shared_ptr<rpc::RemoteModel> model;
  runtime::Signature signature;
  std::string name;
  std::string report = "{}";  // of the last run, JSON

  rpc::RunAnswer ask(const nb::list& given, rpc::RunOptions options) {
    const Feeds feeds(given);
    if (feeds.views.size() != signature.inputs.size())
      fail("", cat("the model has ", signature.inputs.size(), " inputs"), "");
    std::vector<rpc::NamedTensor> named;
    for (size_t at = 0; at < feeds.views.size(); ++at) {
      const runtime::TensorView& view = feeds.views[at];
      named.push_back({signature.inputs[at].name,
                       {view.dtype,
                        {view.shape.begin(), view.shape.end()},
                        {view.bytes.begin(), view.bytes.end()},
                        {view.strings.begin(), view.strings.end()}}});
    }
    return value_of(interruptible<Result<rpc::RunAnswer>>(
        [running = model, named = std::move(named), options = std::move(options)] {
          return running->run(named, options);
        }));
  }

  nb::list run(const nb::list& given) {
    rpc::RunAnswer answer = ask(given, {});
    nb::list made;
    for (const runtime::Port& port : signature.outputs) {
      const auto found = std::ranges::find(answer.outputs, port.name, &rpc::NamedTensor::name);
      if (found == answer.outputs.end())
        fail(port.name, "the device answered without this output",
             "take one release on both sides");
      made.append(tuple_of(std::move(found->tensor)));
    }
    report = std::move(answer.json);
    return made;
  }

  // A run over there begins with nothing but its feeds, so there are no ports of state.
  nb::list state() const { return ports_of({}, {}); }
  [[noreturn]] static void no_state(const std::string& name) {
    fail("", cat("\"", name, "\" is no state: models on other devices keep none"),
         "feed its input what the run before gave");
  }
  nb::object read_state(const std::string& name) const { no_state(name); }
  void write_state(const std::string& name, nb::handle) { no_state(name); }
  int64_t state_capacity(const std::string& name) const { no_state(name); }

  std::string bench(const nb::list& given, const std::string& kind, int runs) {
    return ask(given, {.runs = runs, .bench = kind}).json;
  }
};

class RemoteDevice {
 public:
  static RemoteDevice* connect(const std::string& text, const nb::object& token, double seconds) {
    const rpc::Address address = address_of(text, token);
    return new RemoteDevice(value_of(interruptible<Result<std::shared_ptr<rpc::RemoteDevice>>>(
        [address, seconds] { return rpc::RemoteDevice::connect(address, seconds); })));
  }
  ~RemoteDevice() {
    const nb::gil_scoped_release release;  // the connection's thread ends
    device_.reset();
  }
  RemoteDevice(const RemoteDevice&) = delete;
  RemoteDevice& operator=(const RemoteDevice&) = delete;

  nb::tuple info() const { return described(device_->info()); }

  // progress: called with (bytes that are there, all bytes), or None.
  RemoteModel* load(const Package& package, const std::string& target, int threads,
                    const nb::object& progress) {
    struct Sent {
      std::atomic<uint64_t> done = 0, all = 0;
    };
    const auto sent = std::make_shared<Sent>();
    package::Files files;
    auto made = std::make_unique<RemoteModel>();
    for (const Package::File& file : package.files) {
      if (file.name == "manifest.json") {
        const auto manifest = value_of(runtime::parse_manifest(
            {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()}));
        made->name = manifest.module.name;
        made->signature = runtime::signature_of(manifest.module);
      }
      files.push_back({file.name, file.bytes});
    }
    uint64_t told = 0;
    const auto tell = [&] {
      const uint64_t all = sent->all;
      if (progress.is_none() || all == 0 || told == sent->done) return;
      told = sent->done;
      progress(told, all);
    };
    made->model = value_of(interruptible<Result<std::shared_ptr<rpc::RemoteModel>>>(
        [device = device_, files = std::move(files), target, threads,
         sent]() mutable -> Result<std::shared_ptr<rpc::RemoteModel>> {
          return device->load(std::move(files), target, threads, [&](uint64_t done, uint64_t all) {
            sent->done = done;
            sent->all = all;
          });
        },
        tell));
    tell();
    return made.release();
  }

  // (bytes of files that were sent, of all that were asked for)
  nb::tuple sent() const {
    const auto [sent, all] = device_->sent();
    return nb::make_tuple(sent, all);
  }

 private:
  explicit RemoteDevice(std::shared_ptr<rpc::RemoteDevice> device) : device_(std::move(device)) {}
  std::shared_ptr<rpc::RemoteDevice> device_;
};

}  // namespace

void define_rpc(nb::module_& m) {
  m.def("rpc_devices", &list_devices, "address"_a, "token"_a.none());
  nb::class_<RemoteModel>(m, "RemoteModel")
      .def_ro("name", &RemoteModel::name)
      .def_ro("report", &RemoteModel::report)
      // A run elsewhere is given every input.
      .def(
          "default_of", [](const RemoteModel&, const std::string&) { return nb::none(); },
          "input"_a)
      .def_prop_ro("inputs",
                   [](const RemoteModel& model) {
                     return ports_of(model.signature.inputs, model.signature.input_groups);
                   })
      .def_prop_ro("outputs",
                   [](const RemoteModel& model) {
                     return ports_of(model.signature.outputs, model.signature.output_groups);
                   })
      .def_prop_ro("state", &RemoteModel::state)
      .def("read_state", &RemoteModel::read_state, "name"_a)
      .def("write_state", &RemoteModel::write_state, "name"_a, "value"_a)
      .def("reset_state", [](RemoteModel&) {})
      .def("state_capacity", &RemoteModel::state_capacity, "name"_a)
      .def("run", &RemoteModel::run, "feeds"_a)
      .def("bench", &RemoteModel::bench, "feeds"_a, "kind"_a, "runs"_a);
  nb::class_<RemoteDevice>(m, "RemoteDevice")
      .def_static("connect", &RemoteDevice::connect, "address"_a, "token"_a.none(), "seconds"_a,
                  nb::rv_policy::take_ownership)
      .def_prop_ro("info", &RemoteDevice::info)
      .def_prop_ro("sent", &RemoteDevice::sent)
      .def("load", &RemoteDevice::load, "package"_a, "target"_a, "threads"_a, "progress"_a.none(),
           nb::rv_policy::take_ownership);
}

}  // namespace gossamer::python
