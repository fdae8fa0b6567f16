/** Initial values, drawn on the host: the same seed gives the same ones on every target (PyTorch's torch.nn.init). */
import {type Given, optionsOf} from '../options.ts';
import {wrong} from '../shape.ts';
import {Tensor} from '../tensor.ts';

export interface KaimingOptions {
  /** Slope below zero of the leaky ReLU that follows. */
  readonly a?: number | undefined;
  readonly mode?: 'fanIn' | 'fanOut' | undefined;
  readonly nonlinearity?: Nonlinearity | undefined;
}
export type Nonlinearity = 'linear' | 'sigmoid' | 'tanh' | 'relu' | 'leakyRelu' | 'selu';

/** By how much a function shrinks what it is given. */
export function calculateGain(nonlinearity: Nonlinearity, slope = 0.01): number {
  switch (nonlinearity) {
    case 'tanh': return 5 / 3;
    case 'relu': return Math.SQRT2;
    case 'leakyRelu': return Math.sqrt(2 / (1 + slope ** 2));
    case 'selu': return 3 / 4;
    case 'linear':
    case 'sigmoid': return 1;
  }
}

/** How many inputs and outputs a weight [out, in, ...window] joins. */
export function fans({shape}: Tensor): {fanIn: number; fanOut: number} {
  if (shape.length < 2) throw wrong('init: a tensor with less than two axes joins no inputs with outputs');
  const window = shape.slice(2).reduce((all, extent) => all * extent, 1);
  return {fanIn: (shape[1] ?? 1) * window, fanOut: (shape[0] ?? 1) * window};
}

/** Each fills a tensor in place and returns it. */
function fill(tensor: Tensor, values: Tensor): Tensor {
  tensor.assign(values);
  return tensor;
}
const like = ({dtype, device}: Tensor) => ({dtype, device});

export const uniform = (tensor: Tensor, low = 0, high = 1): Tensor => fill(tensor, Tensor.uniform(tensor.shape, low, high, like(tensor)));
export const normal = (tensor: Tensor, mean = 0, deviation = 1): Tensor => fill(tensor, Tensor.normal(tensor.shape, mean, deviation, like(tensor)));
export const constant = (tensor: Tensor, value: number): Tensor => fill(tensor, Tensor.full(tensor.shape, value, like(tensor)));
export const zeros = (tensor: Tensor): Tensor => constant(tensor, 0);
export const ones = (tensor: Tensor): Tensor => constant(tensor, 1);

const KAIMING: Required<KaimingOptions> = {a: 0, mode: 'fanIn', nonlinearity: 'leakyRelu'};
type KaimingGiven = Given<KaimingOptions, [a?: number, mode?: KaimingOptions['mode'], nonlinearity?: Nonlinearity]>;

/** The gain of a function over the root of the fan. */
function kaimingScale(where: string, tensor: Tensor, given: KaimingGiven): number {
  const {a, mode, nonlinearity} = optionsOf(where, KAIMING, given) as {a: number; mode: 'fanIn' | 'fanOut'; nonlinearity: Nonlinearity};
  return calculateGain(nonlinearity, a) / Math.sqrt(fans(tensor)[mode]);
}

export function kaimingUniform(tensor: Tensor, ...given: KaimingGiven): Tensor {
  const bound = Math.sqrt(3) * kaimingScale('kaimingUniform', tensor, given);
  return uniform(tensor, -bound, bound);
}

export function kaimingNormal(tensor: Tensor, ...given: KaimingGiven): Tensor {
  return normal(tensor, 0, kaimingScale('kaimingNormal', tensor, given));
}

export function xavierUniform(tensor: Tensor, gain = 1): Tensor {
  const {fanIn, fanOut} = fans(tensor);
  const bound = gain * Math.sqrt(6 / (fanIn + fanOut));
  return uniform(tensor, -bound, bound);
}

export function xavierNormal(tensor: Tensor, gain = 1): Tensor {
  const {fanIn, fanOut} = fans(tensor);
  return normal(tensor, 0, gain * Math.sqrt(2 / (fanIn + fanOut)));
}

/** Row `at` of a matrix as zeros. */
export function zeroRow(tensor: Tensor, at: number): Tensor {
  return fill(tensor, tensor.setValues(Tensor.zeros([1, tensor.shape[1] ?? 1], like(tensor)), [at, 0]));
}
