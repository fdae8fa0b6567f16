/** The inspector in an element of a page: a head with target and dimensions, tabs, and what is selected. */
import {compareTab} from './compare_tab.ts';
import {Context, type Offers} from './context.ts';
import {details} from './details.ts';
import type {View} from './document.ts';
import {h, keepFocus, link, replace, s} from './dom.ts';
import {GraphView} from './graph_view.ts';
import {kernelsTab} from './kernels_tab.ts';
import {memoryTab} from './memory_tab.ts';
import {overviewTab} from './overview_tab.ts';
import {problemsOf, problemsTab} from './problems_tab.ts';
import {fromFragment, type State, type Tab, TABS, toFragment} from './state.ts';
import {bytesText, plural} from './units.ts';

const TITLES: Readonly<Record<Tab, string>> = {overview: 'Overview', graph: 'Graph', kernels: 'Kernels', memory: 'Memory', compare: 'Compare', problems: 'Problems'};
const CONTENTS: Readonly<Record<Exclude<Tab, 'graph'>, (context: Context) => (Node | false)[]>> = {overview: overviewTab, kernels: kernelsTab, memory: memoryTab, compare: compareTab, problems: problemsTab};
const MOST_FOUND = 14;

/** The project's mark, in one colour. */
const logo = (): SVGElement => s('svg', {viewBox: '0 0 64 64', class: 'logo', role: 'img', 'aria-label': 'Gossamer'},
  s('path', {d: 'M32 32V5M32 32L55 18M32 32L55 46M32 32V59M32 32L9 46M32 32L9 18'}),
  s('path', {d: 'M32 19Q37.5 24.5 43 25.5Q40.5 32 43 38.5Q37.5 39.5 32 45Q26.5 39.5 21 38.5Q23.5 32 21 25.5Q26.5 24.5 32 19Z'}),
  s('path', {d: 'M32 8Q42 17 53 19.5Q48 32 53 44.5Q42 47 32 56Q22 47 11 44.5Q16 32 11 19.5Q22 17 32 8Z'}));

export class Inspector {
  readonly #root: HTMLElement;
  readonly #context: Context;
  readonly #graph: GraphView;
  readonly #bar = h('div', {class: 'controls'});
  readonly #tabs = h('div', {class: 'tabs', role: 'tablist', 'aria-label': 'Views'});
  readonly #panel = h('div', {class: 'panel', role: 'tabpanel', id: 'panel', tabindex: -1});
  readonly #aside = h('aside', {class: 'details', 'aria-label': 'Selection'});
  readonly #found = h('ul', {class: 'chips found'});
  readonly #legend = h('p', {class: 'hint'});
  readonly #find: HTMLInputElement;
  readonly #said = h('p', {role: 'status', class: 'said'});
  #shownTab: Tab | undefined;
  #busy = false;

