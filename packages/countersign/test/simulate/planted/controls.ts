// Faults of limits, recalls, undos and plans.
import type { Planted } from './planted.ts';

const LIMIT = 'no more calls start than a limit allows';
const PLAN = 'of an approved plan, exactly its steps run, each once';
const UNDO = 'an undo is a gated call, once, of exactly what ran';
const RECALL = 'a call that can be recalled waits, and never runs once it was recalled';

export const CONTROLS: readonly Planted[] = [
  {
    name: 'a limit counts without comparing versions',
    rule: LIMIT,
    file: 'runs/grants/limits.ts',
    find: '{ version: note?.version ?? 0, ...ends }',
    replace: '{ ...ends }',
    within: 50,
  },
  {
    name: 'a call that ran gives its room back',
    rule: LIMIT,
    file: 'runs/grants/limits.ts',
    find: "if (outcome !== 'released') kept.push",
    replace: "if (outcome === 'open') kept.push",
    within: 20,
  },
  {
    name: 'a start does not count towards a limit',
    rule: LIMIT,
    file: 'loop/call/judging/limits.ts',
    find: 'const full = await grants.count(call, how);',
    replace: "const full = await grants.count(call, 'look');",
    within: 20,
  },
  {
    name: 'a call beyond its limit starts',
    rule: LIMIT,
    file: 'loop/call/gate.ts',
    find: 'if (!full || driver.signal?.aborted) return !full;',
    replace: 'return true;',
    within: 100,
  },
  {
    name: 'the count of a lifted freeze begins again too late',
    rule: LIMIT,
    file: 'runs/grants/limits.ts',
    find: 'if (count.freezeId !== undefined) {',
    replace: 'if (why !== undefined && count.freezeId !== undefined) {',
    within: 400,
  },
  {
    name: 'a call beyond a limit relies on its freeze',
    rule: LIMIT,
    file: 'loop/call/gate.ts',
    find: 'if (full.frozen) return run.freeze(call, full.frozen);',
    replace: 'if (full.frozen) return true;',
    within: 4000,
    isOpen: true,
  },
  {
    name: 'a frozen call that was lifted at once counts as started',
    rule: 'one worker drives a run',
    file: 'loop/stored-run.ts',
    find: 'return call !== undefined && call.starts < (before?.starts ?? 0) + starts;',
    replace: 'return call?.frozen !== undefined || starts < 0;',
    within: 4000,
    isOpen: true,
  },
  {
    name: 'an approved call does not wait to be recalled',
    rule: RECALL,
    file: 'core/run/call.ts',
    find: 'return policies !== undefined && starts === 0 &&',
    replace: 'return policies !== undefined && starts > 1_000 &&',
    within: 50,
  },
  {
    name: 'the time of a recall is over early',
    rule: RECALL,
    file: 'loop/call/recall.ts',
    find: 'expiresAt: driver.clock() + recallTime(',
    replace: 'expiresAt: driver.clock() + 0.1 * recallTime(',
    within: 50,
  },
  {
    name: 'each request for an undo is another call',
    rule: UNDO,
    file: 'runs/undo/undoing.ts',
    find: 'shortHash(JSON.stringify([run.id, callId]))',
    replace: 'shortHash(drives.newRunId())',
    within: 50,
  },
  {
    name: 'an undo runs unasked',
    rule: UNDO,
    file: 'runs/undo/undo-port.ts',
    find: 'needsApproval: true,',
    replace: 'needsApproval: false,',
    within: 50,
  },
  {
    name: 'a call whose outcome is unknown is undone',
    rule: UNDO,
    file: 'runs/undo/undoing.ts',
    find: "if (result?.type !== 'output')",
    replace: 'if (!result)',
    within: 50,
  },
  {
    name: 'a step of a plan covers any input',
    rule: PLAN,
    file: 'runs/grants/plans.ts',
    find: 'inputDigest: where ? undefined : digestOfInput(input),',
    replace: 'inputDigest: undefined,',
    within: 50,
  },
  {
    name: 'a step of a plan runs again and again',
    rule: PLAN,
    file: 'core/authority/grants/plan.ts',
    find: 'return { uses, expiresAt,',
    replace: 'return { uses: 10 * uses, expiresAt,',
    within: 100,
  },
];
