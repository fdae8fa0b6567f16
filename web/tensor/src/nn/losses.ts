/** Losses; PyTorch's definitions, the mean over all elements unless told otherwise. */
import {compareShapes, wrong} from '../shape.ts';
import {shapeText} from '../../../runtime/src/values/types.ts';
import {tidy} from '../core.ts';
import {type Given, optionsOf} from '../options.ts';
import {Tensor} from '../tensor.ts';

export type Reduction = 'mean' | 'sum' | 'none';

export interface LossOptions {
  readonly reduction?: Reduction | undefined;
}

const MEAN = {reduction: 'mean' as Reduction};
const NO_TENSOR = undefined as Tensor | undefined;

const reduced = (loss: Tensor, reduction: Reduction): Tensor =>
  reduction === 'none' ? loss : reduction === 'sum' ? loss.sum() : loss.mean();

/** A loss whose intermediate tensors go at once. */
const alone = <Options extends unknown[]>(loss: (x: Tensor, target: Tensor, ...given: Options) => Tensor) =>
  (x: Tensor, target: Tensor, ...given: Options): Tensor => tidy(() => loss(x, target, ...given));

function sameShape(name: string, x: Tensor, target: Tensor): void {
  if (!compareShapes(x.shape, target.shape)) {
    throw wrong(`${name}: the input has shape ${shapeText(x.shape)}, the target ${shapeText(target.shape)}`);
  }
}

export const mseLoss = alone((x: Tensor, target: Tensor, ...given: Given<LossOptions>): Tensor => {
  const {reduction} = optionsOf('mseLoss', MEAN, given);
  sameShape('mseLoss', x, target);
  return reduced(x.sub(target).square(), reduction);
});

export const l1Loss = alone((x: Tensor, target: Tensor, ...given: Given<LossOptions>): Tensor => {
  const {reduction} = optionsOf('l1Loss', MEAN, given);
  sameShape('l1Loss', x, target);
  return reduced(x.sub(target).abs(), reduction);
});

/** Half the square up to delta, linear beyond. */
export const huberLoss = alone((x: Tensor, target: Tensor, ...given: Given<LossOptions & {readonly delta?: number}, [reduction?: Reduction, delta?: number]>): Tensor => {
  const {reduction, delta} = optionsOf('huberLoss', {...MEAN, delta: 1}, given);
  sameShape('huberLoss', x, target);
  const distance = x.sub(target).abs();
  const near = distance.clamp(null, delta);
  return reduced(near.square().mul(0.5).add(distance.sub(near).mul(delta)), reduction);
});

export const smoothL1Loss = alone((x: Tensor, target: Tensor, ...given: Given<LossOptions & {readonly beta?: number}>): Tensor => {
  const {reduction, beta} = optionsOf('smoothL1Loss', {...MEAN, beta: 1}, given);
  if (beta === 0) return l1Loss(x, target, {reduction});
  return huberLoss(x, target, {reduction, delta: beta}).div(beta);
});

/** Of probabilities; their logarithms are at least -100, and the gradient is (x - target) / max(x (1 - x), 1e-12). */
export const binaryCrossEntropy = alone((x: Tensor, target: Tensor, ...given: Given<LossOptions & {readonly weight?: Tensor}, [weight?: Tensor]>): Tensor => {
  const {reduction, weight} = optionsOf('binaryCrossEntropy', {weight: NO_TENSOR, ...MEAN}, given);
  sameShape('binaryCrossEntropy', x, target);
  const log = (p: Tensor): Tensor => p.log().clamp(-100, null);
  const entropy = (p: Tensor): Tensor => target.mul(log(p)).add(log(p.neg().add(1)).mul(target.neg().add(1))).neg();
  const loss = x.requiresGrad ? saturating(x, target, entropy) : entropy(x);
  return reduced(weight ? loss.mul(weight) : loss, reduction);
});

/** `entropy` where x (1 - x) exceeds 1e-12. Elsewhere its logarithms have no gradient: a term of value 0 has the gradient instead. */
function saturating(x: Tensor, target: Tensor, entropy: (p: Tensor) => Tensor): Tensor {
  const still = x.detach();
  const inside = still.mul(still.neg().add(1)).gt(1e-12);
  const slope = still.sub(target.detach()).mul(1e12);
  return Tensor.where(inside, entropy(Tensor.where(inside, x, 0.5)), entropy(still).add(x.sub(still).mul(slope)));
}

/** TensorJS's name. */
export const bce = binaryCrossEntropy;

/** Of logits. */
export const binaryCrossEntropyWithLogits = alone((
  x: Tensor, target: Tensor, ...given: Given<LossOptions & {readonly weight?: Tensor; readonly posWeight?: Tensor}, [weight?: Tensor]>
): Tensor => {
  const {reduction, weight, posWeight} = optionsOf('binaryCrossEntropyWithLogits', {weight: NO_TENSOR, ...MEAN, posWeight: NO_TENSOR}, given);
  sameShape('binaryCrossEntropyWithLogits', x, target);
  const loss = posWeight
    ? target.neg().add(1).mul(x).add(posWeight.sub(1).mul(target).add(1).mul(x.neg().softplus()))
    : x.softplus().sub(x.mul(target));
  return reduced(weight ? loss.mul(weight) : loss, reduction);
});

/** Of log probabilities `x` against probabilities (or their logarithms). 'batchmean' divides by the first extent. */
export const klDiv = alone((
  x: Tensor, target: Tensor, ...given: Given<{readonly reduction?: Reduction | 'batchmean'; readonly logTarget?: boolean}>
): Tensor => {
  const known: {reduction: Reduction | 'batchmean'; logTarget: boolean} = {reduction: 'mean', logTarget: false};
  const {reduction, logTarget} = optionsOf('klDiv', known, given);
  sameShape('klDiv', x, target);
  const zero = (p: Tensor): Tensor => Tensor.where(p.gt(0), p, 1).log().mul(p);
  const loss = logTarget ? target.exp().mul(target.sub(x)) : zero(target).sub(target.mul(x));
  return reduction === 'batchmean' ? loss.sum().div(x.shape[0] ?? 1) : reduced(loss, reduction);
});