  constructor(root: HTMLElement, view: View, offers: Offers = {}) {
    this.#root = root;
    this.#context = new Context(view, offers, (change) => this.#changed(change));
    this.#context.take(fromFragment(location.hash));
    this.#graph = new GraphView(this.#context);
    this.#find = h('input', {type: 'search', placeholder: 'Operator or name', 'aria-label': 'Find nodes', input: () => this.#context.set({find: this.#find.value})});
    this.#find.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') this.#found.querySelector('button')?.click();
    });
    replace(root, this.#head(), this.#bar, this.#tabs, this.#said, h('div', {class: 'body'}, this.#panel, this.#aside));
    addEventListener('hashchange', this.#onHash);
    this.#draw(true);
  }

  dispose(): void {
    removeEventListener('hashchange', this.#onHash);
    this.#root.replaceChildren();
  }

  readonly #onHash = (): void => {
    if (location.hash.slice(1) === toFragment(this.#context.state)) return;
    this.#context.take(fromFragment(location.hash));
    this.#draw(true);
  };

  #changed(change: Partial<State>): void {
    const {state} = this.#context;
    // What a user would go back to is an entry of the history; sliders and typing are not.
    const steps = ['tab', 'item', 'scope', 'kernel', 'target'].some((name) => name in change);
    const address = `#${toFragment(state)}`;
    if (address !== location.hash) history[steps ? 'pushState' : 'replaceState'](null, '', address === '#' ? location.pathname + location.search : address);
    this.#draw('item' in change || 'scope' in change || 'tab' in change);
    const chosen = ('item' in change && state.item !== undefined) || ('scope' in change && state.scope !== undefined);
    if (chosen && state.tab === 'graph' && matchMedia('(max-width: 60rem)').matches) this.#aside.scrollIntoView({block: 'nearest'});
  }

  #head(): HTMLElement {
    const {view} = this.#context;
    return h('div', {class: 'model'}, logo(), h('h1', {}, view.name || 'Model'), h('p', {class: 'hint'}, `${plural(view.nodes.length, 'node')}, ${bytesText(view.bytes)}`));
  }

  #drawBar(): void {
    const context = this.#context;
    const {view, offers, state} = context;
    const target = h('select', {id: 'view-target', change: () => context.set({target: target.value, kernel: undefined, step: undefined})},
      ...view.targets.map((each) => h('option', {value: each.target, selected: each.target === context.target}, `${each.target}${'problem' in each ? ' (cannot run it)' : ''}`)));
    const dims = view.dims.slice(0, 8).map(({name, estimate}) => {
      const field = h('input', {type: 'number', min: 0, max: 2 ** 31 - 1, placeholder: String(estimate), value: state.dims.get(name), change: () => {
        const chosen = new Map(context.state.dims);
        if (field.value === '' || !(Number(field.value) >= 0)) chosen.delete(name);
        else chosen.set(name, Math.trunc(Number(field.value)));
        context.set({dims: chosen});
      }});
      return h('label', {}, h('span', {}, name), field);
    });
    const {measure, save} = offers;
    const able = view.targets.map((each) => each.target).filter((each) => context.costs.has(each));
    const measuring = measure && [['Measure', [context.target]], ['Measure all', able]].map(([word, chosen]) =>
      h('button', {type: 'button', class: word === 'Measure' ? 'small' : 'quiet small', disabled: !context.current || this.#busy, click: () => void this.#measure(measure, chosen as string[])}, word as string));
    const copy = h('button', {type: 'button', class: 'quiet small', click: () => {
      navigator.clipboard.writeText(location.href).then(() => this.#say('Link copied: it opens this view.'), () => this.#say('The browser forbids copying. The address of this page is the link.'));
    }}, 'Copy link');
    const saving = save && h('button', {type: 'button', class: 'quiet small', click: () => {
      save(context.profiles).then(() => this.#say('Saved. The file opens without a server.'), (problem: unknown) => this.#say(String(problem)));
    }}, 'Save as HTML');
    replace(this.#bar, h('label', {}, h('span', {}, 'Target'), target), ...dims, ...(measuring ?? []), copy, saving);
  }

  /** One target after the other, each alone. */
  async #measure(measure: NonNullable<Offers['measure']>, targets: readonly string[]): Promise<void> {
    const context = this.#context;
    this.#busy = true;
    const said: string[] = [];
    for (const target of targets) {
      this.#say(`Measuring on ${target} …`);
      this.#drawBar();
      try {
        const profile = await measure(target, context.allDims);
        context.addProfile(profile);
        said.push(`Measured on ${profile.adapter}.`);
      } catch (problem) {
        said.push(`Not measured on ${target}: ${problem instanceof Error ? problem.message : String(problem)}`);
      }
    }
    this.#busy = false;
    this.#say(said.join(' '));
    this.#draw(false);
  }

  #legendText(): string {
    const {current, target} = this.#context;
    if (!current) return `${target} cannot run this model: red frames are the reasons.`;
    return `Colour is the share of the ${current.profile ? 'time' : 'operations'} on ${target}.${current.compiled.manifest.side ? ' The CPU computes what has a dashed frame.' : ''}`;
  }

  #say(text: string): void {
    this.#said.textContent = text;
  }

  #drawTabs(): void {
    const {state} = this.#context;
    const problems = problemsOf(this.#context).length;
    const buttons = TABS.map((tab) => h('button', {
      type: 'button', role: 'tab', id: `tab-${tab}`, 'aria-selected': String(tab === state.tab), 'aria-controls': 'panel', tabindex: tab === state.tab ? 0 : -1, click: () => this.#context.set({tab, kernel: undefined}),
    }, TITLES[tab], tab === 'problems' && problems > 0 && h('span', {class: 'count'}, problems)));
    const focused = this.#tabs.contains(document.activeElement);
    replace(this.#tabs, ...buttons);
    if (focused) this.#tabs.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
    this.#tabs.onkeydown = (event) => {
      const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
      if (step === 0) return;
      event.preventDefault();
      const next = TABS[(TABS.indexOf(state.tab) + step + TABS.length) % TABS.length];
      if (next) this.#context.set({tab: next, kernel: undefined});
    };
    this.#panel.setAttribute('aria-labelledby', `tab-${state.tab}`);
  }

  #drawFound(): void {
    const context = this.#context;
    const wanted = context.state.find.trim().toLowerCase();
    if (this.#find.value !== context.state.find) this.#find.value = context.state.find;
    const found: number[] = [];
    if (wanted !== '') {
      for (let item = 0; item < context.graph.items.length && found.length <= MOST_FOUND; ++item) if (context.label(item).toLowerCase().includes(wanted)) found.push(item);
    }
    replace(this.#found, ...found.slice(0, MOST_FOUND).map((item) => h('li', {}, link(context.label(item), () => context.reveal(item)))), found.length > MOST_FOUND && h('li', {class: 'hint'}, 'and more'),
      wanted !== '' && found.length === 0 && h('li', {class: 'hint'}, 'Nothing has this name.'));
  }

  #draw(reveal: boolean): void {
    const context = this.#context;
    const {tab} = context.state;
    keepFocus(this.#bar, () => this.#drawBar());
    this.#drawTabs();
    const chosen = tab === 'graph' ? details(context) : [];
    keepFocus(this.#aside, () => replace(this.#aside, ...chosen));
    this.#aside.hidden = chosen.length === 0;
    const scroll = this.#shownTab === tab ? this.#panel.querySelector('.scroll')?.scrollLeft : 0;
    if (tab === 'graph') {
      this.#drawFound();
      this.#legend.textContent = this.#legendText();
      if (this.#shownTab !== tab) replace(this.#panel, h('div', {class: 'row find'}, this.#find, this.#found), this.#graph.element, this.#legend);
      this.#graph.update(reveal);
    } else {
      keepFocus(this.#panel, () => replace(this.#panel, ...CONTENTS[tab](context)));
      const table = this.#panel.querySelector('.scroll');
      if (table && scroll) table.scrollLeft = scroll;
    }
    this.#shownTab = tab;
    document.documentElement.dataset['view'] = tab;
  }
}
