/** A page with its document inside: what `gossamer inspect --html` writes. */
import {Inspector} from './app.ts';
import {parseView} from './document.ts';

const root = document.getElementById('inspector');
const text = document.getElementById('view')?.textContent ?? '';
if (root) {
  try {
    const view = parseView(text);
    document.title = `${view.name || 'Model'} · Gossamer inspector`;
    new Inspector(root, view);
  } catch (problem) {
    root.textContent = problem instanceof Error ? problem.message : String(problem);
  }
}
