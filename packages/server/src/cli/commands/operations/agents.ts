// `countersign agents install|status|remove`: lets the coding agents of this machine ask, by their own settings.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type AgentName, CODING_AGENTS } from '../../../coding-agents/agent-names.ts';
import type { CodingAgent, Scope } from '../../../coding-agents/coding-agents.ts';
import type { FoundAgent } from '../../../coding-agents/finding.ts';
import type { Change } from '../../../coding-agents/installing.ts';
import { defined } from '../../../defined.ts';
import { type Check, check } from '../../doctor/server-checks.ts';
import { CommandFailure, EXIT, type ExitCode, usageFailure } from '../../failure.ts';
import { checkLines } from '../../print/checks.ts';
import { diffLines, foundLines, shown } from '../../print/coding-agents.ts';
import type { Output } from '../../print/output.ts';
import { type Action, type BackendOptions, groupOf, httpUrl, withExamples } from '../options.ts';

type AgentsOptions = { readonly agent?: readonly AgentName[]; readonly scope: Scope };
type ChangeOptions = AgentsOptions & { readonly yes?: boolean; readonly dryRun?: boolean };
type InstallOptions = ChangeOptions & Pick<BackendOptions, 'store' | 'url' | 'token'> & { readonly rules?: string };

export function addAgents(program: Command, action: Action): void {
  const agents = groupOf(program, 'agents')
    .summary('let coding agents ask before they act')
    .description(
      'Claude Code, Codex, Cursor, Gemini CLI, OpenCode and Copilot CLI ask people before they run a command, edit a file or call an MCP tool.',
    );
  withExamples(
    agents,
    ['countersign agents install', 'the agents of this machine ask from now on'],
    ['countersign agents status', 'which agents ask, and whether that works'],
    ['countersign agents remove', 'take it out of their settings again'],
  );
  const install = agents
    .command('install')
    .summary('let the coding agents of this machine ask')
    .description(
      'Finds the coding agents of this machine, shows what it would change in their settings, asks, writes, and checks that it works. People decide on a server with --url, otherwise on a store in ~/.countersign.',
    )
    .option('--store <address>', 'a store outside the project (default: ~/.countersign/agents.sqlite)')
    .option('--url <url>', 'people decide on this server (env: COUNTERSIGN_URL)', httpUrl)
    .option('--token <token>', 'token for the server (better: env COUNTERSIGN_TOKEN)')
    .option('--rules <file>', 'which tools ask (default: ~/.countersign/agent-rules.json)')
    .action(action(installHooks));
  withExamples(
    withChanges(install),
    ['countersign agents install --dry-run', 'only show the differences'],
    ['countersign agents install --agent codex --yes', 'one agent, without a question'],
  );
  const status = agents
    .command('status')
    .summary('show which coding agents ask, and whether that works')
    .description('Reads the settings of all agents and sends each hook a sample call. The exit code is 1 if one fails.')
    .action(action(showStatus));
  withExamples(withAgents(status), ['countersign agents status', 'all agents of this machine']);
  const remove = agents
    .command('remove')
    .summary('take the hooks out of the settings again')
    .description('Takes out exactly what `countersign agents install` added. The record of earlier calls stays.')
    .action(action(removeHooks));
  withExamples(
    withChanges(remove),
    ['countersign agents remove', 'out of the settings of all agents'],
    ['countersign agents remove --scope project', 'out of those in this folder'],
  );
}

const withAgents = (command: Command): Command =>
  command.option('--agent <names>', `only these: ${CODING_AGENTS.join(',')}`, agentNames);

const withChanges = (command: Command): Command =>
  withAgents(command)
    .addOption(new Option('--scope <scope>', 'whose settings').choices(['user', 'project']).default('user'))
    .option('--dry-run', 'only show what would change')
    .option('--yes', 'do not ask');

function agentNames(text: string): readonly AgentName[] {
  return text.split(',').map((word) => {
    const name = CODING_AGENTS.find((known) => known === word.trim());
    if (name) return name;
    throw new InvalidArgumentError(`Expected any of ${CODING_AGENTS.join(',')}.`);
  });
}

/** What is to change for an agent, or why nothing can. */
type Planned = { readonly agent?: CodingAgent; readonly change?: Change | undefined; readonly problem?: string };

