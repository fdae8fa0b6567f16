// Channels last, as tfjs and LiteRT want them.

/** [channels, height, width] to [height, width, channels]. */
export function imageChannelsLast(values, [channels, height, width]) {
  const turned = new Float32Array(values.length);
  for (let at = 0; at < height * width; ++at) {
    for (let c = 0; c < channels; ++c) turned[at * channels + c] = values[c * height * width + at];
  }
  return turned;
}

/** Weights [out, in, height, width] to [out, height, width, in]; with in = 1, as depthwise ones have it, to [1, height, width, out]. */
export function filterChannelsLast({data, shape: [outputs, inputs, height, width]}) {
  const area = height * width;
  if (inputs === 1) return {shape: [1, height, width, outputs], data: imageChannelsLast(data, [outputs, height, width])};
  const turned = new Float32Array(data.length);
  const each = inputs * area;
  for (let out = 0; out < outputs; ++out) {
    turned.set(imageChannelsLast(data.subarray(out * each, (out + 1) * each), [inputs, height, width]), out * each);
  }
  return {shape: [outputs, height, width, inputs], data: turned};
}
