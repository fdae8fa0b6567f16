import {load, tensor} from '@gossamer/runtime';

import {Answer, element} from './answer.ts';
import {Paper} from './paper.ts';
import {digitPicture, SIZE} from './picture.ts';

type Model = Awaited<ReturnType<typeof load>>;
type Device = 'auto' | 'webgpu' | 'webgl' | 'wasm';

const DEVICES: readonly Device[] = ['auto', 'webgpu', 'webgl', 'wasm'];

const answer = new Answer();
const paper = new Paper(element('paper', HTMLCanvasElement), drawn);
const hint = element('hint', HTMLParagraphElement);
const backend = element('backend', HTMLElement);
const time = element('time', HTMLElement);
const trouble = element('trouble', HTMLParagraphElement);
const chooser = element('device', HTMLSelectElement);
/** Why it is not the best backend. */
const why = element('why', HTMLElement);
const seen = element('seen', HTMLCanvasElement).getContext('2d');

let model: Model | undefined;
let picture: Float32Array | undefined; // what is to be read; undefined when nothing is drawn
let reading = false;
let stale = false;

function complain(problem: unknown): void {
  trouble.textContent = problem instanceof Error ? problem.message : String(problem);
  trouble.hidden = false;
}

function showSeen(values: Float32Array): void {
  if (seen === null) return;
  const pixels = seen.createImageData(SIZE, SIZE);
  values.forEach((ink, at) => {
    pixels.data.fill(Math.round(255 * ink), 4 * at, 4 * at + 3);
    pixels.data[4 * at + 3] = 255;
  });
  seen.putImageData(pixels, 0, 0);
}

/** Reads the newest picture; while one is being read, later ones replace each other. */
async function read(): Promise<void> {
  if (reading) {
    stale = true;
    return;
  }
  reading = true;
  try {
    do {
      stale = false;
      const values = picture;
      if (model === undefined || values === undefined) break;
      const start = performance.now();
      const out = await model.run({image: tensor(values, [1, 1, SIZE, SIZE])});
      const probabilities = await out['probabilities']?.data();
      const took = performance.now() - start;
      if (probabilities === undefined) throw new Error('The model gave no probabilities.');
      if (picture === undefined) break; // cleared in the meantime
      answer.show(Array.from(probabilities, Number));
      time.textContent = `${took.toFixed(took < 10 ? 2 : 0)} ms`;
    } while (stale);
  } catch (problem) {
    complain(problem);
  } finally {
    reading = false;
  }
}

function see(values: Float32Array): void {
  picture = values;
  hint.hidden = true;
  showSeen(values);
  void read();
}

function drawn(): void {
  see(digitPicture(paper.strokes, paper.side / 5));
}

function clear(): void {
  picture = undefined;
  paper.clear();
  hint.hidden = false;
  showSeen(new Float32Array(SIZE * SIZE));
  answer.clear();
  time.textContent = '–';
}

/** The grey values, 0 to 1, of a 28 x 28 image. */
function pixelsOf(image: HTMLImageElement): Float32Array | undefined {
  const context = new OffscreenCanvas(SIZE, SIZE).getContext('2d');
  if (context === null) return undefined;
  context.drawImage(image, 0, 0, SIZE, SIZE);
  const {data} = context.getImageData(0, 0, SIZE, SIZE);
  return Float32Array.from({length: SIZE * SIZE}, (_, at) => (data[4 * at] ?? 0) / 255);
}

function addSamples(): void {
  const samples = element('samples', HTMLDivElement);
  for (let digit = 0; digit < 10; ++digit) {
    const image = new Image(SIZE, SIZE);
    image.alt = `Sample ${digit}`;
    const button = document.createElement('button');
    button.type = 'button';
    button.append(image);
    button.addEventListener('click', () => {
      const values = pixelsOf(image);
      if (values === undefined) return;
      clear();
      void paper.show(values);
      see(values);
    });
    image.addEventListener('error', () => button.remove());
    image.src = `drawn/${digit}.png`;
    samples.append(button);
  }
}

async function start(device: Device): Promise<void> {
  chooser.disabled = true;
  trouble.hidden = true;
  why.textContent = '';
  backend.textContent = 'loading …';
  time.textContent = '–';
  const former = model;
  model = undefined;
  try {
    former?.dispose();
    model = await load('model/', {device});
    const {device: kind, fallbacks} = model.report();
    backend.textContent = kind;
    why.textContent = fallbacks.map(({what, reason}) => `${what}: ${reason}`).join('; ');
  } catch (problem) {
    backend.textContent = 'none';
    complain(problem);
  }
  chooser.disabled = false;
  document.documentElement.dataset['state'] = model === undefined ? 'failed' : 'ready';
  void read();
}

function chosen(name: string | null): Device {
  return DEVICES.find((device) => device === name) ?? 'auto';
}

addSamples();
clear();
element('clear', HTMLButtonElement).addEventListener('click', clear);
chooser.value = chosen(new URLSearchParams(location.search).get('device'));
chooser.addEventListener('change', () => void start(chosen(chooser.value)));
void start(chosen(chooser.value));
