/** The graph as a picture: moved by dragging and keys, drawn where it is looked at. */
import type {Context} from './context.ts';
import {h, s} from './dom.ts';
import {shapeText} from './expressions.ts';
import {type Box, Layouts, type Line, type Picture} from './layout.ts';
import type {Scope} from './scopes.ts';
import {percentText, plural} from './units.ts';

const HEIGHT = 44;
const LETTER = 7.4;
const SMALL_LETTER = 6.3;
const MOST_LETTERS = 26;
/** Below this scale boxes cannot be read. */
const LEAST = 0.6;
/** Of all groups as many are opened at once as can be laid out in a second or two. */
const MOST_BOXES = 1500;

const cut = (text: string, letters = MOST_LETTERS): string => (text.length > letters ? `${text.slice(0, letters - 1)}…` : text);

interface Place {
  x: number;
  y: number;
  k: number;
}

export class GraphView {
  readonly element: HTMLElement;
  readonly #context: Context;
  readonly #layouts: Layouts;
  readonly #svg: SVGSVGElement;
  readonly #world: SVGGElement;
  #picture: Picture = {width: 0, height: 0, boxes: [], lines: []};
  #place: Place | undefined;
  /** The largest share of a box that is not open: the hottest colour. */
  #most = 1;
  #focused: number | Scope | undefined;
  #drawing = 0;
  #width = 0;
  readonly #pointers = new Map<number, {x: number; y: number}>();

