// The recorder (src/tensor/recorder.h) for Python: one for all threads, which the interpreter's
// lock guards, as no call here lets go of it. Elements are Python objects under the tensors' ids;
// programs leave as ONNX models.
#include "lazy.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <unordered_map>
#include <vector>

#include "errors.h"
#include "ir/build.h"
#include "onnx/reader.h"
#include "onnx/write_model.h"
#include "tensor/model.h"
#include "tensor/recorder.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace gossamer::python {
namespace {

using tensor::Id;

struct Lazy {
  tensor::Recorder recorder;
  std::unordered_map<Id, nb::object> elements;
  std::vector<nb::object> dtypes, shapes;  // of specs
};
// Outlives the interpreter: tensors may be let go of at its very end.
Lazy& lazy() {
  static Lazy* const made = new Lazy;
  return *made;
}

// Elements that nothing is computed from any more. They go last, as what owned them may be Python.
void let_go(Id id) {
  std::vector<nb::object> gone;
  lazy().recorder.release(id);
  for (Id unused : lazy().recorder.take_unused()) {
    const auto found = lazy().elements.find(unused);
    if (found == lazy().elements.end()) continue;
    gone.push_back(std::move(found->second));
    lazy().elements.erase(found);
  }
}

// A tensor of the recorder, held until this goes.
class Value {
 public:
  Value(Id id, int device) : id(id), spec(lazy().recorder.spec_number(id)), device(device) {}
  ~Value() { let_go(id); }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;

  const Id id;
  const int spec;
  const int device;                 // that somebody named for it or what it is computed from
  bool tracked = false;             // a gradient may be asked of it
  bool past = false;                // it or what it is computed from takes gradients
  bool passed = false;              // gradients have been taken through it
  bool cut = false;                 // how it was made is forgotten
  nb::object stopped = nb::none();  // the same elements, where gradients stop

  nb::object dtype() const { return told(lazy().dtypes); }
  nb::object shape() const { return told(lazy().shapes); }

