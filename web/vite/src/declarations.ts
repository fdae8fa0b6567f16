/** NAME.d.onnx.ts, by which TypeScript knows the inputs and outputs of NAME.onnx. */
import {readFile, writeFile} from 'node:fs/promises';
import type {Compiled, Port} from './compiled.ts';

const union = (ports: readonly Port[]): string => ports.map(({name}) => JSON.stringify(name)).join(' | ') || 'never';
const list = (ports: readonly Port[]): string =>
  ports.map(({name, dtype, shape}) => ` * - ${name}: ${dtype}[${shape.map((extent) => (typeof extent === 'number' ? extent : '?')).join(', ')}]\n`).join('');

/** `from`: the package that compiles the model, and has its type. */
export async function writeTypes(file: string, {manifest: {inputs, outputs}}: Compiled, from: string): Promise<void> {
  const text = `// Written by ${from}.
import type {CompiledModel} from '${from}';

/**
 * Inputs:
${list(inputs)} *
 * Outputs:
${list(outputs)} */
declare const model: CompiledModel<${union(inputs)}, ${union(outputs)}>;
export default model;
`;
  const place = file.replace(/\.onnx$/, '.d.onnx.ts');
  // Only what changes: bundlers and editors watch it.
  if ((await readFile(place, 'utf8').catch(() => '')) !== text) await writeFile(place, text);
}
