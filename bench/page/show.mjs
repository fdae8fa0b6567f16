// A comparison as a section of the page: the parties with their times as bars.
import {modelOf} from '../models/table.mjs';
import {partyOf} from '../parties.mjs';
import {ms, rate, verdict} from '../lib/report.mjs';

function element(tag, className, ...content) {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...content);
  return made;
}

export function showRow({model: name, device, threads, parties, adapter, leftOut}) {
  const model = modelOf(name);
  const where = [device, device === 'wasm' ? `${threads} thread${threads > 1 ? 's' : ''}` : adapter].filter(Boolean).join(', ');
  const section = element('section', '', element('h2', '', model.title), element('p', 'about', where));
  if (leftOut) section.append(element('p', 'about', leftOut));
  const slowest = Math.max(...parties.map(({median}) => median ?? 0));
  const ours = parties[0];
  for (const party of parties) {
    const line = element('div', party === ours ? 'party first' : 'party', element('span', '', partyOf(party.name).title));
    if (party.median !== undefined) {
      const more = party !== ours && ours.median > 0 ? element('span', 'times', ` ${(party.median / ours.median).toFixed(2)}×`) : '';
      const speed = model.part === 'matmul' ? rate(model, party) : `${ms(party.median)} ms`;
      line.append(element('b', '', speed, more));
      const bar = element('div', 'bar');
      bar.style.width = `${Math.max(0.5, (100 * party.median) / slowest)}%`;
      line.append(bar);
    }
    const said = verdict(party);
    if (said) line.append(element('div', 'why', said));
    section.append(line);
  }
  return section;
}
