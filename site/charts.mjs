// Charts of measured times: tables whose cells have bars, which need no script and are read aloud as tables.
import {readFileSync} from 'node:fs';
import path from 'node:path';
import {models} from '../bench/models/table.mjs';
import {parties as engines} from '../bench/parties.mjs';

/** What is shown, the most telling first. `rows`: parts of the table of models. */
const CHARTS = [
  {title: 'WebGPU on an NVIDIA H200', file: 'nvidia-h200', device: 'webgpu', parts: ['models', 'decoding', 'training']},
  {title: 'WebGL 2 on an NVIDIA H200', file: 'nvidia-h200', device: 'webgl', parts: ['decoding', 'training']},
  {title: 'WebAssembly on an Intel Xeon, one thread', file: 'intel-xeon-2-core-models', device: 'wasm', parts: ['models']},
  {title: 'WebAssembly on an AMD EPYC, one thread', file: 'amd-epyc-2-core', device: 'wasm', parts: ['models', 'decoding', 'training']},
  {title: 'WebGL 2 on an AMD EPYC, in software', file: 'amd-epyc-2-core', device: 'webgl', parts: ['models', 'training']},
  {title: 'The processor itself, an Intel Xeon, one thread', file: 'intel-xeon-2-core-models', device: 'cpu', parts: ['models']},
  {title: 'The processor itself, an AMD EPYC, one thread', file: 'amd-epyc-2-core', device: 'cpu', parts: ['models']},
];
/** Earlier versions and runs that compute nothing are in the full results. */
const LEFT_OUT = ['before', 'floor'];

const escaped = (text) => text.replace(/[&<>"]/g, (letter) => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'})[letter]);
const milliseconds = (ms) => (ms < 10 ? ms.toFixed(1) : ms.toFixed(0));

function rowsOf(row, titles) {
  const parties = row.parties.filter(({name, median, wrong}) => !LEFT_OUT.includes(name) && median > 0 && !wrong);
  const own = parties.find(({name}) => name === 'gossamer');
  if (!own || parties.length < 2) return '';
  const slowest = Math.max(...parties.map(({median}) => median));
  return parties.map(({name, median}, at) => {
    const ratio = median / own.median;
    const said = name === 'gossamer' ? '' : ratio >= 1 ? `${ratio.toFixed(1)}x the time` : `${(1 / ratio).toFixed(1)}x faster than Gossamer`;
    return `<tr class="${name === 'gossamer' ? 'own' : 'other'}">${at === 0 ? `<th scope="rowgroup" rowspan="${parties.length}">${escaped(titles.models.get(row.model) ?? row.model)}</th>` : ''}` +
      `<td>${escaped(titles.parties.get(name) ?? name)}</td><td class="time"><span class="bar" style="--share:${Math.max(1, (100 * median) / slowest).toFixed(1)}%"></span><span class="ms">${milliseconds(median)} ms</span><span class="ratio">${said}</span></td></tr>`;
  }).join('\n');
}

/** HTML for the results of a folder. */
export function charts(folder) {
  const titles = {models: new Map(models.map(({name, title}) => [name, title])), parties: new Map(engines.map(({name, title}) => [name, title]))};
  const partOf = new Map(models.map(({name, part}) => [name, part]));
  return CHARTS.map(({title, file, device, parts}) => {
    const {machine, rows} = JSON.parse(readFileSync(path.join(folder, `${file}.json`), 'utf8'));
    const shown = rows.filter((row) => row.device === device && row.threads === 1 && parts.includes(partOf.get(row.model)));
    const body = shown.map((row) => rowsOf(row, titles)).filter(Boolean).map((group) => `<tbody>${group}</tbody>`).join('\n');
    return `## ${title}\n\n<table class="bars"><thead><tr><th scope="col">Model</th><th scope="col">Engine</th><th scope="col">Median of whole runs</th></tr></thead>\n${body}\n</table>\n\n<p class="machine">${escaped(machine.text)}. <a href="/results/${file}">All rows</a>.</p>\n`;
  }).join('\n');
}
