// A chat as a browser has it: says something, keeps what comes back, and posts bodies, honest or not.
import { applied, type ChatMessage, userMessage } from '../../../countersign/test/ai-sdk/bank.ts';
import { type Reply, replyOf } from './door.ts';
import type { Payment } from './house.ts';

type Headers = Readonly<Record<string, string>>;

/** A post to a chat route, as this person. */
export async function post(url: string, body: string, user = 'ann', headers: Headers = {}): Promise<Reply> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-user': user, ...headers },
    body,
  });
  return replyOf(
    response,
    (text) => /"type":"tool-output-(available|denied)"/.test(text) && !text.includes('Your decision was not saved.'),
  );
}

/** A new chat of ann in which the model asks for a payment. */
export async function askIn(
  url: string,
  payment: Payment,
): Promise<{ readonly chatId: string; readonly messages: readonly ChatMessage[] }> {
  const chatId = `chat-${crypto.randomUUID()}`;
  const said = [userMessage(`pay ${JSON.stringify(payment)}`)];
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-user': 'ann' },
    body: JSON.stringify({ id: chatId, messages: said }),
  });
  const text = await response.text();
  const chunks = [...text.matchAll(/^data: (\{.*\})$/gm)].map((match) => JSON.parse(match[1] ?? ''));
  return { chatId, messages: await applied(said, chunks) };
}

/** The same document, with one text in place of the last occurrence of another. */
export function replaced(body: string, text: string, by: string): string {
  const at = body.lastIndexOf(text);
  if (at === -1) throw new Error(`${text} is not in the body.`);
  return `${body.slice(0, at)}${by}${body.slice(at + text.length)}`;
}
