#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "package/package.h"
#include "package/sha256.h"
#include "package/write.h"

namespace gossamer::package {
namespace {

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

File file_of(std::string name, const rapidjson::StringBuffer& text) {
  File file;
  file.name = std::move(name);
  file.bytes.resize(text.GetSize());
  std::memcpy(file.bytes.data(), text.GetString(), text.GetSize());
  return file;
}

// Every distinct source with its place in kernels.json.
std::map<std::string_view, int> number_sources(const Module& module,
                                               std::vector<std::string_view>* order = nullptr) {
  std::map<std::string_view, int> numbers;
  for (const KernelInfo& kernel : module.kernels) {
    if (kernel.code.empty()) continue;
    if (numbers.emplace(kernel.code, static_cast<int>(numbers.size())).second && order)
      order->push_back(kernel.code);
  }
  return numbers;
}

void write_text(Json& json, std::string_view key, std::string_view value) {
  json.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
  json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void write_number(Json& json, const Number& number) {
  if (!number.planned) {
    json.Int64(number.value);
    return;
  }
  json.StartObject();
  json.Key("plan");
  json.Int64(number.value);
  json.EndObject();
}

void write_port(Json& json, const Port& port) {
  json.StartObject();
  write_text(json, "name", port.name);
  write_text(json, "dtype", ir::name_of(port.dtype));
  json.Key("shape");
  json.StartArray();
  for (size_t axis = 0; axis < port.shape.size(); ++axis) {
    if (axis < port.symbols.size() && !port.symbols[axis].empty()) {
      json.String(port.symbols[axis]);
    } else {
      write_number(json, port.shape[axis]);
    }
  }
  json.EndArray();
  json.Key("tensor");
  json.Int(port.tensor);
  if (port.strings) {
    json.Key("strings");
    json.Bool(true);
  }
  json.EndObject();
}

void write_group(Json& json, const Group& group) {
  json.StartObject();
  write_text(json, "name", group.name);
  write_text(json, "kind", group.sequence ? "sequence" : "optional");
  json.Key(group.output ? "outputs" : "inputs");
  json.StartArray();
  json.Int(group.first);
  json.Int(group.count);
  json.EndArray();
  json.EndObject();
}

// Segment 0 goes without saying.
void write_segment(Json& json, int segment) {
  if (segment == 0) return;
  json.Key("segment");
  json.Int(segment);
}

// Nor does the target.
void write_device(Json& json, int device) {
  if (device == 0) return;
  json.Key("device");
  json.Int(device);
}

void write_slot(Json& json, const Slot& slot) {
  json.StartObject();
  if (slot.texture.width > 0) {
    json.Key("width");
    json.Int(slot.texture.width);
    json.Key("height");
    write_number(json, slot.texture.height);
    json.Key("layers");
    json.Int(slot.texture.layers);
  } else {
    json.Key("bytes");
    write_number(json, slot.bytes);
  }
  if (slot.persistent) {
    json.Key("persistent");
    json.Bool(true);
  }
  write_segment(json, slot.segment);
  write_device(json, slot.device);
  json.EndObject();
}

void write_tensor(Json& json, const Tensor& tensor) {
  json.StartObject();
  write_text(json, "name", tensor.name);
  write_text(json, "dtype", ir::name_of(tensor.dtype));
  write_text(json, "storage", ir::name_of(tensor.storage));
  json.Key("elements");
  write_number(json, tensor.elements);
  json.Key("slot");
  json.Int(tensor.slot);
  json.EndObject();
}

void write_weight(Json& json, const Weight& weight) {
  json.StartObject();
  write_text(json, "name", weight.name);
  write_text(json, "dtype", ir::name_of(weight.dtype));
  json.Key("shape");
  json.StartArray();
  for (int64_t extent : weight.shape) json.Int64(extent);
  json.EndArray();
  json.Key("tensor");
  json.Int(weight.tensor);
  if (weight.file >= 0) {
    json.Key("file");
    json.Int(weight.file);
  }
  json.EndObject();
}

void write_kernel(Json& json, const KernelInfo& kernel,
                  const std::map<std::string_view, int>& sources) {
  json.StartObject();
  write_text(json, "name", kernel.name);
  write_text(json, "entry", kernel.entry);
  if (!kernel.code.empty()) {
    json.Key("code");
    json.Int(sources.at(kernel.code));
  }
  json.Key("group");
  json.Int(kernel.group_size);
  json.Key("buffers");
  json.Int(kernel.buffers);
  if (kernel.writes != 1) {
    json.Key("writes");
    json.Int(kernel.writes);
  }
  json.Key("scalars");
  json.Int(kernel.scalars);
  write_text(json, "schedule", kernel.schedule);
  write_device(json, kernel.device);
  json.EndObject();
}

void write_numbers(Json& json, const std::vector<Number>& scalars, const Number& range) {
  json.Key("scalars");
  json.StartArray();
  for (const Number& scalar : scalars) write_number(json, scalar);
  json.EndArray();
  json.Key("range");
  write_number(json, range);
}

void write_launch(Json& json, const Launch& launch) {
  json.StartObject();
  json.Key("kernel");
  json.Int(launch.kernel);
  json.Key("tensors");
  json.StartArray();
  for (int tensor : launch.tensors) json.Int(tensor);
  json.EndArray();
  write_numbers(json, launch.scalars, launch.range);
  if (launch.hardware) {
    json.Key("hardware");
    json.StartObject();
    json.Key("kernel");
    json.Int(launch.hardware->kernel);
    write_numbers(json, launch.hardware->scalars, launch.hardware->range);
    json.EndObject();
  }
  if (launch.operations != Number()) {
    json.Key("operations");
    write_number(json, launch.operations);
  }
  write_text(json, "origin", launch.origin);
  if (!launch.reason.empty()) write_text(json, "reason", launch.reason);
  json.EndObject();
}

void write_int(Json& json, const char* key, int value) {
  json.Key(key);
  json.Int(value);
}

void write_sets(Json& json, const Step& step) {
  json.Key("set");
  json.StartArray();
  for (const auto& [dim, number] : step.sets) {
    json.StartArray();
    json.Int(dim);
    write_number(json, number);
    json.EndArray();
  }
  json.EndArray();
}

void write_steps(Json& json, const char* key, const std::vector<Step>& steps);

void write_step(Json& json, const Step& step) {
  json.StartObject();
  switch (step.kind) {
    case Step::Kind::launch:
      json.Key("launch");
      json.StartArray();
      json.Int(step.first);
      json.Int(step.last);
      json.EndArray();
      break;
    case Step::Kind::read:
      write_int(json, "read", step.tensor);
      write_int(json, "dims", step.dim);
      write_int(json, "count", step.count);
      break;
    case Step::Kind::plan:
      write_int(json, "plan", step.segment);
      break;
    case Step::Kind::set:
      write_sets(json, step);
      break;
    case Step::Kind::branch:
      json.Key("if");
      write_number(json, step.number);
      write_steps(json, "then", step.body);
      write_steps(json, "else", step.otherwise);
      break;
    case Step::Kind::loop:
      json.Key("loop");
      write_number(json, step.number);
      write_int(json, "dim", step.dim);
      if (step.condition >= 0) write_int(json, "while", step.condition);
      write_steps(json, "body", step.body);
      break;
    case Step::Kind::copy:
      json.Key("copy");
      json.StartArray();
      json.Int(step.tensor);
      json.Int(step.to);
      json.EndArray();
      break;
  }
  json.EndObject();
}

void write_steps(Json& json, const char* key, const std::vector<Step>& steps) {
  json.Key(key);
  json.StartArray();
  for (const Step& step : steps) write_step(json, step);
  json.EndArray();
}

template <class Items, class Write>
void write_array(Json& json, const char* key, const Items& items, Write write) {
  json.Key(key);
  json.StartArray();
  for (const auto& item : items) write(json, item);
  json.EndArray();
}

}  // namespace

std::string content_hash(std::span<const std::byte> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  std::string text(16, '0');
  for (int at = 15; at >= 0; --at, hash >>= 4) text[static_cast<size_t>(at)] = digits[hash & 15];
  return text;
}

File write_kernel_sources(const Module& module) {
  std::vector<std::string_view> order;
  number_sources(module, &order);
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartArray();
  for (std::string_view source : order)
    json.String(source.data(), static_cast<rapidjson::SizeType>(source.size()));
  json.EndArray();
  return file_of("kernels.json", text);
}

File write_manifest(const Module& module, const Files& files) {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  write_text(json, "format", "gossamer-package");
  json.Key("version");
  const bool one_file =
      std::ranges::none_of(files, &File::above) &&
      std::ranges::all_of(module.weights, [](const Weight& weight) { return weight.file < 0; });
  const bool grows =
      std::ranges::any_of(module.dims, [](const Dim& dim) { return dim.output >= 0; });
  json.Int(grows ? format_version : one_file ? oldest_version : 3);
  write_text(json, "name", module.name);
  write_text(json, "target", name_of(module.target));
  if (module.side) {
    json.Key("side");
    json.StartObject();
    write_text(json, "target", name_of(module.side->target));
    write_text(json, "code", module.side->code);
    json.EndObject();
  }
  write_array(json, "needs", module.needs,
              [](Json& out, const std::string& need) { out.String(need); });
  write_array(json, "files", files, [](Json& out, const File& file) {
    out.StartObject();
    write_text(out, "name", file.name);
    out.Key("bytes");
    out.Uint64(file.xxh3.empty() ? file.bytes.size() : file.size);
    write_text(out, "xxh3", file.xxh3.empty() ? content_hash(file.bytes) : file.xxh3);
    write_text(out, "sha256", file.sha256.empty() ? sha256(file.bytes) : file.sha256);
    if (!file.pieces.empty())
      write_array(out, "pieces", file.pieces,
                  [](Json& list, const std::string& piece) { list.String(piece); });
    if (file.above) {
      out.Key("above");
      out.Bool(true);
    }
    out.EndObject();
  });
  write_array(json, "inputs", module.inputs, write_port);
  write_array(json, "outputs", module.outputs, write_port);
  if (!module.groups.empty()) write_array(json, "groups", module.groups, write_group);
  write_array(json, "dims", module.dims, [](Json& out, const Dim& dim) {
    out.StartObject();
    write_text(out, "name", dim.name);
    if (dim.input >= 0) {
      write_int(out, "input", dim.input);
      write_int(out, "axis", dim.axis);
    }
    if (dim.output >= 0) {
      write_int(out, "output", dim.output);
      out.Key("rows");
      write_number(out, dim.rows);
    }
    out.EndObject();
  });
  write_array(json, "checks", module.checks, [](Json& out, const Check& check) {
    out.StartObject();
    out.Key("value");
    write_number(out, check.value);
    write_text(out, "message", check.message);
    write_segment(out, check.segment);
    if (check.most >= 0) {
      out.Key("most");
      out.Int64(check.most);
    }
    out.EndObject();
  });
  if (module.plan_values > 0) {
    json.Key("plan");
    json.StartObject();
    json.Key("values");
    json.Int(module.plan_values);
    if (module.plan_segments > 1) write_int(json, "segments", module.plan_segments);
    json.EndObject();
  }
  write_array(json, "tensors", module.tensors, write_tensor);
  write_array(json, "slots", module.slots, write_slot);
  write_array(json, "weights", module.weights, write_weight);
  const auto sources = number_sources(module);
  write_array(json, "kernels", module.kernels,
              [&](Json& out, const KernelInfo& kernel) { write_kernel(out, kernel, sources); });
  write_array(json, "init", module.init, write_launch);
  write_array(json, "run", module.run, write_launch);
  if (!module.steps.empty()) write_steps(json, "steps", module.steps);
  json.EndObject();
  return file_of("manifest.json", text);
}

}  // namespace gossamer::package
