// The pages of a decision link: look, confirm, done. They need no JavaScript and show everything that the decision is about.
import type { DecideResult, DecisionInput, Json } from 'countersign';
import { type FormProblem, type Preview, shownPolicy } from 'countersign/request';
import type { Person } from '../identity/person.ts';
import { cardPage } from '../pages/card-page.ts';
import { escaped, htmlResponse } from '../pages/html.ts';
import type { Interrupt } from '../schemas/interrupt.ts';
import { HEADINGS, KINDS } from '../text/card-text.ts';
import { jsonText } from '../text/value-text.ts';
import { visibleLine } from '../text/visible-text.ts';
import { ruleLines, voteLine, votesText, whoText } from '../text/votes-text.ts';
import { fieldsHtml } from './fields.ts';
import type { Format } from './format.ts';
import type { Offer, Offers } from './offers.ts';
import { DECIDE_STYLESHEET } from './style.ts';
import { lineHtml, valueHtml } from './value-html.ts';

/** What every page of an open link shows. */
export type LinkPage = Offers & {
  readonly card: Interrupt;
  /** The recipient of the link. This person decides. */
  readonly person: Person;
  readonly channel: string;
  readonly format: Format;
  readonly basePath: string;
  readonly requireSignIn: boolean;
};

/** What the person has entered. */
export type Draft = { readonly offer: Offer; readonly posted: URLSearchParams };

/** Why a form was not taken. */
type Refused = Partial<Draft> & {
  readonly problem?: string;
  readonly problems?: readonly FormProblem[];
  readonly status: number;
};

/** The request with a form for each decision; with `refused`, the entered values and their problems. */
export function reviewPage(page: LinkPage, refused?: Refused): Response {
  const { card, offers, elsewhere, isShown } = page;
  const body = [
    ...(refused?.problem === undefined ? [] : [`<p class="problem" role="alert">${escaped(refused.problem)}</p>`]),
    ...(isShown ? [cardHtml(page)] : []),
    ...offers.map((offer) => offerHtml(page, offer, refused?.offer?.verb === offer.verb ? refused : undefined)),
    ...(elsewhere === undefined ? [] : [`<p class="elsewhere">${escaped(elsewhere)}</p>`]),
    `<div class="actions"><a class="button" href="${requestPath(page)}">Open in the inbox</a></div>`,
    footer(page),
  ];
  return answer(page, visibleLine(card.title ?? card.tool), body.join('\n'), refused?.status);
}

/** Everything again, with one button that records exactly this. */
export function confirmPage(page: LinkPage, { offer, posted }: Draft, decision: DecisionInput): Response {
  const { card, format } = page;
  const kept = [...posted].filter(([name]) => name !== 'confirmed').map(([name, value]) => hidden(name, value));
  const body = `${asked(offer, card)}
${chosenHtml(decision, format)}
${consequence(offer, card)}
<form method="post" class="actions">
${kept.join('\n')}
${hidden('confirmed', 'yes')}
<button class="button ${lookOf(offer)}">${CONFIRM[offer.verb](card)}</button>
<a class="button" href="?">Go back</a>
</form>
${offer.verb === 'edit' ? cardHtml(page, 'Input before the change') : cardHtml(page)}
${footer(page)}`;
  return answer(page, QUESTION[offer.verb](card), body);
}

export function donePage(page: LinkPage, offer: Offer, result: DecideResult): Response {
  const { card, format, person, channel } = page;
  const isSettled = result.status === 'settled';
  const at = isSettled ? result.at : result.votes.findLast(({ by }) => by === person.id)?.at;
  const when = at === undefined ? '' : ` on ${escaped(format.time(at))}`;
  const missing = isSettled ? [] : result.missing.map(({ of, count }) => `${count} of ${whoText(of)}`);
  const body = `${asked(offer, card)}
<p>Recorded${when} as the decision of ${lineHtml(person.name || person.id)}, through ${lineHtml(channel)}.</p>
${missing.length === 0 ? '' : `<p>Waiting for more votes: ${escaped(missing.join('; '))}.</p>`}
${isSettled && result.drill ? '<p>It was a drill, a request to reject: nothing was run.</p>' : ''}
<p>This link no longer works. You can close this page.</p>
<div class="actions"><a class="button" href="${requestPath(page)}">Open in the inbox</a></div>`;
  return answer(page, isSettled ? DONE[offer.verb] : 'Your vote is recorded', body);
}

