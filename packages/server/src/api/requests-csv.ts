// A list of requests as CSV, written while it is read.
import type { ApiRequest } from '../schemas/request.ts';
import { type Cell, csvHeaders, csvLine } from '../text/csv.ts';

type Column = readonly [name: string, value: (request: ApiRequest) => Cell];

const COLUMNS: readonly Column[] = [
  ['id', ({ id }) => id],
  ['title', ({ title }) => title],
  ['tool', ({ tool }) => tool],
  ['agent', ({ agent }) => agent],
  ['kind', ({ kind }) => kind],
  ['risk', ({ risk }) => risk],
  ['labels', ({ labels }) => labels.join('; ')],
  ['askedAt', ({ createdAt }) => timeOf(createdAt)],
  ['askedBy', ({ startedBy }) => startedBy],
  ['status', ({ status }) => status],
  [
    'decision',
    ({ decision, grant, rule }) =>
      rule ? 'allowed by a rule' : grant?.is === 'used' ? 'allowed by a grant' : decision && decisionOf(decision),
  ],
  ['decidedBy', ({ decision }) => decision?.by ?? null],
  ['decidedAt', ({ decision }) => timeOf(decision?.at ?? null)],
  ['channel', ({ decision }) => decision?.channel ?? null],
  ['votes', ({ progress }) => (progress?.votes ?? []).map(({ by, type }) => `${by ?? '?'}: ${type}`).join('; ')],
  ['reason', ({ decision }) => decision?.reason ?? null],
  ['note', ({ decision }) => decision?.note ?? null],
  ['grant', ({ grant }) => grant?.id ?? null],
  ['grantedBy', ({ grant }) => grant?.by ?? null],
  ['outcome', ({ outcome }) => outcome?.state ?? null],
  ['result', ({ outcome }) => (outcome && 'text' in outcome ? outcome.text : null)],
  ['mayHaveTakenEffect', ({ outcome }) => (outcome?.state === 'failed' ? String(outcome.mayHaveActed) : null)],
  ['input', ({ input }) => JSON.stringify(input)],
  ['inputThatRan', ({ decision }) => (decision?.edit === undefined ? null : JSON.stringify(decision.edit))],
  ['answer', ({ decision }) => (decision?.output === undefined ? null : JSON.stringify(decision.output))],
  ['runId', ({ runId }) => runId],
];

/** One line for each request. A list that cannot be read to its end breaks the download off. */
export function requestsCsv(pages: AsyncIterable<readonly ApiRequest[]>, file: string): Response {
  const encoder = new TextEncoder();
  const rest = pages[Symbol.asyncIterator]();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(csvLine(COLUMNS.map(([name]) => name)))),
    pull: async (controller) => {
      const { value, done } = await rest.next();
      if (done) return controller.close();
      const lines = value.map((request) => csvLine(COLUMNS.map(([, read]) => read(request))));
      // A page without items writes nothing, and the stream asks for the next.
      controller.enqueue(encoder.encode(lines.join('')));
    },
    cancel: async () => void (await rest.return?.()),
  });
  return new Response(body, { headers: csvHeaders(file) });
}

const timeOf = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

const WORDS = { reject: 'rejected', revise: 'changes asked for', respond: 'answered', cancel: 'cancelled' } as const;

function decisionOf({ type, by, channel, edit }: NonNullable<ApiRequest['decision']>): string {
  if (by === 'deadline' && channel === null) return `expired, ${type === 'approve' ? 'approved' : 'not run'}`;
  if (type === 'approve' || type === 'restart') return edit === undefined ? 'approved' : 'approved with changes';
  return WORDS[type];
}
