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
      arg_max_family,
      top_k_family,
      shape_family,
      move_family,
      gather_family,
      pad_family,
      create_family,
      cumsum_family,
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
      grid_sample_family,
      fourier_family,
      microsoft_fused_family,
      microsoft_attention_family,
      microsoft_experts_family,
      microsoft_group_attention_family,
      microsoft_recurrent_family,
      microsoft_block_quantize_family,
      microsoft_matrix_family,
      microsoft_qlinear_family,
      microsoft_tensor_family,
      microsoft_image_family,
      microsoft_layer_family,
      microsoft_quantized_layer_family,
      microsoft_decoder_family,
      microsoft_number_family,
      microsoft_tokenizer_family,
      microsoft_word_embedding_family,
      channels_last_family,
      linear_model_family,
      support_vector_family,
      feature_family,
      tree_family,
      causal_conv_family,
      tensor_scatter_family,
      sequence_family,
      optimizer_family,
      stop_gradient_family,
      block_format_family,
      sample_token_family,
      roi_family,
      fold_family,
      random_family,
      determinant_family,
      ngram_family,
      nonzero_family,
      unique_family,
      non_max_suppression_family,
      linear_attention_family,
      tree_ensemble_family,
      label_family,
      string_concat_family,
      regex_match_family,
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
