// The page that leads to the demo's pages, with the tables that the demo printed.
import {withServerNote} from '../../web/runtime/build/server_note.mjs';

const style = `
:root { color-scheme: light dark; --ground: #f4f3ef; --sheet: #fff; --text: #1d2430; --quiet: #5b6472;
  --edge: #d9d7d0; --accent: #1f5fd0; }
@media (prefers-color-scheme: dark) { :root { --ground: #12151b; --sheet: #1b2029; --text: #e9ecf1;
  --quiet: #a0a9b8; --edge: #333b48; --accent: #7fb0ff; } }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 54rem; margin: 0 auto; padding: 2rem 1rem; }
h1 { font-size: 1.9rem; letter-spacing: -0.02em; margin: 0; }
h2 { font-size: 1.1rem; margin: 2rem 0 0.5rem; }
p { margin: 0.25rem 0; } .quiet { color: var(--quiet); }
nav { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); margin-top: 1.5rem; }
nav a { display: block; padding: 1rem 1.25rem; border: 1px solid var(--edge); border-radius: 1rem;
  background: var(--sheet); color: inherit; text-decoration: none; }
nav a:hover, nav a:focus-visible { border-color: var(--accent); }
nav strong { color: var(--accent); font-size: 1.1rem; } nav span { display: block; color: var(--quiet); }
#trouble { color: light-dark(#a31515, #ff9b9b); margin: 1rem 0; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.35rem 1.5rem 0.35rem 0; text-align: left; border-bottom: 1px solid var(--edge); }
`;

const escaped = (text) =>
  text.replace(/[&<>"]/g, (letter) => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'})[letter]);

function tableHtml([head, ...rows]) {
  const cells = (kind, row) => row.map((word) => `<${kind}>${escaped(word)}</${kind}>`).join('');
  const body = rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('\n');
  return `<div class="scroll"><table><tr>${cells('th', head)}</tr>\n${body}</table></div>`;
}

/** links: [{href, title, about}]; sections: [{title, rows, note}], rows as tableText takes them. */
export function landingHtml(links, sections) {
  const cards = links.map(
    ({href, title, about}) =>
      `<a href="${escaped(href)}"><strong>${escaped(title)}</strong><span>${escaped(about)}</span></a>`,
  );
  const parts = sections.map(
    ({title, rows, note}) =>
      `<section><h2>${escaped(title)}</h2>${tableHtml(rows)}<p class="quiet">${escaped(note)}</p></section>`,
  );
  return withServerNote(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gossamer's demo</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body><main>
<h1>Gossamer's demo</h1>
<p class="quiet">Models compiled on this machine; they run in this browser and send nothing anywhere.</p>
<nav>${cards.join('\n')}</nav>
${parts.join('\n')}
</main></body>
</html>
`);
}
