// The calls of a conversation that people sent back, so that the next call of their tool there revises them, in any process.

import type { Json } from '../../core/json.ts';
import { shortHash } from '../port/chain.ts';
import type { Notes } from '../port/notes.ts';
import type { RunRecord } from '../port/store.ts';
import type { CallStatus } from './call-status.ts';
import type { Opening } from './described-tool.ts';

/** The call of the tool that was sent back last. `isRevised`: a later call has asked again. */
type SentBackNote = { readonly runId: string; readonly at: number; readonly isRevised?: true };

type Call = {
  readonly run: Pick<RunRecord, 'id' | 'updatedAt'>;
  readonly tool: string;
  readonly opening: Opening;
  readonly status: CallStatus;
};

const COLLECTION = 'sent-back-calls';
/** A conversation that asks again later makes a request of its own. */
const KEPT_MS = 7 * 86_400_000;

export class SentBackNotes {
  readonly #notes: Notes;
  readonly #gate: string;

  constructor(notes: Notes, gate: string) {
    this.#notes = notes;
    this.#gate = gate;
  }

  /** The run of the call that a new call in this conversation revises. */
  async next(conversation: Json | undefined, tool: string): Promise<string | undefined> {
    if (typeof conversation !== 'string') return undefined;
    const note = await this.#read(this.#place(conversation, tool));
    return note && !note.isRevised ? note.runId : undefined;
  }

  /** The new call was asked about. Each is revised once. */
  async revised(conversation: Json | undefined, tool: string, runId: string): Promise<void> {
    const place = this.#place(conversation, tool);
    const note = await this.#read(place);
    if (note?.runId === runId) await this.#write(place, { ...note, isRevised: true });
  }

  /** The caller learns that its call was sent back. */
  async learned({ run, tool, opening: { conversation }, status }: Call): Promise<void> {
    if (typeof conversation !== 'string' || status.at !== 'settled' || status.decision?.type !== 'revise') return;
    const place = this.#place(conversation, tool);
    const known = await this.#read(place);
    // It may ask about an earlier call again.
    if (!known || (known.runId !== run.id && known.at < run.updatedAt))
      await this.#write(place, { runId: run.id, at: run.updatedAt });
  }

  #place(conversation: Json | undefined, tool: string): string {
    return shortHash(JSON.stringify([this.#gate, conversation, tool]));
  }

  async #read(place: string): Promise<SentBackNote | undefined> {
    return (await this.#notes.get(COLLECTION, place))?.value as SentBackNote | undefined;
  }

  async #write(place: string, note: SentBackNote): Promise<void> {
    await this.#notes.put(COLLECTION, place, note, { expiresAt: note.at + KEPT_MS });
  }
}
