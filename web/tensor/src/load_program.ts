/** From a recorded program to a model on a device: what a page fetches when its first program is wanted. */
import {Compiler} from '../../compiler/src/index.ts';
import {type ComputeDevice, load, type Model} from '../../runtime/src/index.ts';
import {GossamerError} from '../../runtime/src/values/types.ts';

/** One for all devices, which stays for the next program. */
let compiler: Promise<Compiler> | undefined;

/** What the compiler says no to, as other errors are. */
function refused(problem: unknown): never {
  if (!(problem instanceof Error) || problem.name !== 'CompileError') throw problem;
  throw new GossamerError(/can (hold|count)\b/.test(problem.message) ? 'out-of-memory' : 'unsupported', problem.message, {cause: problem});
}

/** `wasm`: of the compiler; `weights`: by name, as they lie in memory. */
export async function loadProgram(
  wasm: WebAssembly.Module,
  onnx: Uint8Array,
  target: 'wasm' | 'webgpu' | 'webgl',
  opened: Promise<ComputeDevice>,
  weights: (name: string) => Promise<Uint8Array> | undefined,
): Promise<Model> {
  compiler ??= Compiler.open({wasm});
  const files = await (await compiler).compile(onnx, {target, holdExternal: true}).catch(refused);
  return load(files, {device: await opened, weights});
}
