/** A model as a table: its modules, what they give and how many parameters they have. */
import {shapeText} from '../../../runtime/src/values/types.ts';
import {Tensor} from '../tensor.ts';
import {traced} from '../tracing.ts';
import type {Module} from './module.ts';

const count = (parameters: readonly Tensor[]): number => parameters.reduce((sum, {size}) => sum + size, 0);

/** Shapes of what a module gave. */
function shapesOf(made: unknown): string {
  if (made instanceof Tensor) return shapeText(made.shape);
  return Array.isArray(made) ? made.map(shapesOf).filter((text) => text).join(', ') : '';
}

/** A line a module: name, class, the shape of its output where inputs are given, and its own parameters. Nothing is computed. */
export function summary(module: Module, ...inputs: readonly unknown[]): string {
  const all = module.namedModules();
  const shapes = new Map<Module, string>();
  const hooks = inputs.length > 0 ? all.map(([, each]) => each.registerForwardHook((_, __, output) => void shapes.set(each, shapesOf(output)))) : [];
  const modes = all.map(([, each]) => each.training);
  try {
    if (inputs.length > 0) traced(false, () => module.eval().forward(...inputs) as unknown);
  } finally {
    all.forEach(([, each], at) => (each.training = modes[at] ?? true));
    hooks.forEach((hook) => hook.remove());
  }
  const seen = new Set<Tensor>();
  const rows = all.map(([name, each]) => {
    const own = each.parameters().filter((parameter) => !each.children().some((child) => child.parameters().includes(parameter)) && !seen.has(parameter));
    own.forEach((parameter) => seen.add(parameter));
    return [name || '(model)', each.constructor.name, shapes.get(each) ?? '', own.length > 0 ? String(count(own)) : ''];
  });
  const table = [['name', 'module', 'output', 'parameters'], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) => row.map((cell, column) => (column < 3 ? cell.padEnd(widths[column] ?? 0) : cell)).join('  ').trimEnd());
  const parameters = module.parameters();
  return [...lines, `${count(parameters)} parameters, ${count(parameters.filter(({requiresGrad}) => requiresGrad))} of them learn; ${count(module.buffers())} numbers in buffers`].join('\n');
}
