/**
 * compiler.wasm for the recorder, had while the module is imported (top-level await): beside this file, or where
 * `?wasm=URL` of the import says. Where it is not there, operations throw, until init() is given it.
 */
import {getModule, type WasmSource} from '../../compiler/src/module.ts';
import {GossamerError} from '../../runtime/src/values/types.ts';
import {packageFile} from '../../runtime/src/devices/wasm/package_file.ts';
import {setMissing, startRecorder} from './recording.ts';

/** Takes compiler.wasm from elsewhere: its bytes, module or address. Needed only where the import did not find it. */
export async function init({wasm}: {readonly wasm: WasmSource}): Promise<void> {
  await startRecorder(await getModule(wasm));
}

const here = new URL(import.meta.url);
const given = here.searchParams.get('wasm');
// Bundlers find the file by this form of the expression.
const address = given === null ? await packageFile(new URL('./compiler.wasm', import.meta.url)) : new URL(given, here);
try {
  await init({wasm: address});
} catch (problem) {
  setMissing(new GossamerError(
    'source',
    `compiler.wasm was not found at ${address.href}: import tensor.js?wasm=URL, or await init({wasm}) first`,
    {cause: problem},
  ));
}
