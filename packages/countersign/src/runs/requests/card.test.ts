// The card of a request in its rounds.
import { expect, test } from 'vitest';
import { newState } from '../../core/messages/load-messages.ts';
import { event, type RunEvent } from '../../core/run/event.ts';
import { fold } from '../../core/run/state.ts';
import { type PendingCard, pendingCards, willRun } from './card.ts';

const policies = [{ quorum: [{ of: { roles: ['finance'] }, count: 2 }] }] as const;
const asked: readonly RunEvent[] = [
  event({
    type: 'model-replied',
    content: [{ toolRequest: { name: 'pay', ref: 'r', input: { amount: 9 } } }],
    calls: [{ id: 'c', ref: 'r' }],
    finishReason: 'stop',
  }),
  event({
    type: 'call-interrupted',
    callId: 'c',
    request: {
      id: 'c',
      kind: 'approval',
      shown: { payload: true, title: 'Pay 9' },
      authority: { policies, requesters: [] },
      bound: { runsWith: { amount: 9, fee: 1 } },
    },
  }),
];
const vote = { by: 'ben', decision: { type: 'approve', edit: { amount: 5 } } };
const cards = (...events: readonly RunEvent[]) => pendingCards('run', [...asked, ...events].reduce(fold, newState()));

test('the card carries the policies of its question', () => {
  expect([...cards().keys()]).toEqual(['run:c']);
  expect(cards().get('run:c')?.part.metadata).toMatchObject({ policies });
});

test('an edit that others must agree to has a card of its own, which shows the edited input', () => {
  const renewed = { shown: { payload: true }, policies };
  const edit = { input: { amount: 5 }, bound: { runsWith: { amount: 5, fee: 2 } }, asked: renewed };
  const after = cards(event({ type: 'vote-cast', requestId: 'c', vote, edit }));
  expect([...after.keys()]).toEqual(['run:c~2']);
  const card = after.get('run:c~2') as PendingCard;
  expect(card.part.toolRequest.input).toEqual({ amount: 5 });
  expect(willRun(card.part)).toEqual({ amount: 5, fee: 2 });
  expect(card.part.metadata).toMatchObject({ round: 2, editedFrom: { amount: 9 }, editedBy: 'ben' });
  expect([card.request.shown, card.part.metadata?.title]).toEqual([{ payload: true }, undefined]);
});

test('the card of an edit shows what the gate says of the edited input, and the preview before', () => {
  const [first, second] = asked as [RunEvent, RunEvent & { type: 'call-interrupted' }];
  const preview = { value: ['pay 9'] };
  const previewed = { ...second, request: { ...second.request, previews: { preview } } } as RunEvent;
  const boss = [{ deciders: { people: ['boss'] } }] as const;
  const previews = { preview: { value: ['pay 5'] }, earlierPreview: preview };
  const shown = { payload: true, title: 'Pay 5' };
  const edit = { input: { amount: 5 }, asked: { shown, previews, policies: boss } };
  const voted = event({ type: 'vote-cast', requestId: 'c', vote, edit });
  const card = pendingCards('run', [first, previewed, voted].reduce(fold, newState())).get('run:c~2');
  expect(card?.request).toMatchObject({ shown, previews, authority: { policies: boss } });
  expect(card?.part.metadata).toMatchObject({ title: 'Pay 5', ...previews, policies: boss });
});

test('a vote that changes nothing about the question keeps its card', () => {
  const plain = { by: 'ben', decision: { type: 'approve' } };
  const after = cards(event({ type: 'vote-cast', requestId: 'c', vote: plain }));
  expect([...after.keys()]).toEqual(['run:c']);
  expect(after.get('run:c')?.part).toEqual(cards().get('run:c')?.part);
});
