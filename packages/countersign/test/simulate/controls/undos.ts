// Clients that ask for the undo of what a run did, again and again until it is done or cannot be.
import type { Undoing } from '../../../src/runs/undo/undoing.ts';
import type { Life } from '../../../src/testing/simulate/life.ts';
import type { Bank } from '../bank.ts';

/** How often a client asks. People may take long to decide. */
const TRIES = 12;

export async function undoAll(
  life: Life<Bank>,
  { id, by }: { readonly id: string; readonly by: string },
  undoings: Undoing[],
): Promise<void> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const answer = await life.ask(`undo ${id}`, ({ ai }) => ai.runs.undo(id, { by }));
    if (answer.status === 'done') undoings.push(answer.value);
    if (answer.status === 'done' && answer.value.isDone) return;
    await life.pause(life.chance.delay(3_000));
  }
}
