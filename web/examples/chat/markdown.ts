/** Markdown of a model, which is not trusted, as it arrives. */
import DOMPurify from 'dompurify';
import {Marked} from 'marked';

/** Without pictures, forms and frames: an answer must not fetch anything or ask for input. */
const TAGS = ['a', 'blockquote', 'br', 'code', 'del', 'em', 'h3', 'h4', 'h5', 'h6', 'hr', 'li', 'ol', 'p', 'pre', 'strong', 'sub', 'sup', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul'];

const escaped = (text: string): string => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    // HTML is shown as it was written.
    html: ({text}) => escaped(text),
    // The page has headings of its own above these.
    heading({tokens, depth}) {
      const level = Math.min(6, depth + 2);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
    checkbox: ({checked}) => (checked ? '☑ ' : '☐ '),
    image: ({href, text}) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
  },
});

function fragment(html: string): DocumentFragment {
  const clean = DOMPurify.sanitize(html, {ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ['href', 'start', 'align', 'class'], RETURN_DOM_FRAGMENT: true});
  for (const link of clean.querySelectorAll('a')) Object.assign(link, {target: '_blank', rel: 'noopener noreferrer'});
  // Long lines scroll, also by keyboard.
  for (const block of clean.querySelectorAll('pre')) {
    block.tabIndex = 0;
    block.role = 'region';
    block.ariaLabel = 'Code';
  }
  return clean;
}

/** Shows a text that grows. Blocks that have not changed keep their elements. */
export class MarkdownView {
  readonly #place: HTMLElement;
  #shown: {readonly raw: string; readonly nodes: readonly ChildNode[]}[] = [];

  constructor(place: HTMLElement) {
    this.#place = place;
  }

  show(text: string): void {
    const blocks = marked.lexer(text);
    const same = blocks.findIndex(({raw}, at) => this.#shown[at]?.raw !== raw);
    const from = same < 0 ? blocks.length : same;
    for (const {nodes} of this.#shown.splice(from)) nodes.forEach((node) => node.remove());
    for (const block of blocks.slice(from)) {
      const made = fragment(marked.parser([block]));
      const nodes = [...made.childNodes];
      this.#place.append(made);
      this.#shown.push({raw: block.raw, nodes});
    }
  }
}
