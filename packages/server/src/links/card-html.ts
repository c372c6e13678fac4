// A request on the page of a link: in the words and the order of its card, with everything that the decision is bound to.
import type { Json } from 'countersign';
import { lineOf, personText, shownPolicy } from 'countersign/request';
import { escaped } from '../pages/html.ts';
import type { ApiRequest } from '../schemas/request.ts';
import { badgesOf, commentsOf, HEADINGS, PART_NAMES, partsOf, votingOf } from '../text/card-parts.ts';
import { conditionsText } from '../text/condition-text.ts';
import type { Format } from '../text/format.ts';
import { whoText } from '../text/votes-text.ts';
import { lineHtml, timeHtml, valueHtml, withTimes } from './value-html.ts';

/** Who asks, how risky it is, and what would run. */
export function summaryHtml(card: ApiRequest, format: Format, inputHeading: string = HEADINGS[card.kind]): string {
  const { expiresAt, onExpiry } = card;
  const badges = badgesOf(card).map((badge) => `<li>${lineHtml(badge)}</li>`);
  const deadline =
    expiresAt === null || card.status !== 'pending'
      ? ''
      : `<p class="small">Decide by ${timeHtml(expiresAt, format)}, then it is ${EXPIRY[onExpiry ?? 'reject']}.</p>`;
  const parts = partsOf(card, format.time).map(({ name, shown, schema }) => {
    if ('failed' in shown)
      return section(PART_NAMES[name], `<p class="problem">Preview failed: ${lineHtml(shown.failed)}</p>`);
    if (name === 'message') return `<p class="message" dir="auto">${escaped(String(shown.value))}</p>`;
    const heading = name === 'input' ? inputHeading : PART_NAMES[name];
    return section(heading, valueHtml(shown.value, format, schema));
  });
  return `<p class="asks">${askerHtml(card)}</p>
<ul class="badges${card.risk === 'high' ? ' high' : ''}">${badges.join('')}</ul>
${deadline}
${parts.join('\n')}`;
}

/** Who else decides, and where the request comes from. */
export const detailsHtml = (card: ApiRequest, format: Format): string => `${votingHtml(card, format)}
${commentsHtml(card, format)}
<details class="more"><summary>More about this request</summary>${factsHtml(card, format)}</details>`;

export const section = (heading: string, body: string): string =>
  `<section><h2>${escaped(heading)}</h2>${body}</section>`;

const EXPIRY = { reject: 'rejected', cancel: 'cancelled', approve: 'approved' } as const;

/** The agent acts for the person who started the run. */
const askerHtml = ({ startedBy, agent, names }: ApiRequest): string =>
  startedBy === null
    ? `${lineHtml(agent)} asks`
    : `${lineHtml(personText(startedBy, names))} asks, through ${lineHtml(agent)}`;

/** The words for the fields of the input, by their names. */
const labelsOf = ({ inputSchema, input }: ApiRequest): ReadonlyMap<string, string> =>
  new Map(
    lineOf(input as Json, inputSchema)
      .inside()
      .map(({ name, label }) => [name, label]),
  );

function votingHtml(card: ApiRequest, format: Format): string {
  const { deciders, quorum = [] } = shownPolicy(card.policies) ?? {};
  const labels = labelsOf(card);
  const voting = votingOf(card, withTimes);
  const lines = [
    ...(deciders ? [`${whoText(deciders, card.names)} can decide.`] : []),
    ...quorum.map(
      ({ of, count, when }) =>
        `${count} of ${whoText(of, card.names)} must agree${when ? `, if ${conditionsText(when, labels)}` : ''}.`,
    ),
    ...(voting?.lines ?? []).map(({ text }) => text),
  ];
  if (lines.length === 0) return '';
  const items = lines.map((line) => `<li>${withTimes.html(line, format)}</li>`);
  return section(voting?.heading ?? 'Who decides', `<ul>${items.join('')}</ul>`);
}

function commentsHtml(card: ApiRequest, format: Format): string {
  const lines = commentsOf(card, withTimes).map(
    ({ who, text }) => `<li>${withTimes.html(who, format)}: ${lineHtml(text)}</li>`,
  );
  return lines.length === 0 ? '' : section('Comments', `<ul>${lines.join('')}</ul>`);
}

function factsHtml({ tool, agent, startedBy, names, runId, createdAt }: ApiRequest, format: Format): string {
  const facts: readonly (readonly [string, string])[] = [
    ['Tool', lineHtml(tool)],
    ['Agent', lineHtml(agent)],
    ...(startedBy === null ? [] : [['Started by', lineHtml(personText(startedBy, names))] as const]),
    ...(createdAt === null ? [] : [['Asked', timeHtml(createdAt, format)] as const]),
    ['Run', lineHtml(runId)],
  ];
  return `<dl class="value">${facts.map(([name, html]) => `<div><dt>${name}</dt><dd>${html}</dd></div>`).join('')}</dl>`;
}
