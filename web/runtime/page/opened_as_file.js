// A classic script, because browsers load modules from web servers only.
if (location.protocol === 'file:') {
  const [status, progress] = ['status', 'progress'].map((id) => document.getElementById(id));
  if (status) status.textContent = 'Not loaded';
  if (progress) progress.hidden = true;
  let trouble = document.getElementById('trouble');
  if (!trouble) {
    trouble = document.createElement('p');
    trouble.id = 'trouble';
    trouble.role = 'alert';
    document.querySelector('h1').after(trouble);
  }
  trouble.hidden = false;
  const command = (text) => {
    const made = document.createElement('code');
    made.textContent = text;
    made.style.whiteSpace = 'nowrap';
    return made;
  };
  const name = location.pathname.split('/').at(-1).replace('index.html', '');
  trouble.replaceChildren(
    'This page was opened as a file, but browsers load its parts only from a web server. In its folder, run ',
    command('python3 -m http.server 8000'), ' or ', command('npx http-server -p 8000'), `, and open http://localhost:8000/${name}`,
  );
}
