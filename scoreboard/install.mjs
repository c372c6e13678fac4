// node scoreboard/install.mjs : installs each system in its own folder, and our package, as npm would publish it, beside it.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npm, root, run } from '../scripts/run.mjs';
import { SYSTEMS } from './systems.mjs';

const packed = mkdtempSync(join(tmpdir(), 'scoreboard-packed-'));
try {
  const [command, ...args] = npm();
  const call = (cwd, ...more) => {
    const { code, output } = run(command, [...args, ...more, '--loglevel=error'], { cwd });
    if (code !== 0) throw new Error(`npm ${more.join(' ')} failed in ${cwd}:\n${output}`);
  };
  call(join(root, 'packages', 'countersign'), 'pack', '--pack-destination', packed);
  const tarball = join(packed, readdirSync(packed)[0]);
  for (const [system, { ways = [] }] of Object.entries(SYSTEMS)) {
    const folder = join(import.meta.dirname, 'systems', system);
    if (!existsSync(join(folder, 'package-lock.json'))) continue;
    console.log(`Installing ${system} …`);
    call(folder, 'ci');
    if (ways.includes('gated')) unpack(tarball, join(folder, 'node_modules', 'countersign'));
    call(folder, 'run', 'build', '--if-present');
  }
} finally {
  rmSync(packed, { recursive: true, force: true });
}

function unpack(tarball, folder) {
  mkdirSync(folder, { recursive: true });
  const { code, output } = run('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1']);
  if (code !== 0) throw new Error(`tar failed:\n${output}`);
}
