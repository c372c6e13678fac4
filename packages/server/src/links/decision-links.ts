// Decision links: pages where one person decides one request without signing in to the inbox. Looking changes nothing.

import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ConflictError, type DecisionInput, type RunRequest, UsageError } from 'countersign';
import { type FormProblem, readForm } from 'countersign/request';
import { internalsOf, type Recipient } from 'countersign/store';
import { problemsOf } from 'countersign/ui';
import { rolesOf } from '../access.ts';
import { decidableRequest, recordDecision } from '../api/record-decision.ts';
import type { Services } from '../api/services.ts';
import { decisionFor } from '../decision-for.ts';
import { defined } from '../defined.ts';
import type { Caller } from '../identity/identify.ts';
import type { Person } from '../identity/person.ts';
import { personById } from '../identity/person-by-id.ts';
import type { AppOptions } from '../options.ts';
import type { ApiRequest } from '../schemas/request.ts';
import { formatFor } from '../text/format.ts';
import type { LinkOptions } from './link-options.ts';
import { asksWhy, type Offer, offersOf } from './offers.ts';
import { confirmPage, type Draft, type LinkPage, nothingPage, reviewPage, signInPage } from './page.ts';
import { resultPage } from './result-page.ts';
import { createLinkTokens, type DecisionLink, type LinkTokens } from './token.ts';

/** A request to the page of a link, and the signed-in person. */
type Visit = { readonly request: Request; findCaller(): Promise<Caller | undefined> };

export type DecisionLinks = {
  /** The address of the page for this person. Undefined if they cannot decide the request there. */
  make(request: RunRequest, to: Pick<Recipient, 'person' | 'contact'>, channel: string): Promise<string | undefined>;
  /** Shows the page. Records nothing: mail programs open links before people do. */
  show(token: string, visit: Visit): Promise<Response>;
  /** Takes a form of the page: the first one is shown again to be confirmed, the confirmed one is recorded. */
  decide(token: string, visit: Visit): Promise<Response>;
};

type Options = Pick<AppOptions, 'identifyPerson' | 'publicUrl' | 'basePath' | 'linkSecret'> & {
  readonly links?: LinkOptions | undefined;
};

type Needed = Pick<Services, 'ai' | 'access' | 'assignees' | 'mcp' | 'addressOf'>;

const WEEK_MS = 7 * 24 * 3_600_000;
/** An invalid link is answered after so long, whatever makes it invalid, so that the time tells nothing. */
const NOTHING_AFTER_MS = 100;
const LONGEST_REASON = 10_000;

