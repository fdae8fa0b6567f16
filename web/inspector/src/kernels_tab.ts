/** The launches of a run and the kernels behind them: costs, schedules, the space of schedules, texts. */
import type {Context} from './context.ts';
import {type LaunchCost, measureOf, type TargetCosts} from './costs.ts';
import {type Column, h, link, table} from './dom.ts';
import {bytesText, msText, opsText, percentText, plural} from './units.ts';

function columnsOf(context: Context, costs: TargetCosts): Column<LaunchCost>[] {
  const measure = measureOf(costs);
  const whole = costs.total[measure] ?? 0;
  const share = (cost: LaunchCost): number => (whole > 0 ? (cost[measure] ?? 0) / whole : 0);
  return [
    {title: '#', cell: ({at}) => at + 1, value: ({at}) => -at, number: true},
    {title: 'Kernel', cell: (cost) => link(cost.name, () => context.set({kernel: cost.kernel, step: cost.launch === costs.run[cost.at]?.launch ? cost.at : undefined})), value: ({name}) => name},
    {title: 'Nodes', cell: (cost) => nodes(context, cost), value: ({origin}) => origin},
    ...(costs.profile ? [{title: 'Time', cell: ({ms}: LaunchCost) => msText(ms), value: ({ms}: LaunchCost) => ms, number: true}] : []),
    {title: 'Share', cell: (cost) => h('span', {class: 'meter', style: `--share: ${(100 * share(cost)).toFixed(1)}%`}, percentText(share(cost))), value: share, number: true},
    {title: 'Operations', cell: ({operations}) => opsText(operations), value: ({operations}) => operations, number: true},
    {title: 'Bytes', cell: ({bytes}) => bytesText(bytes), value: ({bytes}) => bytes, number: true},
    ...(costs.compiled.manifest.side ? [{title: 'Device', cell: ({onSide}: LaunchCost) => (onSide ? 'CPU' : 'GPU'), value: ({onSide}: LaunchCost) => (onSide ? 'CPU' : 'GPU')}] : []),
  ];
}

const nodes = (context: Context, {nodes: found, origin}: LaunchCost): Node => {
  const shown = found.slice(0, 3);
  if (shown.length === 0) return document.createTextNode(origin);
  return h('span', {}, ...shown.flatMap((node, at) => [at > 0 ? ' + ' : '', link(context.label(node), () => context.reveal(node))]), found.length > 3 ? ` + ${found.length - 3} more` : '');
};

/** Calls of a schedule, one a line. */
const lines = (schedule: string): string => schedule.replaceAll(/; /g, '\n').replaceAll(' | ', '\n\n');

function code(text: string, letters: number | undefined, label: string): HTMLElement {
  const copy = h('button', {type: 'button', class: 'quiet small', click: () => {
    void navigator.clipboard.writeText(text).then(() => (copy.textContent = 'Copied'), () => (copy.textContent = 'The browser forbids it'));
  }}, 'Copy');
  return h('div', {class: 'code'}, copy, h('pre', {tabindex: 0, 'aria-label': label}, text),
    letters !== undefined && h('p', {class: 'hint'}, `The beginning, ${text.length.toLocaleString('en')} of ${letters.toLocaleString('en')} characters: \`gossamer inspect --dump\` writes all of it.`));
}

function kernelDetails(context: Context, costs: TargetCosts, at: number): HTMLElement {
  const {compiled} = costs;
  const kernel = compiled.kernels[at];
  const info = compiled.manifest.kernels[at];
  if (!kernel || !info) return h('section', {}, h('p', {}, 'There is no such kernel.'));
  const launches = costs.run.filter((cost) => cost.kernel === at || cost.launch.kernel === at);
  const chosen = launches.find((cost) => cost.at === context.state.step) ?? launches[0];
  const other = chosen?.launch.hardware ? (chosen.launch.kernel === at ? chosen.launch.hardware.kernel : chosen.launch.kernel) : undefined;
  const isHardware = chosen?.launch.hardware?.kernel === at;
  const [plain, better] = compiled.target === 'wasm' ? ['without relaxed SIMD', 'with relaxed SIMD'] : ['software adapters', 'GPUs in hardware'];
  const own = kernel.points?.[0];
  return h('section', {class: 'card kernel', 'aria-label': `Kernel ${info.name}`},
    h('div', {class: 'row'}, h('h2', {}, `${info.name} `, h('small', {}, `kernel ${at}`)), h('button', {type: 'button', class: 'quiet small', click: () => context.set({kernel: undefined})}, 'Close')),
    h('p', {}, launches.length > 0 ? `${plural(launches.length, 'launch', 'launches')} a run` : 'runs once, when the model is loaded', (info.group ?? 1) > 1 ? `, ${info.group} invocations a workgroup` : '', other === undefined ? '' : `, for ${isHardware ? better : plain}`,
      kernel.record ? `, schedule from a record: ${kernel.record}` : ''),
    other !== undefined && h('p', {}, link(`The kernel for ${isHardware ? plain : better}`, () => context.set({kernel: other}))),
    h('p', {class: 'hint'}, kernel.origin),
    h('h3', {}, 'Schedule'), code(lines(info.schedule ?? ''), undefined, 'Schedule'),
    kernel.points !== undefined && kernel.points.length > 1 && h('details', {}, h('summary', {}, `${kernel.points.length} points of its space of schedules`),
      h('ol', {class: 'points'}, ...kernel.points.map((point) => h('li', {class: point === own ? 'current' : ''}, point))),
      h('p', {class: 'hint'}, `Key ${kernel.key ?? ''}, class ${kernel.class ?? ''}. The first is the default. \`gossamer tune\` measures them; \`gossamer inspect --space\` lists more.`)),
    h('h3', {}, kernel.code === undefined ? 'Loops' : 'Shader'), code(kernel.code ?? kernel.ir ?? '', kernel.letters, 'Code of the kernel'));
}

export function kernelsTab(context: Context): (Node | false)[] {
  const costs = context.current;
  if (!costs) return [h('p', {}, `${context.target} cannot run this model: see Problems.`)];
  const {kernel, step, sort} = context.state;
  const {total, compiled} = costs;
  const said = [plural(costs.run.length, 'launch', 'launches'), plural(compiled.kernels.length, 'kernel'), opsText(total.operations), `${bytesText(total.bytes)} read and written`, total.ms === undefined ? '' : `${msText(total.ms)} in kernels`];
  const unknown = costs.run.filter(({bytes, operations}) => bytes === undefined || operations === undefined).length;
  return [
    h('p', {class: 'hint'}, `${said.filter((word) => word !== '').join(', ')}; ${plural(costs.init.length, 'launch', 'launches')} at load.${unknown > 0 ? ` The sizes of ${plural(unknown, 'launch', 'launches')} depend on values that only a run computes; the sums leave them out.` : ''}`),
    ...(kernel === undefined ? [] : [kernelDetails(context, costs, kernel)]),
    table(columnsOf(context, costs), costs.run, {
      label: 'Launches of a run', sort: sort ?? 'Share', onSort: (title) => context.set({sort: title}),
      selected: (cost) => (step === undefined ? cost.kernel === kernel : cost.at === step && kernel !== undefined),
    }),
    costs.init.length > 0 && h('details', {}, h('summary', {}, `${plural(costs.init.length, 'launch', 'launches')} at load, which pack weights`),
      table(columnsOf(context, costs).filter(({title}) => title !== 'Time' && title !== 'Share'), costs.init, {label: 'Launches at load', sort: sort ?? 'Bytes', onSort: (title) => context.set({sort: title})})),
  ];
}
