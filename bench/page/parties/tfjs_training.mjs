// A step of training in TensorFlow.js: its own gradients and Adam; pictures channels last.

/** tf: with its backend ready. */
export function openTraining(tf, {model}) {
  const begin = performance.now();
  const {shape, layers, images, labels, classes, rate} = model.training();
  const making = performance.now() - begin;
  const [batch, channels, height, width] = shape;
  const variable = ({shape: extents, data}, order) => tf.tidy(() => tf.variable(order ? tf.tensor(data, extents).transpose(order) : tf.tensor(data, extents)));
  const ready = layers.map(({kind, weight, bias}) => ({kind, ...(weight ? {weight: variable(weight, kind === 'conv' ? [2, 3, 1, 0] : [1, 0]), bias: variable(bias)} : {})}));
  const variables = ready.flatMap(({weight, bias}) => (weight ? [weight, bias] : []));
  const apply = {
    dense: (x, {weight, bias}) => tf.add(tf.matMul(x, weight), bias),
    conv: (x, {weight, bias}) => tf.add(tf.conv2d(x, weight, 1, 'valid'), bias),
    relu: (x) => tf.relu(x),
    pool: (x) => tf.maxPool(x, 2, 2, 'valid'),
    flatten: (x) => tf.reshape(tf.transpose(x, [0, 3, 1, 2]), [batch, -1]),
  };
  const truth = tf.tidy(() => tf.oneHot(tf.tensor1d(labels, 'int32'), classes));
  const optimizer = tf.train.adam(rate, 0.9, 0.999, 1e-8);
  // One channel: first or last is the same.
  const extents = channels === undefined || height === undefined ? shape : [batch, height, width, channels];
  return {
    making,
    run: async () => {
      const x = tf.tensor(images, extents);
      const net = () => ready.reduce((value, layer) => apply[layer.kind](value, layer), x);
      const loss = optimizer.minimize(() => tf.losses.softmaxCrossEntropy(truth, net()), true, variables);
      const value = await loss.data();
      tf.dispose([x, loss]);
      return [value];
    },
  };
}
