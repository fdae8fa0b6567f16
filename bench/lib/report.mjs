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

export const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ');

function rowsOf({model: name, device, threads, parties, leftOut}) {
  const model = modelOf(name);
  if (leftOut) return [`| ${model.title} | ${device} | | | | | | | | | ${leftOut} |`];
  return parties.map((party) => {
    const times = party.median === undefined ? '' : `${ms(party.low)} to ${ms(party.high)}`;
    const speed = model.part === 'matmul' && party.median > 0 ? rate(model, party) : '';
    const said = [verdict(party), party.note].filter(Boolean).join('; ');
    const place = device === 'wasm' || device === 'cpu' ? `${device}, ${threads}` : device;
    const cells = [model.title, place, partyOf(party.name).title, ms(party.median), times, ms(party.cpu), party.ratio?.toFixed(2) ?? '', speed];
    return `| ${[...cells, ms(party.load), ms(party.first), said].map(cell).join(' | ')} |`;
  });
}

const megabytes = (bytes) => (bytes === undefined ? '' : (bytes / 2 ** 20).toFixed(1));

function loadTable(load) {
  const rows = load.flatMap(({model, device, parties}) =>
    parties.map((party) => {
      const cells = [modelOf(model).title, device, partyOf(party.name).title, ms(party.load), ms(party.first), megabytes(party.code), megabytes(party.weights), megabytes(party.peak)];
      return `| ${[...cells, verdict(party)].map(cell).join(' | ')} |`;
    }),
  );
  return [
    '## Before the first result',
    '',
    'Each party alone in a fresh browser with an empty profile; medians of three. ms until ready, and until the first result;',
    'MB of code after gzip and of weights that were fetched from this machine; MB by which the peaks of all of the browser’s',
    'processes together grew, memory they share counted in each.',
    '',
    '| model | where | party | load | first | code | weights | memory | |',
    '|---|---|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ];
}

const sizeTable = (sizes) => [
  '## Sizes',
  '',
  '| after gzip | KB | limit | |',
  '|---|---|---|---|',
  ...sizes.map(({what, bytes, limit}) => `| ${what} | ${(bytes / 1024).toFixed(1)} | ${(limit / 1024).toFixed(1)} | ${bytes <= limit ? 'met' : '**missed**'} |`),
  '',
];

const compileTable = (compile) => [
  '## Compiling',
  '',
  'With the command line, reading and writing files included; medians of three, in turns.',
  '',
  '| what | party | ms |',
  '|---|---|---|',
  ...compile.map(({what, edition, ms: time}) => `| ${what} | ${edition === 'now' ? 'Gossamer' : 'Gossamer before'} | ${ms(time)} |`),
  '',
];

const gain = (before, after) => `${before.toFixed(3)} | ${after.toFixed(3)} | ${(before / after).toFixed(2)}`;

/** rows: of lib/tuned.mjs. */
export const tunedTable = (rows) => [
  '| model | target | adapter | run | tuned | gain | kernels | tuned | gain | kernels changed | points |',
  '|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|',
  ...rows.map((row) => {
    const cells = [cell(row.model), row.target, cell(row.adapter), gain(row.runMsBefore, row.runMsAfter), gain(row.kernelMsBefore, row.kernelMsAfter)];
    return `| ${cells.join(' | ')} | ${row.changed} of ${row.kernels} | ${row.trials} in ${row.seconds} s |`;
  }),
];

const tunedSection = (rows) => [
  '## Tuned against default',
  '',
  'By `gossamer tune` from nothing: milliseconds of whole runs and of the sum of kernels, the fastest of five turns of both.',
  '',
  ...tunedTable(rows),
  '',
];

/** result: {machine: {text}, rows, load?, sizes?, compile?, tuned?, problems?}. */
export function markdown({machine, rows, load, sizes, compile, tuned, problems}) {
  return [
    '# Benchmark',
    '',
    machine.text,
    '',
    'Medians in ms with inputs written and outputs read, batch 1; the parties take turns, run by run. Ratio: the median over',
    'rounds of Gossamer / this one, below 1 Gossamer is faster. Products and kernels: the difference between chains of them, by',
    'link. Load: until a model is ready, files from this machine; first: until its first result, compiling shaders included.',
    '',
    ...(rows.length ? ['| model | where | party | ms | half of them | CPU ms | ratio | rate | load | first | |', '|---|---|---|---|---|---|---|---|---|---|---|', ...rows.flatMap(rowsOf), ''] : []),
    ...(load ? loadTable(load) : []),
    ...(sizes ? sizeTable(sizes) : []),
    ...(compile ? compileTable(compile) : []),
    ...(tuned?.length ? tunedSection(tuned) : []),
    ...(problems?.length ? ['Not measured:', '', ...problems.map((problem) => `- ${problem}`), ''] : []),
  ].join('\n');
}
