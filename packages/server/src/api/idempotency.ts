// Idempotency keys: a request repeated with its key acts once.
import { z } from '@hono/zod-openapi';
import { type Json, UsageError } from 'countersign';
import type { Notes } from 'countersign/store';
import { jsonHash } from '../json-hash.ts';

const COLLECTION = 'idempotency';
const KEPT_MS = 24 * 3_600_000;

export const IdempotencyHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters')
    .optional()
    .openapi({ description: 'Any string, kept for a day: the same request with the same key acts once.' }),
});

type KeyedRequest = { readonly key: string; readonly person: string; readonly asked: Json; readonly kept: Json };

export type Remembered = {
  /** The value stored with the first request. */
  readonly kept: Json;
  /** This request is the first with the key. */
  readonly isFirst: boolean;
  /** Identifies this request of this person with this key, so that its effects can be recognised. */
  readonly mark: string;
  /** Frees the key, because the request did nothing. */
  forget(): Promise<void>;
};

/**
 * Stores `kept` under the key of this person, or returns the value stored before. Throws `key-reused` if the key came
 * with a different request.
 */
export async function remember(notes: Notes, { key, person, asked, kept }: KeyedRequest): Promise<Remembered> {
  const id = jsonHash([person, key]);
  const fingerprint = jsonHash(asked);
  const { isFirst, before } = await keep(notes, id, { fingerprint, kept });
  if (before.fingerprint !== fingerprint)
    throw new UsageError(
      'key-reused',
      { status: 422 },
      'This Idempotency-Key was used for a different request. Use a new key.',
    );
  return {
    kept: before.kept,
    isFirst,
    mark: jsonHash([id, fingerprint]),
    forget: async () => {
      await notes.remove(COLLECTION, id);
    },
  };
}

type Kept = { readonly fingerprint: string; readonly kept: Json };

async function keep(notes: Notes, id: string, value: Kept): Promise<{ isFirst: boolean; before: Kept }> {
  for (;;) {
    if (await notes.put(COLLECTION, id, value, { version: 0, expiresAt: Date.now() + KEPT_MS }))
      return { isFirst: true, before: value };
    const note = await notes.get(COLLECTION, id);
    // Otherwise the key was freed in between.
    if (note) return { isFirst: false, before: note.value as Kept };
  }
}
