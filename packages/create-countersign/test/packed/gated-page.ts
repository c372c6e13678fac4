// A page with `useChat`, as far as its posts go: it asks for a payment, approves it, and posts the approval again and again.
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai';
import { expect } from 'vitest';

/** Pays through a route with a gate, and expects exactly one payment. */
export async function paysOnce(url: string): Promise<void> {
  const transport = new DefaultChatTransport({ api: url });
  const send = async (...messages: readonly UIMessage[]): Promise<UIMessage | undefined> => {
    const chat = { chatId: 'chat', trigger: 'submit-message', messageId: undefined, abortSignal: undefined } as const;
    const stream = await transport.sendMessages({ ...chat, messages: [...messages] });
    let last: UIMessage | undefined;
    for await (const message of readUIMessageStream({ stream, terminateOnError: true })) last = message;
    return last;
  };
  const paid = async () => (await fetch(url)).json();

  const asked: UIMessage = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Pay ACME 950' }] };
  const reply = await send(asked);
  const isCall = ({ type }: { readonly type: string }) => type === 'tool-pay';
  const call = reply?.parts.find(isCall) as { readonly approval: object } | undefined;
  expect(call).toMatchObject({ state: 'approval-requested', input: { to: 'ACME', amount: 950 } });
  expect(await paid()).toEqual([]);

  const answer = { ...call, state: 'approval-responded', approval: { ...call?.approval, approved: true } };
  const parts = reply?.parts.map((part) => (isCall(part) ? answer : part)) as UIMessage['parts'];
  const approved: UIMessage = { id: reply?.id ?? '', role: 'assistant', parts };
  await Promise.allSettled([send(asked, approved), send(asked, approved)]);
  await send(asked, approved).catch(() => undefined);
  expect(await paid()).toEqual([950]);
}