 private:
  nb::object told(const std::vector<nb::object>& of) const {
    if (static_cast<size_t>(spec) >= of.size()) tell();
    return of[static_cast<size_t>(spec)];
  }
  // One object a spec, as most tensors have the types and shapes of others.
  void tell() const {
    for (size_t at = lazy().shapes.size(); at <= static_cast<size_t>(spec); ++at) {
      const tensor::Spec& known = lazy().recorder.spec_at(static_cast<int>(at));
      const std::string_view name = ir::name_of(known.dtype);
      lazy().dtypes.push_back(nb::str(name.data(), name.size()));
      lazy().shapes.push_back(nb::tuple(nb::cast(known.shape)));
    }
  }
};

// Of tensors that are computed where those are with which they are used.
constexpr int anywhere = -1;

nb::object held(Id id, int device = anywhere) {
  return nb::cast(new Value(id, device), nb::rv_policy::take_ownership);
}

nb::list held(const std::vector<Id>& ids, int device) {
  nb::list made;
  for (Id id : ids) made.append(held(id, device));
  return made;
}

ir::DType dtype_of(const std::string& name) {
  const auto dtype = ir::dtype_named(name);
  if (!dtype) fail("", "there is no element type \"" + name + "\"", "");
  return *dtype;
}

std::vector<Id> ids_of(const nb::sequence& values) {
  std::vector<Id> ids;
  for (nb::handle each : values)
    ids.push_back(each.is_none() ? tensor::no_tensor : nb::cast<const Value&>(each).id);
  return ids;
}

// Of what is computed of a tensor on one device, and another one.
int joined(int device, nb::handle value) {
  const int own = value.is_none() ? anywhere : nb::cast<const Value&>(value).device;
  if (own == anywhere || own == device) return device;
  if (device != anywhere)
    fail("", "its inputs are on two devices",
         "move one of them: to(device), or detach().to(device)");
  return own;
}

int device_of(const nb::sequence& values) {
  int device = anywhere;
  for (nb::handle each : values) device = joined(device, each);
  return device;
}

template <class T>
std::vector<T> list_of(nb::handle value) {
  std::vector<T> made;
  for (nb::handle each : nb::borrow<nb::sequence>(value)) made.push_back(nb::cast<T>(each));
  return made;
}

ops::Attribute attribute_of(nb::handle value) {
  if (nb::isinstance<nb::bool_>(value)) return static_cast<int64_t>(nb::cast<bool>(value));
  if (nb::isinstance<nb::int_>(value)) return nb::cast<int64_t>(value);
  if (nb::isinstance<nb::float_>(value)) return nb::cast<double>(value);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  const nb::sequence list = nb::cast<nb::sequence>(value);
  const bool empty = nb::len(list) == 0;
  if (!empty && nb::isinstance<nb::str>(list[0])) return list_of<std::string>(value);
  if (!empty && nb::isinstance<nb::float_>(list[0])) return list_of<double>(value);
  return list_of<int64_t>(value);
}

int operation(const std::string& op, const nb::dict& given) {
  ops::Attributes attributes;
  for (auto [name, value] : given) attributes[nb::cast<std::string>(name)] = attribute_of(value);
  return value_of(lazy().recorder.operation(op, attributes));
}

// `device`: of what is computed of tensors that are anywhere.
nb::list record(int operation, const nb::sequence& inputs, size_t outputs, int device) {
  const int own = device_of(inputs);
  if (own != anywhere) device = own;
  return held(value_of(lazy().recorder.record(operation, ids_of(inputs), outputs)), device);
}

nb::list gradient(const Value& y, const nb::sequence& xs, nb::handle seed) {
  const Id with = seed.is_none() ? tensor::no_tensor : nb::cast<const Value&>(seed).id;
  const int device = joined(y.device, seed);
  return held(value_of(lazy().recorder.gradient(y.id, ids_of(xs), with)), device);
}

nb::object leaf(const std::string& dtype, std::vector<int64_t> shape, nb::object elements,
                int device) {
  const Id id = lazy().recorder.leaf(dtype_of(dtype), std::move(shape));
  if (!elements.is_none()) lazy().elements[id] = std::move(elements);
  return held(id, device);
}

nb::object constant(const std::string& dtype, std::vector<int64_t> shape, const nb::bytes& data) {
  const auto* bytes = static_cast<const std::byte*>(data.data());
  return held(value_of(
      lazy().recorder.constant({dtype_of(dtype), std::move(shape), {bytes, bytes + data.size()}})));
}

nb::object elements(const Value& value) {
  const auto found = lazy().elements.find(value.id);
  return found == lazy().elements.end() ? nb::none() : found->second;
}

void settle(Value& value, nb::object elements, bool history) {
  if (!lazy().elements.emplace(value.id, std::move(elements)).second) return;
  lazy().recorder.settle(value.id, history);
}

// Other ones of the same elements, where somebody still has them.
void keep(Id id, nb::object elements) {
  const auto found = lazy().elements.find(id);
  if (found != lazy().elements.end()) std::swap(found->second, elements);
}

// Whether how it was made could be forgotten.
bool forget(Value& value) { return value.cut = lazy().recorder.forget(value.id); }

// (program, general one or -1, elements of feeds, None where there are none, ids of feeds)
nb::tuple plan(const nb::sequence& wanted) {
  const tensor::Recorder::Plan made = lazy().recorder.plan(ids_of(wanted));
  nb::list feeds, ids;
  for (Id id : made.feeds) {
    const auto found = lazy().elements.find(id);
    feeds.append(found == lazy().elements.end() ? nb::none() : found->second);
    ids.append(id);
  }
  return nb::make_tuple(made.program, made.general, feeds, ids);
}

nb::bytes written(const graph::Graph& made, bool parts) {
  const std::string model = value_of(onnx::write_model(made, {}, parts));
  return nb::bytes(model.data(), model.size());
}

// A program as an ONNX model, for compilers.
nb::bytes model(int program) { return written(lazy().recorder.program(program), false); }

using Ports = std::vector<std::tuple<std::string, std::string, std::vector<int64_t>, int>>;
using Feeds = std::vector<std::tuple<std::string, bool, std::vector<nb::bytes>>>;
using Dims = std::vector<
    std::tuple<std::string, std::vector<std::pair<size_t, size_t>>, std::vector<int64_t>>>;

// A function as an ONNX model (tensor::Traced).
nb::bytes traced(const std::string& name, const std::vector<int>& programs, const Ports& ports,
                 const Feeds& feeds, const std::vector<std::string>& outputs, const Dims& dims,
                 bool opens_parameters) {
  tensor::Traced given;
  given.name = name;
  given.programs = programs;
  given.outputs = outputs;
  given.opens_parameters = opens_parameters;
  for (const auto& [port, dtype, shape, feed] : ports)
    given.ports.push_back({port, {dtype_of(dtype), shape}, feed});
  for (const auto& [feed, learnt, elements] : feeds) {
    tensor::Traced::Feed& one = given.feeds.emplace_back(feed, learnt);
    for (const nb::bytes& bytes : elements)
      one.elements.emplace_back(static_cast<const std::byte*>(bytes.data()), bytes.size());
  }
  for (const auto& [dim, places, extents] : dims) given.dims.push_back({dim, places, extents});
  return written(value_of(lazy().recorder.traced(given)), true);
}

// An ONNX model whose nodes are recorded with each call.
class Imported {
 public:
  explicit Imported(tensor::Model model) : model_(std::move(model)) {}

