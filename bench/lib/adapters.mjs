// Adapter ids are "<folder>" (adapters/<folder>/adapter.mjs) or "<folder>:<file>"
// (adapters/<folder>/<file>.mjs), the second for variants that share one install.

import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
export const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
export const adapterDir = (id) => path.join(ROOT, 'adapters', id.split(':')[0]);
export const adapterFile = (id) => path.join(adapterDir(id), `${id.split(':')[1] ?? 'adapter'}.mjs`);
export const loadAdapter = (id) => import(pathToFileURL(adapterFile(id)).href);
