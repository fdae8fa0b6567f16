import * as attention from './attention.ts';
import * as containers from './containers.ts';
import * as layers from './layers.ts';
import * as losses from './loss_layers.ts';
import {named} from './named.ts';
import * as norms from './norms.ts';
import * as plain from './plain_layers.ts';
import * as recurrent from './recurrent.ts';

export * from './attention.ts';
export * from './containers.ts';
export * from './layers.ts';
export {BufferTensor, type ForwardHook, type ForwardPreHook, type HookHandle, Layer, Module, Parameter, type StateDict} from './module.ts';
export * from './norms.ts';
export * from './plain_layers.ts';
export * from './recurrent.ts';
export * as functional from './functional.ts';
export * as init from './init.ts';
export * from './loss_layers.ts';

// As a bundle shortens the names of classes.
for (const all of [attention, containers, layers, losses, norms, plain, recurrent]) named(all);
