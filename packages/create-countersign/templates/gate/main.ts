// A chat in your terminal, through the route with the gate. End it with Ctrl-D.
import { createInterface } from 'node:readline';
import { Chat } from './chat.ts';
import { POST } from './route.ts';

const chat = new Chat(POST);
const print = (text: string) => process.stdout.write(text);

print('Write: Pay ACME 950\n> ');
for await (const line of createInterface({ input: process.stdin })) {
  const [asked] = chat.pending;
  if (asked) await chat.answer(asked.id, /^y(es)?$/i.test(line.trim()));
  else if (line.trim() !== '') await chat.sendMessage({ text: line });
  const [next] = chat.pending;
  if (next) print(`${next.tool} ${JSON.stringify(next.input)}\nApprove? [y/N] `);
  else print(`${chat.error?.message ?? chat.text}\n> `);
}
print('\n');
