// Whether a call that was started and has no result may be run again without asking anybody, and what those are told who are.
import type { Call } from '../../core/call.ts';
import type { Driver } from '../run.ts';
import { type ApprovalContext, askGate, type ToolDefinition } from '../tool/tool.ts';
import { validInput } from './bound-input.ts';
import { isUnasked } from './changed-tool.ts';

/** What it may have done can be done again, has not been done, or is on record. */
export function isHarmless({ idempotent, commits, innerTools }: ToolDefinition, { phase }: Call): boolean {
  if (idempotent || phase.at !== 'started') return idempotent;
  // That no commit point is on record says something only of a body that had one, and a new version may have added it.
  const isUncommitted = commits && phase.commits === true && !phase.committed;
  return isUncommitted || (innerTools !== undefined && phase.inside === true);
}

/** The tool says that by now its effect would be there: it did not happen. */
export function hasSettled({ settlesWithin }: ToolDefinition, { phase }: Call, { clock }: Driver): boolean {
  if (settlesWithin === undefined || clock === undefined || phase.at !== 'started') return false;
  return phase.since !== undefined && clock() - phase.since > settlesWithin;
}

/** For a card: what a start came to that was given up. It may be long. */
export function toldLate({ endedLate }: Call): string {
  if (!endedLate) return '';
  const result = endedLate.type === 'output' ? JSON.stringify(endedLate.output) : endedLate.text;
  const shown = result.length > MOST_TOLD ? `${result.slice(0, MOST_TOLD)}…` : result;
  return ` An earlier start of it has ended by now: ${shown}`;
}

const MOST_TOLD = 500;

/**
 * Whoever was let run may run again. Where nobody was asked, as there was no gate yet or it said no need, it is asked, with
 * a reading of its own: it cannot change what runs.
 */
export async function passesGate(tool: ToolDefinition, call: Call, ctx: ApprovalContext): Promise<boolean> {
  if (!isUnasked(tool, call)) return true;
  const input = await validInput(tool, call);
  return input.ok && (await askGate(tool, input.value, ctx)) === false;
}
