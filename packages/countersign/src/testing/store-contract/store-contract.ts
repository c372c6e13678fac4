// Tests that every store must pass.
import { appendContract } from './append.ts';
import { checkedSubject, type StoreUnderTest } from './check.ts';
import { claimContract } from './claim.ts';
import { deleteContract } from './delete.ts';
import { freezesContract } from './freezes.ts';
import { grantedContract } from './granted.ts';
import { jsonContract } from './json.ts';
import { listContract } from './list.ts';
import { momentContract } from './moment.ts';
import { namesContract } from './names.ts';
import { notesContract } from './notes.ts';
import { statsContract } from './stats.ts';
import { untoldContract } from './untold.ts';
import { watchContract } from './watch.ts';

export type { StoreUnderTest } from './check.ts';

/** The functions of a test runner, such as those of vitest, jest or `node:test`. */
export type TestFunctions = {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly test: (name: string, body: () => Promise<void>) => unknown;
};

/** Declares the tests that every store must pass. Each test calls `make` for a fresh store. */
export function storeContract(make: () => Promise<StoreUnderTest>, { describe, test }: TestFunctions): void {
  function check(name: string, body: (subject: StoreUnderTest) => Promise<void>): void {
    test(name, async () => {
      const subject = checkedSubject('make', await make());
      try {
        await body(subject);
      } finally {
        await subject.close();
      }
    });
  }

  describe('append and read', () => appendContract(check));
  describe('one moment', () => momentContract(check));
  describe('names', () => namesContract(check));
  describe('JSON, byte for byte', () => jsonContract(check));
  describe('claims and due runs', () => claimContract(check));
  describe('deleting', () => deleteContract(check));
  describe('untold requests', () => untoldContract(check));
  describe('lists', () => listContract(check));
  describe('calls that a grant let run', () => grantedContract(check));
  describe('freezes', () => freezesContract(check));
  describe('notes', () => notesContract(check));
  describe('statistics', () => statsContract(check));
  describe('watching, and several stores on the same data', () => watchContract(check));
}
