// POST /decisions: decides many requests, each for itself.
import { endpoint, json } from '../http/endpoint.ts';
import { refusedOutcome } from '../refused-outcome.ts';
import { type DecideItem, DecideManyShape, type DecisionOutcome, DecisionOutcomesShape } from '../schemas/decisions.ts';
import { ChannelHeaders } from './decide.ts';
import { type Decider, decidableRequest, recordDecision } from './record-decision.ts';
import type { Services } from './services.ts';

/** So many are decided at once; other requests of the server are answered in between. */
const AT_ONCE = 8;

export function decisionsEndpoints(services: Services) {
  return [
    endpoint({
      route: 'POST /decisions',
      operationId: 'decideRequests',
      summary: 'Decide many requests',
      description:
        'Each item is decided by its own id and digest, as if it was sent alone, and has its own outcome, in the order of the ' +
        'items. An item that has changed or is already decided stops none of the others. Every decision is durable before the ' +
        'response is sent; repeating the whole request is safe and returns the recorded decisions.',
      tag: 'Requests',
      scope: 'decide',
      headers: ChannelHeaders,
      body: DecideManyShape,
      answers: { 200: { description: 'The outcome of each item.', shape: DecisionOutcomesShape } },
      handle: async ({ body: { items, reason, note }, headers, person, request }) => {
        const address = services.addressOf(request);
        const decider = { person, channel: headers['x-countersign-channel'], address };
        const outcomes: DecisionOutcome[] = [];
        const rest = items.entries();
        let turn: Promise<unknown> = Promise.resolve();
        const work = async () => {
          // The workers share one iterator: each takes the next item when it is done with its last.
          for (const [index, item] of rest) {
            // One item begins in each turn of the event loop, so that other requests have theirs.
            turn = turn.then(() => new Promise(setImmediate));
            await turn;
            outcomes[index] = await outcomeOf(services, decider, { ...item, decision: withReason(item, reason) }, note);
          }
        };
        await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, work));
        return json({ items: outcomes });
      },
    }),
  ];
}

/** The common reason, for an item that refuses without its own. */
function withReason({ decision }: DecideItem, reason: string | undefined): DecideItem['decision'] {
  if (reason === undefined || (decision.type !== 'reject' && decision.type !== 'cancel')) return decision;
  return { reason, ...decision };
}

async function outcomeOf(
  services: Services,
  decider: Decider,
  { requestId, ...asked }: DecideItem,
  note: string | undefined,
): Promise<DecisionOutcome> {
  try {
    const seen = await decidableRequest(services, requestId, decider.person, asked);
    const decided = await recordDecision(services, seen, decider, { ...asked, note });
    return decided as DecisionOutcome;
  } catch (error) {
    return refusedOutcome(requestId, error, services.log);
  }
}
