#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "inspect/view.h"
#include "inspect/words.h"

namespace gossamer::inspect {
namespace {

void write_layout(rapidjson::Writer<rapidjson::StringBuffer>& json, const records::SeenLayout& one,
                  bool space) {
  if (!space && !one.recorded) return;
  json.StartObject();
  for (const auto& [key, text] : {std::pair("key", one.key),
                                  {"class", one.machine},
                                  {"name", one.name},
                                  {"origin", one.origin},
                                  {name_of(one.rule.of).data(), to_string(one.choice())},
                                  {"rule", to_string(one.rule)}}) {
    json.Key(key);
    json.String(text);
  }
  json.Key("recorded");
  json.Bool(one.recorded.has_value());
  json.Key("layouts");
  json.StartArray();
  for (const auto choice : one.choices()) json.String(to_string(choice));
  json.EndArray();
  json.EndObject();
}

}  // namespace

std::string to_json(const Subject& subject, std::span<const View> views, const Details& details) {
  const graph::Graph& graph = subject.graph;
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> json(text);
  json.StartObject();
  json.Key("name");
  json.String(graph.name);
  json.Key("nodes");
  json.Uint64(graph.nodes.size());
  const auto write_ports = [&](const char* key, const std::vector<graph::ValueId>& ids) {
    json.Key(key);
    json.StartArray();
    for (graph::ValueId id : ids) {
      json.StartObject();
      json.Key("name");
      json.String(graph.values[id].name);
      json.Key("dtype");
      json.String(std::string(ir::name_of(graph.values[id].dtype)));
      json.Key("shape");
      json.String(shape_of(graph.values[id]));
      json.EndObject();
    }
    json.EndArray();
  };
  write_ports("inputs", graph.inputs);
  write_ports("outputs", graph.outputs);
  json.Key("groups");
  json.StartArray();
  for (const stages::PortGroup& group : graph.groups) {
    json.StartObject();
    json.Key("name");
    json.String(group.name);
    json.Key("kind");
    json.String(group.sequence ? "sequence" : "optional");
    json.Key(group.output ? "outputs" : "inputs");
    json.StartArray();
    json.Int(group.first);
    json.Int(group.count);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.Key("operators");
  json.StartObject();
  for (const auto& [name, count] : count_operators(graph)) {
    json.Key(name.c_str());
    json.Int(count);
  }
  json.EndObject();
  json.Key("targets");
  json.StartArray();
  for (const View& seen : views) {
    json.StartObject();
    json.Key("target");
    json.String(seen.target);
    if (!seen.problem.empty()) {
      json.Key("problem");
      json.String(seen.problem);
    } else {
      json.Key("memory_bytes");
      json.Int64(seen.report.memory_bytes);
      json.Key("weight_bytes");
      json.Int64(seen.report.weight_bytes);
      json.Key("package_bytes");
      json.Uint64(seen.package_bytes);
      json.Key("layouts");
      json.StartArray();
      for (const records::SeenLayout& one : seen.layouts) write_layout(json, one, details.space);
      json.EndArray();
      json.Key("kernels");
      json.StartArray();
      for (size_t at = 0; at < seen.report.kernels.size(); ++at) {
        const compiler::KernelReport& kernel = seen.report.kernels[at];
        json.StartObject();
        json.Key("name");
        json.String(kernel.name);
        json.Key("schedule");
        json.String(kernel.schedule);
        json.Key("origin");
        json.String(kernel.origin);
        if (const std::string record = record_of(kernel); !record.empty()) {
          json.Key("record");
          json.String(record);
        }
        if (!kernel.key.empty()) {
          json.Key("key");
          json.String(kernel.key);
          json.Key("class");
          json.String(kernel.machine);
          if (kernel.group) {
            const records::Likeness likeness = records::likeness_of(*kernel.group);
            json.Key("structure");
            json.String(likeness.structure);
            json.Key("extents");
            json.StartArray();
            for (const int64_t extent : likeness.extents) json.Int64(extent);
            json.EndArray();
          }
          json.Key("points");
          json.StartArray();
          for (const std::string& point : seen.spaces[at]) json.String(point);
          json.EndArray();
        }
        json.EndObject();
      }
      json.EndArray();
    }
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return text.GetString();
}

}  // namespace gossamer::inspect
