// `countersign dev`: serves your agents on this machine and reloads when a file changes.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { type ExitCode, failureOf } from '../../failure.ts';
import type { Output } from '../../print/output.ts';
import type { ServingMessage } from '../../runtime/reloading.ts';
import type { Serving } from '../../runtime/serving.ts';
import { survivingLostOutput } from '../../runtime/stopping.ts';
import {
  type Action,
  type AddressOptions,
  type StoreOptions,
  withAddress,
  withExamples,
  withStore,
} from '../options.ts';

type DevOptions = AddressOptions & StoreOptions;

const PACKAGE = join(import.meta.dirname, '../../../..');

export function addDev(program: Command, action: Action): void {
  const command = withAddress(program.command('dev [file]'))
    .summary('serve your agents on this machine, reload on changes')
    .description(
      [
        'Loads your agents from a TypeScript file (default: countersign.config.ts or agents.ts), serves the inbox and the API on this machine, drives runs, and reloads when a file changes. Runs are stored, so a reload loses nothing. Without a file it serves a demo. Without a model or an API key, a stand-in model picks tools by the words of your message, so that you can try your own agents.',
        'The file exports an instance, or a function that creates one: export default ({ store, model, providers }) => { const ai = countersign({ store, model, providers }); …; return ai; }',
        'The printed link signs you in. It works once, within 10 minutes, and you stay signed in for a week. When it no longer works, open it again: a new one is printed here, as after a sign-out.',
      ].join('\n\n'),
    )
    .action(
      action(
        survivingLostOutput(async (output, file: string | undefined, options: DevOptions) => {
          const { DEV_ROLE } = await import('../../runtime/reloading.ts');
          const role = process.env[DEV_ROLE];
          return role === undefined ? watch(output, file, options) : serveOnce(output, file, options, role === 'first');
        }),
      ),
    );
  withExamples(
    withStore(command),
    ['countersign dev', 'agents.ts in this folder, or the demo'],
    ['countersign dev src/agents.ts --port 4000', 'a different file and port'],
    ['OPENAI_API_KEY=… COUNTERSIGN_MODEL=openai/gpt-5 countersign dev', 'with a real model'],
  );
}

/** The parent process: watches files and restarts the server. */
async function watch(output: Output, file: string | undefined, options: DevOptions): Promise<ExitCode> {
  const { findAgentsFile } = await import('../../runtime/finding-agents-file.ts');
  const path = findAgentsFile(file ?? options.agents);
  const folders = [process.cwd(), ...(path === undefined ? [] : [dirname(path)])];
  const command = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const tell = (text: string) => output.note(output.style('dim', text));
  const { keepServing } = await import('../../runtime/reloading.ts');
  return (await keepServing(command, { folders, tell })) as ExitCode;
}

/** Ignores a parent that is gone: its end already asked this process to stop. */
const tellParent = (message: ServingMessage): void => {
  process.send?.(message, undefined, undefined, () => {});
};

/**
 * Resolves when the parent asks to stop, or ends. The parent handles Ctrl-C and a closed terminal, so they are ignored here;
 * SIGTERM may come more than once and must never kill a tool that runs.
 */
function toldToStop(): Promise<unknown> {
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  return new Promise((resolve) => process.on('SIGTERM', resolve).once('disconnect', resolve));
}

/** The child process: serves until the parent asks it to stop. */
async function serveOnce(
  output: Output,
  file: string | undefined,
  options: DevOptions,
  isFirst: boolean,
): Promise<ExitCode | undefined> {
  const stopping = toldToStop();
  const { DEV_PORT } = await import('../../runtime/reloading.ts');
  const { trackLoadedFiles } = await import('../../runtime/module-hooks.ts');
  const loaded = trackLoadedFiles();
  const port = process.env[DEV_PORT];
  let serving: Serving;
  const { firstLink } = await import('../../runtime/first-page.ts');
  try {
    const { startServing } = await import('../../runtime/serving.ts');
    const address = port === undefined ? options : { ...options, port: Number(port) };
    const onLoginUrl = async (url: string) =>
      printLink('Here is a new link to sign in.', await firstLink(serving.opened.ai, url), output);
    serving = await startServing(address, file, output, { dev: true, worker: true, graceMs: 1_000, onLoginUrl });
  } catch (error) {
    if (failureOf(error).code === 'agents-file') tellParent({ type: 'unloadable' });
    throw error;
  } finally {
    tellParent({ type: 'loaded', files: loaded() });
  }
  tellParent({ type: 'listening', port: serving.server.port });
  if (serving.opened.file === undefined && isFirst) {
    const { startSample } = await import('../../../demo/sample.ts');
    await startSample(serving.opened.ai.runs.store);
  }
  const { loginUrl } = serving.server;
  await greet(serving, loginUrl && (await firstLink(serving.opened.ai, loginUrl)), isFirst, output);
  await stopping;
  await serving.stop();
  return undefined;
}

async function greet(
  { opened, server }: Serving,
  loginUrl: string | null,
  isFirst: boolean,
  output: Output,
): Promise<void> {
  const { agentsText, standInText } = await import('../../runtime/serving.ts');
  const { style } = output;
  if (output.json) {
    const { url, port } = server;
    const type = isFirst ? 'serving' : 'reloaded';
    const agents = [...opened.ai.agents.keys()];
    return output.document({ type, url, port, loginUrl, agents, where: opened.where }, { follow: true });
  }
  if (!isFirst) return output.line(`Reloaded ${agentsText(opened)}`);
  output.line(`${style('bold', 'Countersign')} is serving ${agentsText(opened)}`);
  if (opened.file === undefined) output.line('This is the demo agent. Create agents.ts to use your own.');
  const standIn = standInText(opened);
  if (standIn !== undefined) output.line(style('yellow', standIn));
  output.line();
  output.line(`  Runs  ${opened.where}`);
  output.line(`  API   ${server.url}/api/v1/docs`);
  output.line(`  Docs  ${await docsText()}`);
  output.line();
  output.line(style('dim', 'Reloads when a file changes. Press Ctrl-C to stop.'));
  if (loginUrl !== null) printLink('Open this link to sign in.', loginUrl, output);
}

/** A clone has the documentation, an installed package its README. */
async function docsText(): Promise<string> {
  const { shownPath } = await import('../../runtime/store-address.ts');
  const isClone = existsSync(join(PACKAGE, '../../scripts/build-server.mjs'));
  const path = (file: string) => shownPath(join(PACKAGE, file));
  return isClone ? `${path('../../docs/README.md')}, or as a site: npm run docs:dev` : path('README.md');
}

/** Nothing follows the link on its line, so that terminals recognize it and a triple click selects it. */
function printLink(text: string, loginUrl: string, output: Output): void {
  if (output.json) return output.document({ type: 'login-link', loginUrl }, { follow: true });
  output.line();
  output.line(`${text} It works once, within 10 minutes.`);
  output.line(`  ${output.style(['cyan', 'underline'], loginUrl)}`);
}
