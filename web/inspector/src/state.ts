/** The view, as it is in the address: a link reproduces it. */
export const TABS = ['overview', 'graph', 'kernels', 'memory', 'compare', 'problems'] as const;
export type Tab = (typeof TABS)[number];

export interface State {
  readonly tab: Tab;
  readonly target: string | undefined;
  /** The other target of a comparison. */
  readonly with: string | undefined;
  /** An item of the graph, or a scope. */
  readonly item: number | undefined;
  readonly scope: number | undefined;
  readonly kernel: number | undefined;
  /** A launch, in the timeline of memory. */
  readonly step: number | undefined;
  readonly sort: string | undefined;
  readonly find: string;
  readonly dims: ReadonlyMap<string, number>;
  /** Scopes that are not as they are at first. */
  readonly folds: ReadonlySet<number>;
}

export const START: State = {
  tab: 'overview', target: undefined, with: undefined, item: undefined, scope: undefined, kernel: undefined, step: undefined, sort: undefined, find: '', dims: new Map(), folds: new Set(),
};

const NUMBERS = ['item', 'scope', 'kernel', 'step'] as const;
const TEXTS = ['target', 'with', 'sort', 'find'] as const;

/** Without the "#". */
export function toFragment(state: State): string {
  const words = new URLSearchParams();
  if (state.tab !== START.tab) words.set('tab', state.tab);
  for (const name of TEXTS) if (state[name]) words.set(name, String(state[name]));
  for (const name of NUMBERS) if (state[name] !== undefined) words.set(name, String(state[name]));
  for (const [name, value] of state.dims) words.set(`dim.${name}`, String(value));
  if (state.folds.size > 0) words.set('folds', [...state.folds].sort((a, b) => a - b).join('.'));
  return words.toString();
}

const whole = (text: string | null): number | undefined => (text !== null && /^\d+$/.test(text) ? Number(text) : undefined);

/** Words that mean nothing are left out. */
export function fromFragment(fragment: string): State {
  const words = new URLSearchParams(fragment.replace(/^#/, ''));
  const text = (name: string): string | undefined => words.get(name) ?? undefined;
  const dims = new Map<string, number>();
  for (const [name, value] of words) {
    const number = whole(value);
    if (name.startsWith('dim.') && number !== undefined) dims.set(name.slice(4), number);
  }
  return {
    tab: TABS.find((tab) => tab === words.get('tab')) ?? START.tab,
    target: text('target'), with: text('with'), sort: text('sort'), find: text('find') ?? '',
    item: whole(words.get('item')), scope: whole(words.get('scope')), kernel: whole(words.get('kernel')), step: whole(words.get('step')),
    dims, folds: new Set((words.get('folds') ?? '').split('.').map(whole).filter((id) => id !== undefined)),
  };
}
