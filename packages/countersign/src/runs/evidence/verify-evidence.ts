// Checks the evidence of a run without a store: its bytes, the chain, the cards, the decisions, and what started after them.
import { messageOf } from '../../core/errors.ts';
import { isObject, type Json, sameJson } from '../../core/json.ts';
import { isByDeadline } from '../../core/run/event.ts';
import { signatureProblem } from '../passkeys/signature.ts';
import { appendsIn, chainStart, inspectChain, linkAll } from '../port/chain.ts';
import type { LoadedRun, RunRecord, StoredEvent } from '../port/store.ts';
import { digestOf } from '../requests/card.ts';
import { saidOn, withoutIdleEdit } from './decision-rules.ts';
import { contentHash, EVIDENCE_FORMAT, type Evidence, type EvidenceRequest, textOf, timesOf } from './evidence.ts';
import { grantProblems } from './grant-uses.ts';
import { type EvidenceProblem, type Replay, type ReplayedRequest, replay } from './replay.ts';

/** The result of `verifyEvidence`. */
export type VerifiedEvidence = {
  readonly ok: boolean;
  /** Everything that does not hold, with its place in the document. */
  readonly problems: readonly EvidenceProblem[];
  /** The document; null if it cannot be read. Trust it only if `ok`. */
  readonly evidence: Evidence | null;
  /** What the given anchor stands for; null without one, or if it matches nothing. */
  readonly anchor: string | null;
};

/**
 * Checks the text of an evidence file, byte for byte and without a store. A document that someone rewrote as a whole, with new
 * hashes, passes: `anchor`, a hash that was kept elsewhere, shows that. It is the `hash` of the document, or the `hash` that the
 * run had at any time.
 * @example
 * const { ok, problems } = await verifyEvidence(await readFile('run_1.evidence.json'));
 */
export async function verifyEvidence(
  file: string | Uint8Array,
  options: { readonly anchor?: string } = {},
): Promise<VerifiedEvidence> {
  const { anchor } = options;
  const read = readFile(file);
  if ('problem' in read) return { ok: false, problems: [{ where: 'file', ...read }], evidence: null, anchor: null };
  const { text, evidence } = read;
  const matched = anchor === undefined ? null : anchorIn(evidence, anchor);
  const problems = [
    ...bytesProblems(text, evidence),
    ...(await recordProblems(evidence)),
    ...(anchor !== undefined && matched === null ? [{ where: 'hash', problem: WRONG_ANCHOR }] : []),
  ];
  return { ok: problems.length === 0, problems, evidence, anchor: matched };
}

const WRONG_ANCHOR = 'The anchor is neither the hash of this document nor one that its chain has had.';

function readFile(file: string | Uint8Array): { text: string; evidence: Evidence } | { problem: string } {
  try {
    const text =
      typeof file === 'string' ? file : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(file);
    const document: unknown = JSON.parse(text);
    const problem = shapeProblem(document);
    return problem === undefined ? { text, evidence: document as Evidence } : { problem };
  } catch (error) {
    return { problem: `It cannot be read as JSON in UTF-8. ${messageOf(error)}` };
  }
}

function shapeProblem(document: unknown): string | undefined {
  if (!isObject(document) || document.format !== EVIDENCE_FORMAT)
    return `It is not a document of the format ${EVIDENCE_FORMAT}, which this release reads.`;
  const { run, events, requests, grants } = document;
  if (!isObject(run) || typeof run.id !== 'string' || typeof run.hash !== 'string') return 'It has no record of a run.';
  if (!Array.isArray(events) || !events.every(isObject)) return 'It has no events.';
  if (!Array.isArray(requests) || !requests.every(isRequest)) return 'It has no requests, or one without an id.';
  if (!Array.isArray(grants) || !grants.every(isGrant)) return 'It has no grants, or one without events.';
  return undefined;
}

const isRequest = (question: unknown): boolean => isObject(question) && typeof question.id === 'string';
const isGrant = (grant: unknown): boolean => isRequest(grant) && Array.isArray((grant as { events?: unknown }).events);

/** Also finds duplicate keys, other spaces and other forms of numbers and strings, which parsing hides. */
function bytesProblems(text: string, { hash, ...content }: Evidence): readonly EvidenceProblem[] {
  const wrongHash = hash === contentHash(content) ? [] : [{ where: 'hash', problem: WRONG_HASH }];
  return text === textOf({ ...content, hash }) ? wrongHash : [...wrongHash, { where: 'file', problem: WRONG_BYTES }];
}

const WRONG_HASH = 'The content of the document does not match its hash.';
const WRONG_BYTES = 'The file has other bytes than this document has when it is written.';

