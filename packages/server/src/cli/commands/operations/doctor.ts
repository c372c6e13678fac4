// `countersign doctor`: checks everything a run needs, one line per check, with a fix for each failure.
import type { Command } from 'commander';
import type { Check } from '../../doctor/server-checks.ts';
import { EXIT, type ExitCode } from '../../failure.ts';
import { checkLines } from '../../print/checks.ts';
import type { Output } from '../../print/output.ts';
import { type Action, type BackendOptions, withBackend, withExamples } from '../options.ts';

export function addDoctor(program: Command, action: Action): void {
  const command = program
    .command('doctor')
    .summary('check the store, its tables, the clock, API keys, your agents file and your channels')
    .description(
      [
        'Checks what runs need and says how to fix what is missing. The exit code is 1 if a check fails.',
        'With --agents alone, it checks whether the hooks of coding agents are active, whether they reach their store, and whether a call is blocked if they fail.',
      ].join('\n\n'),
    )
    .action(action(diagnose));
  withExamples(
    withBackend(command, ['--agents [file]', 'your agents file; without a file: check the hooks of coding agents']),
    ['countersign doctor', 'check this folder'],
    ['countersign doctor --agents', 'check the hooks of Claude Code, Codex and the others'],
    ['countersign doctor --store postgres://localhost/app --json', 'as JSON'],
  );
}

type DoctorOptions = Omit<BackendOptions, 'agents'> & { readonly agents?: string | true };

async function diagnose(output: Output, { agents, ...options }: DoctorOptions): Promise<ExitCode> {
  const checks = await (agents === true ? checkHooks() : checkRuns({ ...options, ...(agents && { agents }) }));
  const isOk = checks.every(({ status }) => status !== 'fail');
  if (output.json) output.document({ ok: isOk, checks });
  else for (const line of checkLines(checks, output)) output.line(line);
  return isOk ? EXIT.ok : EXIT.failure;
}

async function checkHooks(): Promise<readonly Check[]> {
  const { checkCodingAgents } = await import('../../doctor/hook-checks.ts');
  return checkCodingAgents();
}

async function checkRuns(options: BackendOptions): Promise<readonly Check[]> {
  const { serverUrl, serverToken } = await import('../../runtime/opening.ts');
  const url = serverUrl(options);
  if (url === undefined) return (await import('../../doctor/local-checks.ts')).checkLocally(options);
  return (await import('../../doctor/server-checks.ts')).checkServer(url, serverToken(options, url));
}
