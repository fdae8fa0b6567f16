// VitePress's configuration. build.mjs stages the pages and says in SITE where they are.
import {readFileSync} from 'node:fs';
import path from 'node:path';
import {sidebar} from '../contents.mjs';
import {repositoryLinks} from '../links.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const site = JSON.parse(readFileSync(process.env.GOSSAMER_SITE, 'utf8'));
const sources = new Map(site.routes.map(([file, route]) => [route, file]));

export default {
  title: 'Gossamer',
  description: 'A deep-learning compiler for the web: ONNX models become small packages for WebGPU, WebGL 2 and WebAssembly.',
  lang: 'en',
  base: site.base,
  srcDir: site.pages,
  outDir: site.out,
  cacheDir: path.join(site.pages, '../cache'),
  appearance: true,
  // The first page would fetch those that it links to.
  router: {prefetchLinks: false},
  lastUpdated: false,
  metaChunk: true,
  // tests/site checks all links, with their anchors.
  ignoreDeadLinks: true,
  head: [
    ['link', {rel: 'icon', href: `${site.base}logo.svg`, type: 'image/svg+xml'}],
    ['meta', {name: 'theme-color', content: '#1f5fd0'}],
  ],
  markdown: {
    languageAlias: {mjs: 'javascript', jsonl: 'json'},
    theme: {light: 'github-light-high-contrast', dark: 'github-dark-high-contrast'},
    config(markdown) {
      repositoryLinks(markdown, {routes: new Map([...site.routes, ...site.places]), sourceOf: (page) => sources.get(page)});
    },
  },
  vite: {
    resolve: {alias: {'@digits': path.join(root, 'examples/digits/page')}},
    server: {fs: {allow: [root]}},
    build: {chunkSizeWarningLimit: 4000},
  },
  themeConfig: {
    logo: '/logo.svg',
    nav: [
      {text: 'Quick start', link: '/start'},
      {text: 'Gallery', link: '/gallery'},
      {text: 'Benchmarks', link: '/benchmarks'},
      {text: 'API', link: '/api/runtime'},
      {text: site.version, items: [{text: 'Changelog', link: '/changelog'}, {text: 'Browsers and devices', link: '/support'}, {text: 'Contributing', link: '/internals/contributing'}]},
    ],
    sidebar: sidebar(site),
    outline: {level: [2, 3], label: 'On this page'},
    search: {provider: 'local', options: {detailedView: false}},
    footer: {message: 'Apache-2.0', copyright: 'Models and data stay in your browser on every page of this site.'},
    notFound: {quote: 'This page does not exist. The search may find what you look for.', linkText: 'Go to the first page', linkLabel: 'Go to the first page'},
    docFooter: {prev: 'Previous', next: 'Next'},
  },
};
