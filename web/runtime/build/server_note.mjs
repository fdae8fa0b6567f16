import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {transformSync} from 'esbuild';

const source = join(import.meta.dirname, '../page/opened_as_file.js');

/** The page with a script that explains how to start a web server when the page is opened as a file. */
export function withServerNote(html) {
  const {code} = transformSync(readFileSync(source, 'utf8'), {minify: true, target: 'es2022'});
  return html.replace('</body>', () => `  <script>${code.trim()}</script>\n  </body>`);
}
