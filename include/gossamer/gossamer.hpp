// Gossamer's C++ API: load a package that `gossamer compile --target cpu` wrote, and run it.
//
//   #include <gossamer/gossamer.hpp>
//   auto model = gossamer::load("digits/").value();
//   auto image = gossamer::Tensor::of<float>({1, 1, 28, 28}, pixels);
//   auto outputs = model.run({{"image", image}}).value();
//   std::span<const float> scores = outputs.at("scores").data<float>().value();
//
// Nothing throws: what can go wrong is a std::expected with an Error, one line for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/bytes.hpp"
#include "gossamer/element_types.h"
#include "gossamer/export.h"
#include "gossamer/generate.hpp"
#include "gossamer/profile.hpp"

namespace gossamer {

struct GOSSAMER_API Error {
  std::string where;  // a file, an input; may be empty
  std::string message;
  std::string hint;  // what to do; may be empty
  std::string to_string() const;
};

// Element types, f32 and so on: see element_types.h. f16 and bf16 are passed as their 16 bits,
// boolean as a byte. Types from f8e4m3fn on are ONNX's of eight bits and less, one element a byte:
// the code of a float, the value of an integer; of four- and two-bit ones the low bits count.
// Strings are UTF-8.
#define GOSSAMER_TYPE(NAME, name, text, kind, bits, onnx) name,
enum class ElementType : uint8_t { GOSSAMER_ELEMENT_TYPES(GOSSAMER_TYPE) };
#undef GOSSAMER_TYPE

template <class T>
constexpr ElementType element_type_of() = delete;
template <>
constexpr ElementType element_type_of<float>() {
  return ElementType::f32;
}
template <>
constexpr ElementType element_type_of<double>() {
  return ElementType::f64;
}
template <>
constexpr ElementType element_type_of<int8_t>() {
  return ElementType::i8;
}
template <>
constexpr ElementType element_type_of<int16_t>() {
  return ElementType::i16;
}
template <>
constexpr ElementType element_type_of<int32_t>() {
  return ElementType::i32;
}
template <>
constexpr ElementType element_type_of<int64_t>() {
  return ElementType::i64;
}
template <>
constexpr ElementType element_type_of<uint8_t>() {
  return ElementType::u8;
}
template <>
constexpr ElementType element_type_of<uint16_t>() {
  return ElementType::u16;
}
template <>
constexpr ElementType element_type_of<uint32_t>() {
  return ElementType::u32;
}
template <>
constexpr ElementType element_type_of<uint64_t>() {
  return ElementType::u64;
}
template <>
constexpr ElementType element_type_of<bool>() {
  return ElementType::boolean;
}

GOSSAMER_API size_t byte_size(ElementType type);  // of an element in memory; 0 for strings

// A dense tensor in host memory, row-major. A value: copies are independent.
class GOSSAMER_API Tensor {
 public:
  Tensor() = default;
  // Whether the bytes fit the shape is checked when the tensor is used.
  Tensor(ElementType type, std::vector<int64_t> shape, TensorBytes bytes);
  template <class T>
  static Tensor of(std::vector<int64_t> shape, std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    return Tensor(element_type_of<T>(), std::move(shape), {bytes.begin(), bytes.end()});
  }
  static Tensor of_strings(std::vector<int64_t> shape, std::vector<std::string> values);
  ElementType type() const { return type_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  // The elements; an error where they are of another type.
  template <class T>
  std::expected<std::span<const T>, Error> data() const {
    if (type_ != element_type_of<T>()) return std::unexpected(wrong_type(element_type_of<T>()));
    return std::span<const T>(reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T));
  }
  // The elements of a tensor of strings; none of any other.
  const std::vector<std::string>& strings() const { return strings_; }

