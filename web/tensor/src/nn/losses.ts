/** Losses; PyTorch's definitions, the mean over all elements unless told otherwise. */
import {compareShapes, wrong} from '../shape.ts';
import {shapeText} from '../../../runtime/src/types.ts';
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

export interface ClassOptions extends LossOptions {
  /** A factor a class. */
  readonly weight?: Tensor | undefined;
  /** A target that does not count; there is none unless named. */
  readonly ignoreIndex?: number | undefined;
}

const CLASSES = {weight: NO_TENSOR, ...MEAN, ignoreIndex: undefined as number | undefined};

const along = (factors: Tensor, x: Tensor, axis: number): Tensor => factors.reshape([-1, ...new Array<number>(x.ndim - axis - 1).fill(1)]);

/** Targets as probabilities along an axis; NaN for one that is no class: nothing stops a kernel, and a wrong label must not look like a good one. */
const hotOf = (x: Tensor, target: Tensor, axis: number): Tensor => {
  const classes = x.shape[axis] ?? 1;
  return Tensor.where(target.clamp(0, classes - 1).eq(target).unsqueeze(axis), target.oneHot(classes, axis).cast(x.dtype), NaN);
};

/**
 * Minus the log probability of the target's class; `x` has log probabilities of classes along axis 1 (or the only one). NaN where a target
 * is neither a class nor `ignoreIndex`.
 */
export const nllLoss = alone((x: Tensor, target: Tensor, ...given: Given<ClassOptions, [weight?: Tensor]>): Tensor => {
  const {reduction, weight, ignoreIndex} = optionsOf('nllLoss', CLASSES, given);
  const axis = x.ndim === 1 ? 0 : 1;
  const wanted = x.shape.filter((_, at) => at !== axis);
  if (!compareShapes(target.shape, wanted)) {
    throw wrong(`nllLoss: classes of shape ${shapeText(x.shape)} want targets of shape ${shapeText(wanted)}, not ${shapeText(target.shape)}`);
  }
  const hot = hotOf(x, target, axis);
  const counted = ignoreIndex === undefined ? hot : Tensor.where(target.eq(ignoreIndex).unsqueeze(axis), 0, hot);
  const factors = weight ? counted.mul(along(weight, x, axis)) : counted;
  // A select, as 0 times minus infinity would be NaN.
  const loss = Tensor.where(factors.ne(0), x.mul(factors), 0).sum(axis).neg();
  if (reduction === 'none') return loss;
  if (reduction === 'sum') return loss.sum();
  return weight || ignoreIndex !== undefined ? loss.sum().div(factors.sum()) : loss.mean();
});

/** Of logits along axis 1 (or the only one). Targets are classes, as `nllLoss` takes them, or probabilities in the shape of the input. */
export const crossEntropy = alone((x: Tensor, target: Tensor, ...given: Given<ClassOptions & {readonly labelSmoothing?: number}, [weight?: Tensor]>): Tensor => {
  const {labelSmoothing, ...options} = optionsOf('crossEntropy', {...CLASSES, labelSmoothing: 0}, given);
  const {reduction, weight} = options;
  const axis = x.ndim === 1 ? 0 : 1;
  const log = x.logSoftmax(axis);
  if (target.ndim === x.ndim && !(x.ndim === 1 && target.dtype[0] === 'i')) {
    sameShape('crossEntropy', x, target);
    return reduced(probable(log, smoothed(target, labelSmoothing, axis), axis, weight), reduction);
  }
  if (labelSmoothing === 0) return nllLoss(log, target, options);
  if (weight || options.ignoreIndex !== undefined) throw wrong('crossEntropy: smoothed labels go with neither weight nor ignoreIndex');
  return reduced(probable(log, smoothed(hotOf(x, target, axis), labelSmoothing, axis), axis), reduction);
});

const smoothed = (target: Tensor, amount: number, axis: number): Tensor =>
  amount === 0 ? target : target.mul(1 - amount).add(amount / (target.shape[axis] ?? 1));

function probable(log: Tensor, target: Tensor, axis: number, weight?: Tensor): Tensor {
  const factors = weight ? target.mul(along(weight, log, axis)) : target;
  return log.mul(factors).sum(axis).neg();
}

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
