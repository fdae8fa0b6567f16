// Translates a folder of Hugging Face's form, config.json and safetensors files, to the ONNX model
// that a builder would write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "safetensors/convert.h"
#include "safetensors/header.h"

namespace gossamer::safetensors {

inline constexpr const char* only_file = "model.safetensors";
inline constexpr const char* index_file = "model.safetensors.index.json";

// How matrices are stored: as blocks of 32 numbers with 4 or 8 bits, with 16 bits (F32 is rounded
// to F16), or as they are in the files.
enum class Precision : uint8_t { q4, q8, fp16, fp32 };
// By its name; "" is q4. Errors: there is no such one.
Result<Precision> precision_named(std::string_view dtype);

// The files of weights that the text of index_file lists, in order. Errors: it is not one, names
// that leave the folder.
Result<std::vector<std::string>> files_of(std::string_view index);

struct File {
  std::string name;
  Bytes bytes;        // the first ones, the header at least
  uint64_t size = 0;  // of all
};

// A range of a file becomes a range of Translated::made.
struct Conversion {
  std::string tensor, file;
  uint64_t offset = 0, length = 0;
  Form from = Form::f32, into = Form::f32;
  uint64_t made_offset = 0, made_length = 0;
};

struct Translated {
  std::string model;  // the bytes of an ONNX model, as language::write_model says
  // The file that weights are ranges of which are stored in another form than in the folder, in the
  // order in which it lists them; 0 bytes where there are none.
  std::string made;
  uint64_t made_bytes = 0;
  std::vector<Conversion> conversions;
};

// Errors: as network_of; tensors that are missing, of another shape or of a type that is not known.
Result<Translated> translate(std::string_view config, const std::vector<File>& files,
                             Precision precision);

}  // namespace gossamer::safetensors
