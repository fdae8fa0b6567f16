// gossamer ops: the operator table, from the catalog.
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cstdio>

#include "autodiff/gradient_of_case.h"
#include "gossamer/commands/commands.h"
#include "ir/scalar.h"
#include "ops/test_case.h"
#include "stages/place_on_side.h"

namespace gossamer::command {
namespace {

std::vector<const ops::OpDef*> sorted_entries() {
  std::vector<const ops::OpDef*> entries;
  for (const ops::OpDef& entry : ops::builtin_catalog().entries()) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(), [](const ops::OpDef* a, const ops::OpDef* b) {
    return a->domain != b->domain ? a->domain < b->domain : a->name < b->name;
  });
  return entries;
}

std::string inputs_text(const ops::OpDef& entry) {
  std::string text;
  for (const ops::InputDef& input : entry.inputs) {
    if (!text.empty()) text += ", ";
    text += input.name;
    if (input.arity == ops::InputDef::optional) text += "?";
    if (input.arity == ops::InputDef::variadic) text += "...";
  }
  return text;
}

// The element types of a set; the wide sets by a word each.
std::string types_text(ops::TypeSet types) {
  const std::pair<ops::TypeSet, std::string_view> words[] = {
      {ops::any_type, "any"},        {ops::any_number, "number"}, {ops::any_int, "integer"},
      {ops::any_float, "float"},     {ops::any_signed, "signed"}, {ops::any_unsigned, "unsigned"},
      {ops::boolean_only, "boolean"}};
  std::string text;
  for (const auto& [set, word] : words) {
    if ((types & set) != set) continue;
    text += (text.empty() ? "" : ", ") + std::string(word);
    types &= ~set;
  }
  for (unsigned dtype = 0; dtype < static_cast<unsigned>(ir::DType::index); ++dtype)
    if (types & ops::only(static_cast<ir::DType>(dtype)))
      text += (text.empty() ? "" : ", ") + std::string(ir::name_of(static_cast<ir::DType>(dtype)));
  return text;
}

// The types that each input takes, equal neighbours once.
std::string types_of(const ops::OpDef& entry) {
  std::string text, last;
  for (const ops::InputDef& input : entry.inputs) {
    const std::string types = types_text(input.types);
    if (types != last) text += (text.empty() ? "" : "; ") + types;
    last = types;
  }
  return text;
}

ops::TensorData as_doubles(const ops::TensorData& data) {
  ops::TensorData made{ir::DType::f64, data.shape, std::vector<std::byte>(), {}};
  const auto size = static_cast<size_t>(ir::byte_size(data.dtype));
  for (size_t at = 0; at < data.bytes.size(); at += size) {
    made.bytes.resize(made.bytes.size() + 8);
    ir::write_scalar(
        ir::convert(ir::DType::f64, ir::read_scalar(ir::carrier_of(data.dtype), &data.bytes[at])),
        &made.bytes[made.bytes.size() - 8]);
  }
  return made;
}

// Where an entry's stages run, as they are placed for the targets without 64-bit floats: looks at
// its cases as they are, and with 64-bit floats in each of the inputs that take them, in all, and
// as the type that an attribute asks for.
std::string targets_text(const ops::OpDef& entry) {
  bool exact = false, whatever_the_types = false;
  const auto is_exact = [](ir::DType dtype) { return dtype == ir::DType::f64; };
  const auto look = [&](const ops::Case& test, const std::vector<ops::TensorData>& inputs) {
    const auto made = ops::define_case(entry, test, inputs, ops::output_count_of(entry, test));
    if (!made.status || std::ranges::none_of(made.builder->program, [](const stages::Entry& entry) {
          return entry.stage() && !stages::needs_side(*entry.stage()).empty();
        }))
      return;
    const bool asked = std::ranges::any_of(inputs, is_exact, &ops::TensorData::dtype) ||
                       std::ranges::any_of(made.outputs, is_exact, &ops::Tensor::dtype);
    (asked ? exact : whatever_the_types) = true;
  };
  for (const ops::Case& test : entry.cases()) {
    const std::vector<ops::TensorData> inputs = ops::case_inputs(entry, test);
    look(test, inputs);
    std::vector<ops::TensorData> all = inputs;
    for (size_t at = 0; at < inputs.size(); ++at) {
      if (inputs[at].bytes.empty() || inputs[at].dtype == ir::DType::string ||
          !(ops::input_of(entry, test, at).types & ops::only(ir::DType::f64)))
        continue;
      std::vector<ops::TensorData> one = inputs;
      one[at] = all[at] = as_doubles(inputs[at]);
      look(test, one);
    }
    look(test, all);
    for (const ops::AttributeDef& attribute : entry.attributes) {
      if (attribute.name != "dtype" && attribute.name != "output_datatype") continue;
      ops::Case asks = test;
      asks.attributes[attribute.name] = int64_t{11};  // ONNX's code of f64
      look(asks, inputs);
    }
  }
  return whatever_the_types ? "all; partly CPU side" : exact ? "all; f64: CPU side" : "all";
}

std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

int print_markdown() {
  std::printf(
      "# Operators\n\n"
      "Written by `gossamer ops --markdown` from the catalog (src/ops). Older versions of an "
      "operator are\n"
      "upgraded when a model is read, so a version here is the newest one. Types are those of the "
      "inputs in\n"
      "order, equal neighbours once; `?` marks an optional input, `...` any number of them.\n\n"
      "Every operator runs on every target: cpu, wasm, webgpu and webgl. GPUs have no 64-bit "
      "floats, so packages\n"
      "for webgpu and webgl compute them in wasm, and `report()` says so. \"f64: CPU side\" marks "
      "the operators that\n"
      "take or make 64-bit floats, \"partly CPU side\" those that need them for other types, "
      "too.\n\n"
      "`gradient` names the inputs that a gradient goes on to (tests compare it with finite "
      "differences); others\n"
      "are integers or texts, or change the output only where it jumps: their gradient is 0.\n");
  std::string domain = "-";
  for (const ops::OpDef* entry : sorted_entries()) {
    if (entry->domain != domain) {
      domain = entry->domain;
      std::printf(
          "\n## %s\n\n| operator | version | inputs | types | targets | gradient | |\n"
          "|---|---|---|---|---|---|---|\n",
          domain.empty() ? "ai.onnx" : domain.c_str());
    }
    std::printf("| %s | %d | %s | %s | %s | %s | %s |\n", entry->name.c_str(), entry->since,
                inputs_text(*entry).c_str(), types_of(*entry).c_str(), targets_text(*entry).c_str(),
                autodiff::gradient_inputs(*entry).c_str(), cell(entry->doc.text()).c_str());
  }
  return 0;
}

int print_ops(bool json) {
  const auto entries = sorted_entries();
  if (!json) {
    for (const ops::OpDef* entry : entries) {
      const std::string name =
          entry->domain.empty() ? entry->name : cat(entry->domain, ".", entry->name);
      std::printf("%-28s %3d  (%s)  %s\n", name.c_str(), entry->since, inputs_text(*entry).c_str(),
                  entry->doc.text().c_str());
    }
    std::printf("%zu operators\n", entries.size());
    return 0;
  }
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> writer(text);
  writer.StartArray();
  for (const ops::OpDef* entry : entries) {
    writer.StartObject();
    writer.Key("name");
    writer.String(entry->name);
    writer.Key("domain");
    writer.String(entry->domain);
    writer.Key("since");
    writer.Int(entry->since);
    writer.Key("doc");
    writer.String(entry->doc.text());
    writer.Key("inputs");
    writer.StartArray();
    for (const ops::InputDef& input : entry->inputs) {
      writer.StartObject();
      writer.Key("name");
      writer.String(input.name);
      writer.Key("arity");
      writer.String(input.arity == ops::InputDef::required   ? "required"
                    : input.arity == ops::InputDef::optional ? "optional"
                                                             : "variadic");
      writer.Key("types");
      writer.StartArray();
      for (unsigned dtype = 0; dtype < static_cast<unsigned>(ir::DType::index); ++dtype)
        if (input.types & ops::only(static_cast<ir::DType>(dtype)))
          writer.String(std::string(ir::name_of(static_cast<ir::DType>(dtype))));
      writer.EndArray();
      writer.EndObject();
    }
    writer.EndArray();
    writer.Key("outputs");
    writer.StartArray();
    for (const std::string& output : entry->outputs) writer.String(output);
    writer.EndArray();
    writer.Key("attributes");
    writer.StartArray();
    for (const ops::AttributeDef& attribute : entry->attributes) writer.String(attribute.name);
    writer.EndArray();
    writer.EndObject();
  }
  writer.EndArray();
  std::printf("%s\n", text.GetString());
  return 0;
}

}  // namespace

void add_ops(CommandLine& app, Chosen& chosen) {
  auto json = std::make_shared<bool>(false);
  const Command command = app.add_command("ops", "List the operators");
  const Option as_json = command.add_flag("--json", *json, "Machine-readable output");
  auto markdown = std::make_shared<bool>(false);
  command.add_flag("--markdown", *markdown, "The tables of docs/operators.md").excludes(as_json);
  command.chosen([json, markdown, &chosen] {
    chosen.run = [json, markdown] { return *markdown ? print_markdown() : print_ops(*json); };
  });
}

}  // namespace gossamer::command
