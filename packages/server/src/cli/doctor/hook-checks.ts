// `countersign doctor --agents`: are the hooks of coding agents active, do they work, and do they block if something fails?
import { existsSync } from 'node:fs';
import { claudeHooks } from '../../coding-agents/claude-settings.ts';
import { codexHooks } from '../../coding-agents/codex-hooks.ts';
import { type CodingAgent, codingAgents } from '../../coding-agents/coding-agents.ts';
import { type ConfiguredHook, type ConfiguredHooks, isOurs, readCommand } from '../../coding-agents/configured-hook.ts';
import { otherHooks } from '../../coding-agents/other-hooks.ts';
import { type Ended, run, sampleEvent, sampleProblem } from '../../coding-agents/sample-call.ts';
import { type Check, check } from './server-checks.ts';

const GUIDE = 'See the guide: Approve what coding agents do';
/** How much longer than --wait a hook may take. */
const MARGIN_SECONDS = 20;

export async function checkCodingAgents(): Promise<readonly Check[]> {
  const agents = await Promise.all(codingAgents().map(async (agent) => ({ agent, found: await hooksOf(agent) })));
  if (!agents.some(({ found }) => isSet(found)))
    return [check('hooks', 'fail', 'no coding agent asks here: its calls run', GUIDE)];
  const checks = agents.map(async ({ agent, found }) => {
    if (isSet(found)) return checkAgent(agent, found);
    if (!existsSync(agent.folder) && !['claude-code', 'codex'].includes(agent.name)) return [];
    return [check(agent.title, 'unknown', 'has no hook here. If you use it, its calls run', GUIDE)];
  });
  return (await Promise.all(checks)).flat();
}

export async function hooksOf(agent: CodingAgent): Promise<ConfiguredHooks> {
  if (agent.name === 'claude-code') return claudeHooks();
  return agent.name === 'codex' ? codexHooks() : otherHooks(agent);
}

export const isSet = ({ hooks, mistakes }: ConfiguredHooks): boolean => hooks.some(isOurs) || mistakes.length > 0;

export async function checkAgent(
  agent: CodingAgent,
  { hooks, mistakes, unknown }: ConfiguredHooks,
): Promise<readonly Check[]> {
  const { title } = agent;
  const ours = hooks.filter(isOurs);
  const asking = ours.filter(({ event }) => event === 'PreToolUse' || event === 'PermissionRequest');
  const checks = mistakes.map(({ file, text, fix }) => check(title, 'fail', `${file} ${text}`, fix));
  if (asking.length === 0) checks.push(check(title, 'fail', 'no hook asks before a tool runs: its calls run', GUIDE));
  for (const hook of asking) checks.push(...(await checkHook(agent, hook)));
  if (unknown !== undefined) checks.push(check(title, 'unknown', unknown));
  if (!ours.some(({ event, skipped }) => event === 'PostToolUse' && skipped === undefined))
    checks.push(
      check(title, 'unknown', 'no PostToolUse hook is active, so each allowed call is in doubt after --lease', GUIDE),
    );
  return checks;
}

async function checkHook(agent: CodingAgent, hook: ConfiguredHook): Promise<readonly Check[]> {
  const { file, event, matcher, command, timeoutSeconds, skipped, fix } = hook;
  const at = `${event} in ${file}`;
  const failed = (text: string, how: string) => check(agent.title, 'fail', `${at}: ${text}`, how);
  if (skipped !== undefined) return [failed(`${skipped}, so its calls run`, fix ?? GUIDE)];
  const read = readCommand(command);
  if (!read) return [failed(`the doctor does not know this command, and did not run it: ${command}`, GUIDE)];
  const checks: Check[] = [];
  const least = read.wait + MARGIN_SECONDS;
  if (timeoutSeconds <= least)
    checks.push(failed(`its timeout of ${timeoutSeconds} s ends before its --wait`, `Set it above ${least}.`));
  checks.push(...(await checkFailure(agent, hook, read.limit, failed)));
  const problem = await sampleProblem(agent.name, command, event);
  if (problem !== undefined) checks.push(failed(`it fails: ${problem}`, 'Run the command in a terminal.'));
  if (checks.length > 0) return checks;
  const ok = check(agent.title, 'ok', `${at} asks, reaches its store, and blocks if it fails`);
  if (matcher === undefined || matcher === '' || matcher === '*') return [ok];
  return [ok, check(agent.title, 'unknown', `${at} asks only about ${matcher}: other tools run`, 'Use "*" and rules.')];
}

/** Claude Code blocks the call if the settings say so. For Codex, the command itself must end with exit code 2 and a text. */
async function checkFailure(
  { name }: CodingAgent,
  { blocksOnFailure, command, timeoutSeconds }: ConfiguredHook,
  limit: number | undefined,
  failed: (text: string, fix: string) => Check,
): Promise<readonly Check[]> {
  if (blocksOnFailure === true) return name !== 'claude-code' ? [] : checkClaude(await run('claude --version'), failed);
  if (blocksOnFailure === false)
    return [
      failed(
        'if the command is missing, crashes or hangs, the call runs',
        `Add ${name === 'cursor' ? '"failClosed": true' : '"onFailure": "block"'} beside "command".`,
      ),
    ];
  const missing = await run(command, JSON.stringify(sampleEvent()), { PATH: '/nonexistent' });
  const checks: Check[] = [];
  if (missing.code !== 2 || missing.text === '')
    checks.push(
      failed(
        'if the command is missing or crashes, the call runs',
        "End the command with: || { echo 'The hook failed.' >&2; exit 2; }",
      ),
    );
  if (limit === undefined || limit >= timeoutSeconds)
    checks.push(
      failed(
        'if the command hangs, the call runs',
        `Begin the command with: timeout ${timeoutSeconds - MARGIN_SECONDS}`,
      ),
    );
  return checks;
}

/** Earlier versions of Claude Code ignore `onFailure`. */
const KNOWS_ON_FAILURE = [2, 1, 295] as const;

function checkClaude({ code, text }: Ended, failed: (text: string, fix: string) => Check): readonly Check[] {
  const version = /^(\d+)\.(\d+)\.(\d+)/.exec(text)?.slice(1).map(Number);
  if (code !== 0 || !version) return [];
  const [differs] = KNOWS_ON_FAILURE.map((least, index) => (version[index] ?? 0) - least).filter((by) => by !== 0);
  if ((differs ?? 0) >= 0) return [];
  return [
    failed(
      `Claude Code ${version.join('.')} does not know "onFailure", so the call runs if the hook hangs`,
      `Update it to ${KNOWS_ON_FAILURE.join('.')} or later.`,
    ),
  ];
}
