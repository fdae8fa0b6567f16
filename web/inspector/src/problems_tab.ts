/** All that stands against running the model, at once. */
import type {Context} from './context.ts';
import type {LaunchCost} from './costs.ts';
import {h, link} from './dom.ts';
import {plural} from './units.ts';

export interface OperatorProblem {
  readonly op: string;
  readonly message: string;
  readonly hint: string;
  readonly nodes: readonly number[];
}

/** Nodes that no target can compile, by operator and reason. */
export function problemsOf({view}: Context): OperatorProblem[] {
  const found = new Map<string, OperatorProblem & {nodes: number[]}>();
  view.nodes.forEach(({op, domain, problem}, node) => {
    if (!problem) return;
    const message = `${problem.where ? `${problem.where}: ` : ''}${problem.message}`;
    const key = `${domain ?? ''} ${op} ${problem.message}`;
    const known = found.get(key);
    if (known) known.nodes.push(node);
    else found.set(key, {op, message, hint: problem.hint ?? '', nodes: [node]});
  });
  return [...found.values()];
}

export interface NotOnGpu {
  readonly target: string;
  readonly reason: string;
  readonly costs: readonly LaunchCost[];
}

/** Launches that the CPU next to a GPU computes, by target and reason. */
export function notOnGpu({costs}: Context): NotOnGpu[] {
  const found = new Map<string, NotOnGpu & {costs: LaunchCost[]}>();
  for (const [target, {run}] of costs) {
    for (const cost of run) {
      if (!cost.onSide) continue;
      const reason = cost.reason ?? 'it works together with what the GPU cannot compute';
      const known = found.get(`${target} ${reason}`);
      if (known) known.costs.push(cost);
      else found.set(`${target} ${reason}`, {target, reason, costs: [cost]});
    }
  }
  return [...found.values()];
}

const nodeLinks = (context: Context, nodes: readonly number[]): HTMLElement => {
  const list = h('ul', {class: 'chips'});
  const add = (some: readonly number[]): void => list.append(...some.map((node) => h('li', {}, link(context.label(node), () => context.reveal(node)))));
  add(nodes.slice(0, 20));
  if (nodes.length > 20) {
    const more = h('li', {}, link(`${nodes.length - 20} more`, () => {
      more.remove();
      add(nodes.slice(20));
    }));
    list.append(more);
  }
  return list;
};

export function problemsTab(context: Context): Node[] {
  const problems = problemsOf(context);
  const side = notOnGpu(context);
  const refused = context.view.targets.filter((target) => 'problem' in target);
  const unchecked = context.view.nodes.filter((node) => node.unchecked).length;
  const made: Node[] = [h('h2', {}, problems.length === 0 ? 'Every operator is supported' : `${plural(problems.length, 'operator')} cannot be compiled`)];
  for (const {op, message, hint, nodes} of problems) {
    made.push(h('section', {class: 'card'}, h('h3', {}, op, h('small', {}, ` ${plural(nodes.length, 'node')}`)), h('p', {class: 'problem'}, message), hint !== '' && h('p', {class: 'hint'}, hint), nodeLinks(context, nodes)));
  }
  if (unchecked > 0) made.push(h('p', {class: 'hint'}, `${plural(unchecked, 'node')} could not be checked, because their inputs depend on these operators.`));
  if (refused.length > 0 && problems.length === 0) {
    made.push(...refused.map(({target, problem}) => h('section', {class: 'card'}, h('h3', {}, `${target} cannot run this model`), h('p', {class: 'problem'}, problem))));
  }
  if (context.costs.size > 0) made.push(h('h2', {}, side.length === 0 ? 'Each GPU target computes everything on the GPU' : 'Not on the GPU'));
  for (const {target, reason, costs} of side) {
    made.push(h('section', {class: 'card'}, h('h3', {}, `${target}: ${plural(costs.length, 'launch', 'launches')} on the CPU`), h('p', {}, reason), nodeLinks(context, [...new Set(costs.flatMap(({nodes}) => nodes))])));
  }
  return made;
}