export function decisionLinks(services: Needed, options: Options): DecisionLinks {
  const { ai, access } = services;
  const { basePath = '', publicUrl, links: { lifetimeMs = WEEK_MS, requireSignIn = false } = {} } = options;
  const tokens: LinkTokens = createLinkTokens(ai.runs.notes, options.linkSecret);

  /** The request, if this person can decide it by a link now. */
  async function openFor(card: ApiRequest | undefined, person: Person): Promise<ApiRequest | undefined> {
    if (!card?.mayDecide || !person.scopes.includes('read')) return undefined;
    if (card.expiresAt !== null && card.expiresAt <= Date.now()) return undefined;
    const { votes = [], assignedTo = null } = card.progress ?? {};
    if (votes.some(({ isYours, onBehalfOf }) => isYours || onBehalfOf === person.id)) return undefined;
    if (assignedTo === null || assignedTo === person.id) return card;
    const voters = await internalsOf(ai.runs).votersFor(person.id, rolesOf(person));
    return voters.some(({ onBehalfOf }) => onBehalfOf === assignedTo) ? card : undefined;
  }

  /** What the link opens: the request, or what became of it. */
  async function open(token: string, person: Person | undefined): Promise<Opened | undefined> {
    const link = await tokens.read(token);
    if (!link || link.expiresAt <= Date.now()) return undefined;
    const decider = requireSignIn ? person : await personById(options, link.person);
    if (decider?.id !== link.person) return undefined;
    const found = await access.find(link.requestId, decider);
    const card = await openFor(found, decider);
    if (card?.digest === link.digest) return { link, card, person: decider, isUsed: false };
    return found && isOver(found, decider) ? { link, card: found, person: decider, isUsed: true } : undefined;
  }

  /** Answers as `answer` says if the link is open. Every other link gets the same answer, after the same time. */
  async function visited(
    token: string,
    visit: Visit,
    answer: (page: LinkPage, opened: Opened) => Response | Promise<Response | undefined>,
  ) {
    const startedAt = performance.now();
    const caller = requireSignIn ? await visit.findCaller() : undefined;
    // The same for every link, whether it works or not.
    if (requireSignIn && !caller) return signInPage(basePath, new URL(visit.request.url));
    const opened = await open(token, caller?.person);
    const response = opened && (await answer(pageOf(opened, visit.request), opened));
    if (response) return response;
    await pause(Math.max(0, startedAt + NOTHING_AFTER_MS - performance.now()));
    return nothingPage(basePath);
  }

  function pageOf({ link, card, person }: Opened, { headers }: Request): LinkPage {
    const format = formatFor(link, headers.get('accept-language'));
    return { card, person, channel: link.channel, format, basePath, requireSignIn, ...offersOf(card) };
  }

  async function record({ link, person }: Opened, decision: DecisionInput, request: Request) {
    const asked = { decision: decision as never, digest: link.digest };
    const seen = await decidableRequest(services, link.requestId, person, asked);
    const decider = { person, channel: link.channel, address: services.addressOf(request) };
    return recordDecision(services, seen, decider, asked);
  }

  return {
    async make(request, { person: id, contact }, channel) {
      // A page without scripts cannot ask for a passkey.
      if (publicUrl === undefined || request.policies.some(({ signed }) => signed)) return undefined;
      if (!requireSignIn) {
        const person = await personById(options, id);
        const card = person && (await access.card(request, person, null));
        if (!person || !(await openFor(card, person))) return undefined;
      }
      const expiresAt = Math.min(Date.now() + lifetimeMs, request.expiresAt ?? Number.POSITIVE_INFINITY);
      const { locale, timeZone } = contact;
      const link = { requestId: request.id, person: id, digest: request.digest, expiresAt, channel };
      const token = await tokens.sign({ ...link, ...defined({ locale, timeZone }) });
      return `${new URL(publicUrl).origin}${basePath}/decide/${token}`;
    },

    show: (token, visit) => visited(token, visit, (page, { isUsed }) => (isUsed ? resultPage(page) : reviewPage(page))),

    decide: (token, visit) =>
      visited(token, visit, async (page, opened) => {
        const posted = new URLSearchParams(await visit.request.text());
        if (opened.isUsed) return resultPage(page, true);
        // Of two values of a field, readers may take either.
        if (new Set(posted.keys()).size < posted.size) return reviewPage(page, { problem: NOT_OFFERED, status: 422 });
        if (posted.get('digest') !== opened.card.digest) return reviewPage(page, { problem: OUTDATED, status: 409 });
        const offer = page.offers.find(({ verb }) => verb === posted.get('decision'));
        if (!offer) return reviewPage(page, { problem: NOT_OFFERED, status: 422 });
        const read = readDecision(offer, posted, opened.card);
        const draft = { offer, posted };
        if ('problems' in read) return refusedPage(page, draft, read.problems);
        if (posted.get('confirmed') !== 'yes') return confirmPage(page, draft, read.decision);
        try {
          await record(opened, read.decision, visit.request);
          // A page of its own, which can be loaded again.
          return new Response(null, { status: 303, headers: { location: new URL(visit.request.url).pathname } });
        } catch (error) {
          // Someone else was first, the request changed, or the person may no longer decide it.
          if (error instanceof ConflictError || (error instanceof UsageError && OVER.has(error.code))) {
            const now = await open(token, opened.person);
            return now?.isUsed ? resultPage(pageOf(now, visit.request), true) : undefined;
          }
          if (!(error instanceof UsageError) || error.code !== 'invalid-decision') throw error;
          return refusedPage(page, draft, refusedFields(error));
        }
      }),
  };
}

