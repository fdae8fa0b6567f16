#include "runtime/wasm/instance.h"

#include <algorithm>
#include <cstring>

namespace gossamer::runtime::wasm {

Result<CompiledModule> CompiledModule::compile(const Library& api,
                                               std::span<const std::byte> module) {
  auto compiled = api.compile(module);
  if (!compiled) return fail(cat("the engine refuses the kernels: ", compiled.error().message));
  return CompiledModule(*compiled, api);
}

Result<Instance> Instance::make(const Library& api, const Module* module, SharedMemory* memory) {
  Store* const store = api.wasmtime_store_new(api.engine, nullptr, nullptr);
  if (!store) return fail("wasmtime makes no store");
  Instance made(api, store);
  Extern import;
  import.kind = extern_shared_memory;
  import.of.shared_memory = memory;
  Trap* trap = nullptr;
  Error* const error = api.wasmtime_instance_new(made.context_, module, &import, memory ? 1 : 0,
                                                 &made.instance_, &trap);
  GS_TRY(api.check(error, trap));
  return made;
}

bool Instance::find(const char* name, ExternKind kind, Extern& found) const {
  if (!api_->wasmtime_instance_export_get(context_, &instance_, name, std::strlen(name), &found))
    return false;
  if (found.kind == kind) return true;
  api_->wasmtime_extern_delete(&found);
  return false;
}

Result<Instance::Function> Instance::function(const std::string& name, ValueKind kind,
                                              size_t arguments, size_t results) const {
  Extern found;
  if (!find(name.c_str(), extern_function, found))
    return fail(cat("the code has no function ", name));
  const Function function = found.of.handle;
  FunctionType* const type = api_->wasmtime_func_type(context_, &function);
  const auto fits = [&](const ValueTypes* types, size_t count) {
    return types->size == count && std::all_of(types->data, types->data + count, [&](auto* one) {
             return api_->wasm_valtype_kind(one) == kind;
           });
  };
  const bool right = fits(api_->wasm_functype_params(type), arguments) &&
                     fits(api_->wasm_functype_results(type), results);
  api_->wasm_functype_delete(type);
  if (!right) return fail(cat("the code's function ", name, " is of another type"));
  return function;
}

Result<> Instance::call(const Function& function, std::span<RawValue> values) const {
  Trap* trap = nullptr;
  Error* const error =
      api_->wasmtime_func_call_unchecked(context_, &function, values.data(), values.size(), &trap);
  return api_->check(error, trap);
}

bool Instance::read_global(const char* name, int32_t& value) const {
  Extern found;
  if (!find(name, extern_global, found)) return false;
  Value read;
  api_->wasmtime_global_get(context_, &found.of.handle, &read);
  value = read.i32;
  return read.kind == kind_i32;
}

Result<> Instance::write_global(const char* name, int32_t value) const {
  Extern found;
  if (!find(name, extern_global, found)) return fail(cat("the code has no global ", name));
  Value written;
  written.i32 = value;
  return api_->check(api_->wasmtime_global_set(context_, &found.of.handle, &written));
}

SharedMemory* Instance::take_memory(const char* name) const {
  Extern found;
  if (!find(name, extern_shared_memory, found)) return nullptr;
  return found.of.shared_memory;
}

}  // namespace gossamer::runtime::wasm
