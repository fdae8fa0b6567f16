import * as cells from './cells.ts';
import * as more from './more_layers.ts';
import {named} from './named.ts';
import * as transformer from './transformer.ts';

export * from './index.ts';
export * from './cells.ts';
export * from './more_layers.ts';
export * from './transformer.ts';
export * as functional from './all_functional.ts';
export {summary} from './summary.ts';

for (const all of [cells, more, transformer]) named(all);
