export * from './attention.ts';
export * from './layers.ts';
export {Layer, Module, Parameter, type StateDict} from './module.ts';
export * from './recurrent.ts';
export * as functional from './functional.ts';
export * as init from './init.ts';
export * from './loss_layers.ts';
