// A result as Markdown, for files and for the page that lets one copy it.
import {modelOf} from '../models/table.mjs';
import {partyOf} from '../parties.mjs';

export const ms = (value) =>
  value === undefined ? '' : value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toPrecision(2);

/** Of a kernel's arithmetic. */
export const rate = ({flops}, {median}) =>
  flops / median >= 1e9 ? `${(flops / median / 1e9).toFixed(1)} TFLOP/s` : `${(flops / median / 1e6).toFixed(1)} GFLOP/s`;

/** What is to be said about a party beside its times; '' when all is well. */
export function verdict({problem, overMs, wrong, error}) {
  if (overMs) return `> ${Math.round(overMs)} ms`;
  if (problem) return `refuses: ${problem.slice(0, 120)}`;
  if (wrong) return `wrong: its output is off by ${error === Infinity ? 'its size' : error?.toExponential(0)}`;
  return '';
}

const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ');

function rowsOf({model: name, device, threads, parties}) {
  const model = modelOf(name);
  return parties.map((party) => {
    const times = party.median === undefined ? '' : `${ms(party.low)} to ${ms(party.high)}`;
    const speed = model.part === 'matmul' && party.median > 0 ? rate(model, party) : '';
    const said = [verdict(party), party.note].filter(Boolean).join('; ');
    const place = device === 'wasm' || device === 'cpu' ? `${device}, ${threads}` : device;
    const cells = [model.title, place, partyOf(party.name).title, ms(party.median), times, ms(party.cpu), party.ratio?.toFixed(2) ?? '', speed];
    return `| ${[...cells, ms(party.load), ms(party.first), said].map(cell).join(' | ')} |`;
  });
}

/** result: {machine: {text}, rows}. */
export function markdown({machine, rows}) {
  return [
    '# Benchmark',
    '',
    machine.text,
    '',
    'Medians in ms with inputs written and outputs read, batch 1; the parties take turns, run by run. Ratio: the median over',
    'rounds of Gossamer / this one, below 1 Gossamer is faster. Products: the difference between chains of 3 and of 35, by link.',
    'Load: until a model is ready, downloads from this machine; first: until its first result.',
    '',
    '| model | where | party | ms | half of them | CPU ms | ratio | rate | load | first | |',
    '|---|---|---|---|---|---|---|---|---|---|---|',
    ...rows.flatMap(rowsOf),
    '',
  ].join('\n');
}
