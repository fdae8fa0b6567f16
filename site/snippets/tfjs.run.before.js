import * as tf from '@tensorflow/tfjs';

const model = await tf.loadGraphModel('model/model.json');
const image = tf.zeros([1, 28, 28, 1]);
const probabilities = model.predict(image);
console.log(probabilities.shape, await probabilities.data());
tf.dispose([image, probabilities]);
