/** Layers without parameters: functions whose options are given once. */
import type {Known} from '../composed/prelude.ts';
import type {PadMode} from '../layout.ts';
import type {Given} from '../options.ts';
import type {PerAxis, ResizeOptions, ResizePlaces} from '../products.ts';
import type {Shape} from '../shape.ts';
import type {Tensor} from '../tensor.ts';
import * as F from './functional.ts';
import {Layer, Module} from './module.ts';

/** A class of layers without parameters, with the arguments of their function. */
export type LayerClass<Options extends unknown[]> = new (...given: Options) => Layer & {readonly given: Options};

/** Layers that keep neither what they take nor what they give. */
export const PLAIN = new Set<unknown>();

export function layer<Options extends unknown[]>(compute: (x: Tensor, ...given: Options) => Tensor): LayerClass<Options> {
  const made = class extends Layer {
    readonly given: Options;
    constructor(...given: Options) {
      super();
      (compute as Partial<Known>).check?.(given);
      this.given = given;
    }
    forward(x: Tensor): Tensor {
      return compute(x, ...this.given);
    }
  };
  PLAIN.add(made);
  return made;
}


export const Identity = layer((x) => x);
export const ReLU = layer((x) => x.relu());
export const ReLU6 = layer((x) => x.relu6());
export const LeakyReLU = layer(F.leakyRelu);
export const ELU = layer(F.elu);
export const CELU = layer(F.celu);
export const SELU = layer((x) => x.selu());
export const GELU = layer(F.gelu);
export const SiLU = layer((x) => x.silu());
export const Mish = layer((x) => x.mish());
export const Sigmoid = layer((x) => x.sigmoid());
export const Hardsigmoid = layer((x) => x.hardSigmoid());
export const Hardswish = layer((x) => x.hardSwish());
export const Tanh = layer((x) => x.tanh());
export const Softplus = layer(F.softplus);
export const Softsign = layer((x) => x.softsign());
export const Softmax = layer(F.softmax);
export const LogSoftmax = layer(F.logSoftmax);
export const MaxPool1d = layer(F.maxPool1d);
export const MaxPool2d = layer(F.maxPool2d);
export const AvgPool1d = layer(F.avgPool1d);
export const AvgPool2d = layer(F.avgPool2d);
export const AdaptiveAvgPool2d = layer(F.adaptiveAvgPool2d);
export const AdaptiveMaxPool2d = layer(F.adaptiveMaxPool2d);
export const Flatten = layer((x, start?: number, end?: number) => x.flatten(start ?? 1, end));
export const Unflatten = layer((x, axis: number, shape: Shape) => x.reshape([...x.shape.slice(0, axis), ...shape, ...x.shape.slice(axis + 1)]));
export const Upsample = layer((x, ...given: Given<ResizeOptions, ResizePlaces>) => x.interpolate(...given));
/** TensorJS's name. */
export const Relu = ReLU;

export const GLU = layer(F.glu);
export const LogSigmoid = layer(F.logsigmoid);
export const Hardtanh = layer(F.hardtanh);
/** Over the channels of [n, channels, height, width] or [channels, height, width]. */
export const Softmax2d = layer((x) => x.softmax(-3));
export const MaxPool3d = layer(F.maxPool3d);
export const AvgPool3d = layer(F.avgPool3d);
export const AdaptiveAvgPool1d = layer(F.adaptiveAvgPool1d);
export const AdaptiveAvgPool3d = layer(F.adaptiveAvgPool3d);
export const AdaptiveMaxPool1d = layer(F.adaptiveMaxPool1d);
export const AdaptiveMaxPool3d = layer(F.adaptiveMaxPool3d);
export const PixelShuffle = layer(F.pixelShuffle);
export const Unfold = layer(F.unfold);

const padding = (rank: number, mode: PadMode, fixed?: number) =>
  layer((x, pads: PerAxis, value?: number) => F.pad(x, typeof pads === 'number' ? new Array<number>(2 * rank).fill(pads) : pads, mode, fixed ?? value ?? 0));
export const [ZeroPad1d, ZeroPad2d, ZeroPad3d] = [padding(1, 'constant', 0), padding(2, 'constant', 0), padding(3, 'constant', 0)];
export const [ConstantPad1d, ConstantPad2d, ConstantPad3d] = [padding(1, 'constant'), padding(2, 'constant'), padding(3, 'constant')];
export const [ReflectionPad1d, ReflectionPad2d, ReflectionPad3d] = [padding(1, 'reflect'), padding(2, 'reflect'), padding(3, 'reflect')];
export const [ReplicationPad1d, ReplicationPad2d, ReplicationPad3d] = [padding(1, 'replicate'), padding(2, 'replicate'), padding(3, 'replicate')];
export const [CircularPad1d, CircularPad2d, CircularPad3d] = [padding(1, 'circular'), padding(2, 'circular'), padding(3, 'circular')];

/** A class of layers of several tensors. */
export type JoiningClass<Inputs extends unknown[], Options extends unknown[]> = new (...given: Options) => Module & {forward(...inputs: Inputs): Tensor};

export const joining = <Inputs extends unknown[], Options extends unknown[]>(count: number, compute: (...given: [...Inputs, ...Options]) => Tensor): JoiningClass<Inputs, Options> =>
  class extends Module {
    readonly given: Options;
    constructor(...given: Options) {
      super();
      this.given = given;
    }
    forward(...inputs: Inputs): Tensor {
      return compute(...(inputs.slice(0, count) as Inputs), ...this.given);
    }
  };
export type Two = [a: Tensor, b: Tensor];
export const CosineSimilarity = joining<Two, [axis?: number, epsilon?: number]>(2, F.cosineSimilarity);
export const PairwiseDistance = joining<Two, [p?: number, eps?: number, keepdim?: boolean]>(2, F.pairwiseDistance);
