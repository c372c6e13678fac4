// How the app is built: into the server's package, as files that a strict content security policy allows.
import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { licences } from '../../packages/countersign/scripts/licences.ts';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// A build inside a test would otherwise be one for developers: slower, and with the paths of this machine.
if (process.argv.includes('build')) process.env.NODE_ENV = 'production';

export default defineConfig({
  root: at('.'),
  base: './',
  plugins: [
    react(),
    tailwindcss(),
    licences({ product: 'The inbox of Countersign', own: at('../../LICENSE'), also: ['tailwindcss'] }),
  ],
  resolve: {
    // From the sources, so that the app can be built before anything else is.
    alias: {
      '@countersign/react': at('../../packages/react/src/index.ts'),
      'countersign/request': at('../../packages/countersign/src/request.ts'),
    },
    dedupe: ['react', 'react-dom'],
  },
  server: { proxy: { '/api': process.env.COUNTERSIGN_URL ?? 'http://127.0.0.1:3000' } },
  build: {
    outDir: at('../../packages/server/dist/inbox'),
    emptyOutDir: true,
    // `data:` addresses are not in the policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
});
