// Runs a hook with a sample call, as the agent would, and reads its answer. Nothing is asked, and nothing is recorded.
import { spawn } from 'node:child_process';
import type { AgentName } from './agent-names.ts';
import { SAMPLE_ANSWER, SAMPLE_TOOL } from './hook.ts';
import { answerTo } from './hook-answers.ts';

export type Ended = { readonly code: number | null; readonly text: string };

const LIMIT_MS = 30_000;

/** Each agent reads it: the hook takes the names of all agents. */
export const sampleEvent = (event = 'PreToolUse') => ({
  hook_event_name: event,
  session_id: 'countersign-sample',
  tool_name: SAMPLE_TOOL,
  tool_input: {},
  tool_use_id: 'countersign-sample',
});

/** Why the hook does not work; undefined if it answers what this agent takes for a no. */
export async function sampleProblem(agent: AgentName, command: string, event: string): Promise<string | undefined> {
  const name = event === 'PermissionRequest' ? event : 'PreToolUse';
  const { code, text } = await run(command, JSON.stringify(sampleEvent(name)));
  if (code !== 0) return (text.split('\n')[0] ?? '').slice(0, 200);
  const call = { agent, tool: SAMPLE_TOOL, input: {}, session: '' };
  const expected = answerTo(
    { type: 'ask', name, call },
    { allowed: false, text: SAMPLE_ANSWER, isPending: false },
    false,
  );
  return text.includes(JSON.stringify(expected)) ? undefined : 'it does not answer a sample call';
}

/** Runs a command in a shell, as the agents do, in the folder of the project. */
export function run(command: string, input = '', env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', command], { env: { ...process.env, ...env }, timeout: LIMIT_MS });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
    child.on('error', ({ message }) => resolve({ code: null, text: message }));
    child.on('close', (code) => resolve({ code, text: text.trim() }));
    child.stdin.on('error', () => undefined).end(input);
  });
}
