// Preact in place of `react-dom/client`. It runs effects before the next key press, as React does, instead of after the next frame.
import { options } from 'preact';
import { createRoot as create } from 'preact/compat/client';

export function createRoot(container) {
  options.requestAnimationFrame = queueMicrotask;
  return create(container);
}
