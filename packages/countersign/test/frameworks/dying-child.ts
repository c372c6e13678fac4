// A process that resumes two saved pauses, one of a gated agent and one of a bare one, and is killed right after both have acted.
import { appendFileSync } from 'node:fs';
import { countersign } from '../../src/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite.ts';
import type { Payment } from './openai-agent.ts';

export type Framework = 'openai-agents' | 'genkit';

export type DyingOptions = {
  readonly framework: Framework;
  readonly path: string;
  readonly effects: string;
  readonly gated: string;
  readonly bare: string;
};

/** What a pause or a resume ended with. */
export type Said = { readonly text: string | undefined; readonly waits: number; readonly saved: string };

export const LEASE_MS = 500;

/** Starts, or resumes from what was saved. Without a store it is the framework alone, and its own approval is given. */
export async function converse(
  framework: Framework,
  path: string | undefined,
  pay: (payment: Payment) => unknown,
  saved?: string,
): Promise<Said> {
  const ai = path === undefined ? {} : { ai: countersign({ store: sqliteStore(path), leaseMs: LEASE_MS }) };
  if (framework === 'genkit') {
    const { payingApp } = await import('./genkit-agent.ts');
    const app = payingApp({ ...ai, pay });
    const response = await (saved === undefined ? app.generate({ prompt: 'Pay.' }) : app.resume(saved));
    return { text: response.text, waits: response.interrupts.length, saved: JSON.stringify(response.messages) };
  }
  const { RunState } = await import('@openai/agents');
  const { payingAgent, runner } = await import('./openai-agent.ts');
  const agent = payingAgent({ ...ai, pay });
  const state = saved === undefined ? 'Pay.' : await RunState.fromString(agent, saved);
  if (typeof state !== 'string' && path === undefined) for (const item of state.getInterruptions()) state.approve(item);
  const run = await runner.run(agent, state);
  const waits = run.interruptions.length;
  return { text: waits > 0 ? undefined : run.finalOutput, waits, saved: run.state.toString() };
}

if (import.meta.main) {
  const { framework, path, effects, gated, bare }: DyingOptions = JSON.parse(process.argv[2] ?? '{}');
  let acted = 0;
  const pay = (who: string) => () => {
    appendFileSync(effects, `${who}\n`);
    acted += 1;
    if (acted === 2) process.kill(process.pid, 'SIGKILL');
    return new Promise(() => undefined);
  };
  await Promise.all([
    converse(framework, path, pay('gated'), gated),
    converse(framework, undefined, pay('bare'), bare),
  ]);
}
