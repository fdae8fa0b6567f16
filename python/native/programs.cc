#include "programs.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <mutex>

#include "errors.h"
#include "runtime/device_tensor.h"
#include "runtime/model.h"
#include "tensors.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace gossamer::python {
namespace {

// Where tensors are: a device, and its memory that is free. Programs on a GPU share one device and
// take turns; those on the CPU have threads of their own, and no turns to take.
struct Place {
  explicit Place(const std::string& target)
      : shared(target == "cpu" ? nullptr : std::make_shared<runtime::Shared>()) {}
  // Released before the interpreter's lock is taken again.
  std::unique_lock<std::mutex> turn() {
    return shared ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
  }
  std::shared_ptr<runtime::Shared> shared;
  std::shared_ptr<runtime::BufferPool> pool = std::make_shared<runtime::BufferPool>();
  std::mutex mutex;
};

// Elements of a tensor that is computed, or was fed. They go back to the pool, which needs no turn.
class Stored {
 public:
  Stored(std::shared_ptr<Place> place, runtime::DeviceTensor tensor, nb::object host = nb::none())
      : place_(std::move(place)), tensor_(std::move(tensor)), host_(std::move(host)) {}
  const std::shared_ptr<Place>& place() const { return place_; }
  const runtime::DeviceTensor& tensor() const { return tensor_; }

  // As tuple_of() makes it; once they have been read they are here.
  nb::object read() {
    if (host_.is_none() && tensor_.memory) host_ = in_place();
    if (host_.is_none()) {
      Result<runtime::HostTensor> made = [&] {
        const nb::gil_scoped_release release;
        const auto turn = place_->turn();
        return tensor_.read();
      }();
      host_ = tuple_of(value_of(std::move(made)));
    }
    return host_;
  }

 private:
  // Where the host sees the memory, an array that holds it; else None.
  nb::object in_place() const {
    const auto mapped = tensor_.memory->buffer()->mapped();
    if (!mapped.data() || tensor_.storage != tensor_.dtype) return nb::none();
    size_t bytes = static_cast<size_t>(ir::byte_size(tensor_.dtype));
    for (const int64_t extent : tensor_.shape) bytes *= static_cast<size_t>(extent);
    const nb::capsule owner(
        new std::shared_ptr<const runtime::Block>(tensor_.memory),
        [](void* it) noexcept { delete static_cast<std::shared_ptr<const runtime::Block>*>(it); });
    using View = nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>>;
    const View view(reinterpret_cast<const uint8_t*>(mapped.data()), {bytes}, owner);
    return nb::make_tuple(ir::name_of(tensor_.dtype), nb::cast(tensor_.shape), nb::cast(view));
  }

  std::shared_ptr<Place> place_;
  runtime::DeviceTensor tensor_;
  nb::object host_;
};

class Program {
 public:
  Program(std::shared_ptr<Place> place, std::unique_ptr<runtime::Model> model)
      : place_(std::move(place)), model_(std::move(model)) {}
  // Whoever has the turn gives it up without the interpreter's lock, which may be ending.
  ~Program() {
    const auto turn = place_->turn();
    model_.reset();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  static std::unique_ptr<Program> load(std::shared_ptr<Place> place, const std::string& folder,
                                       int threads) {
    Result<std::unique_ptr<runtime::Model>> model = [&] {
      const nb::gil_scoped_release release;
      const auto turn = place->turn();
      runtime::LoadOptions options;
      options.threads = threads;
      options.shared = place->shared;
      return runtime::Model::load(folder, std::move(options));
    }();
    return std::make_unique<Program>(std::move(place), value_of(std::move(model)));
  }

  // (outputs, of feeds from the host what the device keeps of them or None)
  nb::tuple run(const nb::list& given) {
    const nb::list feeds = of_this_place(given);
    std::vector<Given> host;
    host.reserve(nb::len(feeds));
    std::vector<runtime::DeviceFeed> all;
    for (nb::handle each : feeds) {
      if (nb::isinstance<Stored>(each)) {
        all.push_back({{}, &nb::cast<const Stored&>(each).tensor()});
      } else {
        const Given& one = host.emplace_back(each);
        all.push_back({{one.dtype, one.shape, one.bytes(), one.strings}});
      }
    }
    Result<runtime::DeviceResults> results = [&] {
      const nb::gil_scoped_release release;
      const auto turn = place_->turn();
      // A CPU's memory is the host's: what is fed from there need not be there twice.
      auto made = model_->run_on_device(all, place_->pool, place_->shared != nullptr);
      // The device may have gone: programs that are loaded later look for one anew.
      if (!made && place_->shared) place_->shared->forget();
      return made;
    }();
    runtime::DeviceResults made = value_of(std::move(results));
    nb::list outputs, kept;
    for (runtime::DeviceTensor& output : made.outputs) outputs.append(stored(std::move(output)));
    for (size_t at = 0; at < made.feeds.size(); ++at)
      kept.append(made.feeds[at] ? stored(*std::move(made.feeds[at]), feeds[at])
                                 : nb::object(nb::none()));
    return nb::make_tuple(outputs, kept);
  }

 private:
  // What is at another place comes by the host.
  nb::list of_this_place(const nb::list& given) const {
    nb::list feeds;
    for (nb::handle each : given) {
      const bool there =
          nb::isinstance<Stored>(each) && nb::cast<const Stored&>(each).place() != place_;
      feeds.append(there ? nb::cast<Stored&>(each).read() : nb::borrow(each));
    }
    return feeds;
  }
  nb::object stored(runtime::DeviceTensor tensor, nb::object host = nb::none()) const {
    return nb::cast(new Stored(place_, std::move(tensor), std::move(host)),
                    nb::rv_policy::take_ownership);
  }

  std::shared_ptr<Place> place_;
  std::unique_ptr<runtime::Model> model_;
};

}  // namespace

void define_programs(nb::module_& m) {
  nb::class_<Place>(m, "Place", "A device that programs of tensors share, and its free memory.")
      .def(nb::init<const std::string&>(), "target"_a);
  nb::class_<Stored>(m, "Stored", "Elements of a tensor in a device's memory.")
      .def("read", &Stored::read,
           "(element type, shape, bytes) on the host; waits for the device.");
  nb::class_<Program>(m, "Program", "A model whose feeds and outputs stay on its device.")
      .def_static("load", &Program::load, "place"_a, "folder"_a, "threads"_a)
      .def("run", &Program::run, "feeds"_a,
           "feeds: Stored, or (element type, shape, bytes). Gives (outputs, feeds that the device "
           "keeps, else None).");
}

}  // namespace gossamer::python
