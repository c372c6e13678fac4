import { resolve } from 'node:path';
import type { NextConfig } from 'next';

// Countersign lies in the same repository: its packages are links into folders above this one.
const root = resolve(import.meta.dirname, '../..');

export default {
  turbopack: { root },
  outputFileTracingRoot: root,
  // Plain ES modules for Node; nothing in them has to be bundled.
  serverExternalPackages: ['countersign'],
  // `tsc -b` at the root checks this app together with its tests.
  typescript: { ignoreBuildErrors: true },
  devIndicators: false,
} satisfies NextConfig;
