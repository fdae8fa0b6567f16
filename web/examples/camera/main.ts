/** MobileNetV2 names what a camera sees; each frame is resized and normalised where the model runs. */
import {compile} from '../../compiler/src/index.ts';
import {labelsOf} from '../../runtime/page/labels.ts';
import {bars} from '../../runtime/page/outputs.ts';
import {type ComputeDevice, load, type Model, openDevice} from '../../runtime/src/index.ts';
import {readSignature} from '../compile/model_file.ts';
import {closeCamera, eachFrame, openCamera, Rate} from '../page/camera.ts';
import {givenFiles} from '../page/given.ts';
import {button, byId, chosenDevice, fail, offerGpus, onPress, setState, show, TARGETS, tell} from '../page/page.ts';

interface Classifier {
  readonly model: Model;
  readonly device: ComputeDevice;
  readonly height: number;
  readonly width: number;
}

const video = byId('video', HTMLVideoElement);
let files: Readonly<Record<'model' | 'labels', Blob>>;
let labels: readonly string[] = [];
let ready: Promise<Classifier> | undefined;

async function open(): Promise<Classifier> {
  const target = TARGETS[chosenDevice()];
  tell('status', `Compiling for ${target} …`);
  const {inputs} = readSignature(new Uint8Array(await files.model.arrayBuffer()));
  const [image] = inputs;
  const [, channels, height, width] = image?.shape ?? [];
  if (!image || channels !== 3 || typeof height !== 'number' || typeof width !== 'number') {
    throw new Error('The model takes no image: an input of [batch, 3, height, width] is wanted.');
  }
  // Kernels for one picture at a time.
  const compiled = await compile(files.model, {target, shapes: {[image.name]: [1, 3, height, width]}});
  const device = await openDevice(target);
  const model = await load(compiled, {device});
  tell('status', `${labels.length} classes, on ${model.report().adapter}`);
  return {model, device, height, width};
}

/** Names one frame. */
async function look({model, device, height, width}: Classifier): Promise<void> {
  const [input] = model.inputs;
  const [output] = model.outputs;
  if (!input || !output) throw new Error('The model has no input or no output.');
  using image = await device.image(video, {height, width});
  const {[output.name]: scores} = await model.run({[input.name]: image});
  const values = Array.from((await scores?.data<Float32Array>()) ?? []);
  byId('names', HTMLElement).replaceChildren(...bars(values, labels));
}

async function watch(): Promise<void> {
  await openCamera(video);
  show('stop');
  byId('device', HTMLSelectElement).disabled = true;
  setState('watching');
  const rate = new Rate();
  await eachFrame(video, async () => {
    await look(await (ready ??= open()));
    tell('speed', rate.tick());
    setState('named');
  });
  setState('ready');
}

async function start(): Promise<void> {
  await offerGpus();
  files = await givenFiles({model: 'models/mobilenetv2_int8_ort/model.onnx', labels: 'data/labels/imagenet_classes.txt'});
  labels = labelsOf(await files.labels.text());
  await (ready = open());
  button('start').disabled = false;
  setState('ready');
}

onPress('start', () =>
  watch().finally(() => {
    closeCamera(video);
    show('stop', false);
    byId('device', HTMLSelectElement).disabled = false;
  }),
);
button('stop').addEventListener('click', () => closeCamera(video));
byId('device', HTMLSelectElement).addEventListener('change', () => {
  ready?.then(({model, device}) => [model, device].forEach((each) => each.dispose()), () => undefined);
  ready = open();
  ready.catch(fail);
});
start().catch(fail);
