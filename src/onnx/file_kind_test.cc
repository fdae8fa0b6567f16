#include "onnx/file_kind.h"

#include <gtest/gtest.h>

#include <span>

#include "onnx/message.h"
#include "onnx/proto.h"

namespace gossamer::onnx {
namespace {

using namespace std::string_literals;

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(FileKind, NamesWhatIsGivenInPlaceOfAModel) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const std::string safetensors =
      std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header + "abcd";
  const std::pair<std::string, const char*> files[] = {
      {"", "empty"},
      {"<!DOCTYPE html>\n<html><title>Not found", "an HTML page"},
      {"\xef\xbb\xbf  \n<html lang=en>", "an HTML page"},
      {"<?xml version=\"1.0\"?><net name=\"m\">", "XML"},
      {"<\n  ir_version: 8,\n  opset_import: [\"\" : 18]\n>", "ONNX as text"},
      {"ir_version: 8\nproducer_name: \"me\"\n", "ONNX as text"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"},
      {"PK\x03\x04\x14model/data.pkl"s, "a PyTorch checkpoint"},
      {"PK\x03\x04\x14weights.npy"s, "a zip archive"},
      {"\x80\x02}q\x01"s, "a Python pickle"},
      {"GGUF\x03\0\0"s, "a GGUF file"},
      {safetensors, "a safetensors file"},
      {"\x89HDF\r\n\x1a\n\0"s, "an HDF5 file"},
      {"\x1c\0\0\0TFL3"s, "a TensorFlow Lite model"},
      {"\x1f\x8b\x08"s, "a gzip archive"},
      {"models/resnet50.onnx", "text that begins with \"models/resnet50.onnx\""},
      {R"({"error":"Unauthorized"})", "JSON"},
      {R"({ "format": "gossamer-package")", "part of a compiled package"},
  };
  for (const auto& [text, what] : files) {
    const auto model = parse_model(bytes_of(text));
    ASSERT_FALSE(model) << what;
    EXPECT_NE(model.error().message.find(what), std::string::npos) << model.error().to_string();
    EXPECT_FALSE(model.error().hint.empty()) << what;
  }
}

TEST(FileKind, LeavesModelsAlone) {
  for (int version : {3, 8, 10, 13})
    for (const char* producer : {"", "pytorch", "<html>", "GGUF"}) {
      const std::string bytes = Message().integer(1, version).text(2, producer).bytes;
      EXPECT_FALSE(other_kind(bytes_of(bytes))) << version << producer;
    }
}

TEST(FileKind, SaysThatAMessageHasNoGraph) {
  const std::string bytes = Message().integer(1, 8).text(2, "pytorch").bytes;
  const auto model = parse_model(bytes_of(bytes));
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("has no graph"), std::string::npos);
}

}  // namespace
}  // namespace gossamer::onnx
