// gossamer ops: the operator table, from the catalog.
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cstdio>

#include "gossamer/commands.h"
#include "ops/opdef.h"

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
  command->callback([json, &chosen] { chosen.run = [json] { return print_ops(*json); }; });
}

}  // namespace gossamer::command
