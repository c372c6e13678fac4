import { resolve } from 'node:path';
import type { NextConfig } from 'next';

// Countersign lies in the same repository: its packages are links into folders above this one.
const root = resolve(import.meta.dirname, '../..');

export default {
  turbopack: { root },
  outputFileTracingRoot: root,
  // Plain ES modules for Node; nothing in them has to be bundled.
  serverExternalPackages: ['ai', 'countersign', 'zod'],
  // `tsc -b` at the root checks this app together with its tests.
  typescript: { ignoreBuildErrors: true },
  devIndicators: false,
  // The tests build once: a cache for the next build and small files would cost them half of the CPU time.
  experimental: process.env.BUILD_ONCE
    ? { turbopackFileSystemCacheForBuild: false, turbopackMinify: false, turbopackSourceMaps: false }
    : {},
} satisfies NextConfig;
