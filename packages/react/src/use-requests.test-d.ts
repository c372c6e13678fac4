// What the compiler knows of the hook: the tools of the app type the interrupts and the decisions.
import { type UIMessage as UIMessage7, useChat } from '@ai-sdk/react';
import type { AbstractChat as Chat6, UIMessage as UIMessage6 } from 'ai-v6';
import { expectTypeOf } from 'vitest';
import type { ChatLike } from './request.ts';
import { useRequests } from './use-requests.ts';

type MyTools = {
  transferMoney: { input: { toAccount: string; amount: number }; output: { status: string } };
  askQuestion: { input: { question: string; choices: string[] }; output: string };
};
type MyMessage = UIMessage7<never, { interrupt: unknown }, MyTools>;

export function useTyped() {
  const chat = useChat<MyMessage>();
  const { interrupts, decided, approve, edit, reject, respond, restart, cancel } = useRequests<MyTools>(chat, {
    api: '/api/chat',
  });
  expectTypeOf(decided).toEqualTypeOf(interrupts);

  for (const interrupt of interrupts) {
    expectTypeOf(interrupt.tool).toEqualTypeOf<'transferMoney' | 'askQuestion'>();
    if (interrupt.tool === 'transferMoney') {
      expectTypeOf(interrupt.input.amount).toBeNumber();
      approve(interrupt, { note: 'fine' });
      approve(interrupt, { edit: { toAccount: 'DE02', amount: 5 } });
      edit(interrupt, { toAccount: 'DE02', amount: 5 });
      respond(interrupt, { status: 'DONE' });
      restart(interrupt, { resumed: { status: 'APPROVED' } });
      // @ts-expect-error: the amount is missing
      edit(interrupt, { toAccount: 'DE02' });
      // @ts-expect-error: that is the answer to another tool
      respond(interrupt, 'yes');
    } else {
      expectTypeOf(interrupt.input.choices).toEqualTypeOf<string[]>();
      respond(interrupt, 'yes');
      // @ts-expect-error: an answer to this question is a text
      respond(interrupt, 5);
    }
    reject(interrupt, 'too much', { note: 'see mail' });
    cancel(interrupt);
  }
  // By its id alone an interrupt may be of any tool.
  respond('run:1', 'yes');
  respond('run:1', { status: 'DONE' });
  // @ts-expect-error: no tool takes this answer
  respond('run:1', 5);
}

export function useUntyped(chat6: Chat6<UIMessage6>) {
  const chat = useChat();
  const { interrupts, respond, edit } = useRequests(chat);
  for (const interrupt of interrupts) {
    expectTypeOf(interrupt.tool).toBeString();
    expectTypeOf(interrupt.input).toBeAny();
    respond(interrupt, 0);
    edit(interrupt, null);
  }
  expectTypeOf(chat).toExtend<ChatLike>();
  expectTypeOf(chat6).toExtend<ChatLike>();
}
