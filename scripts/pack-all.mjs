// Packs every package into the folder that the checks of the test command share. The tests then open the packed inbox.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { inboxFolder } from '../packages/server/test/inbox/built-inbox.ts';
import { PACKED, packAll } from './pack.mjs';
import { root } from './run.mjs';

packAll(process.env[PACKED]);
cpSync(join(root, 'packages/server/dist/inbox'), inboxFolder(), { recursive: true });
