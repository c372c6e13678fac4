#!/usr/bin/env node
// The program `create-countersign`, which `npm create countersign` runs. Checks the Node version before it imports anything.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 18)) {
  const advice = 'Install Node 24 (https://nodejs.org, or `nvm install 24`).';
  process.stderr.write(
    `error: Countersign needs Node 22.18 or later; this is Node ${process.versions.node}. ${advice}\n`,
  );
  process.exit(2);
}

const { runCommandLine } = await import('./command-line.ts');
process.exitCode = await runCommandLine(process.argv.slice(2));
