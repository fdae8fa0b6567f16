/** A digit classifier, trained from scratch. No DOM: the page and Node.js run the same. */
import {manualSeed, nn, noGrad, optim, Tensor} from '../../tensor/src/index.ts';

import {numbers} from '../page/numbers.ts';
import type {Device} from '../page/page.ts';
import {distort} from './distort.ts';
import type {Digits} from './idx.ts';

const PIXELS = 28 * 28;
const BATCH = 64;

export interface TrainingOptions {
  readonly epochs: number;
  readonly seed: number;
  readonly device: Device;
  /** Largest learning rate of the one cycle. */
  readonly rate?: number;
}

export interface Progress {
  readonly step: number;
  readonly steps: number;
  readonly epoch: number;
  readonly loss: number;
}

/** 28 x 28 pixels, 0 to 1, to ten scores; 46,000 weights. */
export function network(): nn.Sequential {
  return new nn.Sequential(
    new nn.Conv2d(1, 16, 5), new nn.ReLU(), new nn.MaxPool2d(2),
    new nn.Conv2d(16, 32, 5), new nn.ReLU(), new nn.MaxPool2d(2),
    new nn.Flatten(),
    new nn.Linear(512, 64), new nn.ReLU(), new nn.Dropout(0.3),
    new nn.Linear(64, 10),
  );
}

/** The order of an epoch: every place once (Fisher and Yates). */
function shuffled(count: number, random: () => number): number[] {
  const order = Array.from({length: count}, (_, at) => at);
  for (let at = count - 1; at > 0; --at) {
    const other = Math.floor(random() * (at + 1));
    [order[at], order[other]] = [order[other] as number, order[at] as number];
  }
  return order;
}

/** Trains; gives the loss of each step. The same seed gives the same network. */
export async function* train(
  net: nn.Sequential,
  digits: Digits,
  {epochs, seed, device, rate = 4e-3}: TrainingOptions,
): AsyncGenerator<Progress, void> {
  const random = numbers(seed);
  const batches = Math.floor(digits.count / BATCH);
  const steps = batches * epochs;
  const optimizer = new optim.AdamW(net.parameters(), {lr: rate, weightDecay: 1e-2});
  const schedule = new optim.OneCycleLR(optimizer, rate, steps);
  net.train();
  for (let step = 0, order: number[] = []; step < steps; ++step) {
    const batch = step % batches;
    if (batch === 0) order = shuffled(digits.count, random);
    const pixels = new Float32Array(BATCH * PIXELS);
    const labels = new Int32Array(BATCH);
    for (let at = 0; at < BATCH; ++at) {
      const place = order[batch * BATCH + at] as number;
      distort(digits.pixels, place * PIXELS, random, pixels, at * PIXELS);
      labels[at] = digits.labels[place] as number;
    }
    using images = new Tensor(pixels, {shape: [BATCH, 1, 28, 28], device});
    using truth = new Tensor(labels, {shape: [BATCH], device});
    using loss = nn.functional.crossEntropy(net.forward(images), truth);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    schedule.step();
    yield {step, steps, epoch: Math.floor(step / batches), loss: await loss.item()};
  }
}

/** The part of digits that the network reads right. */
export async function accuracy(net: nn.Sequential, digits: Digits, device: Device): Promise<number> {
  net.eval();
  let right = 0;
  for (let from = 0; from < digits.count; from += 500) {
    const count = Math.min(500, digits.count - from);
    const pixels = Float32Array.from(digits.pixels.subarray(from * PIXELS, (from + count) * PIXELS), (byte) => byte / 255);
    using images = new Tensor(pixels, {shape: [count, 1, 28, 28], device});
    using answers = noGrad(() => net.forward(images).argmax(1));
    const read = await answers.data();
    for (let at = 0; at < count; ++at) right += Number(read[at]) === digits.labels[from + at] ? 1 : 0;
  }
  return right / digits.count;
}

/** A network whose initial values the seed decides. */
export function seeded(seed: number, device: Device): nn.Sequential {
  manualSeed(seed);
  const net = network();
  if (device !== 'cpu') net.to(device);
  return net;
}
