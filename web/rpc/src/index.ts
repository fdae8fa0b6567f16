/** A device of `gossamer rpc`: `join` makes this page or process one, of the targets that `findTargets` finds. */
export type {Activity} from './device.ts';
export {join, type JoinOptions} from './join.ts';
export {findTargets} from './targets.ts';
