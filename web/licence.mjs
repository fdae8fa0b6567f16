// Before a workspace is packed: npm takes a licence from the package's own folder alone.
import {copyFileSync} from 'node:fs';
import {join} from 'node:path';

copyFileSync(join(import.meta.dirname, '../LICENSE'), join(process.cwd(), 'LICENSE'));
