/* Gossamer's C ABI: load a package for cpu and run it. Functions that can fail return NULL or a
   value other than 0; gossamer_error() then says why, in one line, on the thread that called. */
#ifndef GOSSAMER_GOSSAMER_H
#define GOSSAMER_GOSSAMER_H

#include <stddef.h>
#include <stdint.h>

#include "gossamer/element_types.h"
#include "gossamer/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* GOSSAMER_F32, GOSSAMER_F16, ...: see element_types.h. f16 and bf16 are passed as their 16 bits,
   boolean as one byte. The types from F8E4M3FN on, ONNX's types of eight bits and less, are passed
   as one byte an element: the code of a float, the value of an integer (I4 and I2 as int8_t). */
#define GOSSAMER_TYPE(NAME, name, text, kind, bits, onnx) GOSSAMER_##NAME,
#ifdef __cplusplus /* whatever number a caller stores is then one of the enumeration's */
typedef enum gossamer_type : unsigned { GOSSAMER_ELEMENT_TYPES(GOSSAMER_TYPE) } gossamer_type;
#else
typedef enum gossamer_type { GOSSAMER_ELEMENT_TYPES(GOSSAMER_TYPE) } gossamer_type;
#endif
#undef GOSSAMER_TYPE

/* An element of type STRING: UTF-8, of any bytes. */
typedef struct gossamer_string {
  const char* data;
  size_t bytes;
} gossamer_string;

/* A row-major tensor in memory. */
typedef struct gossamer_tensor {
  gossamer_type type;
  size_t rank;
  const int64_t* shape; /* of a port: -1 where it depends on the inputs */
  const void* data;     /* of a port: NULL; of strings: an array of gossamer_string */
  size_t bytes;         /* of what data points to */
} gossamer_tensor;

typedef struct gossamer_model gossamer_model;

GOSSAMER_API const char* gossamer_error(void);

/* threads: 0 takes one a core. */
GOSSAMER_API gossamer_model* gossamer_load(const char* folder, int threads);
GOSSAMER_API void gossamer_free(gossamer_model* model);

/* Of a model that is NULL there are none. The name of a port out of range is NULL, its description
   all zeros. Names and shapes are the model's and last as long. */
GOSSAMER_API size_t gossamer_input_count(const gossamer_model* model);
GOSSAMER_API size_t gossamer_output_count(const gossamer_model* model);
GOSSAMER_API const char* gossamer_input_name(const gossamer_model* model, size_t input);
GOSSAMER_API const char* gossamer_output_name(const gossamer_model* model, size_t output);
GOSSAMER_API gossamer_tensor gossamer_input_port(const gossamer_model* model, size_t input);
GOSSAMER_API gossamer_tensor gossamer_output_port(const gossamer_model* model, size_t output);

/* One tensor an input, in order. Fills one tensor an output, whose memory is the model's and lasts
   until the next run that succeeds. One thread at a time may use a model. Errors: a NULL where
   something is read or written, another number of tensors, a type, rank, shape or number of bytes
   that does not fit the port; outputs is then left as it was. Nothing is read through data before
   all of that fits. */
GOSSAMER_API int gossamer_run(gossamer_model* model, const gossamer_tensor* inputs,
                              size_t input_count, gossamer_tensor* outputs, size_t output_count);

#ifdef __cplusplus
}
#endif
#endif
