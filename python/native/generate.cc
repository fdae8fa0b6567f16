#include "generate.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <utility>

#include "errors.h"
#include "tensors.h"

namespace gossamer::python {

namespace nb = nanobind;

std::optional<int64_t> Generation::next() {
  Result<std::optional<Token>> token = [&] {
    const nb::gil_scoped_release release;
    return generator_->next();
  }();
  std::optional<Token> made = value_of(std::move(token));
  if (!made) return std::nullopt;
  last_ = *std::move(made);
  return last_.id;
}

namespace {

const char* name_of(GenerationEnd end) {
  switch (end) {
    case GenerationEnd::stop:
      return "stop";
    case GenerationEnd::length:
      return "length";
    case GenerationEnd::none:
      return "";
  }
  std::unreachable();
}

nb::list top_of(const Token& token) {
  nb::list top;
  for (const LogProbability& each : token.top) top.append(nb::make_tuple(each.id, each.value));
  return top;
}

std::map<std::string, runtime::HostTensor> tensors_of(const nb::dict& feeds) {
  std::map<std::string, runtime::HostTensor> given;
  for (auto [name, value] : feeds) {
    const Given tensor(value);
    const std::span<const std::byte> bytes = tensor.bytes();
    given[nb::cast<std::string>(name)] = {tensor.dtype, tensor.shape, {bytes.begin(), bytes.end()}};
  }
  return given;
}

std::vector<int32_t> mask_of(const nb::bytes& bytes) {
  std::vector<int32_t> mask(bytes.size() / sizeof(int32_t));
  std::memcpy(mask.data(), bytes.data(), mask.size() * sizeof(int32_t));
  return mask;
}

}  // namespace

const char* Generation::how() const { return name_of(generator_->how()); }

runtime::Batch& GenerationBatch::open() {
  if (!batch_) fail("generate()", "the batch is closed", "begin another one");
  return *batch_;
}

int64_t GenerationBatch::add(const std::vector<int64_t>& prompt, const GenerateOptions& options,
                             const nb::bytes& mask) {
  return value_of(open().add(prompt, options, mask_of(mask)));
}

void GenerationBatch::restrict(int64_t text, const nb::bytes& mask) {
  const Result<> done = open().restrict(text, mask_of(mask));
  if (!done) fail(done.error().where, done.error().message, done.error().hint);
}

nb::list GenerationBatch::step() {
  runtime::Batch& batch = open();
  const std::vector<runtime::BatchStep> steps = [&] {
    const nb::gil_scoped_release release;
    return batch.step();
  }();
  nb::list given;
  for (const runtime::BatchStep& each : steps) {
    nb::object id = nb::none(), error = nb::none();
    if (each.token) id = nb::int_(each.token->id);
    if (each.error)
      error = nb::make_tuple(each.error->message, each.error->where, each.error->hint);
    const Token none;
    const Token& token = each.token ? *each.token : none;
    given.append(nb::make_tuple(each.text, id, name_of(each.end), token.logprob, top_of(token),
                                error, each.reused));
  }
  return given;
}

std::unique_ptr<GenerationBatch> make_batch(runtime::Model& model, int64_t places,
                                            int64_t prompt_chunk, const nb::dict& feeds) {
  std::map<std::string, runtime::HostTensor> given = tensors_of(feeds);
  auto made = [&] {
    const nb::gil_scoped_release release;
    return runtime::Batch::begin(model, {places, prompt_chunk}, std::move(given));
  }();
  return std::make_unique<GenerationBatch>(value_of(std::move(made)));
}

std::unique_ptr<Generation> make_generation(runtime::Model& model,
                                            const std::vector<int64_t>& prompt,
                                            const GenerateOptions& options, const nb::dict& feeds,
                                            const runtime::TextCache* cache) {
  std::map<std::string, runtime::HostTensor> given = tensors_of(feeds);
  auto made = [&] {
    const nb::gil_scoped_release release;
    return runtime::Generator::begin(model, prompt, options, std::move(given), cache);
  }();
  return std::make_unique<Generation>(value_of(std::move(made)));
}

void define_generate(nb::module_& m) {
  nb::class_<GenerateOptions>(m, "GenerateOptions")
      .def(nb::init<>())
      .def_rw("max_tokens", &GenerateOptions::max_tokens)
      .def_rw("stop_tokens", &GenerateOptions::stop_tokens)
      .def_rw("temperature", &GenerateOptions::temperature)
      .def_rw("top_k", &GenerateOptions::top_k)
      .def_rw("top_p", &GenerateOptions::top_p)
      .def_rw("min_p", &GenerateOptions::min_p)
      .def_rw("repetition_penalty", &GenerateOptions::repetition_penalty)
      .def_rw("presence_penalty", &GenerateOptions::presence_penalty)
      .def_rw("frequency_penalty", &GenerateOptions::frequency_penalty)
      .def_rw("logit_bias", &GenerateOptions::logit_bias)
      .def_rw("seed", &GenerateOptions::seed)
      .def_rw("ahead", &GenerateOptions::ahead)
      .def_rw("prompt_chunk", &GenerateOptions::prompt_chunk)
      .def_rw("top_logprobs", &GenerateOptions::top_logprobs)
      .def_rw("prompt_lookup_num_tokens", &GenerateOptions::prompt_lookup_num_tokens);
  using runtime::TextCache;
  nb::class_<TextCache>(m, "GenerationCache")
      .def(nb::init<>())
      .def_prop_ro("tokens", &TextCache::tokens)
      .def_prop_ro("reused", &TextCache::reused)
      .def("fork", [](const TextCache& from) { return value_of(from.fork()); })
      .def("save",
           [](const TextCache& from) {
             Result<std::vector<std::byte>> file = [&] {
               const nb::gil_scoped_release release;
               return from.save();
             }();
             const std::vector<std::byte> bytes = value_of(std::move(file));
             return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
           })
      .def_static(
          "load",
          [](const nb::bytes& file) {
            const std::span bytes(static_cast<const std::byte*>(file.data()), file.size());
            return value_of(TextCache::load(bytes));
          },
          nb::arg("file"));
  nb::class_<Generation>(m, "Generation")
      .def("next", &Generation::next)
      .def("close", &Generation::close)
      .def_prop_ro("how", &Generation::how)
      .def_prop_ro("logprob", [](const Generation& from) { return from.last().logprob; })
      .def_prop_ro("top", [](const Generation& from) { return top_of(from.last()); });
  nb::class_<GenerationBatch>(m, "GenerationBatch")
      .def("add", &GenerationBatch::add)
      .def("restrict", &GenerationBatch::restrict)
      .def("remove", &GenerationBatch::remove)
      .def("step", &GenerationBatch::step)
      .def("close", &GenerationBatch::close)
      .def_prop_ro("places", &GenerationBatch::places)
      .def_prop_ro("running", &GenerationBatch::running)
      .def_prop_ro("waiting", &GenerationBatch::waiting);
}

}  // namespace gossamer::python
