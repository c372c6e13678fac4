// What a mail says about one request, as data. The HTML and the text are made from it, so they say the same.

import type { Json, Notice } from 'countersign';
import { mayHaveRun, type Names, shownPolicy } from 'countersign/request';
import type { Recipient } from 'countersign/store';
import { type CardComment, type CardVote, type RequestCard, requestCard } from 'countersign/ui';
import { type CardPart, partsOf } from '../../text/card-parts.ts';
import type { Format } from '../../text/format.ts';
import { personLine } from '../../text/person-text.ts';
import type { MailTexts } from './texts.ts';
import { factRow, type Labelled, oneLine, type Row, rowsOf } from './value-rows.ts';

/** The reader of the mail, and how they read it. */
export type Reader = { readonly recipient: Recipient; readonly reading: Format; readonly texts: MailTexts };

/** What a colour means. The words beside it say the same. */
export type Tone = 'accent' | 'good' | 'bad' | 'warning' | 'muted';

export type Block = {
  /** Empty for what the tool says above its input. */
  readonly caption: string;
  /** Undefined if they are too large for a mail. */
  readonly rows: readonly Row[] | undefined;
  readonly look: 'table' | 'code' | 'message';
};

export type Link = { readonly label: string; readonly url: string; readonly look: 'main' | 'danger' | 'plain' };

export type Section = {
  readonly lead: string;
  readonly tone: Tone;
  readonly title: string;
  /** The agent and the tool, in small print. */
  readonly source: string;
  readonly badges: readonly { readonly text: string; readonly tone: Tone }[];
  readonly blocks: readonly Block[];
  /** `partial`: if something is too large for a mail, people decide where they can see all of it. */
  readonly links: { readonly whole: readonly Link[]; readonly partial: readonly Link[] };
  /** About the links. Empty if there is nothing to say. */
  readonly hint: string;
};

/** A value with more characters does not fit a mail, whatever else is in it. */
const LARGEST_VALUE = 90_000;

export function sectionOf(notice: Notice, reader: Reader): Section {
  const { recipient, texts } = reader;
  // The forms of an answer are on the page; the mail needs no schema.
  const card = notice.card && {
    ...requestCard(notice.card, undefined, true, recipient.person),
    inputSchema: notice.inputSchema ?? null,
    names: notice.names ?? {},
  };
  const isOver = notice.settlement !== null;
  const { links } = notice;
  return {
    ...(isOver ? endOf(notice, reader) : { lead: leadOf(notice, texts), tone: 'accent' }),
    title: oneLine(notice.title),
    source: card ? `${oneLine(notice.agent)} · ${oneLine(notice.tool)}` : '',
    badges: card && !isOver ? badgesOf(card, texts) : [],
    blocks: [
      ...(isOver ? outcomeBlocks(notice, reader) : []),
      ...(card ? (isOver ? decisionBlocks(card, reader) : cardBlocks(card, notice, reader)) : []),
    ],
    links: linksOf(notice, card, texts),
    hint: isOver ? '' : links ? texts.confirm : texts.noLink,
  };
}

/** Picks the links that fit what the section shows. */
export const linksIn = ({ links, blocks }: Section): readonly Link[] =>
  blocks.every(({ rows }) => rows !== undefined) ? links.whole : links.partial;

function leadOf({ type, kind }: Notice, texts: MailTexts): string {
  if (type === 'opened' && kind === 'question') return texts.waitingForAnswer;
  return Object.hasOwn(texts.waiting, type) ? texts.waiting[type as keyof MailTexts['waiting']] : texts.waiting.opened;
}

const TONES = {
  running: 'accent',
  frozen: 'warning',
  done: 'good',
  failed: 'bad',
  unknown: 'warning',
  'not-run': 'warning',
} as const;

/** What came of the call. A call that was approved and did not run, or failed, is not announced as approved. */
function endOf(notice: Notice, reader: Reader): Pick<Section, 'lead' | 'tone'> {
  const { type, outcome } = notice;
  if (!mayHaveRun(outcome) || (type === 'decided' && (outcome.state === 'running' || outcome.state === 'done')))
    return decisionOf(notice, reader);
  return { lead: reader.texts.came[outcome.state], tone: TONES[outcome.state] };
}

