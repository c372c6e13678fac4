// The pages of a decision link: look, and confirm. They need no JavaScript and show everything that the decision is about.
import type { DecisionInput } from 'countersign';
import type { Form, FormProblem } from 'countersign/request';
import type { Person } from '../identity/person.ts';
import { cardPage } from '../pages/card-page.ts';
import { escaped, htmlResponse } from '../pages/html.ts';
import type { ApiRequest } from '../schemas/request.ts';
import type { Format } from '../text/format.ts';
import { visibleLine } from '../text/visible-text.ts';
import { detailsHtml, section, summaryHtml } from './card-html.ts';
import { fieldsHtml } from './fields.ts';
import { asksWhy, type Offer, type Offers } from './offers.ts';
import { DECIDE_SCRIPT } from './script.ts';
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
  const { card, format, offers, elsewhere, isShown } = page;
  const forms = offers.filter((offer): offer is FormOffer => 'form' in offer);
  const body = [
    ...(refused?.problem === undefined ? [] : [`<p class="problem" role="alert">${escaped(refused.problem)}</p>`]),
    ...(isShown ? [summaryHtml(card, format)] : []),
    ...forms.map((offer) => offerHtml(page, offer, refused?.offer?.verb === offer.verb ? refused : undefined)),
    ...(isShown ? [detailsHtml(card, format)] : []),
    ...(elsewhere === undefined ? [] : [`<p class="elsewhere">${escaped(elsewhere)}</p>`]),
    ...(offers.length === 0 ? [] : [`<div class="actions">${inboxLink(page)}</div>`]),
    footer(page),
    barHtml(page),
  ];
  return answer(page, visibleLine(card.title ?? card.tool), body.join('\n'), refused?.status);
}

