export * from './clipping.ts';
export {
  Adagrad, type AdagradOptions, Adam, type AdamOptions, AdamW, Optimizer, type OptimizerOptions, type ParameterGroup, type Params,
  RMSprop, type RMSpropOptions, SGD, type SGDOptions,
} from './optimizers.ts';
export * from './schedules.ts';
