/* Every element type, once: gossamer.h and gossamer.hpp make their enumerations of this list, the
   compiler its table of types. For each,

     X(C name, C++ name, name in packages, kind, bits, ONNX code)

   kind: 'f'loat, 'i'nteger, 'u'nsigned, 'b'oolean, 's'tring. bits: of the value; an element lies in
   whole bytes, a string in memory of its own. ONNX code: TensorProto.DataType. A type's place in
   the list is its number in both APIs, so new ones join at the end. Those from F8E4M3FN to U2 are
   ONNX's small types. */
#ifndef GOSSAMER_ELEMENT_TYPES_H
#define GOSSAMER_ELEMENT_TYPES_H

/* clang-format off */
#define GOSSAMER_ELEMENT_TYPES(X)                      \
  X(F32,        f32,        "f32",        'f', 32, 1)  \
  X(F16,        f16,        "f16",        'f', 16, 10) \
  X(BF16,       bf16,       "bf16",       'f', 16, 16) \
  X(F64,        f64,        "f64",        'f', 64, 11) \
  X(I8,         i8,         "i8",         'i', 8,  3)  \
  X(I16,        i16,        "i16",        'i', 16, 5)  \
  X(I32,        i32,        "i32",        'i', 32, 6)  \
  X(I64,        i64,        "i64",        'i', 64, 7)  \
  X(U8,         u8,         "u8",         'u', 8,  2)  \
  X(U16,        u16,        "u16",        'u', 16, 4)  \
  X(U32,        u32,        "u32",        'u', 32, 12) \
  X(U64,        u64,        "u64",        'u', 64, 13) \
  X(BOOLEAN,    boolean,    "bool",       'b', 8,  9)  \
  X(F8E4M3FN,   f8e4m3fn,   "f8e4m3fn",   'f', 8,  17) \
  X(F8E4M3FNUZ, f8e4m3fnuz, "f8e4m3fnuz", 'f', 8,  18) \
  X(F8E5M2,     f8e5m2,     "f8e5m2",     'f', 8,  19) \
  X(F8E5M2FNUZ, f8e5m2fnuz, "f8e5m2fnuz", 'f', 8,  20) \
  X(F8E8M0,     f8e8m0,     "f8e8m0",     'f', 8,  24) \
  X(F4E2M1,     f4e2m1,     "f4e2m1",     'f', 4,  23) \
  X(F6E2M3,     f6e2m3,     "f6e2m3",     'f', 6,  27) \
  X(F6E3M2,     f6e3m2,     "f6e3m2",     'f', 6,  28) \
  X(I4,         i4,         "i4",         'i', 4,  22) \
  X(U4,         u4,         "u4",         'u', 4,  21) \
  X(I2,         i2,         "i2",         'i', 2,  26) \
  X(U2,         u2,         "u2",         'u', 2,  25) \
  X(STRING,     string,     "string",     's', 0,  8)
/* clang-format on */

#endif
