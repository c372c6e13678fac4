// What the compiler knows of the custom elements on a page.
import type { Chat as SvelteChat } from '@ai-sdk/svelte';
import type { useChat, Chat as VueChat } from '@ai-sdk/vue';
import type { UIMessage } from 'ai';
import type { RequestCard } from 'countersign/ui';
import { expectTypeOf } from 'vitest';
import type { AnyChat, CountersignCard, CountersignRequests, DecideEvent, RequestsChange } from './index.ts';

export function page(document: Document) {
  expectTypeOf(document.createElement('countersign-card')).toEqualTypeOf<CountersignCard>();
  expectTypeOf(document.querySelector('countersign-requests')).toEqualTypeOf<CountersignRequests | null>();
  document.createElement('countersign-card').addEventListener('countersign-decide', (event) => {
    expectTypeOf(event).toEqualTypeOf<DecideEvent>();
    expectTypeOf(event.detail.requestId).toBeString();
    event.respondWith(Promise.resolve(undefined as RequestCard | undefined));
    // @ts-expect-error: the card waits for the answer
    event.respondWith(true);
  });
  document.createElement('countersign-requests').addEventListener('countersign-change', ({ detail }) => {
    expectTypeOf(detail).toEqualTypeOf<RequestsChange>();
  });
}

expectTypeOf<VueChat<UIMessage>>().toExtend<AnyChat>();
expectTypeOf<ReturnType<typeof useChat<UIMessage>>>().toExtend<AnyChat>();
expectTypeOf<SvelteChat<UIMessage>>().toExtend<AnyChat>();
