/** What the pages have in common: controls, how the page stands, what went wrong. */
import {byId, make} from '../../runtime/page/dom.ts';
import {setState, showTrouble} from '../../runtime/page/run_panel.ts';

export {byId, make} from '../../runtime/page/dom.ts';
export {setState, showTrouble} from '../../runtime/page/run_panel.ts';

/** As the tensor API calls them. */
export type Device = 'cpu' | 'webgpu' | 'webgl';

/** As the run time and the compiler call them. */
export const TARGETS = {cpu: 'wasm', webgpu: 'webgpu', webgl: 'webgl'} as const;

/** What the address asks for: ?name=value. */
export const asked = new URLSearchParams(location.search);

export const input = (id: string): HTMLInputElement => byId(id, HTMLInputElement);
export const button = (id: string): HTMLButtonElement => byId(id, HTMLButtonElement);
export const valueOf = (id: string): number => Number(input(id).value);

export function show(id: string, shown = true): void {
  byId(id, HTMLElement).hidden = !shown;
}

export function tell(id: string, text: string): void {
  byId(id, HTMLElement).textContent = text;
}

/** Says what went wrong; the page's state is 'failed'. */
export function fail(problem: unknown): void {
  showTrouble(problem);
  setState('failed');
}

/** Controls take what the address says of them. */
export function takeAddress(...ids: readonly string[]): void {
  for (const id of ids) {
    const wanted = asked.get(id);
    const control = byId(id, HTMLElement) as HTMLInputElement | HTMLSelectElement;
    if (wanted !== null) control.value = wanted;
  }
}

/** The page's choice of a device. */
export function chosenDevice(): Device {
  return byId('device', HTMLSelectElement).value as Device;
}

/** Chooses the option of this value or label; false if there is none. */
function choose(control: HTMLSelectElement, wanted: string | null): boolean {
  const option = Array.from(control.options).find(({value, text}) => wanted === value || wanted === text);
  if (option) option.selected = true;
  return option !== undefined;
}

/** Preselects the device: the address's, or wasm, as small steps want no GPU. */
export function offerDevices(): void {
  const control = byId('device', HTMLSelectElement);
  if (!choose(control, asked.get('device'))) choose(control, 'wasm');
}

function hasWebGl(): boolean {
  const context = document.createElement('canvas').getContext('webgl2');
  context?.getExtension('WEBGL_lose_context')?.loseContext();
  return context !== null;
}

/**
 * Preselects the device in the control `id`: the one in the address, or the best one that this browser has. If that is not WebGPU, the
 * page says why.
 */
export async function offerGpus(id = 'device'): Promise<void> {
  const control = byId(id, HTMLSelectElement);
  if (choose(control, asked.get(id))) return;
  const adapter = 'gpu' in navigator ? await navigator.gpu.requestAdapter().catch(() => null) : undefined;
  const best = adapter ? 'webgpu' : hasWebGl() ? 'webgl' : 'wasm';
  choose(control, best);
  if (adapter) return;
  const reason = adapter === null ? 'WebGPU has no adapter here' : 'this browser has no WebGPU';
  const note = make('p', {className: 'hint', id: 'device-note'}, `${reason}: ${best} is chosen`);
  note.role = 'status';
  control.closest('header')?.after(note);
}

/** Does what a button asks for; it cannot be asked for twice at once, and what goes wrong is shown. */
export function onPress(id: string, work: () => Promise<void> | void): void {
  const pressed = button(id);
  pressed.addEventListener('click', () => {
    if (pressed.disabled) return;
    showTrouble();
    pressed.disabled = true;
    Promise.resolve()
      .then(work)
      .catch(fail)
      .finally(() => (pressed.disabled = false));
  });
}

/** Lets the page draw and hear its user. */
export const turn = (): Promise<void> => new Promise((resolve) => requestAnimationFrame(() => resolve()));
