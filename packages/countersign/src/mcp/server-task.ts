// Calls that the server runs as tasks of its own, in the protocol 2025-11-25: started once, then asked about until they are over.
import type { Client, Tool as ServerTool } from '@modelcontextprotocol/client';
import { OutcomeUnknown } from '../core/errors.ts';
import { isObject, type Json } from '../core/json.ts';
import { untilAborted } from '../models/abort.ts';
import { LostTask, ServerFault } from './failure.ts';

type TaskClient = Pick<Client, 'getProtocolEra' | 'getServerCapabilities' | 'request'>;

type Waiting = { readonly timeoutMs: number; readonly signal: AbortSignal };

/** How often a task is asked about if its server does not say. */
const POLL_MS = 1_000;
const MOST_POLL_MS = 60_000;

/** The steps of a call: the id of its task, and why the server can no longer be asked about it. */
export const TASK = 'task';
export const LOST = 'task lost';

/** What an answer holds is checked where it is used. */
const ANYTHING = {
  '~standard': { version: 1 as const, vendor: 'countersign', validate: (value: unknown) => ({ value }) },
};

async function ask(
  client: TaskClient,
  request: { readonly method: string; readonly params: { [key: string]: unknown } },
  { timeoutMs: timeout, signal }: Waiting,
): Promise<{ readonly [field: string]: unknown }> {
  const answer = await client.request(request, ANYTHING, { signal, timeout });
  return isObject(answer) ? (answer as { readonly [field: string]: unknown }) : {};
}

/** Whether calls of this tool are tasks, because the server and the tool support it. The SDK knows no tasks of 2026-07-28. */
export function runsAsTask(client: TaskClient, tool: ServerTool): boolean {
  const { taskSupport } = tool.execution ?? {};
  if (taskSupport !== 'optional' && taskSupport !== 'required') return false;
  return (
    client.getProtocolEra() === 'legacy' && client.getServerCapabilities()?.tasks?.requests?.tools?.call !== undefined
  );
}

/** Starts the call, and resolves with the id of its task. */
export async function startTask(
  client: TaskClient,
  { name }: ServerTool,
  input: unknown,
  waiting: Waiting,
): Promise<string> {
  const params = { name, arguments: input as { [key: string]: unknown }, task: {} };
  const { task } = await ask(client, { method: 'tools/call', params }, waiting);
  if (isObject(task) && typeof task.taskId === 'string') return task.taskId;
  throw new OutcomeUnknown('The server was asked for a task, and gave none.');
}

/** Resolves once the task has a result, or asks for input. Throws `LostTask` if the server cannot tell for too long, or does not know it. */
export async function untilSettled(client: TaskClient, taskId: string, waiting: Waiting): Promise<void> {
  const { timeoutMs, signal } = waiting;
  for (let heardAt = performance.now(); ; ) {
    let pauseMs = POLL_MS;
    try {
      const { status, pollInterval } = await ask(client, { method: 'tasks/get', params: { taskId } }, waiting);
      if (status === 'cancelled') throw new Cancelled(`The server cancelled the task ${taskId}.`);
      if (status !== 'working') return;
      heardAt = performance.now();
      if (typeof pollInterval === 'number') pauseMs = Math.min(MOST_POLL_MS, Math.max(POLL_MS, pollInterval));
    } catch (error) {
      if (signal.aborted || error instanceof Cancelled) throw error;
      const isUnknown = typeof (error as { code?: unknown }).code === 'number';
      if (isUnknown || performance.now() - heardAt > timeoutMs) throw new LostTask(taskId, error);
    }
    await untilAborted(new Promise((resolve) => setTimeout(resolve, pauseMs)), signal);
  }
}

/** The answer to `tasks/result`. */
export const resultOfTask = (client: TaskClient, taskId: string, waiting: Waiting) =>
  ask(client, { method: 'tasks/result', params: { taskId } }, waiting);

/** A body that runs again asks about the task of its call, and starts none. A lost task is for a person. */
export function continues(steps: ReadonlyMap<string, Json>): boolean | string {
  if (!steps.has(TASK)) return false;
  const lost = steps.get(LOST);
  return lost === undefined ? [...steps.keys()].at(-1) === TASK : ` ${String(lost)}`;
}

class Cancelled extends ServerFault {}
