// An instance of a module in a store of its own, so that both are freed together.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "runtime/wasm/library.h"

namespace gossamer::runtime::wasm {

// What is compiled once and instantiated for each thread.
class CompiledModule {
 public:
  // Errors: the engine refuses it.
  static Result<CompiledModule> compile(const Library& api, std::span<const std::byte> module);
  const Module* get() const { return module_.get(); }

 private:
  struct Delete {
    const Library* api;
    void operator()(Module* module) const { api->wasmtime_module_delete(module); }
  };
  explicit CompiledModule(Module* module, const Library& api) : module_(module, {&api}) {}
  std::unique_ptr<Module, Delete> module_;
};

// One thread at a time may use it.
class Instance {
 public:
  // Errors: other imports than this memory (null: none), a trap at its start.
  static Result<Instance> make(const Library& api, const Module* module, SharedMemory* memory);

  using Function = Handle;
  // The exported function of that name, with these numbers of arguments and results, all of one
  // kind. Errors: there is none, or it has another type.
  Result<Function> function(const std::string& name, ValueKind kind, size_t arguments,
                            size_t results) const;
  // `values`: the arguments, and then the results. Errors: what it traps with.
  Result<> call(const Function& function, std::span<RawValue> values) const;
  // Points the module's scratch memory to `scratch(bytes)`, where it has any (package.md). Errors:
  // of that; globals of other types.
  template <class Scratch>
  Result<> give_scratch(const Scratch& scratch) const {
    int32_t bytes = 0;
    if (!read_global("scratch_bytes", bytes)) return {};
    if (bytes < 0) return fail("the code asks for scratch memory of a negative size");
    GS_ASSIGN(const uint32_t address, scratch(static_cast<size_t>(bytes)));
    return write_global("scratch", static_cast<int32_t>(address));
  }
  // An exported memory that others may have, too; the caller's from here on. Null: there is none.
  SharedMemory* take_memory(const char* name) const;

 private:
  struct Delete {
    const Library* api;
    void operator()(Store* store) const { api->wasmtime_store_delete(store); }
  };
  Instance(const Library& api, Store* store)
      : api_(&api), store_(store, {&api}), context_(api.wasmtime_store_context(store)) {}
  // Of that kind; its owner is the caller.
  bool find(const char* name, ExternKind kind, Extern& found) const;
  bool read_global(const char* name, int32_t& value) const;
  Result<> write_global(const char* name, int32_t value) const;

  const Library* api_;
  std::unique_ptr<Store, Delete> store_;
  Context* context_;
  Handle instance_;
};

}  // namespace gossamer::runtime::wasm
