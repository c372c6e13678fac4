// The sample request of an empty demo: there is something to decide before anything was asked.
import { countersign } from 'countersign';
import type { Store } from 'countersign/store';
import { standInModel } from 'countersign/testing';
import { demoAgents } from './agents.ts';

/** Who started the sample, and its run. */
export const SAMPLE = 'sample';

/** Starts the run of the sample, if the store has no runs. The stand-in asks for it, so that it never costs a call of a model. */
export async function startSample(store: Store): Promise<void> {
  const ai = countersign({ store, model: standInModel() });
  if ((await ai.runs.list({ limit: 1 })).items.length > 0) return;
  const agent = demoAgents(ai);
  const { id } = await agent.start('Pay Sample Supplies 950 euros for sample invoice 7', { by: SAMPLE, runId: SAMPLE });
  await ai.runs.wait(id);
}
