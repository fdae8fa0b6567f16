#include "runtime/manifest.h"

#include <rapidjson/document.h>

#include <algorithm>
#include <limits>

namespace gossamer::runtime {
namespace {

using Json = rapidjson::Value;
using package::Number;

// Walks the document; the first thing that is wrong is kept, and what follows reads as nothing.
class Reader {
 public:
  Result<Manifest> read(const Json& root);

 private:
  void wrong(const std::string& what) {
    if (problem_.empty()) problem_ = cat(path_, path_.empty() ? "" : ": ", what);
  }
  const Json* member(const Json& object, const char* key, bool needed = true) {
    if (object.IsObject())
      if (const auto found = object.FindMember(key); found != object.MemberEnd())
        return &found->value;
    if (needed) wrong(cat("has no ", key));
    return nullptr;
  }
  std::string text(const Json& object, const char* key, bool needed = true) {
    const Json* value = member(object, key, needed);
    if (value && !value->IsString()) wrong(cat(key, " is not a string"));
    return value && value->IsString() ? std::string(value->GetString(), value->GetStringLength())
                                      : std::string();
  }
  int64_t integer(const Json& object, const char* key, int64_t low, int64_t high) {
    const Json* value = member(object, key);
    if (!value) return low;
    if (!value->IsInt64() || value->GetInt64() < low || value->GetInt64() > high) {
      wrong(cat(key, " is not a number from ", low, " to ", high));
      return low;
    }
    return value->GetInt64();
  }
  int index(const Json& object, const char* key, size_t count) {
    return static_cast<int>(integer(object, key, 0, static_cast<int64_t>(count) - 1));
  }
  bool flag(const Json& object, const char* key) {
    const Json* value = member(object, key, false);
    if (value && !value->IsBool()) wrong(cat(key, " is not true or false"));
    return value && value->IsBool() && value->GetBool();
  }
  Number number(const Json& value) {
    if (value.IsInt64()) {
      if (value.GetInt64() < 0) wrong("a number is negative");
      return value.GetInt64();
    }
    const Json* plan = value.IsObject() ? member(value, "plan") : nullptr;
    if (!plan || !plan->IsInt() || plan->GetInt() < 0 || plan->GetInt() >= module_.plan_values) {
      wrong("a number is neither an integer nor a plan value");
      return 0;
    }
    return Number::plan(plan->GetInt());
  }
  Number number(const Json& object, const char* key) {
    const Json* value = member(object, key);
    return value ? number(*value) : Number(0);
  }
  // Scalars may be negative; ranges and sizes may not.
  Number scalar(const Json& value) {
    return value.IsInt64() ? Number(value.GetInt64()) : number(value);
  }
  // Variables have 32 bits in every run time.
  Number step_number(const Json& value) {
    Number number = scalar(value);
    if (!number.planned)
      number.value = std::clamp<int64_t>(number.value, std::numeric_limits<int32_t>::min(),
                                         std::numeric_limits<int32_t>::max());
    return number;
  }
  ir::DType dtype(const Json& object, const char* key) {
    const auto known = ir::dtype_named(text(object, key));
    if (!known) wrong(cat(key, " is no element type"));
    return known.value_or(ir::DType::f32);
  }
  template <class Visit>
  void each(const Json& object, const char* key, Visit visit, bool needed = true) {
    const Json* array = member(object, key, needed);
    if (!array) return;
    if (!array->IsArray()) return wrong(cat(key, " is not a list"));
    const std::string outer = path_;
    for (rapidjson::SizeType at = 0; at < array->Size() && problem_.empty(); ++at) {
      path_ = cat(outer, outer.empty() ? "" : ".", key, "[", at, "]");
      visit((*array)[at]);
    }
    path_ = outer;
  }

  int segment(const Json& object) {
    return member(object, "segment", false)
               ? index(object, "segment", static_cast<size_t>(module_.plan_segments))
               : 0;
  }
  int device(const Json& object) {
    return member(object, "device", false) ? index(object, "device", side() ? 2 : 1) : 0;
  }
  bool side() const { return !module_.side.target.empty(); }
  int device_of(int tensor) const {
    const int slot = module_.tensors[static_cast<size_t>(tensor)].slot;
    return module_.slots[static_cast<size_t>(slot)].device;
  }
  package::Port port(const Json& value, bool input);
  package::Group group(const Json& value);
  package::Slot slot(const Json& value);
  package::Launch launch(const Json& value);
  package::Dim dim(const Json& value);
  package::Step step(const Json& value, int depth);
  void check_strings(const std::vector<package::Port>& ports);
  void part_of_run(const Json& range, package::Step& step);
  void copy(const Json& tensors, package::Step& step);
  std::vector<package::Step> steps(const Json& object, const char* key, int depth);
  void check_segments();

