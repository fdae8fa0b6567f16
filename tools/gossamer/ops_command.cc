// gossamer ops: the operator table, from the catalog.
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cstdio>

#include "gossamer/commands.h"
#include "ops/cases.h"

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
  for (unsigned dtype = 0; dtype <= static_cast<unsigned>(ir::DType::u2); ++dtype)
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

// An imperative stage runs on the CPU side of a GPU target.
bool imperative(const ops::OpDef& entry) {
  for (const ops::Case& test : entry.cases) {
    const auto defined = ops::define_case(entry, test, ops::case_inputs(entry, test));
    for (const ops::Stage& stage : defined.builder->stages)
      if (stage.kind == ops::StageKind::program) return true;
  }
  return false;
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
      "order, equal neighbours once; `?` marks an optional input, `...` any number of them. \"CPU "
      "side\": on\n"
      "webgpu and webgl the package computes it in wasm, and `report()` says so.\n");
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
                inputs_text(*entry).c_str(), types_of(*entry).c_str(),
                imperative(*entry) ? "cpu, wasm; CPU side" : "all", entry->gradient ? "yes" : "",
                cell(entry->doc).c_str());
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
                  entry->doc.c_str());
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
    writer.String(entry->doc);
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
      for (unsigned dtype = 0; dtype <= static_cast<unsigned>(ir::DType::u2); ++dtype)
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
    writer.Key("gradient");
    writer.Bool(static_cast<bool>(entry->gradient));
    writer.EndObject();
  }
  writer.EndArray();
  std::printf("%s\n", text.GetString());
  return 0;
}

}  // namespace

void add_ops(CLI::App& app, Chosen& chosen) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("ops", "List the operators");
  command->add_flag("--json", *json, "Machine-readable output");
  auto markdown = std::make_shared<bool>(false);
  command->add_flag("--markdown", *markdown, "The tables of docs/operators.md")->excludes("--json");
  command->callback([json, markdown, &chosen] {
    chosen.run = [json, markdown] { return *markdown ? print_markdown() : print_ops(*json); };
  });
}

}  // namespace gossamer::command
