// Cases of ONNX's suite that do not pass, and why; one that does fails the suite.
const random = 'random: the case holds numbers of another generator';
const upstream = 'known to be wrong upstream: it divides by the length that the scales give before that is rounded down';

export const known = [
  [/^test_bernoulli_/, random],
  [/^test_training_dropout_(cpu|default_cpu|default_mask_cpu|mask_cpu)$/, random],
  [/^test_image_decoder_/, 'operator ImageDecoder is not in the catalog yet'],
  [/^test_resize_downsample_scales_(cubic|linear)_align_corners_cpu$/, upstream],
  [/^test_dft_inverse_(opset19_)?cpu$/, 'the case expects the rounding of one algorithm, 1.9e-7, where the number is 0; the runner allows 1e-7'],
  [/^test_attention_4d_causal_fp16_expanded_cpu$/, 'two of 192 numbers are off by a unit of f16, of which the runner allows none'],
  [/^test_loop16_seq_none_cpu$/, 'the runner of the suite cannot compare an array of objects, which is what it expects'],
];
