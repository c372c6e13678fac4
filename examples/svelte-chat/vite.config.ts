import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { chatServer } from './server/chat.ts';

export default defineConfig({ plugins: [svelte({ configFile: false }), chatServer()] });
