// `countersign dev`: serves your agents on this machine and starts over when a file changes.
import { dirname } from 'node:path';
import { ADDRESS_OPTIONS } from '../address-options.ts';
import type { Command, Invocation } from '../command.ts';
import { type ExitCode, failureOf } from '../failure.ts';
import { STORE_OPTIONS } from '../place-options.ts';
import { findAgentsFile, shownPath } from '../runtime/agents-file.ts';
import { noteLoadedFiles } from '../runtime/loaded-files.ts';
import { DEV_PORT, DEV_ROLE, keepServing, type ServingMessage } from '../runtime/reloading.ts';
import type { Serving } from '../runtime/serving.ts';
import { whetherReadOrNot } from '../runtime/stopping.ts';

export const dev: Command = {
  name: 'dev',
  arguments: '[file]',
  summary: 'serve your agents on this machine, and reload when a file changes',
  description: [
    'Loads your agents from a TypeScript file (countersign.config.ts or agents.ts unless given), serves the inbox and the API on this machine, drives the runs, and starts over when a file changes. Runs live in the store, so that a reload loses nothing. Without a file, it shows the demo.',
    'The file exports an instance, or a function that makes one on the store and the model it is given: export default ({ store, model, providers }) => { const ai = countersign({ store, model, providers }); …; return ai; }',
    'The link that is printed signs you in, once, within ten minutes.',
  ],
  options: { ...ADDRESS_OPTIONS, ...STORE_OPTIONS },
  examples: [
    ['countersign dev', 'agents.ts of this folder, or the demo'],
    ['countersign dev src/agents.ts --port 4000', 'another file, another port'],
    ['OPENAI_API_KEY=… COUNTERSIGN_MODEL=openai/gpt-5 countersign dev', 'with a real model'],
  ],
  run: whetherReadOrNot((invocation) => {
    const role = process.env[DEV_ROLE];
    return role === undefined ? watch(invocation) : serveOnce(invocation, role === 'first');
  }),
};

/** The process that watches. */
async function watch(invocation: Invocation): Promise<ExitCode> {
  const [named] = invocation.positionals;
  const file = findAgentsFile(named ?? invocation.text('agents'));
  const folders = [process.cwd(), ...(file === undefined ? [] : [dirname(file)])];
  const command = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const tell = (text: string) => invocation.output.note(invocation.output.style('dim', text));
  return (await keepServing(command, { folders, tell })) as ExitCode;
}

/** One that is gone has told to stop by that; an error that nobody takes would end what runs. */
const tellParent = (message: ServingMessage): void => {
  process.send?.(message, undefined, undefined, () => {});
};

/**
 * By the process that watches, or by its end; more than once where several files change. Ctrl-C and a terminal that is closed
 * reach both, and it is the other one that says what follows.
 */
function toldToStop(): Promise<void> {
  process.on('SIGINT', () => {}).on('SIGHUP', () => {});
  // Once it is not heard any more, the next one would end it in the middle of a tool.
  return new Promise((resolve) => process.on('SIGTERM', resolve).once('disconnect', resolve));
}

/** The process that serves; it ends with the one that watches. */
async function serveOnce(invocation: Invocation, isFirst: boolean): Promise<ExitCode | undefined> {
  const stopping = toldToStop();
  const loaded = noteLoadedFiles();
  let serving: Serving;
  try {
    const { startServing } = await import('../runtime/serving.ts');
    const port = process.env[DEV_PORT] === undefined ? undefined : Number(process.env[DEV_PORT]);
    serving = await startServing(invocation, invocation.positionals[0], {
      dev: true,
      worker: true,
      port,
      graceMs: 1_000,
    });
  } catch (error) {
    if (failureOf(error).code === 'agents-file') tellParent({ type: 'unloadable' });
    throw error;
  } finally {
    tellParent({ type: 'loaded', files: loaded() });
  }
  tellParent({ type: 'listening', port: serving.server.port });
  greet(invocation, serving, isFirst);
  await stopping;
  await serving.stop();
  return undefined;
}

function greet({ output }: Invocation, { opened, server }: Serving, isFirst: boolean): void {
  const agents = [...opened.ai.agents.keys()];
  const from = opened.file === undefined ? 'the demo; write agents.ts for your own' : shownPath(opened.file);
  if (output.json) {
    const { url, port, loginUrl } = server;
    return output.document(
      { type: isFirst ? 'serving' : 'reloaded', url, port, loginUrl, agents, where: opened.where },
      { follow: true },
    );
  }
  if (!isFirst) return output.line(`Reloaded: ${agents.join(', ') || 'no agents'} (${from}).`);
  const { style } = output;
  output.line(
    `${style('bold', 'Countersign')} serves ${agents.join(', ') || 'no agents'} (${from}), runs in ${opened.where}`,
  );
  if (opened.model?.demo)
    output.line(style('yellow', 'The demo model answers. Set COUNTERSIGN_MODEL and a key for a real one.'));
  output.line();
  output.line(`  inbox  ${style('cyan', server.loginUrl ?? server.url)}`);
  output.line(`  API    ${server.url}/api/v1/docs`);
  output.line();
  output.line(style('dim', 'Reloads when a file changes. Ctrl-C stops it.'));
}
