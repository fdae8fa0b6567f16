// A network of models/networks.mjs in tfjs calls: channels last, bias and activation fused, as its
// converter would write it.

/** OIHW weights to tfjs's HWIO, or HWI1 for depthwise. */
function filterOf(tf, {weight, groups}) {
  const filter = tf.tensor4d(weight.data, weight.shape);
  const order = groups > 1 ? [2, 3, 0, 1] : [2, 3, 1, 0];
  return tf.tidy(() => filter.transpose(order));
}

/** Gives {run: (image: Tensor4D, NHWC) => Tensor2D}; weights stay on the device. */
export function tfjsNetwork(tf, net) {
  const prepared = new Map();
  for (const layer of net.layers) {
    if (!layer.weight) continue;
    const {kind, weight, bias} = layer;
    const filter = kind === 'dense' ? tf.tidy(() => tf.tensor2d(weight.data, weight.shape).transpose()) : filterOf(tf, layer);
    prepared.set(layer.name, {filter, bias: tf.tensor1d(bias.data)});
  }
  const steps = {
    conv({name, stride, pad, groups, activation}, x) {
      const {filter, bias} = prepared.get(name);
      const options = {x, filter, strides: stride, pad, bias, activation: activation || 'linear'};
      return groups > 1 ? tf.fused.depthwiseConv2d(options) : tf.fused.conv2d(options);
    },
    maxpool({kernel, stride, pad}, x) {
      return tf.maxPool(x, kernel, stride, pad);
    },
    add({activation}, a, b) {
      return activation === 'relu' ? tf.relu(tf.add(a, b)) : tf.add(a, b);
    },
    mean: (_layer, x) => tf.mean(x, [1, 2]),
    dense({name}, x) {
      const {filter, bias} = prepared.get(name);
      return tf.add(tf.matMul(x, filter), bias);
    },
  };
  return {
    run: (image) =>
      tf.tidy(() => {
        const values = new Map();
        let last;
        for (const layer of net.layers) {
          last = layer.kind === 'input' ? image : steps[layer.kind](layer, ...layer.from.map((name) => values.get(name)));
          values.set(layer.name, last);
        }
        return last;
      }),
  };
}
