// The families that catalog.cc concatenates; each returns its entries.
#pragma once

#include <vector>

#include "ops/opdef.h"

namespace gossamer::ops {

std::vector<OpDef> unary_family();
std::vector<OpDef> activation_family();
std::vector<OpDef> binary_family();
std::vector<OpDef> logic_family();
std::vector<OpDef> cast_family();
std::vector<OpDef> reduce_family();
std::vector<OpDef> arg_max_family();
std::vector<OpDef> top_k_family();
std::vector<OpDef> shape_family();
std::vector<OpDef> move_family();
std::vector<OpDef> gather_family();
std::vector<OpDef> pad_family();
std::vector<OpDef> create_family();
std::vector<OpDef> cumsum_family();
std::vector<OpDef> scatter_family();
std::vector<OpDef> matmul_family();
std::vector<OpDef> conv_family();
std::vector<OpDef> conv_transpose_family();
std::vector<OpDef> pool_family();
std::vector<OpDef> softmax_family();
std::vector<OpDef> normalize_family();
std::vector<OpDef> resize_family();
std::vector<OpDef> quantize_family();
std::vector<OpDef> recurrent_family();
std::vector<OpDef> loss_family();
std::vector<OpDef> attention_family();
std::vector<OpDef> flex_attention_family();
std::vector<OpDef> grid_sample_family();
std::vector<OpDef> fourier_family();
std::vector<OpDef> microsoft_fused_family();
std::vector<OpDef> microsoft_attention_family();
std::vector<OpDef> microsoft_experts_family();
std::vector<OpDef> microsoft_group_attention_family();
std::vector<OpDef> microsoft_recurrent_family();
std::vector<OpDef> microsoft_block_quantize_family();
std::vector<OpDef> microsoft_matrix_family();
std::vector<OpDef> microsoft_qlinear_family();
std::vector<OpDef> microsoft_tensor_family();
std::vector<OpDef> microsoft_image_family();
std::vector<OpDef> microsoft_layer_family();
std::vector<OpDef> microsoft_quantized_layer_family();
std::vector<OpDef> microsoft_decoder_family();
std::vector<OpDef> microsoft_number_family();
std::vector<OpDef> microsoft_tokenizer_family();
std::vector<OpDef> microsoft_word_embedding_family();
std::vector<OpDef> channels_last_family();
std::vector<OpDef> linear_model_family();
std::vector<OpDef> support_vector_family();
std::vector<OpDef> feature_family();
std::vector<OpDef> tree_family();
std::vector<OpDef> tensor_scatter_family();
std::vector<OpDef> causal_conv_family();
std::vector<OpDef> sequence_family();
std::vector<OpDef> optimizer_family();
std::vector<OpDef> stop_gradient_family();
std::vector<OpDef> block_format_family();
std::vector<OpDef> sample_token_family();
std::vector<OpDef> roi_family();
std::vector<OpDef> fold_family();
std::vector<OpDef> random_family();
std::vector<OpDef> determinant_family();
std::vector<OpDef> ngram_family();
std::vector<OpDef> nonzero_family();
std::vector<OpDef> unique_family();
std::vector<OpDef> non_max_suppression_family();
std::vector<OpDef> linear_attention_family();
std::vector<OpDef> tree_ensemble_family();
std::vector<OpDef> label_family();
std::vector<OpDef> string_concat_family();
std::vector<OpDef> regex_match_family();
std::vector<OpDef> string_normalizer_family();
std::vector<OpDef> string_split_family();

}  // namespace gossamer::ops
