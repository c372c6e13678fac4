// The responses to calls that rules allow, for clients that expect tasks: kept for a day, because such calls have no record.
import { randomUUID } from 'node:crypto';
import type { Json } from 'countersign';
import type { Notes } from 'countersign/store';
import { defined } from '../../defined.ts';
import { failure, INVALID_PARAMS, type RpcRequest, type RpcResponse } from '../messages.ts';
import { type TaskState, taskNotFound, taskResult, taskTold, timesOf } from './task-forms.ts';

type Kept = { readonly at: number } & Pick<TaskState, 'result' | 'error'>;

const COLLECTION = 'mcp-responses';
const PREFIX = 'allowed:';
const DAY_MS = 86_400_000;

export const isKept = (key: string): boolean => key.startsWith(PREFIX);

/** Keeps the response under a new key. */
export async function keepResponse(
  notes: Notes,
  { result, error }: RpcResponse,
): Promise<{ readonly key: string; readonly at: number }> {
  const [key, at] = [`${PREFIX}${randomUUID()}`, Date.now()];
  await notes.put(COLLECTION, key, { at, ...defined({ result, error }) } as Json, { expiresAt: at + DAY_MS });
  return { key, at };
}

/** The answer to a request about the task of such a call. */
export async function keptAnswer(
  notes: Notes,
  request: RpcRequest,
  { taskId, key }: { readonly taskId: string; readonly key: string },
): Promise<RpcResponse> {
  const note = await notes.get(COLLECTION, key);
  if (!note) return taskNotFound(request);
  const { at, ...over } = note.value as Kept;
  const task = { taskId, status: over.error ? ('failed' as const) : ('completed' as const), ...over, ...timesOf(at) };
  if (request.method === 'tasks/get') return taskTold(request, task);
  if (request.method === 'tasks/result') return taskResult(request, task);
  return failure(request, INVALID_PARAMS, 'The call is over, so it cannot be cancelled.');
}
