// Links of documents, which name files of the repository: to pages of the site where the file is one, otherwise the name alone is shown.
import path from 'node:path';

const isOutside = (href) => /^([a-z]+:|\/\/|#)/i.test(href);

/** Documents have no HTML: what looks like a tag is text, and comments are for tools. */
function asText(token) {
  const isComment = /^\s*<!--/.test(token.content);
  token.content = isComment ? '' : token.content.replace(/[&<>]/g, (letter) => ({'&': '&amp;', '<': '&lt;', '>': '&gt;'})[letter]);
}

/** `routes`: pages by the file in the repository; `sourceOf(page)`: the file that a staged page was, undefined for pages of the site itself. */
export function repositoryLinks(markdown, {routes, sourceOf}) {
  /** The page for a link in `from`; undefined: it is not on the site. */
  const target = (href, from) => {
    const [, file, anchor = ''] = /^([^#]*)(#.*)?$/.exec(href);
    const place = path.posix.normalize(path.posix.join(path.posix.dirname(from), decodeURI(file))).replace(/\/$/, '');
    const route = routes.get(place) ?? routes.get(`${place}/README.md`);
    return route && `/${route.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')}${anchor}`;
  };
  markdown.core.ruler.push('repository-links', ({tokens, env}) => {
    const from = sourceOf(env.relativePath ?? '');
    if (from === undefined) return;
    for (const token of tokens) if (token.type === 'html_block') asText(token);
    for (const {children} of tokens) {
      if (!children) continue;
      for (const token of children) if (token.type === 'html_inline') asText(token);
      const closing = [];
      for (const token of children) {
        if (token.type === 'link_open') {
          const href = token.attrGet('href') ?? '';
          const to = isOutside(href) ? href : target(href, from);
          closing.push(to === undefined);
          if (to !== undefined) {
            token.attrSet('href', to);
            continue;
          }
          token.tag = 'span';
          token.attrs = [['class', 'in-repository'], ['title', `${path.posix.normalize(path.posix.join(path.posix.dirname(from), href))} in the repository`]];
          token.type = 'repository_open';
        } else if (token.type === 'link_close' && closing.pop()) {
          token.tag = 'span';
          token.type = 'repository_close';
        } else if (token.type === 'image' && !isOutside(token.attrGet('src') ?? '')) {
          token.attrSet('src', `/pictures/${path.posix.basename(token.attrGet('src'))}`);
        }
      }
    }
  });
}
