/* What a compiled model is to the run time in C: words that src/library writes and model.c walks.
   Words are 64 bits on every machine; a "number" is two of them, see gs_number. */
#ifndef GOSSAMER_PROGRAM_H
#define GOSSAMER_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Where things lie in the words; _AT: the word where a table begins. */
enum {
  GS_DIMS,         /* sizes that the caller names: the first members of `values` */
  GS_VARIABLES,    /* rows {dim or -1}: what the plan is computed from */
  GS_VARIABLES_AT, /* */
  GS_INPUTS,       /* rows of GS_PORT_WORDS */
  GS_INPUTS_AT,
  GS_OUTPUTS, /* the same */
  GS_OUTPUTS_AT,
  GS_SLOTS, /* rows of GS_SLOT_WORDS */
  GS_SLOTS_AT,
  GS_WEIGHTS, /* rows of GS_WEIGHT_WORDS: copied when the model is made */
  GS_WEIGHTS_AT,
  GS_WEIGHT_BYTES, /* of all, as they lie */
  GS_WEIGHT_SUM,   /* their checksum (gs_sum) where they are the caller's, else 0 */
  GS_CHECKS,       /* rows of GS_CHECK_WORDS */
  GS_CHECKS_AT,
  GS_INIT, /* words, each where a launch begins; run once */
  GS_INIT_AT,
  GS_RUN, /* the same, of a run */
  GS_RUN_AT,
  GS_STEPS, /* words of the steps; 0: all of run, in order */
  GS_STEPS_AT,
  GS_PLAN_VALUES,
  GS_ARGUMENTS,    /* of a kernel, at most */
  GS_STATIC_BYTES, /* slots of known size together, with what lies around them */
  GS_NEEDS,        /* of the processor: 0 nothing, or one of the enumeration below */
  GS_SHADERS,      /* rows of GS_SHADER_WORDS, one a kernel, where a GPU has a part */
  GS_SHADERS_AT,
  GS_FAST_INIT_AT, /* as GS_INIT_AT and GS_RUN_AT, for GPUs in hardware */
  GS_FAST_RUN_AT,
  GS_SPENT, /* words: slots that nothing needs once GS_INIT is done */
  GS_SPENT_AT,
  GS_HEADER_WORDS
};

enum { GS_NEEDS_AVX2 = 1, GS_NEEDS_AVX512, GS_NEEDS_AVX512_VNNI, GS_NEEDS_AVX_VNNI };

/* {slot, bytes of an element, rank, where its extents begin, text: its name, 1 where a run decides
   its shape, text: its type as NumPy has it, element kinds: of the values, as they are stored}; an
   extent of an input is {dim or -1, known extent}, of an output a number. */
enum { GS_PORT_WORDS = 9 };
/* {kind, number: bytes, segment of the plan} and, of a constant, its offset in the weights. */
enum { GS_SLOT_WORDS = 5 };
enum { GS_SLOT_MEMORY, GS_SLOT_CONSTANT, GS_SLOT_GPU };
/* {slot, offset, bytes, element kinds: as they lie, as the slot stores them} */
enum { GS_WEIGHT_WORDS = 5 };
/* {text: its WGSL, or -1: of the CPU, bytes of the text, or its place in gossamer_kernels, buffers,
   writes, scalars} */
enum { GS_SHADER_WORDS = 5 };
/* {number, segment, most or -1, text} */
enum { GS_CHECK_WORDS = 5 };
/* A launch: {kernel, number: range, buffers, scalars, slot..., number...}. */

/* docs/specs/host.md; lists of steps have their words counted before them.
   launch {first, last}; read {slot, element kind, variable, count, input or -1}; plan {segment};
   set {count, (variable, number)...}; branch {number, then words, else words, ...};
   loop {number, variable, condition or -1, words, ...};
   copy {slot, element kind, to slot, element kind, numbers: elements of both} */
enum {
  GS_STEP_LAUNCH,
  GS_STEP_READ,
  GS_STEP_PLAN,
  GS_STEP_SET,
  GS_STEP_BRANCH,
  GS_STEP_LOOP,
  GS_STEP_COPY
};
/* What elements are in memory; the types of few bits as the integers of their codes. */
enum {
  GS_I8,
  GS_U8,
  GS_I16,
  GS_U16,
  GS_I32,
  GS_U32,
  GS_I64,
  GS_U64,
  GS_F32,
  GS_F64,
  GS_BOOL,
  GS_F16,
  GS_BF16
};

/* Kernels read up to so many bytes around a tensor, whatever is there. */
enum { GS_SLACK = 128, GS_ALIGNMENT = 64 };

typedef intptr_t gs_word; /* of kernels, as docs/specs/package.md has it */
typedef void gs_kernel(gs_word begin, gs_word end, void* const* arguments);
typedef void gs_plan(const double* variables, double* values);

#endif