/** What can be known from the content alone. */
async function recordProblems({
  run,
  events,
  requests,
  started,
  grants,
}: Evidence): Promise<readonly EvidenceProblem[]> {
  const chain = await chainProblem(run, events);
  const replayed = replay(run, events);
  const told = new Map(replayed.requests.map((question) => [question.id, question]));
  const listed = new Set(requests.map(({ id }) => id));
  const derived = { status: replayed.status, ...timesOf(events) };
  return [
    ...(chain === undefined ? [] : [{ where: 'run.hash', problem: chain }]),
    ...Object.entries(derived)
      .filter(([field, value]) => run[field as keyof typeof derived] !== value)
      .map(([field]) => ({ where: `run.${field}`, problem: 'The events say otherwise.' })),
    ...(sameJson(started, replayed.started) ? [] : [{ where: 'started', problem: 'The events say otherwise.' }]),
    ...replayed.problems,
    ...(await signatureProblems(replayed)),
    ...(await grantProblems({ run, events }, replayed.granted, grants)),
    ...requests.flatMap((question, index) => requestProblems(`requests[${index}]`, question, told.get(question.id))),
    ...requests
      .filter(({ id }, index) => requests.findIndex((other) => other.id === id) !== index)
      .map(({ id }) => ({ where: 'requests', problem: `${id} is in the list twice.` })),
    ...[...told.keys()]
      .filter((id) => !listed.has(id))
      .map((id) => ({ where: 'requests', problem: `The events ask ${id}, which is not in the list.` })),
  ];
}

/** The first rule that the events of a run break, if any. */
export async function ruleProblem({ run, events }: LoadedRun): Promise<string | undefined> {
  const replayed = replay(run, events);
  const [first] = [...replayed.problems, ...(await signatureProblems(replayed))];
  return first && `${first.where}: ${first.problem}`;
}

/** Each signed vote was signed with its key, for exactly this decision on exactly this card. */
export async function signatureProblems({ requests }: Pick<Replay, 'requests'>): Promise<readonly EvidenceProblem[]> {
  const problems: EvidenceProblem[] = [];
  for (const { id, votes } of requests)
    for (const { event, vote } of votes) {
      const { signature, by, digest, decision, onBehalfOf } = vote;
      if (signature === undefined) continue;
      const problem =
        by === null || digest === undefined
          ? 'it names no person or no card'
          : await signatureProblem(signature, { requestId: id, digest, decision, by, onBehalfOf }).catch(messageOf);
      if (problem !== undefined)
        problems.push({
          where: `events[${event - 1}].vote.signature`,
          problem: `The signature on ${id} does not verify: ${problem}`,
        });
    }
  return problems;
}

async function chainProblem(run: RunRecord, events: readonly StoredEvent[]): Promise<string | undefined> {
  try {
    return (await inspectChain({ run, events })).problem;
  } catch (error) {
    return `The chain cannot be followed. ${messageOf(error)}`;
  }
}

/** Compares a request of the document with what the events tell. */
function requestProblems(
  where: string,
  question: EvidenceRequest,
  told: ReplayedRequest | undefined,
): readonly EvidenceProblem[] {
  if (!told) return [{ where, problem: `The events do not ask ${question.id}.` }];
  const { shown, ...listed } = question;
  const fields = [...new Set([...Object.keys(listed), ...Object.keys(told)])] as (keyof ReplayedRequest)[];
  return [
    ...fields
      .filter((field) => !sameJson(listed[field], told[field]))
      .map((field) => ({ where: `${where}.${field}`, problem: `The events say otherwise about ${question.id}.` })),
    ...shownProblems(`${where}.shown`, question, told),
  ];
}

/** The card must show what the events ask, and its row must tell the recorded decision. */
function shownProblems(
  where: string,
  { id, shown }: EvidenceRequest,
  told: ReplayedRequest,
): readonly EvidenceProblem[] {
  const { asked, settled, digest } = told;
  if (!isObject(shown)) {
    const wasSeen = settled?.decision && !isByDeadline(settled.decision) && settled.event > asked + 1;
    return wasSeen ? [{ where, problem: `A person decided ${id}, and its card is missing.` }] : [];
  }
  const problems: EvidenceProblem[] = [];
  if (shown.digest !== digestOf(id, shown.card))
    problems.push({ where: `${where}.digest`, problem: `The card of ${id} was changed after it was shown.` });
  if (shown.digest !== digest)
    problems.push({ where: `${where}.card`, problem: `The card of ${id} shows another request than the events ask.` });
  if (!isToldSettlement(shown.settlement, told))
    problems.push({ where: `${where}.settlement`, problem: `The events say otherwise about the decision on ${id}.` });
  return problems;
}

/** The row of the request says what the events say: who decided what, or that it was withdrawn. */
function isToldSettlement(settlement: Json, { settled, part }: ReplayedRequest): boolean {
  if (!settled) return settlement === null;
  if (!isObject(settlement)) return false;
  const { decision } = settled;
  if (settlement.withdrawn === true) return decision === null || decision.type === 'cancel';
  if (!decision) return false;
  const { by = null, channel = null, note = null } = decision;
  if (!sameJson([settlement.by, settlement.channel], [by, channel])) return false;
  if (settlement.votes !== undefined && !sameJson(settlement.votes, settled.votes)) return false;
  if (isByDeadline(decision)) return sameJson(settlement.decision, { type: decision.type });
  return (
    settlement.note === note && sameJson(withoutIdleEdit(settlement.decision as Json, part), saidOn(part, decision))
  );
}

/** What the anchor stands for: this document, or the chain after one of its appends. */
function anchorIn({ run, events, hash }: Evidence, anchor: string): string | null {
  if (anchor === hash) return 'this document';
  for (const start of [chainStart(run), '']) {
    let [end, count] = [start, 0];
    for (const append of appendsIn(events)) {
      end = linkAll(end, append);
      count += append.length;
      if (end === anchor) return `the chain after event ${count} of ${events.length}`;
    }
  }
  return null;
}
