// The first seed, "Tools with restartable interrupts": only `for … in`, `=>` and two stray characters are changed.
// biome-ignore-all format: the snippets stand here as the first seed has them
// biome-ignore-all lint/correctness/noUnusedFunctionParameters: the seed names `context` and does not use it
import { countersign, z } from 'countersign';
import { type ScriptedModel, scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';

type Transfer = { toAccountId: string; amount: number };

function setUp(transfers: readonly Transfer[]) {
  const model = scriptedModel([
    { calls: transfers.map((input) => ({ name: 'transferMoney', input })) },
    'That is all I did.',
  ]);
  const ai = countersign({ model });
  const done: Transfer[] = [];
  const doTransfer = async (input: Transfer) => {
    done.push(input);
    return { status: 'DONE' };
  };

const transferMoney = ai.defineTool({
  name: 'transferMoney',
  description: 'Transfers money between accounts.',
  inputSchema: z.object({
    toAccountId: z.string().describe('the account id of the transfer destination'),
    amount: z.number().describe('the amount in integer cents (100 = $1.00)'),
  }),
  outputSchema: z.object({
    status: z.string().describe('the outcome of the transfer'),
    message: z.string().optional(),
  })
}, async (input, {context, interrupt, resumed}) => {
  // if the user rejected the transaction
  if (resumed?.status === "REJECTED") {
    return {status: 'REJECTED', message: 'The user rejected the transaction.'};
  }
  // trigger an interrupt to confirm if amount > $100
  if (resumed?.status !== "APPROVED" && input.amount > 10000) {
    interrupt({
      message: "Please confirm sending an amount > $100.",
    });
  }
  // complete the transaction if not interrupted
  return doTransfer(input);
});

  return { ai, transferMoney, model, done };
}

async function run(
  { ai, transferMoney }: ReturnType<typeof setUp>,
  requestConfirmation: (input: Transfer) => Promise<{ status: string }>,
) {
  const logged: string[] = [];
  const console = { log: (text: string) => logged.push(text) };

let response = await ai.generate({
  tools: [transferMoney],
  prompt: "Transfer $1000 to account ABC123",
});

while (response.interrupts.length) {
  const confirmations = [];
  // multiple interrupts can be called at once, so we handle them all
  for (const interrupt of response.interrupts) {
    confirmations.push(
      // use the 'restart' method on our tool to provide `resumed` metadata
      transferMoney.restart(
        interrupt,
        // send the tool request input to the user to respond. assume that this
        // returns `{status: "APPROVED"}` or `{status: "REJECTED"}`
        await requestConfirmation(interrupt.toolRequest.input)
      )
    );
  }

  response = await ai.generate({
    tools: [transferMoney],
    messages: response.messages,
    resume: {
      restart: confirmations,
    }
  })
}

// no more interrupts, we can see the final response
console.log(response.text);

  return { logged, response };
}

/** The results in the last request, in the order of the calls. */
const resultsSeenBy = ({ requests }: ScriptedModel) =>
  requests
    .at(-1)
    ?.messages.flatMap(({ content }) =>
      content.flatMap((part) => ('toolResponse' in part ? [part.toolResponse.output] : [])),
    );

describe('tools with restartable interrupts', () => {
  test('a transfer up to $100 runs without a question', async () => {
    const bank = setUp([{ toAccountId: 'ABC123', amount: 10_000 }]);
    await run(bank, () => expect.unreachable('no question expected'));
    expect(bank.done).toEqual([{ toAccountId: 'ABC123', amount: 10_000 }]);
  });

  test('a larger transfer shows its question, and runs once when it is approved', async () => {
    const bank = setUp([{ toAccountId: 'ABC123', amount: 100_000 }]);

    const first = await bank.ai.generate({ tools: [bank.transferMoney], prompt: 'Transfer $1000 to account ABC123' });
    expect(first.interrupts[0]?.metadata?.interrupt).toEqual({ message: 'Please confirm sending an amount > $100.' });
    expect(bank.done).toEqual([]);

    const again = setUp([{ toAccountId: 'ABC123', amount: 100_000 }]);
    const { logged, response } = await run(again, async () => ({ status: 'APPROVED' }));
    expect(again.done).toEqual([{ toAccountId: 'ABC123', amount: 100_000 }]);
    expect(resultsSeenBy(again.model)).toEqual([{ status: 'DONE' }]);
    expect(logged).toEqual(['That is all I did.']);
    expect(response.finishReason).toBe('stop');
  });

  test('a rejected transfer does not run, and the model learns it', async () => {
    const bank = setUp([{ toAccountId: 'ABC123', amount: 100_000 }]);
    await run(bank, async () => ({ status: 'REJECTED' }));
    expect(bank.done).toEqual([]);
    expect(resultsSeenBy(bank.model)).toEqual([{ status: 'REJECTED', message: 'The user rejected the transaction.' }]);
  });

  test('several transfers are decided independently, and the small one beside them runs once', async () => {
    const bank = setUp([
      { toAccountId: 'A', amount: 50_000 },
      { toAccountId: 'B', amount: 500 },
      { toAccountId: 'C', amount: 70_000 },
    ]);
    await run(bank, async ({ toAccountId }) => ({ status: toAccountId === 'A' ? 'REJECTED' : 'APPROVED' }));
    expect(bank.done).toEqual([
      { toAccountId: 'B', amount: 500 },
      { toAccountId: 'C', amount: 70_000 },
    ]);
    expect(resultsSeenBy(bank.model)).toMatchObject([{ status: 'REJECTED' }, { status: 'DONE' }, { status: 'DONE' }]);
  });
});