/** The title names the proposed call. After an edit, another call runs. */
const asked = ({ verb }: Offer, { title, tool }: Interrupt): string =>
  `<p class="doing">${verb === 'edit' ? 'Asked for: ' : ''}<strong>${lineHtml(title ?? tool)}</strong></p>`;

/** The same for every link that does not work, whatever the reason: it must not tell which requests exist. */
export function nothingPage(basePath: string): Response {
  return pageResponse(
    { basePath, requireSignIn: false },
    'This link does not work',
    `<p>It may have expired. The request may have been decided, changed or given to someone else, or a vote was already given with
this link.</p>
<div class="actions"><a class="button" href="${basePath}/">Open the inbox</a></div>`,
    404,
  );
}

/** The same for every link. Browsers send a strict session cookie only from a page of this server, so this one loads itself again. */
export function signInPage(basePath: string, { searchParams }: URL): Response {
  const response = pageResponse(
    { basePath, requireSignIn: true },
    'Sign in to decide',
    `<p>This server asks you to sign in before you decide by a link. Sign in, then open the link again.</p>
<div class="actions"><a class="button button-primary" href="?from=here">Try again</a>
<a class="button" href="${basePath}/login">Sign in</a></div>`,
    401,
  );
  if (!searchParams.has('from')) response.headers.set('refresh', '0;url=?from=here');
  return response;
}

const answer = (page: LinkPage, heading: string, body: string, status = 200): Response =>
  pageResponse(page, heading, body, status);

/** Without scripts, and never kept. Forms of people who are signed in send their origin, which is checked; others send nothing. */
function pageResponse(
  { basePath, requireSignIn }: Pick<LinkPage, 'basePath' | 'requireSignIn'>,
  heading: string,
  body: string,
  status: number,
): Response {
  const look = { stylesheet: DECIDE_STYLESHEET, referrer: requireSignIn ? 'strict-origin' : 'no-referrer' };
  const response = htmlResponse(cardPage(basePath, heading, body, look), status, 'no-store');
  response.headers.set('content-security-policy', POLICY);
  response.headers.set('x-robots-tag', 'noindex, nofollow');
  return response;
}

const POLICY =
  "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** Everything that the decision is bound to, and who else decides. */
function cardHtml({ card, format }: LinkPage, heading: string = HEADINGS[card.kind]): string {
  const { preview, earlierPreview, payload } = card;
  const badges = [
    KINDS[card.kind],
    ...(card.risk === null ? [] : [`${card.risk} risk`]),
    ...(card.reversibility === null ? [] : [card.reversibility]),
    ...card.labels,
  ];
  return `<ul class="badges${card.risk === 'high' ? ' high' : ''}">${badges.map((badge) => `<li>${lineHtml(badge)}</li>`).join('')}</ul>
${payload === true || payload === null ? '' : section('Message', messageHtml(payload, format))}
${section(heading, valueHtml(card.input, format))}
${preview ? section(earlierPreview ? 'What would happen now' : 'What would happen', previewHtml(preview, format)) : ''}
${preview && earlierPreview ? section('What was approved before', previewHtml(earlierPreview, format)) : ''}
${votingHtml(card, format)}
${section('Request', factsHtml(card, format))}`;
}

/** The message of the tool, and what else it wants to show. */
function messageHtml(payload: Json, format: Format): string {
  if (typeof payload !== 'object' || payload === null || !('message' in payload)) return valueHtml(payload, format);
  const { message, ...rest } = payload;
  return `${valueHtml(message, format)}${Object.keys(rest).length > 0 ? valueHtml(rest, format) : ''}`;
}

