import vue from '@vitejs/plugin-vue';
import { defineConfig } from 'vite';
import { chatServer } from './server/chat.ts';

export default defineConfig({
  plugins: [
    vue({ template: { compilerOptions: { isCustomElement: (tag) => tag.startsWith('countersign-') } } }),
    chatServer(),
  ],
});