  constructor(context: Context) {
    this.#context = context;
    this.#layouts = new Layouts(context.tree, (member) => this.#sizeOf(member));
    this.#world = s('g');
    this.#svg = s('svg', {role: 'group', 'aria-label': 'Graph. Arrow keys go from node to node, Enter shows details, Space opens and closes a group.'},
      s('defs', {}, s('marker', {id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: 'userSpaceOnUse', orient: 'auto-start-reverse'}, s('path', {d: 'M0 0L8 4L0 8z', class: 'arrow'}))),
      this.#world);
    const press = (text: string, label: string, work: () => void): HTMLElement => h('button', {type: 'button', class: 'quiet small', 'aria-label': label, title: label, click: work}, text);
    this.element = h('div', {class: 'graph'}, this.#svg, h('div', {class: 'zoom'},
      press('+', 'Zoom in', () => this.#zoom(1.3)), press('−', 'Zoom out', () => this.#zoom(1 / 1.3)), press('⤢', 'Show all', () => this.fit()),
      press('⊞', 'Open groups', () => this.#context.set({folds: this.#context.foldsFor(this.#context.tree.openAtFirst(MOST_BOXES))})),
      press('⊟', 'Close groups', () => this.#context.set({folds: this.#context.foldsFor(new Set([0]))}))));
    this.#listen();
  }

  #sizeOf(member: number | Scope): readonly [number, number] {
    const [title, below] = this.#texts(member);
    return [Math.max(96, LETTER * title.length + 24, SMALL_LETTER * (below.length + (typeof member === 'object' ? 7 : 0)) + 20), HEIGHT];
  }

  #texts(member: number | Scope): readonly [string, string] {
    const {graph, tree, view, state} = this.#context;
    if (typeof member === 'object') return [cut(member.title), plural(tree.count(member), 'node')];
    const value = graph.valueOf(member);
    return [cut(graph.titleOf(member)), cut(shapeText(value === undefined ? undefined : view.values[value]?.shape, state.dims), 30)];
  }

  /** Draws the state. */
  update(reveal: boolean): void {
    this.#picture = this.#layouts.picture(this.#context.open);
    this.#most = Math.max(1e-9, ...this.#picture.boxes.map(({member, open}) => (open ? 0 : this.#context.shareOf(member))));
    const {item, scope} = this.#context.state;
    const selected = item ?? (scope === undefined ? undefined : this.#context.tree.scopes[scope]);
    if (selected !== undefined) this.#focused = selected;
    if (!this.#place) {
      requestAnimationFrame(() => {
        this.fit();
        if (selected !== undefined) this.#show(selected);
      });
    } else if (reveal && selected !== undefined) {
      this.#show(selected);
    }
    this.#draw();
  }

  fit(): void {
    const {clientWidth: width, clientHeight: height} = this.#svg;
    if (width === 0) return;
    this.#width = width;
    const k = Math.min(1, width / (this.#picture.width + 20));
    const whole = Math.min(k, height / (this.#picture.height + 20));
    // A long graph is shown from its beginning on, as large as can be read.
    const chosen = whole > LEAST ? whole : Math.max(k, LEAST);
    this.#place = {k: chosen, x: (width - this.#picture.width * chosen) / 2, y: whole > LEAST ? Math.max(8, (height - this.#picture.height * chosen) / 2) : 8};
    if (this.#picture.width * chosen > width) {
      const first = this.#picture.boxes.reduce<Box | undefined>((top, box) => (top && top.y <= box.y ? top : box), undefined);
      this.#place.x = first ? width / 2 - (first.x + first.width / 2) * chosen : 8;
    }
    this.#draw();
  }

  /** What was in the middle stays there when the picture gets another width. */
  #settle(): void {
    const {clientWidth: width} = this.#svg;
    if (this.#place && this.#width > 0) this.#place.x += (width - this.#width) / 2;
    this.#width = width;
  }

  #boxOf(member: number | Scope): Box | undefined {
    return this.#picture.boxes.find((box) => box.member === member);
  }

  /** Moves what is looked at so that the box is in it. */
  #show(member: number | Scope): void {
    const box = this.#boxOf(member);
    const place = this.#place;
    if (!box || !place) return;
    this.#settle();
    const {clientWidth: width, clientHeight: height} = this.#svg;
    if (place.k < 0.5) place.k = 0.8;
    const left = box.x * place.k + place.x;
    const top = box.y * place.k + place.y;
    const inside = left >= 8 && top >= 8 && left + Math.min(box.width * place.k, width) <= width - 8 && top + HEIGHT * place.k <= height - 8;
    if (!inside) {
      place.x = width / 2 - (box.x + box.width / 2) * place.k;
      place.y = height / 2 - (box.y + Math.min(box.height, HEIGHT) / 2) * place.k;
    }
    this.#draw();
  }

  #zoom(factor: number, x = this.#svg.clientWidth / 2, y = this.#svg.clientHeight / 2): void {
    const place = this.#place;
    if (!place) return;
    const k = Math.min(3, Math.max(0.05, place.k * factor));
    place.x = x - ((x - place.x) * k) / place.k;
    place.y = y - ((y - place.y) * k) / place.k;
    place.k = k;
    this.#draw();
  }

  #draw(): void {
    if (this.#drawing) return;
    this.#drawing = requestAnimationFrame(() => {
      this.#drawing = 0;
      this.#drawNow();
    });
  }

  #drawNow(): void {
    const place = this.#place;
    if (!place) return;
    const {clientWidth: width, clientHeight: height} = this.#svg;
    const [left, top] = [-place.x / place.k, -place.y / place.k];
    const [right, bottom] = [left + width / place.k, top + height / place.k];
    const seen = ({x, y, width: w, height: tall}: Box): boolean => x < right && x + w > left && y < bottom && y + tall > top;
    const crossed = (line: Line): boolean => line.left <= right && line.right >= left && line.top <= bottom && line.bottom >= top;
    this.#world.setAttribute('transform', `translate(${place.x} ${place.y}) scale(${place.k})`);
    const hadFocus = this.#svg.contains(document.activeElement);
    const boxes = this.#picture.boxes.filter((box) => seen(box) || box.member === this.#focused);
    const lines = this.#picture.lines.filter(crossed);
    const opened = boxes.filter(({open}) => open);
    this.#world.replaceChildren(...opened.map((box) => this.#drawBox(box)), ...lines.map((line) => this.#drawLine(line)), ...boxes.filter(({open}) => !open).map((box) => this.#drawBox(box)));
    const first = this.#world.querySelector<SVGGElement>('[data-focused]') ?? this.#world.querySelector<SVGGElement>('[data-member]');
    first?.setAttribute('tabindex', '0');
    if (hadFocus) first?.focus({preventScroll: true});
  }

  #drawLine(line: Line): SVGElement {
    const selected = this.#focused !== undefined && (line.from === this.#focused || line.to === this.#focused);
    const [first = [0, 0], ...rest] = line.points;
    let path = `M${first.join(' ')}`;
    rest.forEach(([x, y], at) => {
      const next = rest[at + 1];
      path += next ? `Q${x} ${y} ${(x + next[0]) / 2} ${(y + next[1]) / 2}` : `L${x} ${y}`;
    });
    return s('path', {d: path, class: selected ? 'line selected' : 'line', 'marker-end': 'url(#arrow)'});
  }

