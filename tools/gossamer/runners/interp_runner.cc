// The reference interpreter as a runner: the graph's stages, before any fusion.
#include "base/strings.h"
#include "gossamer/files/model_file.h"
#include "gossamer/runners/runner.h"
#include "interp/stages.h"
#include "ir/build.h"
#include "lower/lower.h"
#include "stages/stage_graph.h"

namespace gossamer::command {
namespace {

std::vector<int64_t> known_shape(const std::vector<ir::Expr>& shape) {
  std::vector<int64_t> known;
  for (const ir::Expr& extent : shape) known.push_back(ir::as_int(extent).value_or(-1));
  return known;
}

// Each port of the stages, or two of them that are a tensor of strings.
void add_ports(const auto& ports, std::vector<Port>& all) {
  for (size_t at = 0; at < ports.size(); ++at) {
    all.push_back({ports[at].name, ports[at].buffer->dtype, known_shape(ports[at].buffer->shape)});
    if (!ports[at].strings) continue;
    all.back().dtype = ir::DType::string;
    all.back().shape.pop_back();
    ++at;
  }
}

class InterpRunner : public Runner {
 public:
  InterpRunner(ModelFile model, stages::StageGraph stages)
      : model_(std::move(model)), stages_(std::move(stages)) {
    add_ports(stages_.inputs, inputs_);
    add_ports(stages_.outputs, outputs_);
  }
  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }
  const std::vector<stages::PortGroup>& groups() const override { return stages_.groups; }

  Result<std::vector<ops::TensorData>> run(const std::vector<ops::TensorData>& given) override {
    GS_TRY(check_feeds(inputs_, given));
    std::vector<ops::TensorData> feeds;
    for (const ops::TensorData& feed : given) {
      if (feed.dtype != ir::DType::string) {
        feeds.push_back(feed);
        continue;
      }
      GS_TRY(packed_width(feed.strings));
      ops::StringsData parts = ops::split_strings(feed);
      feeds.push_back(std::move(parts.bytes));
      feeds.push_back(std::move(parts.lengths));
    }
    interp::Variables dims;
    for (const stages::Dim& dim : stages_.dims)
      dims[dim.var.get()] = ir::Scalar::of_int(
          ir::DType::index,
          feeds[static_cast<size_t>(dim.input)].shape[static_cast<size_t>(dim.axis)]);
    interp::Values values;
    for (const auto& check : stages_.checks)
      if (!interp::evaluate(check.condition, dims, values).truthy()) return fail(check.message);
    for (size_t at = 0; at < feeds.size(); ++at)
      values[stages_.inputs[at].buffer.get()] = feeds[at];
    for (const auto& constant : stages_.constants) {
      GS_ASSIGN(Bytes bytes, constant_bytes(model_, constant.source));
      values[constant.buffer.get()] = {
          constant.source.dtype, constant.source.shape, std::move(bytes), {}};
    }
    GS_TRY(interp::run_program(stages_.program, values, dims));
    std::vector<ops::TensorData> outputs;
    for (size_t at = 0; at < stages_.outputs.size(); ++at) {
      const stages::StageOutput& output = stages_.outputs[at];
      const auto found = values.find(output.buffer.get());
      if (found == values.end())
        return fail_at(cat("output \"", output.name, "\""), "was computed by nothing");
      if (!output.strings) {
        outputs.push_back(found->second);
        continue;
      }
      const auto& lengths = values.at(stages_.outputs[++at].buffer.get());
      GS_ASSIGN(ops::TensorData strings, ops::join_strings(found->second, lengths));
      outputs.push_back(std::move(strings));
    }
    return outputs;
  }

 private:
  ModelFile model_;
  stages::StageGraph stages_;
  std::vector<Port> inputs_, outputs_;
};

}  // namespace

Result<std::unique_ptr<Runner>> make_interp_runner(const ModelFile& model) {
  GS_ASSIGN(stages::StageGraph stages, lower::lower(model.graph, ops::builtin_catalog()));
  return std::make_unique<InterpRunner>(model, std::move(stages));
}

}  // namespace gossamer::command