  package::Module module_;
  std::string path_, problem_;
};

package::Port Reader::port(const Json& value, bool input) {
  package::Port port;
  port.name = text(value, "name");
  port.dtype = dtype(value, "dtype");
  port.tensor = index(value, "tensor", module_.tensors.size());
  port.strings = flag(value, "strings");
  each(value, "shape", [&](const Json& extent) {
    const bool symbol = input && extent.IsString();
    port.symbols.push_back(symbol ? extent.GetString() : "");
    port.shape.push_back(symbol ? Number(-1) : number(extent));
  });
  return port;
}

// The bytes of strings have an axis more than their lengths, which follow.
void Reader::check_strings(const std::vector<package::Port>& ports) {
  for (size_t at = 0; at < ports.size(); ++at) {
    if (!ports[at].strings) continue;
    const bool paired = at + 1 < ports.size() && !ports[at + 1].strings;
    if (!paired || ports[at].dtype != ir::DType::u8 || ports[at + 1].dtype != ir::DType::i32 ||
        ports[at].shape.size() != ports[at + 1].shape.size() + 1)
      wrong(cat("port \"", ports[at].name, "\" is no tensor of strings"));
  }
}

package::Group Reader::group(const Json& value) {
  package::Group group;
  group.name = text(value, "name");
  const std::string kind = text(value, "kind");
  if (kind != "sequence" && kind != "optional") wrong("kind is not sequence or optional");
  group.sequence = kind == "sequence";
  group.output = member(value, "outputs", false);
  const char* const key = group.output ? "outputs" : "inputs";
  // Strings are two entries, and one value.
  const std::vector<package::Port>& entries = group.output ? module_.outputs : module_.inputs;
  const auto ports = static_cast<int64_t>(entries.size()) -
                     std::ranges::count_if(entries, &package::Port::strings);
  const Json* range = member(value, key);
  if (!range || !range->IsArray() || range->Size() != 2 || !(*range)[0].IsInt() ||
      !(*range)[1].IsInt() || (*range)[0].GetInt() < 0 || (*range)[1].GetInt() < 0 ||
      int64_t{(*range)[0].GetInt()} + (*range)[1].GetInt() > ports) {
    wrong(cat("has no part of the ", key));
    return group;
  }
  group.first = (*range)[0].GetInt();
  group.count = (*range)[1].GetInt();
  if (!group.sequence && group.count > 0) wrong("is an optional that holds something");
  return group;
}

package::Slot Reader::slot(const Json& value) {
  package::Slot slot;
  slot.persistent = flag(value, "persistent");
  slot.segment = segment(value);
  slot.device = device(value);
  if (member(value, "width", false)) {
    slot.texture.width = static_cast<int>(integer(value, "width", 1, 1 << 16));
    slot.texture.height = number(value, "height");
    slot.texture.layers = static_cast<int>(integer(value, "layers", 1, 64));
  } else {
    slot.bytes = number(value, "bytes");
  }
  return slot;
}

package::Launch Reader::launch(const Json& value) {
  package::Launch launch;
  launch.kernel = index(value, "kernel", module_.kernels.size());
  each(value, "tensors", [&](const Json& tensor) {
    if (!tensor.IsInt() || tensor.GetInt() < 0 ||
        static_cast<size_t>(tensor.GetInt()) >= module_.tensors.size())
      return wrong("is no tensor");
    launch.tensors.push_back(tensor.GetInt());
  });
  each(value, "scalars", [&](const Json& given) { launch.scalars.push_back(scalar(given)); });
  launch.range = number(value, "range");
  launch.origin = text(value, "origin", false);
  launch.reason = text(value, "reason", false);
  if (!problem_.empty()) return launch;
  const package::KernelInfo& kernel = module_.kernels[static_cast<size_t>(launch.kernel)];
  if (launch.tensors.size() != static_cast<size_t>(kernel.buffers) ||
      launch.scalars.size() != static_cast<size_t>(kernel.scalars))
    wrong(cat("does not fit kernel ", kernel.name));
  for (int tensor : launch.tensors)
    if (device_of(tensor) != kernel.device)
      wrong(cat("has tensors on another device than kernel ", kernel.name));
  return launch;
}

package::Dim Reader::dim(const Json& value) {
  package::Dim dim;
  dim.name = text(value, "name");
  dim.input = -1;
  if (!member(value, "input", false)) return dim;
  dim.input = index(value, "input", module_.inputs.size());
  if (problem_.empty())
    dim.axis = index(value, "axis", module_.inputs[static_cast<size_t>(dim.input)].shape.size());
  return dim;
}

std::vector<package::Step> Reader::steps(const Json& object, const char* key, int depth) {
  std::vector<package::Step> all;
  if (depth > deepest_step) {
    wrong(cat("steps lie in each other more than ", deepest_step, " deep"));
    return all;
  }
  each(object, key, [&](const Json& value) { all.push_back(step(value, depth)); });
  return all;
}

package::Step Reader::step(const Json& value, int depth) {
  using Kind = package::Step::Kind;
  package::Step step;
  const auto is = [&](const char* key) { return member(value, key, false) != nullptr; };
  if (is("launch")) {
    part_of_run(*member(value, "launch"), step);
  } else if (is("read")) {
    step.kind = Kind::read;
    step.tensor = index(value, "read", module_.tensors.size());
    step.count = static_cast<int>(integer(value, "count", 0, 1 << 16));
    const auto room = static_cast<int64_t>(module_.dims.size()) - step.count;
    step.dim = static_cast<int>(integer(value, "dims", 0, room));
    if (!problem_.empty()) return step;
    const package::Tensor& tensor = module_.tensors[static_cast<size_t>(step.tensor)];
    for (const ir::DType dtype : {tensor.dtype, tensor.storage})
      if (!ir::is_int(dtype) && dtype != ir::DType::boolean) wrong("reads what is no integer");
  } else if (is("plan")) {
    step.kind = Kind::plan;
    step.segment = index(value, "plan", static_cast<size_t>(module_.plan_segments));
    if (module_.plan_values == 0) wrong("plans where the package has no plan");
  } else if (is("copy")) {
    copy(*member(value, "copy"), step);
  } else if (is("set")) {
    step.kind = Kind::set;
    each(value, "set", [&](const Json& pair) {
      const bool fits = pair.IsArray() && pair.Size() == 2 && pair[0].IsInt() &&
                        pair[0].GetInt() >= 0 &&
                        static_cast<size_t>(pair[0].GetInt()) < module_.dims.size();
      if (!fits) return wrong("is no pair of a variable and a number");
      step.sets.emplace_back(pair[0].GetInt(), step_number(pair[1]));
    });
  } else if (is("if")) {
    step.kind = Kind::branch;
    step.number = step_number(*member(value, "if"));
    step.body = steps(value, "then", depth + 1);
    step.otherwise = steps(value, "else", depth + 1);
  } else if (is("loop")) {
    step.kind = Kind::loop;
    step.number = step_number(*member(value, "loop"));
    step.dim = index(value, "dim", module_.dims.size());
    if (is("while")) step.condition = index(value, "while", module_.dims.size());
    step.body = steps(value, "body", depth + 1);
  } else {
    wrong("is no step that this run time knows");
  }
  return step;
}

void Reader::part_of_run(const Json& range, package::Step& step) {
  const auto last = static_cast<int64_t>(module_.run.size());
  const auto at = [&](rapidjson::SizeType i) {
    return range.IsArray() && range.Size() == 2 && range[i].IsInt() ? range[i].GetInt() : -1;
  };
  step.first = at(0);
  step.last = at(1);
  if (step.first < 0 || step.last < step.first || step.last > last)
    return wrong(cat("launch is no part of the ", last, " launches of run"));
  const auto device = [&](int launch) {
    const int kernel = module_.run[static_cast<size_t>(launch)].kernel;
    return module_.kernels[static_cast<size_t>(kernel)].device;
  };
  for (int launch = step.first; launch < step.last; ++launch)
    if (device(launch) != device(step.first)) wrong("launch is no part of run on one device");
}

void Reader::copy(const Json& tensors, package::Step& step) {
  const auto count = static_cast<int>(module_.tensors.size());
  const auto at = [&](rapidjson::SizeType i) {
    const bool fits = tensors.IsArray() && tensors.Size() == 2 && tensors[i].IsInt();
    return fits && tensors[i].GetInt() < count ? tensors[i].GetInt() : -1;
  };
  step.kind = package::Step::Kind::copy;
  step.tensor = at(0);
  step.to = at(1);
  const auto dtype = [&](int tensor) { return module_.tensors[static_cast<size_t>(tensor)].dtype; };
  if (step.tensor < 0 || step.to < 0 || device_of(step.tensor) == device_of(step.to) ||
      dtype(step.tensor) != dtype(step.to))
    wrong("copy is no pair of tensors of one type on two devices");
}

// What is needed before the first step must be known by segment 0.
void Reader::check_segments() {
  if (module_.steps.empty() && module_.plan_segments > 1)
    return wrong("a plan of several segments has no steps that run them");
  for (const package::Port& port : module_.inputs) {
    const int slot = module_.tensors[static_cast<size_t>(port.tensor)].slot;
    if (module_.slots[static_cast<size_t>(slot)].segment > 0)
      return wrong(cat("input \"", port.name, "\" lies in memory of a later segment"));
  }
}

Result<Manifest> Reader::read(const Json& root) {
  Manifest manifest;
  if (!root.IsObject() || text(root, "format") != "gossamer-package")
    return fail("this is not a package of Gossamer");
  const int64_t version = integer(root, "version", 0, int64_t{1} << 31);
  if (problem_.empty() && version != package::format_version)
    return fail(cat("the package has format version ", version, ", this run time reads version ",
                    package::format_version),
                "compile the model again");
  module_.name = text(root, "name");
  module_.target = text(root, "target");
  if (const Json* value = member(root, "side", false)) {
    module_.side = {text(*value, "target"), text(*value, "code")};
    if (!side()) wrong("side has no target");
  }
  each(root, "needs", [&](const Json& value) {
    if (!value.IsString()) return wrong("is not a string");
    module_.needs.emplace_back(value.GetString());
  });
  each(root, "files", [&](const Json& value) {
    manifest.files.push_back({text(value, "name"),
                              static_cast<uint64_t>(integer(value, "bytes", 0, int64_t{1} << 48)),
                              text(value, "xxh3")});
  });
  if (const Json* plan = member(root, "plan", false)) {
    module_.plan_values = static_cast<int>(integer(*plan, "values", 1, 1 << 24));
    if (member(*plan, "segments", false))
      module_.plan_segments = static_cast<int>(integer(*plan, "segments", 1, 1 << 16));
  }
  each(root, "slots", [&](const Json& value) { module_.slots.push_back(slot(value)); });
  each(root, "tensors", [&](const Json& value) {
    module_.tensors.push_back({text(value, "name"), dtype(value, "dtype"), dtype(value, "storage"),
                               number(value, "elements"),
                               index(value, "slot", module_.slots.size())});
  });
  each(root, "inputs", [&](const Json& value) { module_.inputs.push_back(port(value, true)); });
  each(root, "outputs", [&](const Json& value) { module_.outputs.push_back(port(value, false)); });
  check_strings(module_.inputs);
  check_strings(module_.outputs);
  each(root, "groups", [&](const Json& value) { module_.groups.push_back(group(value)); }, false);
  each(root, "dims", [&](const Json& value) { module_.dims.push_back(dim(value)); });
  each(root, "checks", [&](const Json& value) {
    module_.checks.push_back({number(value, "value"), text(value, "message"), segment(value)});
  });
  each(root, "weights", [&](const Json& value) {
    package::Weight weight;
    weight.name = text(value, "name");
    weight.dtype = dtype(value, "dtype");
    weight.tensor = index(value, "tensor", module_.tensors.size());
    each(value, "shape", [&](const Json& extent) {
      if (!extent.IsInt64() || extent.GetInt64() < 0) return wrong("is no extent");
      weight.shape.push_back(extent.GetInt64());
    });
    module_.weights.push_back(std::move(weight));
  });
  each(root, "kernels", [&](const Json& value) {
    package::KernelInfo kernel;
    kernel.name = text(value, "name");
    kernel.entry = text(value, "entry");
    kernel.schedule = text(value, "schedule", false);
    kernel.group_size = static_cast<int>(integer(value, "group", 1, 1 << 16));
    kernel.buffers = static_cast<int>(integer(value, "buffers", 1, 1 << 10));
    kernel.scalars = static_cast<int>(integer(value, "scalars", 0, 1 << 10));
    kernel.written = kernel.buffers - 1;
    kernel.device = device(value);
    module_.kernels.push_back(std::move(kernel));
  });
  each(root, "init", [&](const Json& value) { module_.init.push_back(launch(value)); });
  each(root, "run", [&](const Json& value) { module_.run.push_back(launch(value)); });
  if (problem_.empty() && member(root, "steps", false)) module_.steps = steps(root, "steps", 0);
  if (problem_.empty()) check_segments();
  if (!problem_.empty()) return fail(problem_, "the package is damaged: compile the model again");
  manifest.module = std::move(module_);
  return manifest;
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (document.HasParseError())
    return fail(cat("this is not JSON, from byte ", document.GetErrorOffset()),
                "the package is damaged: compile the model again");
  return Reader().read(document);
}

}  // namespace gossamer::runtime