async function installHooks(output: Output, options: InstallOptions): Promise<ExitCode> {
  const { scope } = options;
  const { targetOf, filesFor } = await import('../../runtime/hook-target.ts');
  const [{ installation }, { hookCommands }] = await Promise.all([
    import('../../../coding-agents/installing.ts'),
    import('../../../coding-agents/hook-commands.ts'),
  ]);
  const { target, token, where, warning } = await targetOf(options);
  const found = await foundAgents(options);
  const wanted = found.filter(({ isFound }) => isFound || options.agent).map(({ agent }) => agent);
  if (!output.json) for (const line of foundLines(found, output)) output.line(line);
  if (wanted.length === 0) throw noAgents();
  if (!output.json) output.line(`\nTheir requests go to ${shown(where)}.`);
  if (warning !== undefined) output.note(`${output.style('yellow', 'warning')}: ${warning}`);
  const files = filesFor(target, token);
  const planned = wanted.map((agent) => plan(agent, () => installation(agent, scope, hookCommands(agent, target))));
  const { written, checks } = await carryOut(output, options, [...files.map((change) => ({ change })), ...planned]);
  const isSure = written && !options.dryRun;
  const results = isSure ? await checkWritten(output, options, planned) : [];
  return report(output, { found, planned, checks: [...checks, ...results], written, next: decideWith(target) });
}

const decideWith = ({ url, store }: { readonly url?: string | undefined; readonly store: string }): string =>
  url === undefined ? `countersign inbox --store ${shown(store).replace('~/', '$HOME/')}` : url;

async function removeHooks(output: Output, options: ChangeOptions): Promise<ExitCode> {
  const { removal } = await import('../../../coding-agents/installing.ts');
  const { filesWithout } = await import('../../runtime/hook-target.ts');
  const found = await foundAgents(options);
  const planned = found.map(({ agent }) => plan(agent, () => removal(agent, options.scope)));
  const changed = planned.filter(({ change, problem }) => change !== undefined || problem !== undefined);
  const gone = planned.flatMap(({ agent, change }) => (agent && change ? [agent] : []));
  const files = await filesWithout(gone, options.scope);
  const { written, checks } = await carryOut(output, options, [...changed, ...files.map((change) => ({ change }))]);
  const done = written ? gone.map(({ title }) => check(title, 'ok', 'does not ask any more: its calls run')) : [];
  return report(output, { found, planned: changed, checks: [...checks, ...done], written });
}

async function showStatus(output: Output, options: Pick<AgentsOptions, 'agent'>): Promise<ExitCode> {
  const { checkAgent, hooksOf, isSet } = await import('../../doctor/hook-checks.ts');
  const found = await foundAgents(options);
  const states = await Promise.all(
    found.map(async (one) => {
      const hooks = await hooksOf(one.agent);
      if (isSet(hooks)) return { ...one, asks: true, checks: await checkAgent(one.agent, hooks) };
      const text = 'does not ask here: its calls run';
      const fix = `countersign agents install --agent ${one.agent.name}`;
      return { ...one, asks: false, checks: one.isFound ? [check(one.agent.title, 'unknown', text, fix)] : [] };
    }),
  );
  const checks = states.flatMap((state) => state.checks);
  const isOk = checks.every(({ status }) => status !== 'fail');
  if (output.json) {
    const agents = states.map(({ asks, checks, ...one }) => ({ ...agentFacts(one), asks, checks }));
    output.document({ ok: isOk, agents });
  } else {
    for (const line of foundLines(found, output)) output.line(line);
    if (checks.length > 0) output.line();
    for (const line of checkLines(checks.map(shortened), output)) output.line(line);
  }
  return isOk ? EXIT.ok : EXIT.failure;
}

const shortened = (one: Check): Check => ({ ...one, text: shown(one.text) });

async function foundAgents({ agent: names }: Pick<AgentsOptions, 'agent'>): Promise<readonly FoundAgent[]> {
  const [{ codingAgents }, { findAgents }] = await Promise.all([
    import('../../../coding-agents/coding-agents.ts'),
    import('../../../coding-agents/finding.ts'),
  ]);
  return findAgents(codingAgents().filter(({ name }) => names === undefined || names.includes(name)));
}

function plan(agent: CodingAgent, change: () => Change | undefined): Planned {
  try {
    return { agent, change: change() };
  } catch (error) {
    return { agent, problem: (error as Error).message };
  }
}

