import type { NextConfig } from 'next';

export default {
  // Countersign runs in Node as it is.
  serverExternalPackages: ['countersign'],
} satisfies NextConfig;
