// Undoes calls: each undo is a gated call in a run of its own, whose id comes from the undone call, so that there is one of it.

import { voteRights } from '../../core/authority/may-decide.ts';
import { ANYONE, type Policies, type Policy } from '../../core/authority/policy.ts';
import { ConflictError, UsageError } from '../../core/errors.ts';
import { defined } from '../../core/json.ts';
import { aStringOrNull, type OptionTable } from '../../core/options.ts';
import { undoAgent } from '../../core/run/drill.ts';
import type { Drives } from '../driving/driving.ts';
import { CallGate } from '../gates/call-gate.ts';
import type { Opening } from '../gates/described-tool.ts';
import { type GateResult, gateText, resultOf } from '../gates/gate-result.ts';
import { readKnown } from '../live-runs.ts';
import { votersFor } from '../people.ts';
import { checkChain, shortHash } from '../port/chain.ts';
import { runNotEnded } from '../port/run-id.ts';
import type { RunRecord } from '../port/store.ts';
import { runIdOf } from '../requests/card.ts';
import { callIn } from '../requests/waiting/recalling.ts';
import { type DecideOptions, someNames } from '../run-options.ts';
import { type RanCall, ranCalls } from './ran-calls.ts';
import { undoName } from './undo-port.ts';

/** Options of `undo`: the person who asks for it, with the roles that the sign-in knows. */
export type UndoOptions = Pick<DecideOptions, 'by' | 'roles'>;

export const UNDO_OPTIONS: OptionTable<UndoOptions> = { by: aStringOrNull, roles: someNames };

/** How far the undo of one call is. With every status but `undone`, the undo of a run stops at this call; `message` says why. */
export type UndoStep = {
  readonly callId: string;
  readonly tool: string;
  /**
   * `waits`: people decide the undo, under `requestId`. `running`: the call, or its undo, runs. `doubt`: it is unknown whether the call,
   * or its undo, took effect. `no-undo`: its tool has none.
   */
  readonly status: 'undone' | 'waits' | 'running' | 'doubt' | 'rejected' | 'failed' | 'no-undo';
  readonly message: string;
  /** The run of the undo. */
  readonly runId?: string;
  readonly requestId?: string;
};

/** The steps in their order, the newest call first. `isDone`: every call is undone. */
export type Undoing = { readonly runId: string; readonly isDone: boolean; readonly steps: readonly UndoStep[] };

/** Undoes the call of a request, or all calls of a run that has ended. Call it again to continue. */
export async function undo(drives: Drives, id: string, options: UndoOptions): Promise<Undoing> {
  const runId = id.includes(':') ? runIdOf(id) : id;
  const loaded = await readKnown(drives.store, runId);
  await checkChain(loaded);
  const { run, events } = loaded;
  const isRun = id === runId;
  if (isRun && (run.status === 'running' || run.status === 'waiting')) throw runNotEnded(runId);
  const steps: UndoStep[] = [];
  for (const ran of ranCalls(events)) {
    if (!isRun && callIn(id) !== `${runId}:${ran.call.id}`) continue;
    const step = await undoOne(drives, run, ran, options);
    if (step) steps.push(step);
    if (step && step.status !== 'undone') break;
  }
  if (isRun || steps.length > 0) return { runId, isDone: steps.every(({ status }) => status === 'undone'), steps };
  throw new UsageError(
    'not-undoable',
    { requestId: id },
    `The call of ${id} did nothing, so there is nothing to undo.`,
  );
}

/** Undefined if there is nothing to undo: the call did nothing, changes nothing, or nobody would have been asked about it. */
async function undoOne(
  drives: Drives,
  run: RunRecord,
  { call, tools, result }: RanCall,
  options: UndoOptions,
): Promise<UndoStep | undefined> {
  const { id: callId, name: tool, policies, decided, unasked } = call;
  if (result?.type === 'error' && !result.mayHaveActed) return undefined;
  const port = drives.agents.get(undoAgent(run.agent));
  const opening = { key: callId, tool, tools, ...(policies && { policies: ofUndo(policies) }) };
  const definition = port?.undone?.(opening);
  const isGated = decided ?? unasked ?? call.granted;
  if (definition?.asks.reversibility === 'read-only' || (!isGated && !definition?.undo)) return undefined;
  const step = (status: UndoStep['status'], message: string, more = {}): UndoStep => ({
    ...{ callId, tool, status, message },
    ...more,
  });
  if (!port || !definition?.undo) return step('no-undo', `${tool} has no \`undo\` here. What it did stays.`);
  if (!result && run.status === 'running') return step('running', `${tool} is still running.`);
  if (result?.type !== 'output')
    return step(
      'doubt',
      `It is unknown what ${tool} did. Settle that first: to undo what never happened is a second mistake.`,
    );
  await refuseStranger(drives, run, call, options);
  const calls = new CallGate(port.name, drives, port);
  const undoId = `undo.${shortHash(JSON.stringify([run.id, callId]))}`;
  const input = { input: call.runsWith === undefined ? call.input : call.runsWith, output: result.output };
  const by = options.by ?? undefined;
  if (!(await calls.read(undoId)))
    await calls
      .start(undoId, opening as unknown as Opening, { tool: undoName(tool), input }, { by })
      .catch(unlessThere);
  const undone = resultOf(await calls.settled(undoId));
  const requestId = 'id' in undone ? undone.id : undefined;
  return step(STATUS[undone.status], gateText(undoName(tool), undone), defined({ runId: undoId, requestId }));
}

const STATUS: Readonly<Record<GateResult['status'], UndoStep['status']>> = {
  pending: 'waits',
  approved: 'running',
  started: 'running',
  done: 'undone',
  failed: 'failed',
  rejected: 'rejected',
  doubt: 'doubt',
};

/** The same people decide each undo, at once: no deadline decides for them, and no grant. */
const ofUndo = ([first, ...rest]: Policies): Policies => [timeless(first), ...rest.map(timeless)];
const timeless = ({ recallFor: _recall, onExpiry: _ends, ...policy }: Policy): Policy => ({ ...policy, grants: false });

function unlessThere(error: unknown): void {
  if (!(error instanceof ConflictError && error.code === 'run-exists')) throw error;
}

/** Who asked for the call, or may decide about it, may ask for its undo. */
async function refuseStranger(
  { people }: Drives,
  { id: runId, startedBy }: RunRecord,
  { policies = ANYONE, decided, name }: RanCall['call'],
  { by, roles = [] }: UndoOptions,
): Promise<void> {
  const requesters = [...(decided?.request?.authority.requesters ?? []), ...(startedBy === null ? [] : [startedBy])];
  if (by !== undefined && requesters.includes(by)) return;
  const voters = by === undefined ? [{ by: null }] : await votersFor(people, by, roles);
  if (voteRights(policies, { votes: [], requesters }, voters).mayVote) return;
  const message = `${by ?? 'Nobody'} neither asked for this call of ${name} nor may decide about it, so its undo was not asked for.`;
  throw new UsageError('not-allowed', { status: 403, runId }, message);
}
