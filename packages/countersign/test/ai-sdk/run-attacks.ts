// Runs every attack against every way to build the chat, once for each version of the AI SDK.
import { countersign, memoryStore } from 'countersign';
import { gateTools } from 'countersign/ai-sdk';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ATTACKS } from './attacks.ts';
import { type Bank, type BankOptions, openBank } from './bank.ts';

const SECRET = 'a secret that is long enough to be one';

const storeGate = (): NonNullable<BankOptions['gate']> => {
  const ai = countersign({ store: memoryStore() });
  return (tools, who) => gateTools(tools, { ...who, ai });
};

const secretGate: NonNullable<BankOptions['gate']> = (tools, who) => gateTools(tools, { ...who, secret: SECRET });

/** A seal has no memory: these replays succeed, with the seal they had. */
const REPLAYS = ['c', 'd', 'f3', 'h', 'i', 'n'];

export type Succeeding = { readonly recipe: readonly string[]; readonly approval: readonly string[] };

/** `succeeding` are the attacks that succeed against the published recipe, and against the AI SDK's approval. */
export function attackAll(succeeding: Succeeding): void {
  const setups: readonly { name: string; options: () => BankOptions; expected: readonly string[] }[] = [
    {
      name: 'the recipe as published',
      options: () => ({ way: 'recipe', published: true }),
      expected: succeeding.recipe,
    },
    { name: "the AI SDK's needsApproval", options: () => ({ way: 'approval' }), expected: succeeding.approval },
    { name: 'the recipe with a store', options: () => ({ way: 'recipe', gate: storeGate() }), expected: [] },
    { name: 'needsApproval with a store', options: () => ({ way: 'approval', gate: storeGate() }), expected: [] },
    { name: 'the recipe with a secret', options: () => ({ way: 'recipe', gate: secretGate }), expected: REPLAYS },
    { name: 'needsApproval with a secret', options: () => ({ way: 'approval', gate: secretGate }), expected: REPLAYS },
  ];
  describe.each(setups)('$name', ({ options, expected }) => {
    test.each(ATTACKS)('$row: $what', async ({ row, succeeds }) => {
      const bank = await open(options());
      expect(await succeeds(bank)).toBe(expected.includes(row));
    });
  });
}

export async function open(options: BankOptions): Promise<Bank> {
  const bank = await openBank(options);
  onTestFinished(() => bank.close());
  return bank;
}
