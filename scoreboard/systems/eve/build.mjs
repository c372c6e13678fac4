// Builds the program with eve's own approval and behind our gate, and of each the next release, which describes its tool otherwise.
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const here = import.meta.dirname;
const eve = join(here, 'node_modules', 'eve', 'bin', 'eve.js');
const env = { ...process.env, EVE_TELEMETRY_DISABLED: '1' };

for (const way of ['release', 'gated'])
  for (const release of [1, 2]) {
    const folder = join(here, `${way}-${release}`);
    rmSync(folder, { recursive: true, force: true });
    cpSync(join(here, 'agent'), join(folder, 'agent'), { recursive: true });
    if (way === 'gated') cpSync(join(here, 'gated'), join(folder, 'agent'), { recursive: true });
    if (release === 2) describe(join(folder, 'agent', 'tools', 'pay.ts'));
    writeFileSync(
      join(folder, 'package.json'),
      '{ "name": "clerk", "type": "module", "dependencies": { "eve": "*" } }\n',
    );
    // No tool of this agent needs a sandbox.
    const { status, stdout, stderr } = spawnSync(process.execPath, [eve, 'build', '--skip-sandbox-prewarm'], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`eve build failed in ${folder}:\n${stdout}${stderr}`);
  }

function describe(file) {
  writeFileSync(file, readFileSync(file, 'utf8').replace("'Pays.'", "'Pays an invoice.'"));
}