  static std::unique_ptr<Imported> read(const nb::bytes& onnx) {
    const auto* data = static_cast<const std::byte*>(onnx.data());
    std::vector<std::byte> file(data, data + onnx.size());
    graph::Graph graph = value_of(onnx::read_model(file));
    return std::make_unique<Imported>(
        value_of(tensor::Model::make(std::move(graph), std::move(file))));
  }

  // (name, element type, shape with dimensions as names)
  nb::list inputs() const {
    nb::list made;
    for (graph::ValueId id : model_.graph().inputs) {
      const graph::Value& value = model_.graph().values[id];
      nb::list shape;
      for (const ir::Expr& extent : value.shape) {
        if (const auto* var = ir::as<ir::VarNode>(extent)) {
          shape.append(var->name);
        } else {
          shape.append(ir::as_int(extent).value_or(-1));
        }
      }
      made.append(nb::make_tuple(value.name, name_of(value.dtype), nb::tuple(shape)));
    }
    return made;
  }
  nb::list outputs() const {
    nb::list made;
    for (graph::ValueId id : model_.graph().outputs) made.append(model_.graph().values[id].name);
    return made;
  }
  // (name, element type, shape, whether it is learnt, bytes)
  nb::list leaves() const {
    nb::list made;
    for (const tensor::ModelLeaf& leaf : model_.leaves()) {
      const stages::ConstantSource& source = *model_.graph().values[leaf.value].constant;
      const auto bytes = model_.bytes_of(leaf.value);
      made.append(nb::make_tuple(
          leaf.name, name_of(source.dtype), nb::tuple(nb::cast(source.shape)), leaf.trainable,
          nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
    }
    return made;
  }
  nb::list record(const nb::sequence& inputs, const nb::sequence& leaves) {
    int device = device_of(inputs);
    for (nb::handle each : leaves) device = joined(device, each);
    return held(value_of(model_.record(lazy().recorder, ids_of(inputs), ids_of(leaves))), device);
  }

 private:
  static nb::str name_of(ir::DType dtype) {
    const std::string_view name = ir::name_of(dtype);
    return nb::str(name.data(), name.size());
  }

  tensor::Model model_;
};

}  // namespace

void define_lazy(nb::module_& m) {
  nb::class_<Value>(m, "Value", nb::is_weak_referenceable(), "A recorded tensor.")
      .def_ro("id", &Value::id)
      .def_ro("device", &Value::device, "A number of gossamer.HERE's; -1: wherever it is used.")
      .def_prop_ro("dtype", &Value::dtype, "The compiler's name of the element type.")
      .def_prop_ro("shape", &Value::shape)
      .def_prop_ro("elements", &elements,
                   "Stored, or (element type, shape, bytes), once it is computed; else None.")
      .def_rw("tracked", &Value::tracked)
      .def_rw("past", &Value::past)
      .def_rw("passed", &Value::passed)
      .def_ro("cut", &Value::cut)
      .def_rw("stopped", &Value::stopped, nb::arg().none());
  m.def("count", [] { return lazy().recorder.size(); }, "Tensors that somebody holds or uses.");
  m.def("leaf", &leaf, "dtype"_a, "shape"_a, "elements"_a.none(), "device"_a = anywhere);
  m.def("constant", &constant, "dtype"_a, "shape"_a, "data"_a);
  m.def("operation", &operation, "op"_a, "attributes"_a);
  m.def("record", &record, "operation"_a, "inputs"_a, "outputs"_a, "device"_a = anywhere);
  m.def("gradient", &gradient, "y"_a, "xs"_a, "seed"_a.none());
  m.def("settle", &settle, "value"_a, "elements"_a, "history"_a);
  m.def("keep", &keep, "id"_a, "elements"_a);
  m.def("forget", &forget, "value"_a);
  m.def("plan", &plan, "wanted"_a);
  m.def("model", &model, "program"_a);
  m.def("traced", &traced, "name"_a, "programs"_a, "ports"_a, "feeds"_a, "outputs"_a, "dims"_a,
        "opens_parameters"_a);
  nb::class_<Imported>(m, "Imported", "An ONNX model whose nodes are recorded with each call.")
      .def_static("read", &Imported::read, "onnx"_a)
      .def_prop_ro("inputs", &Imported::inputs)
      .def_prop_ro("outputs", &Imported::outputs)
      .def_prop_ro("leaves", &Imported::leaves)
      .def("record", &Imported::record, "inputs"_a, "leaves"_a);
}

}  // namespace gossamer::python