const section = (heading: string, body: string): string => `<section><h2>${escaped(heading)}</h2>${body}</section>`;

const previewHtml = (preview: Preview, format: Format): string =>
  'failed' in preview
    ? `<p class="problem">Preview failed: ${lineHtml(preview.failed)}</p>`
    : valueHtml(preview.value, format);

function votingHtml({ policies, progress }: Interrupt, format: Format): string {
  const policy = shownPolicy(policies);
  if (!policy && (progress?.assignedTo ?? null) === null) return '';
  const { deciders, quorum = [], warnings = [] } = policy ?? {};
  const votes = (progress?.votes ?? []).map(
    (vote) => `${voteLine({ ...vote, at: null })}${vote.at === null ? '' : `, ${format.time(vote.at)}`}`,
  );
  const lines = [
    ...(deciders ? [`${whoText(deciders)} can decide.`] : []),
    ...quorum.map(
      ({ of, count, when }) => `${count} of ${whoText(of)} must agree${when ? ` if ${jsonText(when)}` : ''}.`,
    ),
    ...(policy ? ruleLines(policy) : []),
    ...(policy && progress ? [votesText({ ...progress, notRequester: policy.notRequester === true })] : []),
    ...votes,
    ...((progress?.round ?? 1) > 1 ? ['The input was edited, so the votes given before do not count.'] : []),
    ...(progress?.assignedTo ? [`Assigned to ${visibleLine(progress.assignedTo)}.`] : []),
    ...warnings.map((warning) => `Warning: ${visibleLine(warning)}`),
  ];
  const heading = policy?.name === undefined ? 'Who decides' : `Who decides (${visibleLine(policy.name)})`;
  return section(heading, `<ul>${lines.map((line) => `<li>${escaped(line)}</li>`).join('')}</ul>`);
}

const EXPIRY = { reject: 'rejected', cancel: 'cancelled', approve: 'approved' } as const;

function factsHtml(
  { tool, agent, startedBy, runId, createdAt, expiresAt, onExpiry }: Interrupt,
  format: Format,
): string {
  const facts: readonly (readonly [string, string])[] = [
    ['Tool', tool],
    ['Agent', agent],
    ...(startedBy === null ? [] : [['Started by', startedBy] as const]),
    ...(createdAt === null ? [] : [['Asked', format.time(createdAt)] as const]),
    ...(expiresAt === null
      ? []
      : [['Expires', `${format.time(expiresAt)}, then it is ${EXPIRY[onExpiry ?? 'reject']}`] as const]),
    ['Run', runId],
  ];
  return `<dl class="value">${facts.map(([name, text]) => `<div><dt>${name}</dt><dd>${lineHtml(text)}</dd></div>`).join('')}</dl>`;
}

function offerHtml(page: LinkPage, offer: Offer, refused: Refused | undefined): string {
  const { card } = page;
  const { verb } = offer;
  const problems = refused?.problems ?? [];
  const start = `<form method="post">${hidden('digest', card.digest)}${hidden('decision', verb)}`;
  const button = `<button class="button ${lookOf(offer)}">${OFFER[verb](card)}</button>`;
  if (verb === 'approve') return `<div class="offer" id="${verb}">${start}${button}</form></div>`;
  const inner =
    'form' in offer
      ? fieldsHtml(offer.form, {
          posted: refused?.posted,
          problems,
          suggested: verb === 'respond' ? suggestionsOf(card) : [],
        })
      : reasonHtml(verb, refused);
  const isOpen = refused !== undefined || (verb === 'respond' && card.kind === 'question');
  return `<details class="offer" id="${verb}"${isOpen ? ' open' : ''}><summary>${OPEN[verb](card)}</summary>
${start}${inner}${button}</form></details>`;
}

