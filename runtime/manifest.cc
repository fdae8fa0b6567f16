#include "runtime/manifest.h"

#include <rapidjson/document.h>

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

  package::Port port(const Json& value, bool input);
  package::Slot slot(const Json& value);
  package::Launch launch(const Json& value);

  package::Module module_;
  std::string path_, problem_;
};

package::Port Reader::port(const Json& value, bool input) {
  package::Port port;
  port.name = text(value, "name");
  port.dtype = dtype(value, "dtype");
  port.tensor = index(value, "tensor", module_.tensors.size());
  each(value, "shape", [&](const Json& extent) {
    const bool symbol = input && extent.IsString();
    port.symbols.push_back(symbol ? extent.GetString() : "");
    port.shape.push_back(symbol ? Number(-1) : number(extent));
  });
  return port;
}

package::Slot Reader::slot(const Json& value) {
  package::Slot slot;
  slot.persistent = flag(value, "persistent");
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
  if (!problem_.empty()) return launch;
  const package::KernelInfo& kernel = module_.kernels[static_cast<size_t>(launch.kernel)];
  if (launch.tensors.size() != static_cast<size_t>(kernel.buffers) ||
      launch.scalars.size() != static_cast<size_t>(kernel.scalars))
    wrong(cat("does not fit kernel ", kernel.name));
  return launch;
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
  each(root, "needs", [&](const Json& value) {
    if (!value.IsString()) return wrong("is not a string");
    module_.needs.emplace_back(value.GetString());
  });
  each(root, "files", [&](const Json& value) {
    manifest.files.push_back({text(value, "name"),
                              static_cast<uint64_t>(integer(value, "bytes", 0, int64_t{1} << 48)),
                              text(value, "xxh3")});
  });
  if (const Json* plan = member(root, "plan", false))
    module_.plan_values = static_cast<int>(integer(*plan, "values", 1, 1 << 24));
  each(root, "slots", [&](const Json& value) { module_.slots.push_back(slot(value)); });
  each(root, "tensors", [&](const Json& value) {
    module_.tensors.push_back({text(value, "name"), dtype(value, "dtype"), dtype(value, "storage"),
                               number(value, "elements"),
                               index(value, "slot", module_.slots.size())});
  });
  each(root, "inputs", [&](const Json& value) { module_.inputs.push_back(port(value, true)); });
  each(root, "outputs", [&](const Json& value) { module_.outputs.push_back(port(value, false)); });
  each(root, "dims", [&](const Json& value) {
    package::Dim dim;
    dim.name = text(value, "name");
    dim.input = index(value, "input", module_.inputs.size());
    if (!problem_.empty()) return;
    dim.axis = index(value, "axis", module_.inputs[static_cast<size_t>(dim.input)].shape.size());
    module_.dims.push_back(std::move(dim));
  });
  each(root, "checks", [&](const Json& value) {
    module_.checks.push_back({number(value, "value"), text(value, "message")});
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
    module_.kernels.push_back(std::move(kernel));
  });
  each(root, "init", [&](const Json& value) { module_.init.push_back(launch(value)); });
  each(root, "run", [&](const Json& value) { module_.run.push_back(launch(value)); });
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
