// Appends as they travel to PostgreSQL, and the shapes of the statements that take them.
import { eventsText } from '../../runs/port/chain.ts';
import type { Append, ClaimHow } from '../../runs/port/store.ts';

/** An append as it travels: what the caller changes afterwards is no matter. */
export type EncodedAppend = {
  readonly shape: Shape;
  readonly runId: string;
  readonly fields: Fields<typeof FIELD_TYPES>;
  readonly opened: readonly Fields<typeof OPENED_TYPES>[];
  /** The first is among the fields as well, for statements that settle one in each append. */
  readonly settled: readonly Fields<typeof SETTLED_TYPES>[];
};

export type Fields<Types> = { readonly [name in keyof Types]: string | number | null };

export function encodeAppend(append: Append): EncodedAppend {
  const { runId, create, claim, events, opened } = append;
  const settled = append.settled.map(({ id, settlement }) => ({
    id,
    run_id: runId,
    settlement: JSON.stringify(settlement),
  }));
  return {
    shape: shapeOf(append),
    runId,
    fields: {
      run_id: runId,
      expected: append.expectedVersion,
      added: events.length,
      events: eventsText(events),
      hash: append.hash,
      status: append.status,
      wake_at: append.wakeAt,
      outcome: JSON.stringify(append.outcome),
      how: claim?.how ?? null,
      token: claim?.token ?? null,
      lease_ms: claim === undefined ? null : Math.ceil(claim.leaseMs),
      agent: create?.agent ?? null,
      started_by: create?.startedBy ?? null,
      opened_ids: opened.length === 0 ? null : JSON.stringify(opened.map(({ id }) => id)),
      settled_id: settled[0]?.id ?? null,
      settlement: settled[0]?.settlement ?? null,
    },
    opened: opened.map(openedFields),
    settled,
  };
}

function openedFields(interrupt: Append['opened'][number]): EncodedAppend['opened'][number] {
  const { id, runId, agent, tool, kind, risk, createdAt, expiresAt, remindAt, digest, labels, card } = interrupt;
  return {
    ...{ id, run_id: runId, agent, tool, kind, risk, digest },
    ...{ created_at: createdAt, expires_at: expiresAt, remind_at: remindAt },
    labels: labels.length === 0 ? null : JSON.stringify(labels),
    card: JSON.stringify(card),
  };
}

/**
 * What an append consists of, by the names in the statement. `json` is a text without line ends, so that those of several
 * appends travel as lines: an array of such texts would have every quotation mark escaped here and unescaped there.
 */
export const FIELD_TYPES = {
  run_id: 'text',
  expected: 'int',
  added: 'int',
  events: 'json',
  hash: 'text',
  status: 'text',
  wake_at: 'bigint',
  outcome: 'json',
  how: 'text',
  token: 'text',
  lease_ms: 'bigint',
  agent: 'text',
  started_by: 'text',
  opened_ids: 'json',
  settled_id: 'text',
  settlement: 'json',
} as const;

export const OPENED_TYPES = {
  run_id: 'text',
  id: 'text',
  agent: 'text',
  tool: 'text',
  kind: 'text',
  risk: 'text',
  digest: 'text',
  created_at: 'bigint',
  expires_at: 'bigint',
  remind_at: 'bigint',
  labels: 'json',
  card: 'json',
} as const;

export const SETTLED_TYPES = { id: 'text', run_id: 'text', settlement: 'json' } as const;

export type FieldType = 'text' | 'int' | 'bigint' | 'json';
export type Field = keyof typeof FIELD_TYPES;

const FIELDS = Object.keys(FIELD_TYPES) as readonly Field[];

/** The fields that a statement of this shape asks for. */
export function fieldsOf({ writes, opens, settles, claims }: Shape): readonly Field[] {
  const isAsked: Partial<Record<Field, boolean>> = {
    how: claims === 'various',
    agent: writes !== 'old',
    started_by: writes !== 'old',
    opened_ids: opens !== 'none',
    settled_id: settles === 'one',
    settlement: settles === 'one',
  };
  return FIELDS.filter((field) => isAsked[field] ?? true);
}

/** What a statement has to be able to do. */
export type Shape = {
  readonly takes: 'one' | 'several';
  readonly writes: 'new' | 'old' | 'both';
  readonly opens: 'none' | 'one' | 'several';
  /** Whether those that it opens may have labels. */
  readonly labels: boolean;
  /** How many each of them settles, at most. */
  readonly settles: 'none' | 'one' | 'several';
  /** Whether those that it settles may have labels. */
  readonly unlabels: boolean;
  /** What all of them do about the claim, if it is the same. */
  readonly claims: ClaimHow | 'nothing' | 'various';
};

export function shapeOfAll(shapes: readonly Shape[]): Shape {
  const [first] = shapes;
  if (first !== undefined && shapes.length === 1) return first;
  const common = <Key extends keyof Shape, Other>(key: Key, other: Other): Shape[Key] | Other =>
    first !== undefined && shapes.every((shape) => shape[key] === first[key]) ? first[key] : other;
  return {
    takes: 'several',
    writes: common('writes', 'both'),
    opens: common('opens', 'several') === 'none' ? 'none' : 'several',
    labels: shapes.some(({ labels }) => labels),
    settles: shapes.some(({ settles }) => settles === 'several') ? 'several' : common('settles', 'one'),
    unlabels: shapes.some(({ unlabels }) => unlabels),
    claims: common('claims', 'various'),
  };
}

function shapeOf({ create, opened, settled, claim }: Append): Shape {
  return {
    takes: 'one',
    writes: create === undefined ? 'old' : 'new',
    opens: howMany(opened),
    labels: opened.some(({ labels }) => labels.length > 0),
    settles: howMany(settled),
    unlabels: settled.some(({ labelled }) => labelled !== false),
    claims: claim?.how ?? 'nothing',
  };
}

function howMany({ length }: readonly unknown[]): 'none' | 'one' | 'several' {
  return length === 0 ? 'none' : length === 1 ? 'one' : 'several';
}
