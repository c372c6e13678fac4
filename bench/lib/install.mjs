// Install footprint of a set of packages, from the adapter's own package-lock.json: the closure of their
// dependencies (plus required peers), its number of packages and its size on disk.
import fs from 'node:fs';
import path from 'node:path';
import { adapterDir } from './adapters.mjs';

function dirBytes(dir) {
  let bytes = 0,
    files = 0;
  for (const e of fs.readdirSync(dir, { withFileTypes: true })) {
    const p = path.join(dir, e.name);
    if (e.isDirectory()) {
      if (e.name === 'node_modules') continue; // nested packages are counted on their own
      const s = dirBytes(p);
      bytes += s.bytes;
      files += s.files;
    } else if (e.isFile()) {
      bytes += fs.statSync(p).size;
      files++;
    }
  }
  return { bytes, files };
}

export function footprint(id, roots) {
  const dir = adapterDir(id);
  const lockFile = path.join(dir, 'package-lock.json');
  if (!fs.existsSync(lockFile)) return null;
  const { packages } = JSON.parse(fs.readFileSync(lockFile, 'utf8'));
  const find = (from, name) => {
    for (
      let at = from;
      ;
      at = at.includes('node_modules/') ? at.slice(0, at.lastIndexOf('node_modules/')).replace(/\/$/, '') : ''
    ) {
      const k = `${at ? `${at}/` : ''}node_modules/${name}`;
      if (packages[k]) return k;
      if (!at) return null;
    }
  };
  const seen = new Set(),
    queue = roots.map((r) => find('', r)).filter(Boolean);
  while (queue.length) {
    const k = queue.pop();
    if (seen.has(k)) continue;
    seen.add(k);
    const p = packages[k];
    const optionalPeer = (n) => p.peerDependenciesMeta?.[n]?.optional;
    for (const n of [
      ...Object.keys(p.dependencies ?? {}),
      ...Object.keys(p.optionalDependencies ?? {}),
      ...Object.keys(p.peerDependencies ?? {}).filter((n) => !optionalPeer(n)),
    ]) {
      const f = find(k, n);
      if (f) queue.push(f);
    }
  }
  let bytes = 0,
    files = 0,
    count = 0;
  for (const k of seen) {
    const p = path.join(dir, k);
    if (!fs.existsSync(p)) continue; // optional for another platform
    count++;
    const s = dirBytes(p);
    bytes += s.bytes;
    files += s.files;
  }
  return { packages: count, mb: bytes / 1e6, files };
}
export const versionOf = (id, name) => {
  try {
    return JSON.parse(fs.readFileSync(path.join(adapterDir(id), 'node_modules', name, 'package.json'), 'utf8')).version;
  } catch {
    return '?';
  }
};
