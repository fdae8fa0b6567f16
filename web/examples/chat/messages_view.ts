/** The conversation as a list, with what can be done with each message. */
import {make} from '../page/page.ts';
import type {Turn} from './conversation.ts';
import {MarkdownView} from './markdown.ts';
import {partsOf} from './thoughts.ts';

export interface Actions {
  /** The user wrote another text in this place. */
  readonly edited: (at: number, text: string) => void;
  /** The model is to answer again in this place. */
  readonly again: (at: number) => void;
}

/** An answer that is being made. */
export interface Growing {
  readonly show: (text: string) => void;
}

/** The text of an answer, below the thoughts that led to it. */
class AnswerView {
  readonly elements: readonly HTMLElement[];
  readonly #thoughts: HTMLDetailsElement;
  readonly #thoughtsView: MarkdownView;
  readonly #answerView: MarkdownView;

  constructor() {
    const [thought, answer] = [make('div', {className: 'markdown'}), make('div', {className: 'text markdown'})];
    this.#thoughts = make('details', {className: 'thoughts', hidden: true}, make('summary', {}, 'Thoughts'), thought);
    this.#thoughtsView = new MarkdownView(thought);
    this.#answerView = new MarkdownView(answer);
    this.elements = [this.#thoughts, answer];
  }

  show(text: string): void {
    const {thoughts, answer} = partsOf(text);
    this.#thoughts.hidden = thoughts.trim() === '';
    this.#thoughtsView.show(thoughts);
    this.#answerView.show(answer);
  }
}

const actionButton = (text: string, label: string, act: () => void): HTMLButtonElement => {
  const made = make('button', {type: 'button', className: 'quiet small', textContent: text, ariaLabel: label});
  made.addEventListener('click', act);
  return made;
};

export class MessagesView {
  readonly #list: HTMLElement;
  readonly #scroller: HTMLElement;
  readonly #actions: Actions;
  #canAct = true;

  constructor(list: HTMLElement, scroller: HTMLElement, actions: Actions) {
    this.#list = list;
    this.#scroller = scroller;
    this.#actions = actions;
  }

  /** While an answer is made, nothing else can be asked for. */
  setBusy(isBusy: boolean): void {
    this.#canAct = !isBusy;
    for (const each of this.#list.querySelectorAll<HTMLButtonElement>('.for-change')) each.disabled = isBusy;
  }

  show(turns: readonly Turn[]): void {
    this.#list.replaceChildren(...turns.map((turn, at) => (turn.role === 'user' ? this.#question(turn, at) : this.#answer(turn, at))));
    this.#toEnd();
  }

  #item(role: Turn['role'], ...children: (Node | string)[]): HTMLLIElement {
    return make('li', {className: role}, make('span', {className: 'who'}, role === 'user' ? 'You' : 'Model'), ...children);
  }

  #forChange(text: string, label: string, act: () => void): HTMLButtonElement {
    const made = actionButton(text, label, act);
    made.classList.add('for-change');
    made.disabled = !this.#canAct;
    return made;
  }

  #question({content}: Turn, at: number): HTMLLIElement {
    const text = make('div', {className: 'text', textContent: content});
    const edit = this.#forChange('Edit', `Edit message ${at + 1}`, () => this.#edit(item, content, at));
    const item = this.#item('user', text, make('div', {className: 'actions'}, edit));
    return item;
  }

  #edit(item: HTMLElement, content: string, at: number): void {
    const field = make('textarea', {value: content, rows: Math.min(8, content.split('\n').length + 1), ariaLabel: `Message ${at + 1}`});
    const form = make('form', {className: 'column'}, field);
    const cancel = (): void => {
      const again = this.#question({role: 'user', content}, at);
      item.replaceWith(again);
      again.querySelector('button')?.focus();
    };
    const submit = (): void => {
      // Answers may have begun since.
      if (this.#canAct && field.value.trim() !== '') this.#actions.edited(at, field.value);
    };
    form.append(make('div', {className: 'row'}, make('button', {type: 'submit', className: 'small for-change', textContent: 'Send'}), actionButton('Cancel', 'Cancel the edit', cancel)));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      submit();
    });
    field.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') cancel();
      else if (isSend(event)) submit();
      else return;
      event.preventDefault();
    });
    item.replaceChildren(make('span', {className: 'who'}, 'You'), form);
    field.focus();
  }

  #answer({content, note}: Turn, at: number): HTMLLIElement {
    const view = new AnswerView();
    view.show(content);
    const copy = actionButton('Copy', `Copy answer ${at + 1}`, () => {
      navigator.clipboard.writeText(partsOf(content).answer).then(() => (copy.textContent = 'Copied'), () => (copy.textContent = 'Not allowed'));
    });
    const again = this.#forChange('Again', `Answer ${at + 1} again`, () => this.#actions.again(at));
    const hint = make('span', {className: 'hint', textContent: note ?? ''});
    return this.#item('assistant', ...view.elements, make('div', {className: 'actions'}, copy, again, hint));
  }

  /** Adds an answer without text. */
  begin(): Growing {
    const view = new AnswerView();
    const item = this.#item('assistant', ...view.elements);
    // The page reads finished sentences aloud by itself (speaker.ts).
    item.ariaBusy = 'true';
    item.classList.add('waiting');
    this.#list.append(item);
    this.#toEnd();
    return {
      show: (content) => {
        item.classList.toggle('waiting', content === '');
        const follows = this.#isAtEnd();
        view.show(content);
        if (follows) this.#toEnd();
      },
    };
  }

  /** Whoever has scrolled up reads there. */
  #isAtEnd(): boolean {
    const {scrollTop, clientHeight, scrollHeight} = this.#scroller;
    return scrollHeight - scrollTop - clientHeight < 60;
  }

  #toEnd(): void {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }
}

/** Enter without Shift, outside of the composition of a character. */
export const isSend = (event: KeyboardEvent): boolean => event.key === 'Enter' && !event.shiftKey && !event.isComposing;
