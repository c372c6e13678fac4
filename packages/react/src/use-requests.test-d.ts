// What the compiler knows of the hook: the tools of the app type the requests and the decisions.
import { type UIMessage as UIMessage7, useChat } from '@ai-sdk/react';
import type { AbstractChat as Chat6, UIMessage as UIMessage6 } from 'ai-v6';
import { expectTypeOf } from 'vitest';
import type { ChatLike } from './request.ts';
import { useRequests } from './use-requests.ts';

type MyTools = {
  transferMoney: { input: { toAccount: string; amount: number }; output: { status: string } };
  askQuestion: { input: { question: string; choices: string[] }; output: string };
};
type MyMessage = UIMessage7<never, { request: unknown }, MyTools>;

export function useTyped() {
  const chat = useChat<MyMessage>();
  const { requests, decided, approve, edit, reject, respond, restart, cancel } = useRequests<MyTools>(chat, {
    api: '/api/chat',
  });
  expectTypeOf(decided).toEqualTypeOf(requests);

  for (const request of requests) {
    expectTypeOf(request.tool).toEqualTypeOf<'transferMoney' | 'askQuestion'>();
    if (request.tool === 'transferMoney') {
      expectTypeOf(request.input.amount).toBeNumber();
      approve(request, { note: 'fine' });
      approve(request, { edit: { toAccount: 'DE02', amount: 5 } });
      edit(request, { toAccount: 'DE02', amount: 5 });
      respond(request, { status: 'DONE' });
      restart(request, { resumed: { status: 'APPROVED' } });
      // @ts-expect-error: the amount is missing
      edit(request, { toAccount: 'DE02' });
      // @ts-expect-error: that is the answer to another tool
      respond(request, 'yes');
    } else {
      expectTypeOf(request.input.choices).toEqualTypeOf<string[]>();
      respond(request, 'yes');
      // @ts-expect-error: an answer to this question is a text
      respond(request, 5);
    }
    reject(request, 'too much', { note: 'see mail' });
    cancel(request);
  }
  // By its id alone an request may be of any tool.
  respond('run:1', 'yes');
  respond('run:1', { status: 'DONE' });
  // @ts-expect-error: no tool takes this answer
  respond('run:1', 5);
}

export function useUntyped(chat6: Chat6<UIMessage6>) {
  const chat = useChat();
  const { requests, respond, edit } = useRequests(chat);
  for (const request of requests) {
    expectTypeOf(request.tool).toBeString();
    expectTypeOf(request.input).toBeAny();
    respond(request, 0);
    edit(request, null);
  }
  expectTypeOf(chat).toExtend<ChatLike>();
  expectTypeOf(chat6).toExtend<ChatLike>();
}
