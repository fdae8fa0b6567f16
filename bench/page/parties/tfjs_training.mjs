// A step of training in TensorFlow.js: its own gradients and Adam; pictures channels last.

/** tf: with its backend ready; networkOf: a network's function in it. */
export function openTraining(tf, {model}, networkOf) {
  const begin = performance.now();
  const {shape, layers, images, labels, classes, rate, frozen} = model.training();
  const making = performance.now() - begin;
  const [batch, channels, height, width] = shape;
  const ORDERS = {conv: [[2, 3, 1, 0]], dense: [[1, 0]], lstm: [[1, 0], [1, 0]]};
  const variable = ({shape: extents, data}, order) => tf.tidy(() => tf.variable(order ? tf.tensor(data, extents).transpose(order) : tf.tensor(data, extents)));
  const ready = layers.map(({kind, weights = []}) => ({kind, weights: weights.map((each, part) => variable(each, ORDERS[kind][part]))}));
  const variables = ready.flatMap(({weights}) => weights);
  const apply = {
    dense: (x, [weight, bias]) => tf.add(tf.matMul(x, weight), bias),
    conv: (x, [weight, bias]) => tf.add(tf.conv2d(x, weight, 1, 'valid'), bias),
    relu: (x) => tf.relu(x),
    pool: (x) => tf.maxPool(x, 2, 2, 'valid'),
    flatten: (x) => tf.reshape(tf.transpose(x, [0, 3, 1, 2]), [batch, -1]),
    lstm(x, [inputs, hidden]) {
      const [, length, columns] = x.shape;
      const size = hidden.shape[0];
      const all = tf.reshape(tf.matMul(tf.reshape(x, [batch * length, columns]), inputs), [batch, length, 4 * size]);
      let [h, c] = [tf.zeros([batch, size]), tf.zeros([batch, size])];
      for (const row of tf.unstack(all, 1)) {
        const [i, f, g, o] = tf.split(tf.add(row, tf.matMul(h, hidden)), 4, 1);
        c = tf.add(tf.mul(tf.sigmoid(f), c), tf.mul(tf.sigmoid(i), tf.tanh(g)));
        h = tf.mul(tf.sigmoid(o), tf.tanh(c));
      }
      return h;
    },
  };
  const truth = tf.tidy(() => tf.oneHot(tf.tensor1d(labels, 'int32'), classes));
  const optimizer = tf.train.adam(rate, 0.9, 0.999, 1e-8);
  const features = frozen ? networkOf(tf, frozen) : (x) => x;
  const upload = () => (width === undefined ? tf.tensor(images, shape) : tf.transpose(tf.tensor(images, [batch, channels, height, width]), [0, 2, 3, 1]));
  return {
    making,
    run: async () => {
      const x = tf.tidy(() => features(upload()));
      const net = () => ready.reduce((value, {kind, weights}) => apply[kind](value, weights), x);
      const loss = optimizer.minimize(() => tf.losses.softmaxCrossEntropy(truth, net()), true, variables);
      const value = await loss.data();
      tf.dispose([x, loss]);
      return [value];
    },
  };
}
