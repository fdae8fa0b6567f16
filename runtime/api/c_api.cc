#include "gossamer/gossamer.h"

#include <cstddef>

#include "runtime/api/element_type.h"
#include "runtime/model.h"

using gossamer::runtime::HostTensor;
using gossamer::runtime::Model;
using gossamer::runtime::Port;

struct gossamer_model {
  std::unique_ptr<Model> model;
  std::vector<HostTensor> outputs;                    // of the last run
  std::vector<std::vector<gossamer_string>> strings;  // of its outputs of strings
};

namespace {

thread_local std::string last_error;

gossamer_type type_of(gossamer::ir::DType dtype) {
  return static_cast<gossamer_type>(gossamer::runtime::public_type(dtype));
}

gossamer_tensor describe(const Port& port) {
  return {type_of(port.dtype), port.shape.size(), port.shape.data(), nullptr, 0};
}

int failed(std::string message) {
  last_error = std::move(message);
  return 1;
}

}  // namespace

extern "C" {

const char* gossamer_error(void) { return last_error.c_str(); }

gossamer_model* gossamer_load(const char* folder, int threads) {
  gossamer::runtime::LoadOptions options;
  options.threads = threads;
  auto model = Model::load(folder, std::move(options));
  if (!model) {
    failed(model.error().to_string());
    return nullptr;
  }
  return new gossamer_model{std::move(*model), {}, {}};
}

void gossamer_free(gossamer_model* model) { delete model; }

size_t gossamer_input_count(const gossamer_model* model) { return model->model->inputs().size(); }
size_t gossamer_output_count(const gossamer_model* model) { return model->model->outputs().size(); }
const char* gossamer_input_name(const gossamer_model* model, size_t input) {
  return input < model->model->inputs().size() ? model->model->inputs()[input].name.c_str()
                                               : nullptr;
}
const char* gossamer_output_name(const gossamer_model* model, size_t output) {
  return output < model->model->outputs().size() ? model->model->outputs()[output].name.c_str()
                                                 : nullptr;
}
gossamer_tensor gossamer_input_port(const gossamer_model* model, size_t input) {
  return input < model->model->inputs().size() ? describe(model->model->inputs()[input])
                                               : gossamer_tensor{};
}
gossamer_tensor gossamer_output_port(const gossamer_model* model, size_t output) {
  return output < model->model->outputs().size() ? describe(model->model->outputs()[output])
                                                 : gossamer_tensor{};
}

int gossamer_run(gossamer_model* model, const gossamer_tensor* inputs, size_t input_count,
                 gossamer_tensor* outputs, size_t output_count) {
  std::vector<HostTensor> feeds;
  for (size_t at = 0; at < input_count; ++at) {
    const gossamer_tensor& input = inputs[at];
    if (input.type < GOSSAMER_F32 || input.type > GOSSAMER_STRING)
      return failed("an input has an unknown element type");
    HostTensor feed{gossamer::runtime::dtype_of(static_cast<gossamer::ElementType>(input.type)),
                    {input.shape, input.shape + input.rank},
                    {}};
    if (input.type == GOSSAMER_STRING) {
      const auto* texts = static_cast<const gossamer_string*>(input.data);
      for (size_t i = 0; i < input.bytes / sizeof *texts; ++i)
        feed.strings.emplace_back(texts[i].data, texts[i].bytes);
    } else {
      const auto* begin = static_cast<const std::byte*>(input.data);
      feed.bytes.assign(begin, begin + input.bytes);
    }
    feeds.push_back(std::move(feed));
  }
  auto results = model->model->run(feeds);
  if (!results) return failed(results.error().to_string());
  if (output_count != results->size())
    return failed(
        gossamer::cat("the model has ", results->size(), " outputs, room is for ", output_count));
  model->outputs = std::move(*results);
  model->strings.assign(output_count, {});
  for (size_t at = 0; at < output_count; ++at) {
    const HostTensor& output = model->outputs[at];
    if (output.dtype == gossamer::ir::DType::string) {
      auto& texts = model->strings[at];
      for (const std::string& text : output.strings) texts.push_back({text.data(), text.size()});
      outputs[at] = {GOSSAMER_STRING, output.shape.size(), output.shape.data(), texts.data(),
                     texts.size() * sizeof(gossamer_string)};
      continue;
    }
    outputs[at] = {type_of(output.dtype), output.shape.size(), output.shape.data(),
                   output.bytes.data(), output.bytes.size()};
  }
  return 0;
}

}  // extern "C"