/** `isUsed`: the request is decided, or the person has voted. */
type Opened = {
  readonly link: DecisionLink;
  readonly card: ApiRequest;
  readonly person: Person;
  readonly isUsed: boolean;
};

function isOver({ status, progress }: ApiRequest, { id, scopes }: Person): boolean {
  if (!scopes.includes('read')) return false;
  return (
    status === 'decided' || (progress?.votes ?? []).some(({ isYours, onBehalfOf }) => isYours || onBehalfOf === id)
  );
}

/** A reason is entered where the decision is confirmed. */
function refusedPage(page: LinkPage, draft: Draft, problems: readonly FormProblem[]): Response {
  const { verb } = draft.offer;
  if (asksWhy(verb)) return confirmPage(page, draft, decisionFor(verb, { value: '' }), problems[0]?.message);
  return reviewPage(page, { ...draft, problems, status: 422 });
}

const OUTDATED = 'This page was out of date, so nothing was recorded. Check the request below and decide again.';
const NOT_OFFERED = 'This decision is not possible here, so nothing was recorded.';
const OVER: ReadonlySet<string> = new Set(['outdated-card', 'unknown-request', 'not-allowed', 'already-decided']);

type ReadDecision = { readonly decision: DecisionInput } | { readonly problems: readonly FormProblem[] };

function readDecision(offer: Offer, posted: URLSearchParams, card: ApiRequest): ReadDecision {
  switch (offer.verb) {
    case 'approve':
      return { decision: decisionFor(offer.verb) };
    case 'revise': {
      const comment = reasonIn(posted);
      // It is entered on the next page.
      if (posted.get('confirmed') !== 'yes') return { decision: decisionFor('revise', { value: comment }) };
      if (comment === '') return { problems: [{ field: 'reason', message: 'Say which changes you ask for.' }] };
      if (comment.length > LONGEST_COMMENT)
        return { problems: [{ field: 'reason', message: `Enter at most ${LONGEST_COMMENT} characters.` }] };
      return { decision: decisionFor('revise', { value: comment }) };
    }
    case 'reject':
    case 'cancel': {
      const reason = reasonIn(posted);
      if (reason.length > LONGEST_REASON)
        return { problems: [{ field: 'reason', message: `Enter at most ${LONGEST_REASON} characters.` }] };
      return { decision: decisionFor(offer.verb, reason === '' ? {} : { reason }) };
    }
    case 'edit':
    case 'respond': {
      const { form, verb } = offer;
      const strings = form.fields.map(({ name }, index) => [name, posted.get(`f${index}`) ?? undefined]);
      const read = readForm(form, Object.fromEntries(strings));
      if ('problems' in read) return read;
      if (verb === 'edit' && isDeepStrictEqual(read.value, card.input)) return { problems: [UNCHANGED] };
      return { decision: decisionFor(verb, { value: read.value }) };
    }
  }
}

/** Forms send each end of a line as two characters. */
const reasonIn = (posted: URLSearchParams): string => (posted.get('reason') ?? '').replaceAll('\r\n', '\n').trim();

const LONGEST_COMMENT = 2_000;

const UNCHANGED: FormProblem = { field: '', message: 'Nothing was changed. To approve it as it is, use Approve.' };

/** What the schema refused, by the fields of the form. */
const refusedFields = (error: UsageError): readonly FormProblem[] =>
  problemsOf(error).map(({ path, message }) => ({ field: path[0] ?? '', message }));