  #drawBox({member, open, x, y, width, height}: Box): SVGElement {
    const context = this.#context;
    const {graph, view, current} = {graph: context.graph, view: context.view, current: context.current};
    const scope = typeof member === 'object' ? member : undefined;
    const item = scope ? undefined : graph.items[member as number];
    const [title, below] = this.#texts(member);
    const share = context.shareOf(member);
    const nodes = scope ? [...context.tree.nodesIn(scope)] : item?.kind === 'node' ? [item.node] : [];
    const problem = nodes.some((node) => view.nodes[node]?.problem);
    const launches = scope ? [] : current?.of(nodes) ?? [];
    const onSide = launches.some((launch) => launch.onSide);
    const kind = scope ? (open ? 'scope open' : 'scope') : item?.kind ?? 'node';
    const heat = share > 0 && !open ? Math.round(70 * (share / this.#most) ** 0.6) : 0;
    const shareText = share >= 0.005 ? percentText(share) : '';
    const first = scope ? `${open ? '▾' : '▸'} ${title}` : title;
    const second = open ? '' : shareText !== '' && scope ? `${below} · ${shareText}` : below;
    // The name of a box begins with what is written in it, from top to bottom.
    const label = [[scope ? '' : shareText, first, second].filter((word) => word !== '').join(' '), problem ? 'has a problem' : '', onSide ? 'on the CPU' : '', scope ? (open ? 'open group' : 'closed group') : ''];
    const made = s('g', {
      class: `box ${kind}${problem ? ' problem' : ''}${onSide ? ' side' : ''}${member === this.#focused ? ' selected' : ''}`,
      role: 'button', tabindex: -1, 'aria-label': label.filter((word) => word !== '').join(', '), 'aria-expanded': scope ? String(open) : undefined,
      'data-member': scope ? `s${scope.id}` : `i${member as number}`, 'data-focused': member === this.#focused,
      transform: `translate(${x} ${y})`, style: `--heat: ${heat}%`,
    }, s('rect', {width, height, rx: 7}));
    const place = this.#place;
    if (place && place.k < 0.22 && !scope) return made;
    if (open) {
      made.append(s('text', {x: 12, y: 20, class: 'title'}, first));
    } else {
      if (shareText !== '' && !scope) made.append(s('text', {x: width - 6, y: -4, class: 'share', 'text-anchor': 'end'}, shareText), ' ');
      made.append(s('text', {x: width / 2, y: 19, class: 'title', 'text-anchor': 'middle'}, first));
      made.append(' ', s('text', {x: width / 2, y: 35, class: 'below', 'text-anchor': 'middle'}, second));
    }
    return made;
  }

  #memberOf(target: EventTarget | null): number | Scope | undefined {
    const word = target instanceof Element ? target.closest<SVGElement>('[data-member]')?.dataset['member'] : undefined;
    if (word === undefined) return undefined;
    const number = Number(word.slice(1));
    return word.startsWith('s') ? this.#context.tree.scopes[number] : number;
  }

