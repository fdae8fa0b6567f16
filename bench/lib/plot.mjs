// A result's picture: for each place a panel, for each model a line, for each party a dot at its time over
// Gossamer's, on a logarithmic axis.
import {modelOf} from '../models/table.mjs';
import {partyOf} from '../parties.mjs';

const COLOURS = {before: '#7d8a91', 'ort-native': '#3568c0', 'ort-jsep': '#7fa6e8', 'ort-webgl': '#3568c0', 'ort-wasm': '#3568c0', 'ort-node': '#3568c0', litert: '#d97a1d', jax: '#8b2f2f', tfjs: '#b5539c', tvm: '#8a6d3b'};
const OURS = '#0b7a6f';
const [WIDTH, LEFT, RIGHT, LINE, HEAD] = [900, 250, 40, 22, 54];
const TICKS = [0.0001, 0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000];

export const escaped = (text) => String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** {place, rows} of those in which Gossamer has a time. */
function panelsOf(rows) {
  const panels = new Map();
  for (const row of rows.filter(({parties}) => parties[0]?.median > 0)) {
    const threads = row.device === 'cpu' || row.device === 'wasm' ? `, ${row.threads} thread${row.threads > 1 ? 's' : ''}` : '';
    const place = `${row.device}${threads}${modelOf(row.model).family ? ', growth' : ''}`;
    panels.set(place, [...(panels.get(place) ?? []), row]);
  }
  return [...panels].map(([place, list]) => ({place, rows: list}));
}

const ratioOf = (row, party) => party.median / row.parties[0].median;
const shown = (row) => row.parties.slice(1).filter(({name, median, wrong}) => median > 0 && !wrong && !partyOf(name).floor);

function panelOf({place, rows}, top) {
  const ratios = rows.flatMap((row) => shown(row).map((party) => ratioOf(row, party)));
  const low = Math.min(0.5, ...ratios) * 0.9;
  const high = Math.max(2, ...ratios) * 1.1;
  const x = (ratio) => LEFT + ((WIDTH - LEFT - RIGHT) * Math.log(ratio / low)) / Math.log(high / low);
  const height = HEAD + LINE * rows.length;
  const parts = [`<text x="16" y="${top + 22}" class="place">${escaped(place)}</text>`];
  for (const tick of TICKS.filter((each) => each >= low && each <= high)) {
    const at = x(tick).toFixed(1);
    parts.push(`<path d="M${at} ${top + HEAD - 10}V${top + height - 6}" class="${tick === 1 ? 'one' : 'grid'}"/>`);
    parts.push(`<text x="${at}" y="${top + HEAD - 16}" class="tick">${tick}×</text>`);
  }
  for (const [index, row] of rows.entries()) {
    const y = top + HEAD + LINE * index + 6;
    parts.push(`<text x="${LEFT - 14}" y="${y + 4}" class="model">${escaped(modelOf(row.model).title)}</text>`);
    for (const party of shown(row)) {
      const title = `${partyOf(party.name).title}: ${party.median.toPrecision(3)} ms, Gossamer ${row.parties[0].median.toPrecision(3)} ms`;
      parts.push(`<circle cx="${x(ratioOf(row, party)).toFixed(1)}" cy="${y}" r="5" fill="${COLOURS[party.name]}"><title>${escaped(title)}</title></circle>`);
    }
    parts.push(`<circle cx="${x(1).toFixed(1)}" cy="${y}" r="5" fill="${OURS}"/>`);
  }
  return {parts, height};
}

function legendOf(rows, top) {
  const names = [...new Set(rows.flatMap((row) => shown(row).map(({name}) => name)))];
  const entries = [{title: 'Gossamer', colour: OURS}, ...names.map((name) => ({title: partyOf(name).title, colour: COLOURS[name]}))];
  const each = 285;
  const perLine = Math.floor((WIDTH - 32) / each);
  const parts = entries.map(({title, colour}, at) => {
    const x = 22 + each * (at % perLine);
    const y = top + 20 * Math.floor(at / perLine);
    return `<circle cx="${x}" cy="${y}" r="5" fill="${colour}"/><text x="${x + 12}" y="${y + 4}">${escaped(title)}</text>`;
  });
  return {parts, height: 20 * Math.ceil(entries.length / perLine) + 10};
}

/** result: {machine: {kind, date}, rows}; an SVG file. */
export function plot({machine, rows}) {
  const parts = [`<text x="16" y="30" class="title">Time over Gossamer’s, ${escaped(machine.kind ?? '')}, ${escaped(machine.date ?? '')} (right of 1×: Gossamer is faster)</text>`];
  let top = 56;
  for (const {parts: more, height} of [legendOf(rows, top)]) {
    parts.push(...more);
    top += height;
  }
  for (const panel of panelsOf(rows)) {
    const {parts: more, height} = panelOf(panel, top);
    parts.push(...more);
    top += height + 10;
  }
  return page(parts, WIDTH, top);
}

/** An SVG file of these elements. */
export function page(parts, width, height) {
  const style = 'text{font:12px system-ui,sans-serif;fill:#1d2327}.title{font-size:15px;font-weight:600}.place{font-size:14px;font-weight:600}.tick{text-anchor:middle;fill:#5f6b73;font-size:11px}.model{text-anchor:end}.away{fill:#5f6b73}.grid{stroke:#e3e6e8}.one{stroke:#0b7a6f}';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"><style>${style}</style><rect width="100%" height="100%" fill="#fff"/>\n${parts.join('\n')}\n</svg>\n`;
}
