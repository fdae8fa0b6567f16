/** The page's settings, which localStorage keeps. Empty fields leave the choice to the model. */
import {asked, byId} from '../page/page.ts';

const KEY = 'gossamer-chat-settings';
const SAMPLING = ['temperature', 'top_p', 'max_tokens', 'seed'] as const;
const LOADING = ['context', 'target', 'threads'] as const;
const IDS = ['system', ...SAMPLING, ...LOADING, 'address'] as const;

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;
const control = (id: string): Control => byId(id, HTMLElement) as Control;

function numberOf(id: string): number | undefined {
  const {value} = control(id);
  return value.trim() === '' || Number.isNaN(Number(value)) ? undefined : Number(value);
}

export function keepSettings(): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(IDS.map((id) => [id, control(id).value]))));
  } catch {
    // Storage is blocked: the settings end with the page.
  }
}

/** Fills the fields: with what the address of the page says, otherwise as they were at the last visit. */
export function restoreSettings(): void {
  let kept: Readonly<Record<string, unknown>> = {};
  try {
    kept = Object(JSON.parse(localStorage.getItem(KEY) ?? '{}')) as typeof kept;
  } catch {
    // Not written by this page.
  }
  for (const id of IDS) {
    const value = asked.get(id) ?? kept[id];
    if (typeof value === 'string') control(id).value = value;
  }
  byId('settings-form', HTMLFormElement).addEventListener('change', keepSettings);
}

export const systemPrompt = (): string => control('system').value;

/** Arguments of chat.completions.create(). */
export function sampling(): Partial<Record<(typeof SAMPLING)[number], number>> {
  return Object.fromEntries(SAMPLING.flatMap((name) => {
    const value = numberOf(name);
    return value === undefined ? [] : [[name, value]];
  }));
}

/** For load(). */
export const loading = (): {readonly context: number | undefined; readonly target: string; readonly threads: number | undefined} => ({
  context: numberOf('context'),
  target: control('target').value,
  threads: numberOf('threads'),
});
