import { expect, test } from 'vitest';
import { shownAddress, storeFile } from './store-address.ts';

test.each([
  ['postgres://ann:secret@host/db', 'postgres://ann:***@host/db'],
  ['postgresql://ann:se:cr@et@host:5432/db', 'postgresql://ann:***@host:5432/db'],
  ['postgres://host/db?user=ann&password=secret', 'postgres://host/db?user=ann&password=***'],
  ['postgres://ann@host/db', 'postgres://ann@host/db'],
  ['sqlite:./a.sqlite', 'sqlite:./a.sqlite'],
])('%s is shown as %s', (address, shown) => {
  expect(shownAddress(address)).toBe(shown);
});

test.each(['', 'sqlite:', 'runs.sqlite', 'mysql://x', 'sqlite'])('“%s” is not a store address', (address) => {
  expect(() => storeFile(address)).toThrow(/Invalid store address/);
});
