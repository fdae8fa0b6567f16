/**
 * Imports ONNX models in applications of Vite: they are compiled when the application is built.
 *
 *     // vite.config.js
 *     export default {plugins: [gossamer()]};
 *     // main.js
 *     import digits from './digits.onnx';
 *     const model = await digits.load();
 */
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {Compiled} from './compiled.ts';
import {HEADERS, imported, type ModelOptions} from './options.ts';
import {serveFiles} from './serve.ts';
import type {Bundler, ResolvedConfig, UserConfig, VitePlugin} from './vite.ts';

export type {CompileSettings, Target} from './compiled.ts';
export type {CompiledModel, TypedModel} from './model.ts';
export type {VitePlugin} from './vite.ts';

export interface GossamerOptions extends ModelOptions {
  /** False: the servers of Vite do not send the headers that WebAssembly's threads need (COOP, COEP). */
  readonly headers?: boolean | undefined;
}

/** The module of a model. `place`: an expression, the address of a file in the package's folder. Vite would take a literal for a file of the application. */
const moduleOf = (place: string): string => `import {load as open} from '@gossamer/runtime';
const place = ${place};
const {href: url} = new URL('.', new URL(place, import.meta.url));
export default {url, load: (options) => open(url, options)};
`;

/** The plugin. Building fails with the compiler's message for a model that cannot be compiled. */
export default function gossamer({headers = true, ...options}: GossamerOptions = {}): VitePlugin {
  const ready = new Map<string, Compiled>();
  let config: ResolvedConfig;
  return {
    name: 'gossamer',
    enforce: 'pre',
    config(): UserConfig {
      return headers ? {server: {headers: HEADERS}, preview: {headers: HEADERS}} : {};
    },
    configResolved(resolved) {
      config = resolved;
    },
    configureServer(server) {
      server.middlewares.use(serveFiles(ready, () => config.base));
    },
    async load(this: Bundler, id: string) {
      // With a query, such as ?url, it is Vite's.
      if (!id.endsWith('.onnx')) return undefined;
      this.addWatchFile(id);
      const making = imported(await readFile(id), id, options, join(config.cacheDir, 'gossamer'), '@gossamer/vite');
      const made = await making.catch((problem: unknown) => this.error((problem as Error).message));
      if (config.command === 'serve') {
        ready.set(made.name, made);
        return moduleOf(JSON.stringify(`${config.base}@gossamer/${made.name}/index.json`));
      }
      const folder = `${config.build.assetsDir}/${made.name}`;
      for (const [name, source] of made.files) {
        if (name !== 'index.json') this.emitFile({type: 'asset', fileName: `${folder}/${name}`, source});
      }
      const index = this.emitFile({type: 'asset', fileName: `${folder}/index.json`, source: made.files.get('index.json') as Uint8Array});
      return moduleOf(`import.meta.ROLLUP_FILE_URL_${index}`);
    },
  };
}
