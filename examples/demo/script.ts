// The demo's model: no AI, but a function of the conversation. It says only what the results in it say.
import type { Message, ToolRequestPart, ToolResponsePart } from 'countersign';
import { type ScriptedTurn, scriptedModel } from 'countersign/testing';
import { type Basket, dollars, FOODS, SHOP } from './barbecue.ts';

const GUESTS = 'How many people are coming?';
const FOOD = 'What goes on the grill?';
const LEAVE_OUT = 'Is there anything to leave out?';

export const barbecueModel = () => scriptedModel(({ messages }) => reply(finishedCalls(messages)));

/** A call with its result, as the model sees them. */
type Finished = Pick<ToolRequestPart, 'toolRequest' | 'metadata'> & {
  readonly output: any;
  readonly outcome: unknown;
};

function finishedCalls(messages: readonly Message[]): readonly Finished[] {
  const parts = messages.flatMap(({ content }) => content);
  const results = new Map(
    parts.flatMap((part): [string, ToolResponsePart][] =>
      'toolResponse' in part ? [[part.toolResponse.ref, part]] : [],
    ),
  );
  return parts.flatMap((part) => {
    const result = 'toolRequest' in part ? results.get(part.toolRequest.ref) : undefined;
    if (!('toolRequest' in part) || !result) return [];
    return [{ ...part, output: result.toolResponse.output, outcome: result.metadata?.outcome }];
  });
}

function reply(calls: readonly Finished[]): ScriptedTurn {
  const answerTo = (question: string): string | undefined =>
    calls.findLast(({ toolRequest }) => toolRequest.input.question === question)?.output;
  const resultOf = (tool: string) => calls.findLast(({ toolRequest }) => toolRequest.name === tool);

  const [saidGuests, food, leaveOut] = [answerTo(GUESTS), answerTo(FOOD), answerTo(LEAVE_OUT)];
  if (saidGuests === undefined || food === undefined)
    return { text: 'Gladly! Two things I need to know first.', calls: [askGuests, ask(FOOD, FOODS)] };

  const guests = numberIn(saidGuests);
  if (guests === undefined)
    return { text: `I find no number from 1 to 100 in “${saidGuests}”, so I ask again.`, calls: [askGuests] };

  if (leaveOut === undefined)
    return {
      text: `${people(guests)}, and on the grill: ${lowered(food)}. One more thing.`,
      calls: [ask(LEAVE_OUT, ['Nothing', 'Nuts', 'Gluten', 'Alcohol'])],
    };

  const basket: Basket | undefined = resultOf('fillBasket')?.output;
  if (!basket)
    return {
      text: 'Thank you, that is all I need. I fill a basket.',
      calls: [{ name: 'fillBasket', input: { guests, food, leaveOut } }],
    };

  const pay = { name: 'payGroceries', input: { basketId: basket.basketId, amount: basket.total } };
  const payment = resultOf('payGroceries');
  if (!payment) return { text: `That makes ${dollars(basket.total)}. I want to pay the ${SHOP} now.`, calls: [pay] };
  if (payment.outcome === 'error')
    return {
      text: `The shop did not take ${dollars(payment.toolRequest.input.amount)}: the basket costs ${dollars(basket.total)}. Nothing was paid, so I ask for the right amount.`,
      calls: [pay],
    };
  if (payment.outcome !== undefined) return { text: refusal(payment.output) };
  return { text: `${receipt(payment)} ${plan(guests, leaveOut)}` };
}

function refusal(told: string): string {
  const reason = /Reason: (.+)$/s.exec(told)?.[1];
  const why = reason === undefined ? '' : ` (“${reason}”)`;
  return `You rejected the payment${why}, so I paid nothing. The basket stays at the ${SHOP}, unpaid.`;
}

function receipt({ metadata, output: { amount, due } }: Finished): string {
  const changed = metadata?.replacedInput === undefined ? '' : 'You changed the amount, so ';
  if (due === 0) return `I paid ${dollars(amount)} to the ${SHOP}. The basket comes on Saturday morning.`;
  return `${changed}I paid ${dollars(amount)} of ${dollars(amount + due)} to the ${SHOP}. The other ${dollars(due)} are due on delivery.`;
}

function plan(guests: number, leaveOut: string): string {
  const without = /^(nothing|no|none)\b/i.test(leaveOut) ? '' : ` Left out: ${lowered(leaveOut)}.`;
  return `The plan for ${people(guests)}: fire at four, food at five.${without}`;
}

const ask = (question: string, choices: readonly string[]) => ({
  name: 'askQuestion',
  input: { question, choices, allowOther: true },
});

const askGuests = ask(GUESTS, ['6 people', '12 people', '20 people']);

function numberIn(answer: string): number | undefined {
  const number = Number(/\d+/.exec(answer)?.[0]);
  return number >= 1 && number <= 100 ? number : undefined;
}

const people = (count: number): string => (count === 1 ? '1 person' : `${count} people`);

const lowered = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
