// One model on several devices: a table, and a bar for each.
import {escaped, page} from './plot.mjs';
import {cell, ms} from './report.mjs';

const COLOURS = {cpu: '#7d8a91', opencl: '#8a6d3b', opengl: '#b5539c', webgl: '#d97a1d', 'webgl-native': '#b0413e', webgpu: '#0b7a6f', 'webgpu-native': '#3568c0'};
const [WIDTH, LEFT, RIGHT, LINE, HEAD] = [900, 130, 120, 34, 52];

const reference = (rows) => rows.find(({median}) => median > 0);

/** {machine: {text}, title, rows: [{title, adapter, median, low, high, ratio, error, problem}]}; the first is what others are compared with. */
export function devicesMarkdown({machine, title, rows}) {
  const lines = rows.map(({title: device, adapter, median, low, high, ratio, error, problem}) => {
    if (!(median > 0)) return [device, adapter ?? '', '', '', '', '', `not measured: ${problem}`];
    return [device, adapter, ms(median), `${ms(low)} to ${ms(high)}`, ratio?.toFixed(2) ?? '', error.toPrecision(2), ''];
  });
  return [
    `# ${title} on each device`,
    '',
    `${machine.text}`,
    '',
    'Medians in ms of whole runs, inputs written and outputs read, batch 1; the devices take turns. Ratio: the median over turns of the first',
    'device / this one, above 1 this one is faster. Difference: of the outputs from the first device’s, over what is allowed',
    '(docs/commands.md, "test": 1 would be too much).',
    '',
    '| device | adapter | ms | half of them | ratio | difference | |',
    '|---|---|--:|---|--:|--:|---|',
    ...lines.map((cells) => `| ${cells.map((each) => cell(each)).join(' | ')} |`),
    '',
  ].join('\n');
}

/** The same as an SVG file. */
export function bars({machine, title, rows}) {
  const longest = Math.max(...rows.map(({median = 0}) => median));
  const first = reference(rows);
  const parts = [`<text x="16" y="30" class="title">${escaped(title)}: ms a run, ${escaped(machine.kind)}, ${escaped(machine.date)}</text>`];
  rows.forEach(({name, title: device, adapter = '', median, problem}, at) => {
    const y = HEAD + LINE * at;
    parts.push(`<text x="${LEFT - 14}" y="${y + 16}" class="model">${escaped(device)}</text>`);
    if (!(median > 0)) {
      parts.push(`<text x="${LEFT}" y="${y + 16}" class="away">${escaped(String(problem).slice(0, 100))}</text>`);
      return;
    }
    const width = ((WIDTH - LEFT - RIGHT) * median) / longest;
    const times = first.median / median;
    const said = `${ms(median)} ms${first.name === name ? '' : `, ${times.toPrecision(2)}×`}`;
    parts.push(`<rect x="${LEFT}" y="${y + 2}" width="${width.toFixed(1)}" height="20" fill="${COLOURS[name] ?? '#3568c0'}"><title>${escaped(adapter)}</title></rect>`);
    parts.push(`<text x="${(LEFT + width + 8).toFixed(1)}" y="${y + 16}">${escaped(said)}</text>`);
  });
  return page(parts, WIDTH, HEAD + LINE * rows.length + 10);
}
