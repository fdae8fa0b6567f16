/** The page that `gossamer rpc` serves: this browser as a device. */
import {join} from '../src/join.ts';
import {findTargets} from '../src/targets.ts';

const show = (id: string, text: string): void => {
  const element = document.getElementById(id);
  if (element) element.textContent = text;
};

function status(text: string, kind = ''): void {
  show('status', text);
  const element = document.getElementById('status');
  if (element) element.className = kind;
}

/** What a reload keeps, so that clients find this page again. */
function kept(key: string, make: () => string): string {
  const found = sessionStorage.getItem(key);
  if (found !== null) return found;
  const made = make();
  sessionStorage.setItem(key, made);
  return made;
}

async function main(): Promise<void> {
  const parameters = new URLSearchParams(location.search);
  const {targets, about} = await findTargets();
  show('targets', targets.join(', '));
  show('about', about);
  status('Looking for the server…');
  await join({
    url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/rpc`,
    token: parameters.get('token') ?? '',
    name: parameters.get('name') ?? kept('name', () => `page-${Math.random().toString(36).slice(2, 6)}`),
    session: kept('session', () => Array.from(crypto.getRandomValues(new Uint32Array(4))).join('-')),
    targets,
    about,
    WebSocket,
    onStatus: (name, reason) => {
      if (name === undefined) return status(`Waiting for the server: ${reason}`);
      show('name', name);
      status('Joined', 'joined');
    },
    onActivity: ({models, runs, bytes, last}) => {
      show('models', String(models));
      show('runs', String(runs));
      show('bytes', `${(bytes / 1e6).toFixed(1)} MB`);
      if (last !== undefined) show('last', last);
    },
  });
}

main().catch((problem: unknown) => status(problem instanceof Error ? problem.message : String(problem), 'refused'));
