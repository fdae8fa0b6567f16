#include "codegen/c/emit.h"

#include "codegen/c/function_emitter.h"

namespace gossamer::codegen::c {
namespace {

std::string kernel_text(const ir::Kernel& kernel, const std::string& name, Operations& operations) {
  FunctionEmitter emitter(operations);
  for (size_t at = 0; at < kernel.params.size(); ++at)
    emitter.bind(kernel.params[at].buffer.get(), cat("b", at));
  for (size_t at = 0; at < kernel.scalars.size(); ++at)
    emitter.bind(kernel.scalars[at].get(), cat("s", at));
  emitter.emit_kernel(kernel.body);
  std::string text =
      cat("\nstatic void ", name, "(gs_word begin, gs_word end, void* const* arguments) {\n");
  for (size_t at = 0; at < kernel.params.size(); ++at) {
    const ir::Kernel::Param& param = kernel.params[at];
    if (!emitter.uses(param.buffer.get())) continue;
    const std::string type =
        cat(param.written ? "" : "const ", memory_name(param.buffer->storage), "*");
    text += cat("  ", type, " const b", at, " = (", type, ")arguments[", at, "];\n");
  }
  for (size_t at = 0; at < kernel.scalars.size(); ++at) {
    if (!emitter.uses(kernel.scalars[at].get())) continue;
    text +=
        cat("  const gs_word s", at, " = (gs_word)arguments[", kernel.params.size() + at, "];\n");
  }
  return cat(text, emitter.text(), "}\n");
}

std::string plan_text(const PlanFunction& plan, int segment, Operations& operations) {
  FunctionEmitter emitter(operations);
  for (size_t at = 0; at < plan.dims.size(); ++at)
    emitter.bind(plan.dims[at].get(), cat("variables[", at, "]"));
  for (size_t at = 0; at < plan.values.size(); ++at) {
    if (plan.segment_of(at) != segment) continue;
    const std::string value = emitter.value(plan.values[at]);
    emitter.line(cat("values[", at, "] = ", value, ";"));
  }
  return cat("\nstatic void ", segment_name(segment),
             "(const double* variables, double* values) {\n", emitter.text(),
             "  (void)variables;\n  (void)values;\n}\n");
}

}  // namespace

std::string emit_source(std::span<const ir::Kernel> kernels, const PlanFunction* plan) {
  Operations operations;
  std::string text;
  for (size_t at = 0; at < kernels.size(); ++at)
    text += kernel_text(kernels[at], cat("k", at), operations);
  const PlanFunction numbers = plan ? in_doubles(*plan) : PlanFunction();
  for (int segment = 0; plan && segment < plan->segment_count(); ++segment)
    text += plan_text(numbers, segment, operations);
  return operations.text() + text;
}

}  // namespace gossamer::codegen::c
