// The model: a stand-in that follows a script and needs no key. To use a real one:
//   npm install @ai-sdk/openai
//   replace this file by: import { openai } from '@ai-sdk/openai'; export const model = openai('gpt-5');
//   OPENAI_API_KEY=sk-… npm run dev
import { scriptedModel } from 'countersign/testing';

/** *Pay ACME 950* calls `pay`; a result is repeated to the user. */
export const model = scriptedModel(({ messages }) => {
  const content = messages.at(-1)?.content ?? [];
  const results = content.flatMap((part) => ('toolResponse' in part ? [part.toolResponse.output] : []));
  if (results.length > 0)
    return results.map((result) => (typeof result === 'string' ? result : JSON.stringify(result))).join(' ');
  const said = content.map((part) => ('text' in part ? part.text : '')).join('');
  const [, to, amount] = /\bpay\s+(\S+)\s+(\d+)/i.exec(said) ?? [];
  if (to === undefined) return 'I am a stand-in for a model. Write: Pay ACME 950';
  return { text: 'I have prepared the payment.', calls: [{ name: 'pay', input: { to, amount: Number(amount) } }] };
});
