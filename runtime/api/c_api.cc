#include "gossamer/gossamer.h"

#include <cstddef>
#include <span>

#include "runtime/api/element_type.h"
#include "runtime/model.h"

using gossamer::cat;
using gossamer::fail_at;
using gossamer::Result;
using gossamer::ir::DType;
using gossamer::runtime::c_type;
using gossamer::runtime::dtype_of;
using gossamer::runtime::HostTensor;
using gossamer::runtime::Model;
using gossamer::runtime::Port;
using gossamer::runtime::shape_text;
using gossamer::runtime::TensorView;

struct gossamer_model {
  std::unique_ptr<Model> model;
  std::vector<HostTensor> outputs;                    // of the last run
  std::vector<std::vector<gossamer_string>> strings;  // of its outputs of strings
};

namespace {

thread_local std::string last_error;

gossamer_tensor describe(const std::vector<Port>& ports, size_t at) {
  if (at >= ports.size()) return {};
  const Port& port = ports[at];
  return {c_type(port.dtype), port.shape.size(), port.shape.data(), nullptr, 0};
}

const char* name_of(const std::vector<Port>& ports, size_t at) {
  return at < ports.size() ? ports[at].name.c_str() : nullptr;
}

int failed(std::string message) {
  last_error = std::move(message);
  return 1;
}

const std::vector<Port>& ports_of(const gossamer_model* model, bool inputs) {
  static const std::vector<Port> none;
  if (!model) return none;
  return inputs ? model->model->inputs() : model->model->outputs();
}

// A caller's tensor, whose numbers all fit the port before a byte of it is read. Strings are copied
// to `strings`, which the view then shows.
Result<TensorView> feed_of(const Port& port, const gossamer_tensor& input,
                           std::vector<std::string>& strings) {
  const std::string where = cat("input \"", port.name, "\"");
  const auto dtype = dtype_of(input.type);
  if (!dtype) return fail_at(where, "has an unknown element type", "see gossamer_type");
  if (*dtype != port.dtype)
    return fail_at(where, cat("is ", gossamer::ir::name_of(port.dtype), ", the tensor given is ",
                              gossamer::ir::name_of(*dtype)));
  if (input.rank != port.shape.size())
    return fail_at(where,
                   cat("has rank ", port.shape.size(), ", the tensor given has ", input.rank));
  if (!input.shape && input.rank > 0) return fail_at(where, "has no shape: it is NULL");
  TensorView feed{*dtype, {input.shape, input.rank}, {}};
  size_t bytes = *dtype == DType::string ? sizeof(gossamer_string)
                                         : static_cast<size_t>(gossamer::ir::byte_size(*dtype));
  for (int64_t extent : feed.shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(extent), &bytes))
      return fail_at(where, cat("has shape ", shape_text(feed.shape), ", which has no size"));
  if (bytes != input.bytes)
    return fail_at(where, cat("has ", input.bytes, " bytes, shape ", shape_text(feed.shape),
                              " takes ", bytes));
  if (bytes == 0) return feed;
  if (!input.data) return fail_at(where, "has no data: it is NULL");
  if (*dtype != DType::string) {
    feed.bytes = {static_cast<const std::byte*>(input.data), bytes};
    return feed;
  }
  for (const gossamer_string& text : std::span(static_cast<const gossamer_string*>(input.data),
                                               bytes / sizeof(gossamer_string))) {
    if (!text.data && text.bytes > 0) return fail_at(where, "has a string whose data is NULL");
    strings.emplace_back(text.data ? text.data : "", text.bytes);
  }
  feed.strings = strings;
  return feed;
}

}  // namespace

extern "C" {

const char* gossamer_error(void) { return last_error.c_str(); }

gossamer_model* gossamer_load(const char* folder, int threads) {
  if (!folder) {
    failed("the folder is NULL");
    return nullptr;
  }
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

size_t gossamer_input_count(const gossamer_model* model) { return ports_of(model, true).size(); }
size_t gossamer_output_count(const gossamer_model* model) { return ports_of(model, false).size(); }
const char* gossamer_input_name(const gossamer_model* model, size_t input) {
  return name_of(ports_of(model, true), input);
}
const char* gossamer_output_name(const gossamer_model* model, size_t output) {
  return name_of(ports_of(model, false), output);
}
gossamer_tensor gossamer_input_port(const gossamer_model* model, size_t input) {
  return describe(ports_of(model, true), input);
}
gossamer_tensor gossamer_output_port(const gossamer_model* model, size_t output) {
  return describe(ports_of(model, false), output);
}

int gossamer_run(gossamer_model* model, const gossamer_tensor* inputs, size_t input_count,
                 gossamer_tensor* outputs, size_t output_count) {
  if (!model) return failed("the model is NULL");
  const auto& ports = ports_of(model, true);
  if (input_count != ports.size())
    return failed(cat("the model has ", ports.size(), " inputs, ", input_count, " are given"));
  const size_t made = ports_of(model, false).size();
  if (output_count != made)
    return failed(cat("the model has ", made, " outputs, room is for ", output_count));
  if (!inputs && input_count > 0) return failed("the inputs are NULL");
  if (!outputs && output_count > 0) return failed("the outputs are NULL");
  std::vector<TensorView> feeds;
  std::vector<std::vector<std::string>> strings(input_count);
  for (size_t at = 0; at < input_count; ++at) {
    auto feed = feed_of(ports[at], inputs[at], strings[at]);
    if (!feed) return failed(feed.error().to_string());
    feeds.push_back(*feed);
  }
  if (auto done = model->model->run(feeds, model->outputs); !done)
    return failed(done.error().to_string());
  model->strings.assign(output_count, {});
  for (size_t at = 0; at < output_count; ++at) {
    const HostTensor& output = model->outputs[at];
    const void* data = output.bytes.data();
    size_t bytes = output.bytes.size();
    if (output.dtype == DType::string) {
      auto& texts = model->strings[at];
      for (const std::string& text : output.strings) texts.push_back({text.data(), text.size()});
      data = texts.data();
      bytes = texts.size() * sizeof(gossamer_string);
    }
    outputs[at] = {c_type(output.dtype), output.shape.size(), output.shape.data(), data, bytes};
  }
  return 0;
}

}  // extern "C"