/** The result or the error, what to know about it, and the decision if it is not the headline. */
function outcomeBlocks(notice: Notice, reader: Reader): readonly Block[] {
  const { type, outcome } = notice;
  const { texts } = reader;
  if (!mayHaveRun(outcome)) return [];
  const advice = {
    running: texts.stillRuns,
    frozen: '',
    unknown: texts.unknownNext,
    done: '',
    failed: '',
    'not-run': '',
  }[outcome.state];
  const remark = outcome.state === 'failed' && outcome.mayHaveActed ? texts.mayHaveActed : advice;
  const detail =
    outcome.state === 'not-run'
      ? (texts.notRun[outcome.why as keyof MailTexts['notRun']] ?? '')
      : outcome.state === 'frozen'
        ? outcome.reason
        : 'text' in outcome
          ? (outcome.text ?? '')
          : '';
  const name = { failed: texts.problem, 'not-run': texts.whyNotRun }[outcome.state as string] ?? texts.result;
  const isHeadline = type === 'decided' && (outcome.state === 'running' || outcome.state === 'done');
  const rows = [
    ...(detail === '' ? [] : [labelled(name, detail)]),
    ...(isHeadline || outcome.state === 'not-run' ? [] : [[factRow(texts.decision, decisionOf(notice, reader).lead)]]),
  ];
  return [
    ...(remark === '' ? [] : [blockOf('', remark, 'message')]),
    ...(rows.length === 0 ? [] : [{ caption: '', rows: together(rows), look: 'table' } as const]),
  ];
}

/** The end in a few words, for a subject: `Failed`, or `Rejected by ben`. */
export function headlineOf(notice: Notice, { texts }: Reader): string {
  const { type, settlement, outcome, names } = notice;
  if (mayHaveRun(outcome) && outcome.state !== 'running') return texts.came[outcome.state];
  const by = personLine(settlement?.by ?? '', names);
  return type === 'decided' && by !== '' ? `${didText(notice, texts)} by ${by}` : didText(notice, texts);
}

/** As in `Approved by ben at Thu, 19 Nov 2026, 10:00 CET`. */
function decisionOf(notice: Notice, { texts, reading }: Reader): Pick<Section, 'lead' | 'tone'> {
  const { type, settlement, at, names } = notice;
  const by = type === 'expired' ? '' : personLine(settlement?.by ?? '', names);
  const lead = texts.outcome(didText(notice, texts), by, reading.time(settlement?.at ?? at));
  const did = verbOf(notice);
  if (type === 'expired') return { lead, tone: 'warning' };
  return { lead, tone: did === 'reject' ? 'bad' : did === 'cancel' || did === 'revise' ? 'muted' : 'good' };
}

function didText(notice: Notice, texts: MailTexts): string {
  const { type, settlement } = notice;
  const did = verbOf(notice);
  if (type === 'withdrawn' || settlement?.decision === undefined) return texts.withdrawn;
  if (type === 'expired') return texts.expired[did as keyof MailTexts['expired']] ?? texts.expired.cancel;
  const { edit, replaceInput } = settlement.decision as { readonly [key: string]: Json };
  return edit !== undefined || replaceInput !== undefined ? texts.approvedWithChanges : texts.decided[did];
}

function verbOf({ settlement }: Notice): keyof MailTexts['decided'] {
  const { type } = (settlement?.decision ?? {}) as { readonly type?: keyof MailTexts['decided'] };
  return type ?? 'cancel';
}

function badgesOf({ risk, reversibility, hasUndo, previous }: RequestCard, texts: MailTexts): Section['badges'] {
  const tones = { low: 'muted', medium: 'warning', high: 'bad' } as const;
  return [
    ...(previous ? [{ text: texts.round(previous.round + 1), tone: 'warning' } as const] : []),
    ...(risk === null ? [] : [{ text: texts.risk[risk], tone: tones[risk] }]),
    ...(reversibility === null
      ? []
      : [
          {
            text: texts.reversibility[reversibility === 'reversible' && !hasUndo ? 'claimed' : reversibility],
            tone: reversibility === 'irreversible' ? 'warning' : 'muted',
          } as const,
        ]),
  ];
}

/** Everything that an approver sees. */
function cardBlocks(card: RequestCard, notice: Notice, reader: Reader): readonly Block[] {
  const parts = partsOf(card, reader.reading.time).map((part) => partBlock(part, reader));
  return [...parts, ...factBlocks(card, notice, reader)];
}

/** What the tool says stands above its input without a caption. */
function partBlock({ name, shown, schema }: CardPart, { texts, reading }: Reader): Block {
  const caption = captionsIn(texts)[name];
  if ('failed' in shown) return { caption, rows: labelled(texts.previewFailed, shown.failed), look: 'table' };
  const { value } = shown;
  if (name === 'message') return blockOf(caption, value, 'message');
  const isCode = name.startsWith('preview') && typeof value === 'string' && value.includes('\n');
  return blockOf(caption, value, isCode ? 'code' : 'table', { schema, reads: reading.reads });
}

const captionsIn = (texts: MailTexts) => {
  const { agentSays, files, doubt, reviews, input, details, preview, previewChanged, previewBefore } = texts;
  const { changesAsked, inputBefore, untrusted, origins } = texts;
  return {
    ...{ message: '', untrusted, origins, reason: agentSays, files, doubt, reviews, input, details },
    ...{ preview, previewNow: previewChanged, previewBefore, changesAsked, inputBefore },
  };
};

