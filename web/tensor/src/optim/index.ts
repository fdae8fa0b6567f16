import {named} from '../nn/named.ts';
import * as optimizers from './optimizers.ts';
import * as schedules from './schedules.ts';

export * from './clipping.ts';
export {
  Adagrad, type AdagradOptions, Adam, type AdamOptions, AdamW, Optimizer, type OptimizerOptions, type ParameterGroup, type Params,
  RMSprop, type RMSpropOptions, SGD, type SGDOptions,
} from './optimizers.ts';
export {
  type AnyOptimizer, ConstantLR, CosineAnnealingLR, ExponentialLR, type Factor, type GammaOption, LambdaLR, type LinearOptions, LinearLR, LRScheduler, MultiStepLR,
  type OneCycleOptions, OneCycleLR, type PlateauOptions, PolynomialLR, ReduceLROnPlateau, StepLR,
} from './schedules.ts';

for (const all of [optimizers, schedules]) named(all);