/** Everything again, with one button that records exactly this. */
export function confirmPage(
  page: LinkPage,
  { offer, posted }: Draft,
  decision: DecisionInput,
  problem?: string,
): Response {
  const { card, format } = page;
  const isAsked = asksWhy(offer.verb);
  const kept = [...posted].filter(([name]) => name !== 'confirmed' && !(isAsked && name === 'reason'));
  const body = `${asked(offer, card)}
${chosenHtml(decision, card, format)}
${consequence(offer, card)}
<form method="post" class="decide">
${kept.map(([name, value]) => hidden(name, value)).join('\n')}
${hidden('confirmed', 'yes')}
${isAsked ? reasonHtml(posted, problem, offer.verb) : ''}
<div class="actions"><button class="button ${lookOf(offer)}">${wordsOf(offer, card).confirm}</button>
<a class="button" href="?">Go back</a></div>
</form>
${summaryHtml(card, format, offer.verb === 'edit' ? 'Input before the change' : undefined)}
${detailsHtml(card, format)}
${footer(page)}`;
  return answer(page, wordsOf(offer, card).question, body, problem === undefined ? 200 : 422);
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

export const answer = (page: LinkPage, heading: string, body: string, status = 200): Response =>
  pageResponse(page, heading, body, status);

/** Works without its script, and is never kept. Forms of people who are signed in send their origin, which is checked; others send nothing. */
function pageResponse(
  { basePath, requireSignIn }: Pick<LinkPage, 'basePath' | 'requireSignIn'>,
  heading: string,
  body: string,
  status: number,
): Response {
  const referrer = requireSignIn ? 'strict-origin' : 'no-referrer';
  const look = { stylesheet: DECIDE_STYLESHEET, script: DECIDE_SCRIPT, referrer };
  const response = htmlResponse(cardPage(basePath, heading, body, look), status, 'no-store');
  response.headers.set('content-security-policy', POLICY);
  response.headers.set('x-robots-tag', 'noindex, nofollow');
  return response;
}

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

type FormOffer = Extract<Offer, { readonly form: Form }>;

/** Its id is inside what is folded, so that a link to it unfolds it. */
function offerHtml(page: LinkPage, offer: FormOffer, refused: Refused | undefined): string {
  const { card } = page;
  const { verb } = offer;
  const words = wordsOf(offer, card);
  const filled = {
    posted: refused?.posted,
    problems: refused?.problems ?? [],
    suggested: verb === 'respond' ? suggestionsOf(card) : [],
  };
  const isOpen = refused !== undefined || (verb === 'respond' && card.kind === 'question');
  return `<details class="offer"${isOpen ? ' open' : ''}><summary>${words.open}</summary>
<form method="post" id="${verb}">${hidden('digest', card.digest)}${hidden('decision', verb)}
${fieldsHtml(offer.form, filled)}<button class="button button-primary">${words.offer}</button></form></details>`;
}

/** Stays on the screen, however long the request is. */
function barHtml(page: LinkPage): string {
  const { card, offers } = page;
  const buttons = offers.flatMap((offer) => {
    const words = wordsOf(offer, card);
    if ('form' in offer)
      return offer.verb === 'edit' ? ['<a class="button" href="#edit">Edit</a>'] : [answerButton(offer, card)];
    return [
      `<form method="post" id="${offer.verb}">${hidden('digest', card.digest)}${hidden('decision', offer.verb)}
<button class="button ${lookOf(offer)}">${words.offer}</button></form>`,
    ];
  });
  return `<div class="bar">${buttons.length === 0 ? inboxLink(page) : buttons.join('\n')}</div>`;
}

const inboxLink = (page: LinkPage): string => `<a class="button" href="${requestPath(page)}">Open in the inbox</a>`;

/** The form of a question is open; that of a result is not, so a link opens it. */
const answerButton = (offer: Offer, card: ApiRequest): string =>
  card.kind === 'question'
    ? `<button class="button button-primary" form="respond">${wordsOf(offer, card).offer}</button>`
    : `<a class="button" href="#respond">${wordsOf(offer, card).open}</a>`;

function reasonHtml(posted: URLSearchParams, problem: string | undefined, verb: Offer['verb']): string {
  const label = verb === 'revise' ? 'Which changes? The model sees this' : 'Reason (optional, the model sees it)';
  return `<label class="field"><span>${label}</span>
${problem === undefined ? '' : `<span class="problem" role="alert">${escaped(problem)}</span>`}
<textarea name="reason" rows="3">
${escaped(posted.get('reason') ?? '')}</textarea></label>`;
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
    case 'revise':
      return {
        offer: 'Ask for changes …',
        open: 'Ask for changes …',
        question: 'Ask for which changes?',
        confirm: 'Send',
        done: 'Changes asked for',
      };
    case 'reject':
      return {
        offer: 'Reject …',
        open: 'Reject …',
        question: 'Reject this?',
        confirm: 'Yes, reject',
        done: 'Rejected',
      };
    case 'cancel':
      return {
        offer: 'Skip it …',
        open: 'Skip it …',
        question: 'Skip this?',
        confirm: 'Yes, skip it',
        done: 'Skipped',
      };
  }
}

function consequence({ verb }: Offer, card: ApiRequest): string {
  if (verb === 'approve' && isDoubt(card)) return '<p class="problem">If it did happen, it then happens twice.</p>';
  if (verb === 'approve') return `<p>${lineHtml(card.tool)} runs with exactly the input below.</p>`;
  return '';
}

function lookOf({ verb }: Offer): string {
  if (verb === 'revise') return '';
  return verb === 'reject' || verb === 'cancel' ? 'button-danger' : 'button-primary';
}

const hidden = (name: string, value: string): string =>
  `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`;

export const requestPath = ({ basePath, card }: LinkPage): string =>
  escaped(`${basePath}/requests/${encodeURIComponent(card.id)}`);

const footer = ({ person }: LinkPage): string =>
  `<p class="small">You decide as ${lineHtml(person.name || person.id)}. The link to this page is yours alone: whoever has it can decide for
you. Do not forward it.</p>`;
