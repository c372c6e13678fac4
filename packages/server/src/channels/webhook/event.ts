// A notice as the event that a webhook posts.
import type { Notice } from 'countersign';
import { type CardDecision, requestCard } from 'countersign/ui';
import { withoutBytes } from '../../preview-files.ts';
import type { WebhookEvent } from '../../schemas/webhook.ts';

type Data = WebhookEvent['data'];

/** The same for every attempt. Decision links stay out: they are for one person, and a program decides through the API. */
export function webhookEvent(notice: Notice): WebhookEvent {
  const { key, type, at, number, requestId, runId, agent, tool, title, kind, risk, expiresAt, to, links, outcome } =
    notice;
  const event = (content: Pick<Data, 'request' | 'withheld' | 'decision'>): WebhookEvent => ({
    type: `request.${type}`,
    version: 1,
    timestamp: new Date(at).toISOString(),
    data: {
      ...{ key, requestId, runId, agent, tool, title, kind, risk, number, expiresAt },
      to: to.map(({ person, why, onBehalfOf = null }) => ({ person, why, onBehalfOf })),
      links: links && { request: links.request },
      outcome,
      ...content,
    },
  });
  const withheld = (why: Data['withheld']) => event({ request: null, withheld: why, decision: outlineOf(notice) });
  const content = contentOf(notice);
  if (content === undefined) return withheld('by-tool');
  const whole = event({ ...content, withheld: null });
  return JSON.stringify(whole).length > MOST_CHARACTERS ? withheld('too-large') : whole;
}

/** Receivers commonly refuse more than this. */
const MOST_CHARACTERS = 256_000;

/** The request and its decision; undefined if the tool keeps them out of notices. */
function contentOf({ card }: Notice): Pick<Data, 'request' | 'decision'> | undefined {
  if (!card) return undefined;
  const shown = requestCard(card, undefined, false);
  const { mayDecide, inputSchema, answerSchema, problems, decision, ...request } = shown;
  // What is shown is read-only, and the schema makes lists that can change.
  const { preview, earlierPreview } = request;
  const light = { preview: withoutBytes(preview), earlierPreview: withoutBytes(earlierPreview) };
  return { request: { ...request, ...light } as unknown as Data['request'], decision };
}

/** Who decided what, without what they wrote. */
function outlineOf({ settlement }: Notice): Data['decision'] {
  if (!settlement) return null;
  const { decision, by = null, channel = null, at } = settlement;
  const { type = 'cancel' } = (decision ?? {}) as { readonly type?: CardDecision['type'] };
  return { type, by, at, channel };
}
