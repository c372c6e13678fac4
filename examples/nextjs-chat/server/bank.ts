// The bank of the demonstration: a file with one line per transfer, so that anybody can count what really happened.
import { appendFile, readFile } from 'node:fs/promises';

export type Transfer = {
  readonly to: string;
  readonly amount: number;
  readonly currency: string;
  readonly reference: string;
};

export type Bank = {
  /** Transfers money, and gives the receipt. */
  transfer(transfer: Transfer, key: string): Promise<string>;
  /** The receipt of the transfer with this key, if it took place. */
  find(key: string): Promise<string | undefined>;
};

export function openBank(path: string): Bank {
  const receiptOf = (key: string) => `R-${key.replaceAll(/[^\w]/g, '').slice(-6).toUpperCase()}`;
  return {
    async transfer(transfer, key) {
      await appendFile(path, `${JSON.stringify({ ...transfer, key })}\n`);
      return receiptOf(key);
    },
    async find(key) {
      const lines = await readFile(path, 'utf8').catch(() => '');
      const known = lines.split('\n').some((line) => line !== '' && JSON.parse(line).key === key);
      return known ? receiptOf(key) : undefined;
    },
  };
}
