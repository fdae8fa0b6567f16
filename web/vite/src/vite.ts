/** What of Vite's interface the plugin uses: alike in Vite 6, 7 and 8. */
import type {IncomingMessage, ServerResponse} from 'node:http';

export interface ResolvedConfig {
  readonly command: 'build' | 'serve';
  readonly base: string;
  readonly cacheDir: string;
  readonly build: {readonly assetsDir: string};
}

interface ServerConfig {
  readonly headers: Readonly<Record<string, string>>;
}
export interface UserConfig {
  readonly server?: ServerConfig;
  readonly preview?: ServerConfig;
}

export type Middleware = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

/** What hooks are called on. */
export interface Bundler {
  addWatchFile(file: string): void;
  /** Ends the build, or shows the message in the page. */
  error(message: string): never;
  emitFile(file: {readonly type: 'asset'; readonly fileName: string; readonly source: Uint8Array}): string;
}

export interface VitePlugin {
  readonly name: string;
  readonly enforce: 'pre';
  config(): UserConfig;
  configResolved(config: ResolvedConfig): void;
  configureServer(server: {readonly middlewares: {use(handle: Middleware): unknown}}): void;
  load(this: Bundler, id: string): Promise<string | undefined>;
}
