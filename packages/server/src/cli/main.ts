#!/usr/bin/env node
// The program `countersign`. Checks the Node version before it imports anything else.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 18)) {
  const advice = 'Install Node 24 (https://nodejs.org, or `nvm install 24`).';
  process.stderr.write(
    `error: countersign needs Node 22.18 or later; this is Node ${process.versions.node}. ${advice}\n`,
  );
  // Coding agents run a call if its hook ends with 1.
  process.exit(2);
}

// A reader that stops early, as in `countersign runs | head`, is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
// The command does its work even if nothing reads stderr.
process.stderr.on('error', () => {});

// Some connections do not keep the process alive while a command waits for them.
setInterval(() => {}, 2 ** 30);

try {
  const { runCommandLine } = await import('./command-line.ts');
  const exitCode = await runCommandLine(process.argv.slice(2));
  // The user's file may keep connections or timers open.
  process.stdout.write('', () => process.exit(exitCode));
} catch (error) {
  // A package is missing or of another version. Not 1, for the same reason as above.
  const text = error instanceof Error ? error.stack : error;
  process.stderr.write(`error: @countersign/server cannot be loaded. ${text}\n`, () => process.exit(2));
}