/** The deadline, who else must agree, and where the request comes from. */
function factBlocks(card: RequestCard, notice: Notice, { texts, reading }: Reader): readonly Block[] {
  const { expiresAt, onExpiry, policies, progress, labels, names } = card;
  const policy = shownPolicy(policies);
  const ending = onExpiry === null ? '' : `, ${texts.onExpiry[onExpiry]}`;
  const startedBy = notice.card?.startedBy ?? null;
  const notRequester = policy?.notRequester === true;
  const rows: readonly Row[] = [
    ...(expiresAt === null ? [] : [factRow(texts.decideBy, `${reading.time(expiresAt)}${ending}`)]),
    ...(policy && progress ? [factRow(texts.whoDecides, texts.votes({ ...progress, notRequester }))] : []),
    ...(progress?.votes ?? []).map((vote) => voteRow(vote, texts, reading, names)),
    ...(policy ? texts.rules(policy).map((text) => ({ depth: 0, text })) : []),
    ...(progress?.assignedTo ? [factRow(texts.assignedTo, personLine(progress.assignedTo, names))] : []),
    ...(startedBy === null ? [] : [factRow(texts.startedBy, personLine(startedBy, names))]),
    ...(labels.length === 0 ? [] : [factRow(texts.labels, labels.map(oneLine).join(', '))]),
  ];
  const comments = (progress?.comments ?? []).map((comment) => commentRow(comment, reading));
  return [
    ...(rows.length === 0 ? [] : [{ caption: texts.about, rows, look: 'table' } as const]),
    ...(comments.length === 0 ? [] : [{ caption: texts.comments, rows: comments, look: 'table' } as const]),
  ];
}

function voteRow(
  { by, onBehalfOf, type, at, isEdit }: CardVote,
  texts: MailTexts,
  reading: Format,
  names: Names | undefined,
): Row {
  const did = isEdit ? texts.approvedWithChanges : texts.decided[type];
  const when = at === null ? '' : reading.time(at);
  const absent = onBehalfOf === null ? '' : personLine(onBehalfOf, names);
  return { depth: 1, name: personLine(by ?? '?', names), text: texts.vote(did, when, absent) };
}

function commentRow({ by, text, at }: CardComment, reading: Format): Row {
  return { depth: 0, name: at === null ? oneLine(by) : `${oneLine(by)}, ${reading.time(at)}`, text: oneLine(text) };
}

/** The decision. The request itself is in the first mail of the thread. */
function decisionBlocks({ decision, inputSchema }: RequestCard, { texts, reading }: Reader): readonly Block[] {
  if (!decision) return [];
  const { comment = '', reason = comment, note, ...said } = decision;
  const remarks = [
    ...(reason === '' ? [] : [labelled(comment === '' ? texts.reason : texts.changesAsked, reason)]),
    ...(note === null || note === '' ? [] : [labelled(texts.note, note)]),
  ];
  return [
    ...(remarks.length === 0 ? [] : [{ caption: '', rows: together(remarks), look: 'table' } as const]),
    ...('edit' in said
      ? [blockOf(texts.editedInput, said.edit as Json, 'table', { schema: inputSchema, reads: reading.reads })]
      : []),
    ...('output' in said ? [blockOf(texts.answer, said.output as Json)] : []),
  ];
}

const together = (parts: readonly (readonly Row[] | undefined)[]): readonly Row[] | undefined =>
  parts.every((rows) => rows !== undefined) ? parts.flat() : undefined;

const labelled = (name: string, text: string): readonly Row[] | undefined =>
  rowsOf(text, LARGEST_VALUE)?.map((row) => ({ ...row, name }));

const blockOf = (caption: string, value: Json, look: Block['look'] = 'table', labels: Labelled = {}): Block => ({
  caption,
  rows: rowsOf(value, LARGEST_VALUE, labels),
  look,
});

/** A mail decides nothing: each link opens a page. */
function linksOf({ links, settlement }: Notice, card: RequestCard | null, texts: MailTexts): Section['links'] {
  if (!links) return { whole: [], partial: [] };
  if (settlement) {
    const view: Link = { label: texts.view, url: links.request, look: 'plain' };
    return { whole: [view], partial: [view] };
  }
  const to = (part: string): string => (links.decide === undefined ? links.request : `${links.decide}#${part}`);
  const review: Link = { label: texts.review, url: links.decide ?? links.request, look: 'main' };
  if (card?.kind === 'approval' && !card.policies.some(({ signed }) => signed))
    return {
      whole: [
        { label: texts.approve, url: to('approve'), look: 'main' },
        { label: texts.reject, url: to('reject'), look: 'danger' },
        { label: texts.edit, url: to('edit'), look: 'plain' },
        ...(card.allows.includes('revise') ? [{ label: texts.revise, url: to('revise'), look: 'plain' } as const] : []),
      ],
      partial: [review],
    };
  if (card?.kind === 'question')
    return { whole: [{ label: texts.respond, url: to('respond'), look: 'main' }], partial: [review] };
  return { whole: [review], partial: [review] };
}
