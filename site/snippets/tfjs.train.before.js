import * as tf from '@tensorflow/tfjs';

const model = tf.sequential();
model.add(tf.layers.dense({units: 16, activation: 'relu', inputShape: [2]}));
model.add(tf.layers.dense({units: 1, activation: 'sigmoid'}));
model.compile({optimizer: tf.train.adam(0.05), loss: 'binaryCrossentropy'});

const xs = tf.tensor2d([[0, 0], [0, 1], [1, 0], [1, 1]]);
const ys = tf.tensor2d([[0], [1], [1], [0]]);
await model.fit(xs, ys, {epochs: 200});
console.log(await model.predict(xs).array());
