// Receives notices over HTTP, and writes each one to a file before it answers.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Ledger } from '../crash/bank.ts';

export type Receipt = {
  readonly channel: string;
  /** The idempotency key. */
  readonly key: string;
  readonly requestId: string;
  /** Null on a shared channel. */
  readonly person: string | null;
  readonly type: string;
};

export type ReceiverOptions = {
  readonly receipts: string;
  /** Refuses some notices, and answers others late, so that senders die in between. */
  readonly moody: boolean;
};

const options: ReceiverOptions = JSON.parse(process.argv[2] ?? '{}');
const receipts = new Ledger<Receipt>(options.receipts);
let posts = 0;

const server = createServer(async (request, response) => {
  posts += 1;
  const mood = options.moody ? posts : Number.NaN;
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  const isRefused = mood % 11 === 0;
  if (!isRefused) receipts.write(JSON.parse(text));
  if (mood % 3 === 0) await delay(40);
  response.writeHead(isRefused ? 503 : 204).end();
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
// It exits with its parent.
process.stdin.on('end', () => process.exit()).resume();
