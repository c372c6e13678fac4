// The pages of a decision link: look, confirm, done. They need no JavaScript and show everything that the decision is about.
import type { DecideResult, DecisionInput } from 'countersign';
import { type FormProblem, personText, shownPolicy } from 'countersign/request';
import type { Person } from '../identity/person.ts';
import { cardPage } from '../pages/card-page.ts';
import { escaped, htmlResponse } from '../pages/html.ts';
import type { ApiRequest } from '../schemas/request.ts';
import { badgesOf, commentsOf, HEADINGS, PART_NAMES, partsOf, votingOf } from '../text/card-parts.ts';
import type { Format } from '../text/format.ts';
import { jsonText } from '../text/value-text.ts';
import { visibleLine } from '../text/visible-text.ts';
import { whoText } from '../text/votes-text.ts';
import { fieldsHtml } from './fields.ts';
import type { Offer, Offers } from './offers.ts';
import { DECIDE_STYLESHEET } from './style.ts';
import { lineHtml, valueHtml } from './value-html.ts';

/** What every page of an open link shows. */
export type LinkPage = Offers & {
  readonly card: ApiRequest;
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
${chosenHtml(decision, card, format)}
${consequence(offer, card)}
<form method="post" class="actions">
${kept.join('\n')}
${hidden('confirmed', 'yes')}
<button class="button ${lookOf(offer)}">${wordsOf(offer, card).confirm}</button>
<a class="button" href="?">Go back</a>
</form>
${offer.verb === 'edit' ? cardHtml(page, 'Input before the change') : cardHtml(page)}
${footer(page)}`;
  return answer(page, wordsOf(offer, card).question, body);
}

export function donePage(page: LinkPage, offer: Offer, result: DecideResult): Response {
  const { card, format, person, channel } = page;
  const isSettled = result.status === 'settled';
  const at = isSettled ? result.at : result.votes.findLast(({ by }) => by === person.id)?.at;
  const when = at === undefined ? '' : ` on ${escaped(format.time(at))}`;
  const missing = isSettled ? [] : result.missing.map(({ of, count }) => `${count} of ${whoText(of, card.names)}`);
  const body = `${asked(offer, card)}
<p>Recorded${when} as the decision of ${lineHtml(person.name || person.id)}, through ${lineHtml(channel)}.</p>
${missing.length === 0 ? '' : `<p>Waiting for more votes: ${escaped(missing.join('; '))}.</p>`}
${isSettled && result.drill ? '<p>It was a drill, a request to reject: nothing was run.</p>' : ''}
<p>This link no longer works. You can close this page.</p>
<div class="actions"><a class="button" href="${requestPath(page)}">Open in the inbox</a></div>`;
  return answer(page, isSettled ? wordsOf(offer, card).done : 'Your vote is recorded', body);
}

/** The title names the proposed call. After an edit, another call runs. */
const asked = ({ verb }: Offer, { title, tool }: ApiRequest): string =>
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
function cardHtml({ card, format }: LinkPage, inputHeading: string = HEADINGS[card.kind]): string {
  const badges = badgesOf(card).map((badge) => `<li>${lineHtml(badge)}</li>`);
  const parts = partsOf(card, format.time).map(({ name, shown, schema }) =>
    section(
      name === 'input' ? inputHeading : PART_NAMES[name],
      'failed' in shown
        ? `<p class="problem">Preview failed: ${lineHtml(shown.failed)}</p>`
        : valueHtml(shown.value, format, schema),
    ),
  );
  return `<ul class="badges${card.risk === 'high' ? ' high' : ''}">${badges.join('')}</ul>
${parts.join('\n')}
${votingHtml(card, format)}
${commentsHtml(card, format)}
${section('Request', factsHtml(card, format))}`;
}

const section = (heading: string, body: string): string => `<section><h2>${escaped(heading)}</h2>${body}</section>`;

function votingHtml(card: ApiRequest, format: Format): string {
  const { deciders, quorum = [] } = shownPolicy(card.policies) ?? {};
  const voting = votingOf(card, format.time);
  const lines = [
    ...(deciders ? [`${whoText(deciders, card.names)} can decide.`] : []),
    ...quorum.map(
      ({ of, count, when }) =>
        `${count} of ${whoText(of, card.names)} must agree${when ? ` if ${jsonText(when)}` : ''}.`,
    ),
    ...(voting?.lines ?? []).map(({ text }) => text),
  ];
  if (lines.length === 0) return '';
  return section(
    voting?.heading ?? 'Who decides',
    `<ul>${lines.map((line) => `<li>${escaped(line)}</li>`).join('')}</ul>`,
  );
}

function commentsHtml(card: ApiRequest, format: Format): string {
  const lines = commentsOf(card, format.time).map(({ who, text }) => `<li>${escaped(who)}: ${lineHtml(text)}</li>`);
  return lines.length === 0 ? '' : section('Comments', `<ul>${lines.join('')}</ul>`);
}

const EXPIRY = { reject: 'rejected', cancel: 'cancelled', approve: 'approved' } as const;

function factsHtml(
  { tool, agent, startedBy, names, runId, createdAt, expiresAt, onExpiry }: ApiRequest,
  format: Format,
): string {
  const facts: readonly (readonly [string, string])[] = [
    ['Tool', tool],
    ['Agent', agent],
    ...(startedBy === null ? [] : [['Started by', personText(startedBy, names)] as const]),
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
  const words = wordsOf(offer, card);
  const problems = refused?.problems ?? [];
  const start = `<form method="post">${hidden('digest', card.digest)}${hidden('decision', verb)}`;
  const button = `<button class="button ${lookOf(offer)}">${words.offer}</button>`;
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
  return `<details class="offer" id="${verb}"${isOpen ? ' open' : ''}><summary>${words.open}</summary>
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
function suggestionsOf({ input }: ApiRequest): readonly string[] {
  const { choices, options } = (input ?? {}) as { readonly choices?: unknown; readonly options?: unknown };
  return ([choices, options].find(Array.isArray) ?? []).filter((choice) => typeof choice === 'string');
}

/** The whole new input or answer, or the reason. */
function chosenHtml(decision: DecisionInput, { inputSchema }: ApiRequest, format: Format): string {
  if (typeof decision !== 'object') return '';
  if ('edit' in decision && decision.edit !== undefined)
    return section('New input, which would run', valueHtml(decision.edit, format, inputSchema));
  if ('output' in decision) return section('Answer', valueHtml(decision.output, format));
  if ('reason' in decision && decision.reason !== undefined)
    return section('Reason', valueHtml(decision.reason, format));
  return '';
}

const isDoubt = ({ kind }: ApiRequest): boolean => kind === 'doubt';

type Words = {
  /** On the button that leads to the confirmation. */
  readonly offer: string;
  /** What opens the form. */
  readonly open: string;
  readonly question: string;
  readonly confirm: string;
  readonly done: string;
};

/** What the page says about a decision, step by step. */
function wordsOf({ verb }: Offer, card: ApiRequest): Words {
  switch (verb) {
    case 'approve': {
      const offer = isDoubt(card) ? 'It did not happen: run it again' : 'Approve';
      const [question, confirm] = isDoubt(card)
        ? ['Run it again?', 'Yes, run it again']
        : ['Approve this?', 'Yes, approve'];
      return { offer, open: offer, question, confirm, done: 'Approved' };
    }
    case 'edit': {
      const offer = 'Approve with these changes';
      const confirm = 'Yes, approve with these changes';
      return { offer, open: 'Edit …', question: `${offer}?`, confirm, done: 'Approved with changes' };
    }
    case 'respond': {
      const [offer, open] =
        card.kind === 'question'
          ? ['Answer', 'Answer']
          : ['Use this result', isDoubt(card) ? 'It happened …' : 'Give a result instead …'];
      return { offer, open, question: 'Send this answer?', confirm: 'Yes, send', done: 'Answered' };
    }
    case 'reject':
      return { offer: 'Reject', open: 'Reject …', question: 'Reject this?', confirm: 'Yes, reject', done: 'Rejected' };
    case 'cancel':
      return { offer: 'Skip it', open: 'Skip it …', question: 'Skip this?', confirm: 'Yes, skip it', done: 'Skipped' };
  }
}

function consequence({ verb }: Offer, card: ApiRequest): string {
  if (verb === 'approve' && isDoubt(card)) return '<p class="problem">If it did happen, it then happens twice.</p>';
  if (verb === 'approve') return `<p>${lineHtml(card.tool)} runs with exactly the input below.</p>`;
  return '';
}

const lookOf = ({ verb }: Offer): string =>
  verb === 'reject' || verb === 'cancel' ? 'button-danger' : 'button-primary';

const hidden = (name: string, value: string): string =>
  `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`;

const requestPath = ({ basePath, card }: LinkPage): string =>
  escaped(`${basePath}/requests/${encodeURIComponent(card.id)}`);

const footer = ({ person }: LinkPage): string =>
  `<p class="small">You decide as ${lineHtml(person.name || person.id)}. The link to this page is yours alone: whoever has it can decide for
you. Do not forward it.</p>`;
