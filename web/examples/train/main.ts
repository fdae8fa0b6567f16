/** The page: digits in, a loss curve while the network learns, accuracy and the network as an ONNX model out. */
import {exportOnnx, nn, OnnxModel, Tensor} from '../../tensor/src/index.ts';

import {LossChart} from '../page/loss_chart.ts';
import {asked, button, byId, chosenDevice, fail, input, offerDevices, setState, show, showTrouble, takeAddress, tell, valueOf} from '../page/page.ts';
import {type Digits, digitsOf, type Idx, readIdx} from './idx.ts';
import {accuracy, seeded, train} from './training.ts';

let learned: Digits | undefined;
let tested: Digits | undefined;
let stopped = false;

/** Which of MNIST's files these are: those called t10k are for the test. */
async function take(files: readonly (readonly [name: string, file: Blob])[]): Promise<void> {
  showTrouble();
  const known = new Map<string, Idx>();
  for (const [name, file] of files) {
    const idx = await readIdx(file, name);
    known.set(`${/t10k|test/.test(name) ? 'test' : 'train'} ${idx.shape.length === 1 ? 'labels' : 'images'}`, idx);
  }
  const pair = (part: string): Digits | undefined => {
    const [images, labels] = [known.get(`${part} images`), known.get(`${part} labels`)];
    return images && labels && digitsOf(images, labels);
  };
  learned = pair('train') ?? learned;
  tested = pair('test') ?? tested;
  if (!learned) throw new Error('pictures and labels to learn from are needed, such as train-images-idx3-ubyte and train-labels-idx1-ubyte');
  tell('found', `${learned.count} digits to learn from, ${tested?.count ?? 'none'} to be tested on`);
  button('start').disabled = false;
  setState('ready');
}

/**
 * The network as an ONNX model of one picture, image to probabilities, with its weights in 16 bits: half the size, and computed with
 * are 32.
 */
async function portable(net: nn.Sequential): Promise<Uint8Array> {
  const names = {name: 'digits', inputs: ['image'], outputs: ['probabilities']};
  using example = Tensor.zeros([1, 1, 28, 28]);
  net.to('cpu');
  const whole = await exportOnnx(new nn.Sequential(net, new nn.Softmax(1)), [example], names);
  return exportOnnx(new OnnxModel(whole, {precision: 16}), [example], names);
}

async function run(digits: Digits): Promise<void> {
  const device = chosenDevice();
  const [epochs, seed] = [valueOf('epochs'), valueOf('seed')];
  const start = performance.now();
  const seconds = (): string => ((performance.now() - start) / 1000).toFixed(1);
  for (const id of ['training', 'stop']) show(id);
  for (const id of ['start', 'result']) show(id, false);
  showTrouble();
  setState('training');
  stopped = false;
  const chart = new LossChart(byId('chart', HTMLElement));
  const net = seeded(seed, device);
  for await (const {step, steps, epoch, loss} of train(net, digits, {epochs, seed, device})) {
    chart.add(step, loss);
    byId('bar', HTMLProgressElement).value = (step + 1) / steps;
    tell('now', `epoch ${epoch + 1} of ${epochs}, step ${step + 1} of ${steps}, loss ${loss.toFixed(4)}, ${seconds()} s`);
    if (stopped) break;
  }
  chart.draw();
  const took = seconds();
  const right = tested ? `${(100 * (await accuracy(net, tested, device))).toFixed(2)} % of ${tested.count} test digits right; ` : '';
  tell('accuracy', `${right}trained in ${took} s`);
  const model = await portable(net);
  const link = byId('download', HTMLAnchorElement);
  URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([model as Uint8Array<ArrayBuffer>], {type: 'application/octet-stream'}));
  show('result');
  setState('done');
}

input('files').addEventListener('change', () => {
  take([...(input('files').files ?? [])].map((file) => [file.name, file])).catch(fail);
});
button('start').addEventListener('click', () => {
  if (!learned) return;
  run(learned)
    .catch(fail)
    .finally(() => {
      show('start');
      show('stop', false);
    });
});
button('stop').addEventListener('click', () => (stopped = true));

/** Where the four files lie, with names as they are published, gzipped. */
async function fetchDigits(folder: string, prefix: string): Promise<void> {
  const names = [prefix, 't10k'].flatMap((part) => ['images-idx3', 'labels-idx1'].map((kind) => `${part}-${kind}-ubyte.gz`));
  const files = await Promise.all(
    names.map(async (name) => {
      const response = await fetch(`${folder}/${name}`);
      if (!response.ok) throw new Error(`${name}: the server answered ${response.status}`);
      return [name, await response.blob()] as const;
    }),
  );
  await take(files);
}

offerDevices();
takeAddress('epochs', 'seed');
const folder = asked.get('data');
if (folder !== null) fetchDigits(folder, asked.get('train') ?? 'train').catch(fail);
// What `make examples` may serve.
else fetchDigits('data/data/mnist', 'train10k').catch(() => setState('idle'));
