// A process of ratchet.mjs: counts the modules that an import of Countersign loads beside zod's, and the calls that they make.
import 'zod';
import { callsDuring } from './coverage.mjs';
import './sources.mjs';

const { scripts, calls } = await callsDuring(
  () => import('countersign'),
  (url) => url.startsWith('file:') && !url.startsWith(new URL('.', import.meta.url).href),
);
process.send({ modules: scripts, calls });
