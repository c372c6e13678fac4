// The in-memory store fulfils the store contract.
import { storeContract } from 'countersign/testing';
import { describe, test } from 'vitest';
import { memoryStore } from '../../src/stores/memory/memory.ts';

describe('memoryStore', () => {
  storeContract(
    async () => {
      let time = 1_800_000_000_000;
      const store = memoryStore({ now: () => time });
      const advance = (ms: number): void => {
        time += ms;
      };
      return { store, advance, close: () => store.close() };
    },
    { describe, test },
  );
});