/** Shows the changes, asks, and makes them. A file that cannot be changed does not keep the others from it. */
async function carryOut(
  output: Output,
  { scope, yes, dryRun }: ChangeOptions,
  all: readonly Planned[],
): Promise<{ readonly written: boolean; readonly checks: readonly Check[] }> {
  const { isChanged, make } = await import('../../../coding-agents/installing.ts');
  const nameOf = ({ agent, change }: Planned) => agent?.title ?? shown(change?.file ?? '');
  const checks = all.flatMap(({ agent, problem }) =>
    agent && problem !== undefined ? [check(agent.title, 'fail', `${shown(agent.file[scope])}: ${problem}`)] : [],
  );
  const changes = all.flatMap((one) => (one.change && isChanged(one.change) ? [{ ...one, change: one.change }] : []));
  if (changes.length === 0) return { written: true, checks };
  if (!output.json)
    for (const { change } of changes) for (const line of ['', ...diffLines(change, output)]) output.line(line);
  if (dryRun) return { written: false, checks };
  if (!yes && !(process.stdin.isTTY && process.stdout.isTTY))
    throw usageFailure(
      'Nothing was written: this command asks in a terminal.',
      'Without one, pass --yes to write the changes, or --dry-run to only see them.',
    );
  if (!output.json && !yes) output.line();
  const files = changes.length === 1 ? 'this file' : `these ${changes.length} files`;
  if (!yes && !(await isConfirmed(`Change ${files}?`))) return { written: false, checks };
  const failed = changes.flatMap((one) => {
    try {
      make(one.change);
      return [];
    } catch (error) {
      return [check(nameOf(one), 'fail', `${shown(one.change.file)}: ${(error as Error).message}`)];
    }
  });
  return { written: true, checks: [...checks, ...failed] };
}

async function isConfirmed(message: string): Promise<boolean> {
  const { confirm } = await import('@clack/prompts');
  return (await confirm({ message, initialValue: false })) === true;
}

/** A hook that does not work blocks every call, so the person may take it back. */
async function checkWritten(
  output: Output,
  { yes, scope }: ChangeOptions,
  planned: readonly Planned[],
): Promise<readonly Check[]> {
  const [{ commandsIn }, { make, readText, undone }, { sampleProblem }] = await Promise.all([
    import('../../../coding-agents/settings-edit.ts'),
    import('../../../coding-agents/installing.ts'),
    import('../../../coding-agents/sample-call.ts'),
  ]);
  const checks: Check[] = [];
  for (const { agent, change } of planned) {
    if (!agent || !change || readText(change.file) !== change.after) continue;
    const command = commandsIn(agent, change.after ?? '')?.ask ?? '';
    const problem = await sampleProblem(agent.name, command, 'PreToolUse');
    if (problem === undefined) {
      checks.push(check(agent.title, 'ok', 'asks before each call. A sample call was answered', agent.afterwards));
      continue;
    }
    const back = `countersign agents remove --agent ${agent.name}${scope === 'user' ? '' : ' --scope project'}`;
    const isBack = !yes && !output.json && (await isConfirmed(`${agent.title}: its hook fails. Take the change back?`));
    if (isBack) make(undone(change));
    const text = isBack ? 'The change was taken back' : 'Every call is blocked until it works';
    checks.push(check(agent.title, 'fail', `the hook fails: ${problem} ${text}`, isBack ? undefined : back));
  }
  return checks;
}

type Reported = {
  readonly found: readonly FoundAgent[];
  readonly planned: readonly Planned[];
  readonly checks: readonly Check[];
  readonly written: boolean;
  readonly next?: string;
};

async function report(output: Output, { found, planned, checks, written, next }: Reported): Promise<ExitCode> {
  const { isChanged } = await import('../../../coding-agents/installing.ts');
  const isOk = checks.every(({ status }) => status !== 'fail');
  const changed = planned.some(({ change }) => change && isChanged(change));
  if (output.json) {
    const { unifiedDiff } = await import('../../../coding-agents/unified-diff.ts');
    const agents = found.map((one) => {
      const { change, problem } = planned.find(({ agent }) => agent === one.agent) ?? {};
      const diff = change && unifiedDiff(change.file, change.before, change.after).join('\n');
      return { ...agentFacts(one), ...defined({ file: change?.file, diff, problem }) };
    });
    output.document({ ok: isOk, written: written && changed, agents, checks });
    return isOk ? EXIT.ok : EXIT.failure;
  }
  if (!changed) output.line(planned.length === 0 ? 'Nothing to remove.' : 'Nothing to change.');
  else if (!written) output.line('\nNothing was written.');
  if (checks.length > 0 && (changed || planned.length > 0)) output.line();
  for (const line of checkLines(checks.map(shortened), output)) output.line(line);
  if (next !== undefined && written && isOk) output.line(`\nDecide with: ${next}`);
  return isOk ? EXIT.ok : EXIT.failure;
}

const agentFacts = ({ agent: { name, title }, isFound, version, program }: FoundAgent) => ({
  agent: name,
  title,
  found: isFound,
  version: version ?? null,
  program: program ?? null,
});

const noAgents = (): CommandFailure =>
  new CommandFailure(EXIT.notFound, 'no-coding-agents', 'No coding agent was found on this machine.', {
    hint: `Name one to install it anyway: countersign agents install --agent ${CODING_AGENTS[0]}`,
  });
