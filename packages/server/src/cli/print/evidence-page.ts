// The evidence of a run as a page: one file without scripts, for reading and printing. The JSON file is what can be verified.
import type { Evidence, Json } from 'countersign';
import type { EvidenceProblem, EvidenceRequest } from 'countersign/store';
import { isRecord } from '../../is-record.ts';
import { COLOURS, escaped, htmlDocument } from '../../pages/html.ts';
import { decisionText } from '../../text/decision-text.ts';
import { visibleJson, visibleLine } from '../../text/visible-text.ts';
import { createTimeline, offsetText } from './timeline.ts';

export function evidencePage(evidence: Evidence, problems: readonly EvidenceProblem[]): string {
  const { run, events, requests, hash } = evidence;
  const facts: readonly Fact[] = [
    ['Run', code(run.id)],
    ['Agent', text(run.agent)],
    ['Started', `${time(run.createdAt)}${run.startedBy === null ? '' : ` by ${name(run.startedBy)}`}`],
    ['Status', `${text(run.status)}, updated ${time(run.updatedAt)}`],
    ['Record', `${count(events.length, 'event')}, ${count(requests.length, 'request')}`],
    ['End of the chain', code(run.hash)],
    ['Hash of the evidence', code(hash)],
  ];
  const head = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>${STYLE}</style>`;
  const body = `<main>
<header>
<p class="brand">Countersign</p>
<h1>Evidence of a run</h1>
${checked(problems)}
${table(facts)}
</header>
<h2>Requests and decisions</h2>
${requests.length === 0 ? '<p class="muted">This run asked no one.</p>' : requests.map(requestSection).join('\n')}
<h2>What happened</h2>
${timeline(evidence)}
<footer>
<p>This page is for reading. To check the record, run <code>countersign verify</code> on the JSON file with the same hash. The hash
shows later changes only if you keep it in another place than the file.</p>
</footer>
</main>`;
  return htmlDocument(`Evidence of ${escaped(visibleLine(run.id))}`, head, body);
}

/** The second part is HTML. */
type Fact = readonly [name: string, html: string];

export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

const text = (value: string): string => `<bdi>${escaped(visibleLine(value))}</bdi>`;
const code = (value: string): string => `<code>${text(value)}</code>`;
const name = (value: string | null | undefined): string => `<strong>${text(value ?? 'someone')}</strong>`;
const json = (value: unknown): string =>
  `<pre>${escaped(visibleJson(JSON.stringify(value, null, 2) ?? 'nothing'))}</pre>`;

function time(at: number | null | undefined): string {
  const moment = new Date(at ?? Number.NaN);
  if (Number.isNaN(moment.getTime())) return 'at an unknown time';
  const iso = moment.toISOString();
  return `<time datetime="${iso}">${iso.replace('T', ' ').replace('Z', ' UTC')}</time>`;
}

const table = (facts: readonly Fact[]): string =>
  `<dl>${facts.map(([label, value]) => `<div><dt>${escaped(label)}</dt><dd>${value}</dd></div>`).join('')}</dl>`;

function checked(problems: readonly EvidenceProblem[]): string {
  if (problems.length === 0)
    return '<p class="verdict good">The record verified when this page was made: chain, cards, decisions and starts.</p>';
  const list = problems.map(({ where, problem }) => `<li>${code(where)} ${text(problem)}</li>`).join('');
  return `<div class="verdict bad"><p>The record does not verify.</p><ul>${list}</ul></div>`;
}

function requestSection(question: EvidenceRequest): string {
  const { id, tool, kind, part, digest, shown, settled, policies, votes } = question;
  const {
    title,
    request,
    runsWith = part.toolRequest.input as Json,
  } = (part.metadata ?? {}) as { readonly [key: string]: Json | undefined };
  const facts: readonly Fact[] = [
    ['Request', code(id)],
    ['Tool', `${code(tool)} (${text(kind)})`],
    ['Asked', time(shown?.createdAt ?? null)],
    ['Digest of the card', code(digest)],
    ['Policies', json(policies)],
    // With the defaults of the schema, as on the card.
    ['Input', json(runsWith)],
    ...(request === undefined || request === true ? [] : [['Shown', json(request)] as const]),
    ...(votes.length === 0 ? [] : [['Votes', votes.map(vote).join('')] as const]),
    ['Decision', decision(settled)],
  ];
  return `<section>
<h3>${typeof title === 'string' ? text(title) : code(tool)}</h3>
${table(facts)}
</section>`;
}

function vote({ event, vote }: EvidenceRequest['votes'][number]): string {
  const { by, onBehalfOf, roles = [], decision: said, at, channel, note, signature } = vote;
  const key = isRecord(signature) ? signature.credentialId : undefined;
  const parts = [
    `${name(by)}${onBehalfOf === undefined ? '' : ` for ${name(onBehalfOf)}`}`,
    ...(roles.length > 0 ? [`(${text(roles.join(', '))})`] : []),
    `${text(decisionText(said))}, ${time(at)}`,
    ...(channel === undefined ? [] : [`by ${text(channel)}`]),
    `in event ${event}`,
    ...(note === undefined ? [] : [`<br>Note: ${text(note)}`]),
    ...(typeof key === 'string' ? [`<br>Signed with passkey ${code(key)}`] : []),
  ];
  return `<p>${parts.join(' ')}</p>`;
}

function decision(settled: EvidenceRequest['settled']): string {
  if (!settled) return 'Pending.';
  if (!settled.decision) return `Withdrawn ${time(settled.at)}.`;
  const { by, channel, note, ...said } = settled.decision;
  const { input, ...rest } = said as { readonly [key: string]: Json };
  const text_ = decisionText({ ...rest, ...(input !== undefined && { edit: input, replaceInput: input }) });
  const through = channel === undefined ? '' : ` (${text(channel)})`;
  const noted = note === undefined ? '' : `<br>Note: ${text(note)}`;
  return `${name(by)}${through} ${text(text_)}, ${time(settled.at)}${noted}`;
}

function timeline({ events }: Evidence): string {
  const read = createTimeline();
  const rows = events
    .flatMap((event, index) => read({ ...event, seq: index + 1 }))
    .map(
      (entry) =>
        `<tr><td>${entry.seq}</td><td>${escaped(offsetText(entry))}</td><td>${text(entry.who)}</td><td>${text(entry.what)}</td></tr>`,
    );
  return `<table><thead><tr><th>Event</th><th>After</th><th>Who</th><th>What</th></tr></thead><tbody>${rows.join('\n')}</tbody></table>`;
}

const STYLE = `
:root {${COLOURS}
  --bad: light-dark(#b42318, #f97066);
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--canvas); color: var(--ink); font: 0.875rem/1.5 ui-sans-serif, system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 56rem; margin: 0 auto; padding: 2rem 1.25rem; overflow-wrap: anywhere; }
.brand { margin: 0; color: var(--muted); font-weight: 600; }
h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25; }
h2 { margin: 2.5rem 0 0.75rem; font-size: 1.125rem; }
h3 { margin: 0 0 0.75rem; font-size: 1rem; }
section { margin: 0 0 1rem; padding: 1rem 1.25rem; border: 1px solid var(--line); border-radius: 0.75rem; background: var(--surface); }
dl { margin: 0; }
dl div { display: grid; grid-template-columns: 10rem minmax(0, 1fr); gap: 0.25rem 1rem; padding: 0.375rem 0; border-top: 1px solid var(--line); }
dl div:first-child { border-top: 0; }
dt { color: var(--muted); }
dd { margin: 0; min-width: 0; }
dd p { margin: 0 0 0.375rem; }
code, pre { font: 0.8125rem/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { margin: 0; padding: 0.5rem 0.75rem; border-radius: 0.5rem; background: var(--sunken); white-space: pre-wrap; }
.verdict { margin: 0 0 1rem; padding: 0.625rem 0.875rem; border: 1px solid currentColor; border-radius: 0.5rem; }
.verdict p { margin: 0; }
.good { color: var(--accent); }
.bad { color: var(--bad); }
.muted, footer { color: var(--muted); }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.375rem 0.5rem; border-top: 1px solid var(--line); text-align: left; vertical-align: top; }
th { border-top: 0; color: var(--muted); font-weight: 500; }
td:nth-child(-n + 2) { white-space: nowrap; color: var(--muted); font-variant-numeric: tabular-nums; }
td:nth-child(3) { min-width: 7rem; }
footer { margin-top: 2rem; border-top: 1px solid var(--line); }
@media (max-width: 40rem) { dl div { grid-template-columns: 1fr; } }
@media print {
  :root { color-scheme: light; --canvas: #fff; --surface: #fff; }
  main { max-width: none; padding: 0; }
  section, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  thead { display: table-header-group; }
}
`;
