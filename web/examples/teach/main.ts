/** A head on a frozen MobileNetV2 learns classes that its user shows to the camera, then names what it sees. */
import {exportOnnx, type nn, noGrad, Tensor} from '../../tensor/src/index.ts';

import {bars} from '../../runtime/page/outputs.ts';
import {closeCamera, eachFrame, openCamera, Rate} from '../page/camera.ts';
import {givenFiles} from '../page/given.ts';
import {button, byId, chosenDevice, fail, offerDevices, onPress, setState, show, takeAddress, tell, turn} from '../page/page.ts';
import {Classes} from './classes.ts';
import {Classifier, Features, learn, STEPS} from './network.ts';

const video = byId('video', HTMLVideoElement);
const canvas = document.createElement('canvas');
const classes = new Classes(() => (button('learn').disabled = !classes.enough));

let file: Uint8Array | undefined;
let features: Features;
let head: nn.Linear | undefined;
/** Names of the classes that the head knows. */
let known: readonly string[] = [];
let learning = false;

/** The middle square of the picture, as the network takes it: u8 [height, width, 4]. */
function grab(): Tensor {
  const [height, width] = features.size;
  const side = Math.min(video.videoWidth, video.videoHeight);
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext('2d', {willReadFrequently: true});
  if (!context) throw new Error('There is no canvas to be had.');
  context.imageSmoothingQuality = 'high';
  context.drawImage(video, (video.videoWidth - side) / 2, (video.videoHeight - side) / 2, side, side, 0, 0, width, height);
  return Tensor.fromData(canvas, {device: chosenDevice()});
}

/** Collects the frame, or names it. */
async function look(rate: Rate): Promise<void> {
  const {current} = classes;
  if (!current && !head) return;
  using pixels = grab();
  if (current) {
    using seen = noGrad(() => features.forward(pixels));
    classes.collect(current, await seen.data<Float32Array>());
    if (!classes.current) setState('collected');
    return;
  }
  const classifier = new Classifier(features, head as nn.Linear);
  using shares = noGrad(() => classifier.forward(pixels));
  byId('names', HTMLElement).replaceChildren(...bars(Array.from(await shares.data<Float32Array>()), known));
  tell('speed', rate.tick());
  setState('named');
}

async function watch(): Promise<void> {
  await openCamera(video);
  show('stop');
  byId('device', HTMLSelectElement).disabled = true;
  classes.enable(true);
  setState('watching');
  const rate = new Rate();
  await eachFrame(video, async () => {
    if (!learning) await look(rate);
  });
  setState('ready');
}

async function teach(): Promise<void> {
  if (!classes.enough) throw new Error('Each class wants four pictures at least.');
  learning = true;
  setState('learning');
  show('bar');
  try {
    const names = classes.names;
    const before = head;
    for await (const now of learn(classes.examples, chosenDevice())) {
      head = now.head;
      byId('bar', HTMLProgressElement).value = now.step / STEPS;
      tell('accuracy', `${(100 * now.accuracy).toFixed(1)} % of the pictures kept aside are named right; loss ${now.loss.toFixed(4)}`);
      await turn();
    }
    before?.dispose();
    known = names;
    await save();
    setState('learnt');
  } finally {
    learning = false;
    show('bar', false);
  }
}

/** The network with its head as an ONNX model of pixels. */
async function save(): Promise<void> {
  const [height, width] = features.size;
  using pixels = Tensor.zeros([height, width, 4], {dtype: 'u8', device: chosenDevice()});
  const names = {name: 'classifier', inputs: ['pixels'], outputs: ['probabilities']};
  const model = await exportOnnx(new Classifier(features, head as nn.Linear), [pixels], names);
  const link = byId('download', HTMLAnchorElement);
  URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([model as Uint8Array<ArrayBuffer>], {type: 'application/octet-stream'}));
  link.hidden = false;
}

async function start(): Promise<void> {
  offerDevices();
  takeAddress('at-once');
  classes.add();
  classes.add();
  const {model} = await givenFiles({model: 'models/mobilenetv2_int8_ort/model.onnx'});
  file = new Uint8Array(await model.arrayBuffer());
  features = new Features(file, chosenDevice());
  tell('status', 'MobileNetV2 is frozen; what it sees before its last layer is learnt from.');
  button('start').disabled = false;
  setState('ready');
}

onPress('start', () =>
  watch().finally(() => {
    closeCamera(video);
    classes.enable(false);
    show('stop', false);
    byId('device', HTMLSelectElement).disabled = false;
  }),
);
onPress('learn', teach);
button('stop').addEventListener('click', () => closeCamera(video));
button('add').addEventListener('click', () => {
  button('add').disabled = !classes.add();
  classes.enable(video.srcObject !== null);
  button('learn').disabled = true;
});
byId('device', HTMLSelectElement).addEventListener('change', () => {
  if (!file) return;
  try {
    features.dispose();
    features = new Features(file, chosenDevice());
    head?.to(chosenDevice());
  } catch (problem) {
    fail(problem);
  }
});
start().catch(fail);
