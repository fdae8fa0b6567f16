// Models that lie among invalid ones but are valid by ONNX's specification, or are given their plain meaning; why.
export const VALID = {
  'averagepool_dyn_cip_error_test.onnx': 'pads counted in the average are fine with an open batch',
  'celu_wrong_type_test.onnx': 'Celu of f16: ONNX lists f32 alone, the function is the same',
  'convinteger_mismatched_input_types_test.onnx': 'T1 and T2 of ConvInteger are chosen apart',
  'convinteger_mismatched_inputs_dual_bias_test.onnx': 'T1 and T2 of ConvInteger are chosen apart',
  'convinteger_mismatched_inputs_dual_symmetric_bias_test.onnx': 'T1 and T2 of ConvInteger are chosen apart',
  'gemm_dyn_C_error.onnx': 'C broadcasts to an open number of rows',
  'layer_norm_invalid_shape_error_test.onnx': 'LayerNormalization of one axis',
  'shape_end_less_start_error.onnx': 'Shape with end before start is an empty tensor',
  'resize_aspect_ratio_err_test.onnx': 'keep_aspect_ratio_policy with sizes',
};
