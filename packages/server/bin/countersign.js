#!/usr/bin/env node
// The command `countersign`. In a clone of the repository, it builds the server and the inbox before the first use.
import { existsSync } from 'node:fs';

const at = (path) => new URL(path, import.meta.url);
const build = at('../../../scripts/build-server.mjs');
const isBuilt = existsSync(at('../dist/cli/main.js')) && existsSync(at('../dist/inbox/index.html'));
if (!isBuilt && existsSync(build)) await import(build.href);
await import('../dist/cli/main.js');
