#!/usr/bin/env node
// The program `countersign`. Nothing is imported before it is sure that this Node can run it.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(`error: countersign needs Node 22.18 or later, and this is ${process.versions.node}.\n`);
  process.exit(1);
}

// A reader that has seen enough, as in `countersign runs | head`, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
// Where nobody reads what is said beside the result, the command does its work all the same.
process.stderr.on('error', () => {});

// Some connections do not keep a process alive, though a command waits for them.
setInterval(() => {}, 2 ** 30);

const { runCommandLine } = await import('./command-line.ts');
const exitCode = await runCommandLine(process.argv.slice(2));
// The user's file may keep connections or timers open; the command is done all the same.
process.stdout.write('', () => process.exit(exitCode));
