// The page of a link that was used: what was decided, and what came of it. Looking again changes nothing.
import { mayHaveRun, personText } from 'countersign/request';
import { escaped } from '../pages/html.ts';
import { MAY_HAVE_ACTED, OUTCOME_WORDS, outcomeText, UNKNOWN_NEXT } from '../text/outcome-text.ts';
import { whoText } from '../text/votes-text.ts';
import { detailsHtml, section, summaryHtml } from './card-html.ts';
import { answer, type LinkPage, requestPath } from './page.ts';
import { lineHtml, timeHtml, valueHtml } from './value-html.ts';

/** A running call is looked at again by the browser, for a while. */
const AGAIN_S = 5;
const AGAIN_FOR_MS = 10 * 60_000;

/** `isLate`: a form was sent again, and nothing was recorded. */
export function resultPage(page: LinkPage, isLate = false): Response {
  const { card, format } = page;
  const body = `${isLate ? '<p class="elsewhere" role="status">This was decided before. Nothing was recorded now.</p>' : ''}
<p class="doing"><strong>${lineHtml(card.title ?? card.tool)}</strong></p>
${card.status === 'decided' ? decidedHtml(page) : votedHtml(page)}
<p>This link has been used. You can close this page.</p>
<div class="actions"><a class="button" href="${requestPath(page)}">Open in the inbox</a></div>
<details class="more"><summary>The request</summary>${summaryHtml(card, format)}${detailsHtml(card, format)}</details>`;
  const heading = isLate ? 'Decided before' : card.status === 'decided' ? headingOf(page) : 'Your vote is recorded';
  const response = answer(page, heading, body, isLate ? 409 : 200);
  const { outcome, decision } = card;
  if (outcome?.state === 'running' && Date.now() - (decision?.at ?? 0) < AGAIN_FOR_MS)
    response.headers.set('refresh', String(AGAIN_S));
  return response;
}

const DID = {
  approve: 'Approved',
  reject: 'Rejected',
  revise: 'Changes asked for',
  respond: 'Answered',
  restart: 'Continued',
  cancel: 'Skipped',
} as const;

/** A call that was approved and did not run, or failed, is not shown as approved. */
function headingOf({ card: { outcome, decision } }: LinkPage): string {
  if (mayHaveRun(outcome) && outcome.state !== 'running' && outcome.state !== 'done')
    return OUTCOME_WORDS[outcome.state];
  if (isProposal(outcome)) return 'Changes proposed';
  if (decision === null) return 'Withdrawn';
  return 'edit' in decision ? 'Approved with changes' : DID[decision.type];
}

/** Others are asked about the edited input instead. */
const isProposal = (outcome: LinkPage['card']['outcome']): boolean =>
  outcome?.state === 'not-run' && outcome.why === 'edited';

function decidedHtml({ card, person, channel, format }: LinkPage): string {
  const { decision, outcome } = card;
  const came = outcomeText(outcome);
  const advice =
    outcome?.state === 'unknown'
      ? UNKNOWN_NEXT
      : outcome?.state === 'failed' && outcome.mayHaveActed
        ? MAY_HAVE_ACTED
        : '';
  const by = decision?.by ?? null;
  const did = isProposal(outcome) ? 'proposed changes' : 'decided this';
  const who = by === null ? 'Decided' : `${by === person.id ? 'You' : lineHtml(personText(by, card.names))} ${did}`;
  const what =
    decision === null ? 'It was withdrawn before anyone decided.' : `${who}${whenHtml(decision.at)}${through()}.`;
  function whenHtml(at: number | null): string {
    return at === null ? '' : ` on ${timeHtml(at, format)}`;
  }
  function through(): string {
    return decision?.channel === channel ? `, through ${lineHtml(channel)}` : '';
  }
  return [
    ...(came === '' ? [] : [`<p class="came ${outcome?.state ?? ''}">${escaped(upper(came))}</p>`]),
    ...(advice === '' ? [] : [`<p>${escaped(advice)}</p>`]),
    `<p>${what}</p>`,
    ...(decision && 'edit' in decision
      ? [section('Input that was approved', valueHtml(decision.edit, format, card.inputSchema))]
      : []),
    ...(decision && 'output' in decision ? [section('Answer', valueHtml(decision.output, format))] : []),
    ...(decision?.reason && !isProposal(outcome) ? [section('Reason', valueHtml(decision.reason, format))] : []),
    ...(card.drill ? ['<p>It was a drill, a request to reject: nothing was run.</p>'] : []),
  ].join('\n');
}

const upper = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

function votedHtml({ card, person, format }: LinkPage): string {
  const { votes = [], missing = [] } = card.progress ?? {};
  const own = votes.findLast(({ isYours, onBehalfOf }) => isYours || onBehalfOf === person.id);
  const when = own?.at ? ` on ${timeHtml(own.at, format)}` : '';
  const waiting = missing.map(({ of, count }) => `${count} of ${whoText(of, card.names)}`).join('; ');
  return `<p>You ${own?.type === 'approve' ? 'approved' : 'voted'}${when}.</p>
${waiting === '' ? '' : `<p>Waiting for more votes: ${escaped(waiting)}.</p>`}`;
}
