/** Elements with attributes and children; SVG as well. */
type Child = Node | string | number | undefined | false;
type Attributes = Readonly<Record<string, string | number | boolean | undefined | ((event: never) => void)>>;

function fill<T extends Element>(element: T, attributes: Attributes, children: readonly Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value as unknown as EventListener);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children) if (child !== undefined && child !== false) element.append(typeof child === 'number' ? String(child) : child);
  return element;
}

/** A function as attribute is a listener for the event of that name. */
export const h = <Tag extends keyof HTMLElementTagNameMap>(tag: Tag, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[Tag] =>
  fill(document.createElement(tag), attributes, children);

export const s = <Tag extends keyof SVGElementTagNameMap>(tag: Tag, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[Tag] =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

export const replace = (element: Element, ...children: Child[]): void =>
  element.replaceChildren(...children.filter((child) => child !== undefined && child !== false).map((child) => (typeof child === 'number' ? String(child) : child)));

const FOCUSABLE = 'button, input, select, summary, a, [tabindex]';

/**
 * Draws a part of the page again and leaves the focus where it was: on the control with the same text, else on the one at the same place.
 */
export function keepFocus(part: Element, draw: () => void): void {
  const active = document.activeElement;
  const before = part.contains(active) ? [...part.querySelectorAll(FOCUSABLE)] : [];
  const at = active ? before.indexOf(active) : -1;
  const nth = active ? before.slice(0, at).filter(({textContent}) => textContent === active.textContent).length : 0;
  draw();
  if (at < 0 || part.contains(document.activeElement)) return;
  const after = [...part.querySelectorAll<HTMLElement>(FOCUSABLE)];
  const same = after.filter(({tagName, textContent}) => tagName === active?.tagName && textContent === active.textContent);
  (same[nth] ?? same[0] ?? after[Math.min(at, after.length - 1)])?.focus({preventScroll: true});
}

/** A button that looks like a link. */
export const link = (text: Child, press: () => void, attributes: Attributes = {}): HTMLButtonElement =>
  h('button', {type: 'button', class: 'link', click: press, ...attributes}, text);

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => Child;
  /** To sort by; undefined values come last. */
  readonly value?: (row: Row) => number | string | undefined;
  readonly number?: boolean;
}

export interface TableOptions<Row> {
  readonly label: string;
  readonly sort: string | undefined;
  readonly onSort: (title: string) => void;
  readonly selected?: (row: Row) => boolean;
  readonly most?: number;
}

/** A table whose heads sort it; at most `most` rows, and a button for the others. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], options: TableOptions<Row>): HTMLElement {
  const {label, sort, onSort, selected, most = 200} = options;
  const by = columns.find(({title, value}) => title === sort && value);
  const sorted = [...rows];
  if (by?.value) {
    const {value, number} = by;
    sorted.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === undefined || y === undefined) return Number(x === undefined) - Number(y === undefined);
      return number ? Number(y) - Number(x) : String(x).localeCompare(String(y), 'en', {numeric: true});
    });
  }
  const head = h('tr', {}, ...columns.map((column) => {
    const active = column === by;
    return h('th', {scope: 'col', class: column.number ? 'number' : '', 'aria-sort': active ? (column.number ? 'descending' : 'ascending') : undefined},
      column.value ? h('button', {type: 'button', class: 'sort', click: () => onSort(column.title)}, column.title) : column.title);
  }));
  const body = h('tbody');
  const add = (from: number, count: number): void => {
    for (const row of sorted.slice(from, from + count)) {
      body.append(h('tr', {class: selected?.(row) ? 'selected' : ''}, ...columns.map((column) => h('td', {class: column.number ? 'number' : ''}, column.cell(row)))));
    }
  };
  add(0, most);
  const made = h('div', {class: 'scroll', role: 'region', 'aria-label': label, tabindex: 0}, h('table', {}, h('thead', {}, head), body));
  if (sorted.length > most) {
    const more = h('button', {type: 'button', class: 'quiet', click: () => {
      add(most, sorted.length);
      more.remove();
    }}, `Show ${sorted.length - most} more`);
    made.append(more);
  }
  return made;
}
