import {named} from '../nn/named.ts';
import {LBFGS} from './lbfgs.ts';
import * as more from './more_optimizers.ts';
import * as schedules from './more_schedules.ts';

export * from './index.ts';
export {LBFGS, type LBFGSOptions} from './lbfgs.ts';
export * from './more_optimizers.ts';
export * from './more_schedules.ts';

for (const all of [{LBFGS}, more, schedules]) named(all);
