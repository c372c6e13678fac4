// Every example runs by itself, on the built package, without a terminal.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test.each([
  ['ask-a-question.ts', 'Then it is a barbecue for 6 guests, meat, at noon.'],
  ['confirm-payment.ts', 'Transfers made: 1'],
  ['approve-edit-reject.ts', 'Sent to eve@fair.test: The fair'],
  ['finish-task.ts', 'Finished: 3 tickets closed.'],
  ['hand-over.ts', 'Paid: $184 to butcher, by process'],
  ['approved-elsewhere.ts', 'Paid: $184 to butcher, by process'],
  ['prompt-file.ts', 'A party indoors, with cake at four.'],
  ['chat.ts', 'Model: You are welcome. We exchanged 5 messages.'],
  ['sub-agent.ts', 'Paid: $140 to the butcher'],
  ['byo/langgraph/agent.ts', 'Paid 950 to ACME'],
  ['byo/mastra/agent.ts', 'Paid 950 to ACME'],
  ['streaming.ts', 'It is lit. Enjoy your barbecue!'],
])('%s', { timeout: 120_000 }, async (file, last) => {
  const run = promisify(execFile)(process.execPath, [join(import.meta.dirname, file)]);
  run.child.stdin?.end();
  const { stdout, stderr } = await run;
  expect(stderr).toBe('');
  expect(stdout.trimEnd().split('\n').at(-1)).toContain(last);
});