function reasonHtml(verb: string, refused: Refused | undefined): string {
  const [problem] = refused?.problems ?? [];
  return `<label class="field"><span>Reason (optional, the model sees it)</span>
${problem ? `<span class="problem">${escaped(problem.message)}</span>` : ''}
<textarea name="reason" rows="3" id="${verb}-reason">
${escaped(refused?.posted?.get('reason') ?? '')}</textarea></label>`;
}

/** The answers that the question itself offers. */
function suggestionsOf({ input }: Interrupt): readonly string[] {
  const { choices, options } = (input ?? {}) as { readonly choices?: unknown; readonly options?: unknown };
  return ([choices, options].find(Array.isArray) ?? []).filter((choice) => typeof choice === 'string');
}

/** The whole new input or answer, or the reason. */
function chosenHtml(decision: DecisionInput, format: Format): string {
  if (typeof decision !== 'object') return '';
  if ('edit' in decision && decision.edit !== undefined)
    return section('New input, which would run', valueHtml(decision.edit, format));
  if ('output' in decision) return section('Answer', valueHtml(decision.output, format));
  if ('reason' in decision && decision.reason !== undefined)
    return section('Reason', valueHtml(decision.reason, format));
  return '';
}

type Text = (card: Interrupt) => string;
const isDoubt = ({ kind }: Interrupt): boolean => kind === 'unknown-outcome';

const OFFER: Readonly<Record<Offer['verb'], Text>> = {
  approve: (card) => (isDoubt(card) ? 'It did not happen: run it again' : 'Approve'),
  edit: () => 'Approve with these changes',
  respond: (card) => (card.kind === 'question' ? 'Answer' : 'Use this result'),
  reject: () => 'Reject',
  cancel: () => 'Skip it',
};

const OPEN: Readonly<Record<Offer['verb'], Text>> = {
  ...OFFER,
  edit: () => 'Edit …',
  respond: (card) =>
    card.kind === 'question' ? 'Answer' : isDoubt(card) ? 'It happened …' : 'Give a result instead …',
  reject: () => 'Reject …',
  cancel: () => 'Skip it …',
};

const QUESTION: Readonly<Record<Offer['verb'], Text>> = {
  approve: (card) => (isDoubt(card) ? 'Run it again?' : 'Approve this?'),
  edit: () => 'Approve with these changes?',
  respond: () => 'Send this answer?',
  reject: () => 'Reject this?',
  cancel: () => 'Skip this?',
};

const CONFIRM: Readonly<Record<Offer['verb'], Text>> = {
  approve: (card) => (isDoubt(card) ? 'Yes, run it again' : 'Yes, approve'),
  edit: () => 'Yes, approve with these changes',
  respond: () => 'Yes, send',
  reject: () => 'Yes, reject',
  cancel: () => 'Yes, skip it',
};

const DONE: Readonly<Record<Offer['verb'], string>> = {
  approve: 'Approved',
  edit: 'Approved with changes',
  respond: 'Answered',
  reject: 'Rejected',
  cancel: 'Skipped',
};

function consequence({ verb }: Offer, card: Interrupt): string {
  if (verb === 'approve' && isDoubt(card)) return '<p class="problem">If it did happen, it then happens twice.</p>';
  if (verb === 'approve') return `<p>${lineHtml(card.tool)} runs with exactly the input below.</p>`;
  return '';
}

const lookOf = ({ verb }: Offer): string =>
  verb === 'reject' || verb === 'cancel' ? 'button-danger' : 'button-primary';

const hidden = (name: string, value: string): string =>
  `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`;

const requestPath = ({ basePath, card }: LinkPage): string =>
  escaped(`${basePath}/interrupts/${encodeURIComponent(card.id)}`);

const footer = ({ person }: LinkPage): string =>
  `<p class="small">You decide as ${lineHtml(person.name || person.id)}. The link to this page is yours alone: whoever has it can decide for
you. Do not forward it.</p>`;
