// A notice as an event of PagerDuty.
import { createHash } from 'node:crypto';
import type { Json, Notice } from 'countersign';
import { fitted, type MessageContent } from './message-content.ts';

/**
 * Makes an event for the Events API v2 of PagerDuty: a request opens an alert, an assignment acknowledges it, and its end resolves
 * it. Post it to `https://events.pagerduty.com/v2/enqueue`. `routingKey` is the integration key of the service.
 * @example
 * transform: (notice) => pagerDutyEvent(notice, { routingKey })
 */
export function pagerDutyEvent(
  notice: Notice,
  { routingKey }: { readonly routingKey: string },
): { readonly [field: string]: Json } {
  const action = ACTIONS[notice.type];
  const event = { routing_key: routingKey, event_action: action, dedup_key: keyOf(notice.requestId) };
  if (action !== 'trigger') return event;
  const { links } = notice;
  return {
    ...event,
    client: 'Countersign',
    ...(links && { client_url: links.request, links: [{ href: links.request, text: 'Open request' }] }),
    payload: fitted(notice, (content) => payloadOf(content, notice), fits),
  };
}

const ACTIONS = {
  opened: 'trigger',
  doubt: 'trigger',
  reminded: 'trigger',
  escalated: 'trigger',
  assigned: 'acknowledge',
  commented: 'acknowledge',
  decided: 'resolve',
  expired: 'resolve',
  withdrawn: 'resolve',
  done: 'resolve',
  failed: 'trigger',
  unknown: 'trigger',
  'not-run': 'resolve',
} as const;

/** One alert for each request. PagerDuty takes keys of at most 255 characters. */
const keyOf = (requestId: string): string =>
  requestId.length <= 255 ? requestId : createHash('sha256').update(requestId).digest('hex');

type Payload = { readonly summary: string; readonly [field: string]: Json };

/** PagerDuty takes events of at most 512 KB, of which the rest needs little. */
const fits = (payload: Payload): boolean =>
  payload.summary.length <= 1_024 && JSON.stringify(payload).length <= 100_000;

function payloadOf({ status, title, source, sections }: MessageContent, notice: Notice): Payload {
  const { at, agent, tool, kind, expiresAt } = notice;
  return {
    summary: `${status}: ${title}`,
    source,
    severity: severityOf(notice),
    timestamp: new Date(at).toISOString(),
    component: tool,
    group: agent,
    class: kind,
    custom_details: {
      ...Object.fromEntries(sections.map(({ heading, lines }) => [heading, lines.join('\n')])),
      ...(expiresAt !== null && { 'Decide by': new Date(expiresAt).toISOString() }),
    },
  };
}

function severityOf({ type, risk }: Notice): 'critical' | 'error' | 'warning' | 'info' {
  if (risk === 'high') return 'critical';
  if (type === 'doubt' || type === 'failed' || type === 'unknown') return 'error';
  return risk === 'low' ? 'info' : 'warning';
}
