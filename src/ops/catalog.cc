// The built-in operators: the families, concatenated.
#include "ops/families.h"

namespace gossamer::ops {

const Catalog& builtin_catalog() {
  using Family = std::vector<OpDef> (*)();
  static constexpr Family families[] = {
      unary_family,
      activation_family,
      binary_family,
      logic_family,
      cast_family,
      reduce_family,
      arg_reduce_family,
      shape_family,
      move_family,
      gather_family,
      pad_family,
      create_family,
      scan_family,
      scatter_family,
      matmul_family,
      conv_family,
      conv_transpose_family,
      pool_family,
      softmax_family,
      normalize_family,
      resize_family,
      quantize_family,
      recurrent_family,
      loss_family,
      attention_family,
      flex_attention_family,
      spatial_family,
      signal_family,
      contrib_family,
      contrib_attention_family,
      contrib_group_attention_family,
      contrib_quantize_family,
      contrib_matrix_family,
      contrib_qlinear_family,
      contrib_tensor_family,
      contrib_image_family,
      contrib_layer_family,
      contrib_quantized_layer_family,
      contrib_decoder_family,
      contrib_number_family,
      channels_last_family,
      classic_family,
      support_vector_family,
      feature_family,
      tree_family,
      sequence_family,
      sequence_value_family,
      optimizer_family,
      roi_family,
      fold_family,
      random_family,
      linear_algebra_family,
      ngram_family,
      filter_family,
      suppress_family,
      linear_attention_family,
      tree_ensemble_family,
      label_family,
      text_family,
      regex_family,
      string_normalizer_family,
      string_split_family,
  };
  static const Catalog catalog = [] {
    Catalog made;
    for (Family family : families) {
      for (OpDef& entry : family()) made.add(std::move(entry));
    }
    return made;
  }();
  return catalog;
}

}  // namespace gossamer::ops
