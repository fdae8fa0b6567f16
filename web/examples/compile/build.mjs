import {join} from 'node:path';
import {bundleExample} from '../bundle_example.mjs';

const here = import.meta.dirname;
await bundleExample(here, join(here, '../../../build-wasm/compiler.wasm'));
