/** A page with a document inside, as src/inspect/page.h writes it. */
import type {View} from './document.ts';

const MARK = '<script type="application/json" id="view">';

/** `page`: dist/inspector.html. */
export function withView(page: string, view: View): string {
  if (!page.includes(MARK)) throw new Error("the inspector's page has no place for a document");
  // The parser of HTML looks for the element's end in scripts, too; JSON may write "<" as a code.
  return page.replace(MARK, () => MARK + JSON.stringify(view).replaceAll('<', '\\u003c'));
}