 private:
  Error wrong_type(ElementType asked) const;
  ElementType type_ = ElementType::f32;
  std::vector<int64_t> shape_;
  TensorBytes bytes_;
  std::vector<std::string> strings_;
};

struct Port {
  std::string name;
  ElementType type;
  std::vector<int64_t> shape;  // -1 where it depends on the inputs
};

// Which inputs are what an output was in the run before: caches of keys and values, weights in
// training.
struct StateOptions {
  std::map<std::string, std::string> pairs = {};  // input to output
  bool by_name = false;                           // also each past... with its present...
  // How many rows states have room for at once, where the package was compiled to write them in
  // place (CompileOptions::state): the longest that a sequence becomes. 0: half as much again
  // whenever there is too little.
  int64_t rows = 0;
};

struct LoadOptions {
  int threads = 0;  // 0: one a core
  // The model keeps these: runs are neither given the inputs nor give the outputs, Model::state()
  // has them. Errors of load(): no such input or output, two of another type or rank.
  StateOptions state = {};
};

// Times in milliseconds, sizes in bytes.
struct KernelReport {
  std::string kernel, schedule, origin;
  int64_t times = 0;  // that it ran: more than once in loops, never in branches not taken
};
struct Report {
  std::string device;
  double load_ms = 0, last_run_ms = 0;
  int64_t memory_bytes = 0, weight_bytes = 0;
  std::vector<KernelReport> kernels;  // of the last run, in order
};

// What a model keeps from run to run, by the names of its inputs. A run that fails leaves it as it
// was, as profile() does. States that the package writes in place stay on the device, others on the
// host. Errors of all by name: no such state.
class GOSSAMER_API ModelState {
 public:
  // The inputs that are state.
  const std::vector<Port>& ports() const;
  // What the next run begins with, without gaps; nothing at the beginning, which is zeros, of
  // length 0 along axes that nothing else tells.
  std::expected<std::optional<Tensor>, Error> read(const std::string& name) const;
  // From here on the next run begins with this. Errors: another type or shape.
  std::expected<void, Error> write(const std::string& name, const Tensor& value);
  // Back to the beginning, all of it.
  void reset();
  // Rows that there is memory for before more has to be made; 0 before the first run, and for a
  // state that is not written in place.
  std::expected<int64_t, Error> capacity(const std::string& name) const;

 private:
  struct State;
  friend class Model;
  State* state_ = nullptr;
};

// What a language model keeps of a text (GenerateOptions::cache). It starts empty; a generation
// that ends leaves the state of its prompt and its text here. The model that made the state has it
// in its own memory until its state changes, and then copies it to the host. One generation at a
// time goes on from a cache; calls of one cache from several threads are the caller's to order.
class GOSSAMER_API GenerationCache {
 public:
  GenerationCache();
  GenerationCache(GenerationCache&&) noexcept;
  GenerationCache& operator=(GenerationCache&&) noexcept;
  ~GenerationCache();
  // The tokens whose state it has.
  std::vector<int64_t> tokens() const;
  // How many tokens of the latest prompt were not computed again.
  int64_t reused() const;
  // A cache of the same tokens, which goes its own way. Errors: a generation is under way.
  std::expected<GenerationCache, Error> fork() const;
  // A file in the safetensors format: `tokens`, and each state by the name of its input. Every run
  // time can load it for the same model, whatever the target. Errors: a generation is under way, a
  // device that is lost.
  std::expected<std::vector<std::byte>, Error> save() const;
  // Errors: other bytes. Whether they are of the model shows when they are used.
  static std::expected<GenerationCache, Error> load(std::span<const std::byte> bytes);

 private:
  struct State;
  explicit GenerationCache(std::unique_ptr<State> state);
  friend class Model;
  std::unique_ptr<State> state_;
};

// The tokens that follow a prompt: what Model::generate gives. The model must stay until it is
// destroyed. Destroying it ends the text: Model::state() is then that of the prompt and the tokens
// that were given, but for the last one where no run was fed with it.
//
//   for (const auto& token : generation) {
//     if (!token) return report(token.error());
//     show(tokenizer.decode(token->id));
//   }
class GOSSAMER_API Generation {
 public:
  Generation(Generation&&) noexcept;
  Generation& operator=(Generation&&) noexcept;
  ~Generation();
  // Nothing at the end, and after an error. Errors: a prompt or a text that is longer than the
  // model's context, a device that is lost; tokens that were given before remain valid.
  std::expected<std::optional<Token>, Error> next();
  // How it ended: by a stop token, by `max_tokens`, or not yet (also: by an error).
  GenerationEnd how() const;

  // For range-based loops, once: an error is the last value.
  class Iterator {
   public:
    using value_type = std::expected<Token, Error>;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(Generation& from) : from_(&from) { ++*this; }
    const value_type& operator*() const { return *now_; }
    const value_type* operator->() const { return &*now_; }
    Iterator& operator++() {
      auto next = from_->next();
      now_.reset();
      if (!next)
        now_.emplace(std::unexpect, std::move(next.error()));
      else if (*next)
        now_.emplace(**std::move(next));
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !now_; }

