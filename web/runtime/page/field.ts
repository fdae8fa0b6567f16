/** The frame of a value in a form: its name, its type, its controls, and what is wrong with it beside them. */
import {messageOf} from '../src/values/types.ts';
import {make} from './dom.ts';

let count = 0;

export class Field {
  readonly element: HTMLFieldSetElement;
  readonly #problem: HTMLParagraphElement;
  readonly #body: HTMLElement;

  constructor(name: string, type: string, ...body: (Node | string)[]) {
    this.#problem = make('p', {className: 'problem', id: `problem-${++count}`, hidden: true});
    this.#problem.setAttribute('role', 'alert');
    this.#body = make('div', {}, ...body);
    this.element = make(
      'fieldset',
      {},
      make('legend', {}, name),
      make('div', {className: 'port'}, type),
      this.#body,
      this.#problem,
    );
    this.element.setAttribute('aria-describedby', this.#problem.id);
    this.element.addEventListener('input', () => this.clear());
  }

  clear(): void {
    this.#problem.hidden = true;
    this.element.removeAttribute('data-wrong');
  }

  /** Shows what is wrong, and goes there; folds around it open. */
  complain(problem: unknown): void {
    this.#problem.textContent = messageOf(problem);
    this.#problem.hidden = false;
    this.element.dataset['wrong'] = '';
    for (let fold = this.element.closest('details'); fold; fold = fold.parentElement?.closest('details') ?? null) {
      fold.open = true;
    }
    const controls = [...this.#body.querySelectorAll<HTMLElement>('textarea, input, select')];
    const shown = controls.filter((control) => control.offsetParent !== null);
    (shown.find((control) => !(control instanceof HTMLSelectElement)) ?? shown[0])?.focus();
  }
}

/** Already shown beside the field that it is about. */
export class FieldProblem extends Error {
  constructor(name: string, problem: unknown) {
    super(`${name}: ${messageOf(problem)}`, {cause: problem});
    this.name = 'FieldProblem';
  }
}

/** Files dropped on an element, which is marked while they hover. */
export function acceptDrops(place: HTMLElement, take: (data: DataTransfer) => void): void {
  place.addEventListener('dragover', (event) => {
    event.preventDefault();
    place.classList.add('over');
  });
  place.addEventListener('dragleave', () => place.classList.remove('over'));
  place.addEventListener('drop', (event) => {
    event.preventDefault();
    event.stopPropagation();
    place.classList.remove('over');
    if (event.dataTransfer) take(event.dataTransfer);
  });
}
