/** The page: digits in, a loss curve while the network learns, accuracy and the network as an ONNX model out. */
import {exportOnnx, Tensor} from '../../tensor/src/index.ts';

import {LossChart} from './chart.ts';
import {type Digits, digitsOf, type Idx, readIdx} from './idx.ts';
import {accuracy, type Device, seeded, train} from './training.ts';

const element = <T extends HTMLElement>(id: string): T => document.querySelector(`#${id}`) as T;
const show = (id: string, shown = true): void => void (element(id).hidden = !shown);
const tell = (id: string, text: string): void => void (element(id).textContent = text);
const valueOf = (id: string): number => Number(element<HTMLInputElement>(id).value);
const state = (name: string): void => void (document.documentElement.dataset['state'] = name);

let learned: Digits | undefined;
let tested: Digits | undefined;
let stopped = false;

function fail(problem: unknown): void {
  tell('trouble', problem instanceof Error ? problem.message : String(problem));
  show('trouble');
  state('failed');
}

/** Which of MNIST's files these are: those called t10k are for the test. */
async function take(files: readonly (readonly [name: string, file: Blob])[]): Promise<void> {
  show('trouble', false);
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
  element<HTMLButtonElement>('start').disabled = false;
  state('ready');
}

async function run(digits: Digits): Promise<void> {
  const device = element<HTMLSelectElement>('device').value as Device;
  const [epochs, seed] = [valueOf('epochs'), valueOf('seed')];
  const start = performance.now();
  const seconds = (): string => ((performance.now() - start) / 1000).toFixed(1);
  for (const id of ['training', 'stop']) show(id);
  for (const id of ['start', 'result', 'trouble']) show(id, false);
  state('training');
  stopped = false;
  const chart = new LossChart(element('chart'));
  const net = seeded(seed, device);
  for await (const {step, steps, epoch, loss} of train(net, digits, {epochs, seed, device})) {
    chart.add(step, loss);
    element<HTMLProgressElement>('bar').value = (step + 1) / steps;
    tell('now', `epoch ${epoch + 1} of ${epochs}, step ${step + 1} of ${steps}, loss ${loss.toFixed(4)}, ${seconds()} s`);
    if (stopped) break;
  }
  chart.draw();
  const took = seconds();
  const right = tested ? `${(100 * (await accuracy(net, tested, device))).toFixed(2)} % of ${tested.count} test digits right; ` : '';
  tell('accuracy', `${right}trained in ${took} s`);
  using example = Tensor.zeros([1, 1, 28, 28], {device});
  const model = await exportOnnx(net, [example], {name: 'digits', inputs: ['image'], outputs: ['scores']});
  const link = element<HTMLAnchorElement>('download');
  URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([model as Uint8Array<ArrayBuffer>], {type: 'application/octet-stream'}));
  show('result');
  state('done');
}

element<HTMLInputElement>('files').addEventListener('change', ({target}) => {
  const files = [...((target as HTMLInputElement).files ?? [])];
  take(files.map((file) => [file.name, file])).catch(fail);
});
element('start').addEventListener('click', () => {
  if (!learned) return;
  run(learned)
    .catch(fail)
    .finally(() => {
      show('start');
      show('stop', false);
    });
});
element('stop').addEventListener('click', () => (stopped = true));

/** `?data=FOLDER`: where the four files lie, with names as they are published, gzipped. */
const options = new URLSearchParams(location.search);
const folder = options.get('data');
element<HTMLSelectElement>('device').value = options.get('device') ?? 'cpu';
element<HTMLInputElement>('epochs').value = options.get('epochs') ?? '8';
element<HTMLInputElement>('seed').value = options.get('seed') ?? '1';
if (folder !== null) {
  const prefix = options.get('train') ?? 'train';
  const names = [prefix, 't10k'].flatMap((part) => ['images-idx3', 'labels-idx1'].map((kind) => `${part}-${kind}-ubyte.gz`));
  Promise.all(
    names.map(async (name) => {
      const response = await fetch(`${folder}/${name}`);
      if (!response.ok) throw new Error(`${name}: the server answered ${response.status}`);
      return [name, await response.blob()] as const;
    }),
  ).then(take).catch(fail);
} else {
  state('idle');
}