  #select(member: number | Scope): void {
    this.#focused = member;
    this.#context.set(typeof member === 'object' ? {scope: member.id, item: undefined, kernel: undefined} : {item: member, scope: undefined, kernel: undefined});
  }

  #listen(): void {
    const svg = this.#svg;
    let moved = 0;
    svg.addEventListener('pointerdown', (event) => {
      moved = 0;
      this.#pointers.set(event.pointerId, {x: event.clientX, y: event.clientY});
    });
    svg.addEventListener('pointermove', (event) => {
      const before = this.#pointers.get(event.pointerId);
      const place = this.#place;
      if (!before || !place) return;
      const [dx, dy] = [event.clientX - before.x, event.clientY - before.y];
      moved += Math.abs(dx) + Math.abs(dy);
      if (moved < 4) return;
      if (!svg.hasPointerCapture(event.pointerId)) svg.setPointerCapture(event.pointerId);
      const others = [...this.#pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const [other] = others;
      if (other) {
        const apart = (at: {x: number; y: number}): number => Math.hypot(at.x - other.x, at.y - other.y);
        const {left, top} = svg.getBoundingClientRect();
        this.#zoom(apart({x: event.clientX, y: event.clientY}) / Math.max(1, apart(before)), (event.clientX + other.x) / 2 - left, (event.clientY + other.y) / 2 - top);
      } else {
        place.x += dx;
        place.y += dy;
        this.#draw();
      }
      this.#pointers.set(event.pointerId, {x: event.clientX, y: event.clientY});
    });
    const up = (event: PointerEvent): void => {
      this.#pointers.delete(event.pointerId);
    };
    svg.addEventListener('pointerup', up);
    svg.addEventListener('pointercancel', up);
    svg.addEventListener('click', (event) => {
      const member = this.#memberOf(event.target);
      if (moved >= 4 || member === undefined) return;
      // A second click opens what the first one chose.
      if (typeof member === 'object' && (event.detail === 2 || member === this.#focused)) this.#context.toggle(member);
      else this.#select(member);
    });
    svg.addEventListener('wheel', (event) => {
      const place = this.#place;
      if (!place) return;
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) {
        const {left, top} = svg.getBoundingClientRect();
        this.#zoom(Math.exp(-event.deltaY / 200), event.clientX - left, event.clientY - top);
      } else {
        place.x -= event.deltaX;
        place.y -= event.deltaY;
        this.#draw();
      }
    }, {passive: false});
    svg.addEventListener('keydown', (event) => this.#key(event));
    svg.addEventListener('focusin', (event) => {
      const member = this.#memberOf(event.target);
      if (member !== undefined && this.#focused === undefined) this.#focused = member;
    });
    new ResizeObserver(() => {
      this.#settle();
      if (this.#place) this.#draw();
      else this.fit();
    }).observe(svg);
  }

  #key(event: KeyboardEvent): void {
    const member = this.#memberOf(event.target);
    if (event.key === '+' || event.key === '-') return this.#zoom(event.key === '+' ? 1.3 : 1 / 1.3);
    if (member === undefined) return;
    const steps: Readonly<Record<string, readonly [number, number]>> = {ArrowDown: [0, 1], ArrowUp: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0]};
    const step = steps[event.key];
    if (step) {
      event.preventDefault();
      const next = this.#neighbour(member, step);
      if (next !== undefined) {
        this.#focused = next;
        this.#show(next);
      }
    } else if (event.key === 'Enter') {
      event.preventDefault();
      this.#select(member);
    } else if (event.key === ' ') {
      event.preventDefault();
      if (typeof member === 'object') this.#context.toggle(member);
      else this.#select(member);
    }
  }

  /** Down and up along lines, else to the nearest box in that direction. */
  #neighbour(member: number | Scope, [dx, dy]: readonly [number, number]): number | Scope | undefined {
    if (dy !== 0) {
      const line = this.#picture.lines.find((each) => (dy > 0 ? each.from : each.to) === member);
      if (line) return dy > 0 ? line.to : line.from;
    }
    const own = this.#boxOf(member);
    if (!own) return undefined;
    let best: {member: number | Scope; far: number} | undefined;
    for (const box of this.#picture.boxes) {
      if (box.member === member) continue;
      const [x, y] = [box.x + box.width / 2 - own.x - own.width / 2, box.y - own.y];
      const along = x * dx + y * dy;
      const across = Math.abs(x * dy) + Math.abs(y * dx);
      if (along <= 4) continue;
      const far = along + 2 * across;
      if (!best || far < best.far) best = {member: box.member, far};
    }
    return best?.member;
  }
}