   private:
    Generation* from_;
    std::optional<value_type> now_;
  };
  Iterator begin() { return Iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  struct State;
  explicit Generation(std::unique_ptr<State> state);
  friend class Model;
  std::unique_ptr<State> state_;
};

// What a step of a batch gives of one text.
struct BatchToken {
  int64_t text = 0;                           // its number
  std::optional<Token> token = std::nullopt;  // nothing: a stop token or an error ended the text
  GenerationEnd end = GenerationEnd::none;    // otherwise the text is over
  std::optional<Error> error = std::nullopt;  // of its runs; the text is over
  int64_t reused = 0;                         // tokens of its prompt that other texts had computed
};

// Texts that are generated together: what Model::generate_batch gives. A run computes the next
// token of all of them, and a text is what generate() gives for it alone: with the same tokens
// where the kernels round the same, as those of the CPU do. Texts join and leave between steps;
// prompts have any lengths. What a prompt shares with the beginning of another text, one of those
// that run or of the latest that ended, is not computed again. The model must stay until it is
// destroyed, and then begins anew. Calls from several threads are the caller's to order.
class GOSSAMER_API GenerationBatch {
 public:
  GenerationBatch(GenerationBatch&&) noexcept;
  GenerationBatch& operator=(GenerationBatch&&) noexcept;
  ~GenerationBatch();
  // Another text, which waits for a place; gives its number. Of the options, `ahead`,
  // `prompt_lookup_num_tokens` and `cache` have no effect. `mask`: a bit for each token that may be
  // the first one, the lowest bit first; empty: all. Errors: as of generate().
  std::expected<int64_t, Error> add(std::span<const int64_t> prompt,
                                    const GenerateOptions& options = {},
                                    std::span<const int32_t> mask = {});
  // Which tokens may be the next one of a text, until this is called again. Errors: a mask of
  // another length, or without a token.
  std::expected<void, Error> restrict(int64_t text, std::span<const int32_t> mask);
  // Ends a text.
  void remove(int64_t text);
  // Feeds the latest token of each text that has begun, and a part of the prompts that wait. Gives
  // at most one entry a text.
  std::vector<BatchToken> step();
  // How many texts runs compute together, at most. 1: the model cannot have texts of different
  // lengths in one run, so they are generated one after the other.
  int64_t places() const;
  // Texts that have begun, and those that wait for a place or for the rest of their prompt.
  size_t running() const;
  size_t waiting() const;

 private:
  struct State;
  explicit GenerationBatch(std::unique_ptr<State> state);
  friend class Model;
  std::unique_ptr<State> state_;
};

class GOSSAMER_API Model {
 public:
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();
  // Of runs: without what is state.
  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  // Of this model, and as long as it is there; without LoadOptions::state it has none.
  ModelState state() const;
  // Every input by name, but for those with a default; gives every output by name. May be called
  // from several threads, which take turns. Errors: an input that is missing, unknown, of another
  // type or shape.
  std::expected<std::map<std::string, Tensor>, Error> run(
      const std::map<std::string, Tensor>& inputs);
  // The tokens that follow a prompt, of a language model that was compiled with `state` and
  // `generate` (CompileOptions) and loaded with its state by name; the state begins empty. `feeds`:
  // inputs that it does not know, which are other than tokens, mask and positions. Errors: a
  // package that does not choose tokens, an empty prompt, a token outside of the vocabulary, an
  // option out of its range, another generation of this model or of its cache that has not ended, a
  // cache of another model.
  std::expected<Generation, Error> generate(std::span<const int64_t> prompt,
                                            const GenerateOptions& options = {},
                                            const std::map<std::string, Tensor>& feeds = {});
  // Several texts at once, which are added to what this gives. It holds the model as a generation
  // does. Errors: as of generate().
  std::expected<GenerationBatch, Error> generate_batch(
      const BatchOptions& options = {}, const std::map<std::string, Tensor>& feeds = {});
  Report report() const;
  // Where the time of a run with these inputs goes. Other calls wait meanwhile. Errors: as of
  // run().
  std::expected<Profile, Error> profile(const std::map<std::string, Tensor>& inputs,
                                        const ProfileOptions& options = {});

 private:
  struct State;
  explicit Model(std::unique_ptr<State> state);
  friend GOSSAMER_API std::expected<Model, Error> load(const std::string& folder,
                                                       const LoadOptions& options);
  std::unique_ptr<State> state_;
};

// A package for cpu, or for opencl, opengl, webgpu or webgl, which run on the first GPU with a
// driver, or else on a driver in software; webgpu through wgpu-native or Dawn, which
// GOSSAMER_WEBGPU_LIBRARY may name, webgl through OpenGL ES 3.0 or OpenGL 3.3. One for wasm runs in
// an engine without JavaScript, wasmtime 36 or newer, which GOSSAMER_WASMTIME_LIBRARY may name.
// Errors: a driver or library that is not installed, a folder that holds no package, one of another
// version or target, damaged files.
GOSSAMER_API std::expected<Model, Error> load(const std::string& folder,
                                              const LoadOptions& options = {});

}  // namespace gossamer
