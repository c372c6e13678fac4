// A slower disk than the one at hand, for the cases that write: what everything that is measured is started with.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './adapters.mjs';

export function slowFlush(microseconds) {
  const library = path.join(ROOT, 'out', 'slow-flush.so');
  fs.mkdirSync(path.dirname(library), { recursive: true });
  const source = path.join(ROOT, 'lib', 'slow-flush.c');
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'], { stdio: 'inherit' });
  } catch (cause) {
    throw new Error('--flush-us needs a C compiler (cc).', { cause });
  }
  return { LD_PRELOAD: library, BENCH_FLUSH_US: String(microseconds) };
}
