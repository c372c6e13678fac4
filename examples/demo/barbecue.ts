// What the demo's model can do: ask, fill a basket, and pay for it, which above $100 a person must decide.
import { interrupt, NotPerformed, tool, z } from 'countersign';

export const SHOP = 'Corner Grocery';

export type Item = { readonly name: string; readonly cents: number };
export type Basket = { readonly basketId: string; readonly items: readonly Item[]; readonly total: number };
export type Payment = { readonly to: string; readonly basketId: string; readonly amount: number };

export const askQuestion = interrupt({
  name: 'askQuestion',
  description: 'use this to ask the user a clarifying question',
  inputSchema: z.object({
    question: z.string(),
    choices: z.array(z.string()).describe('the choices to display to the user'),
    allowOther: z.boolean().optional().describe('when true, allow write-ins'),
  }),
  outputSchema: z.string(),
});

/** The shop and its tools. Its ledger is outside the model's reach: it shows the real payments. */
export function createShop() {
  const baskets = new Map<string, Basket>();
  const ledger: Payment[] = [];

  const fillBasket = tool(
    {
      name: 'fillBasket',
      description: `Fills a basket at the ${SHOP}. Nothing is paid yet.`,
      inputSchema: z.object({ guests: z.number().int().positive(), food: z.string(), leaveOut: z.string() }),
    },
    ({ guests, food }): Basket => {
      const items = [
        { name: '1 × grill, hired for a day', cents: 9500 },
        { name: `${guests} × ${food.toLowerCase()}`, cents: guests * (PRICES.get(food) ?? 900) },
        { name: `${guests} × bread and drinks`, cents: guests * 425 },
      ];
      const total = items.reduce((sum, { cents }) => sum + cents, 0);
      const basket = { basketId: `basket-${baskets.size + 1}`, items, total };
      baskets.set(basket.basketId, basket);
      return basket;
    },
  );

  const payGroceries = tool(
    {
      name: 'payGroceries',
      description: `Pays for a basket at the ${SHOP}.`,
      inputSchema: z.object({
        basketId: z.string(),
        amount: z.number().int().positive().describe('the amount in integer cents (100 = $1.00)'),
      }),
      needsApproval: ({ amount }) => amount > 10_000 && { message: 'Please confirm a payment above $100.' },
    },
    ({ basketId, amount }) => {
      const basket = baskets.get(basketId);
      if (!basket) throw new NotPerformed(`There is no ${basketId}.`);
      if (amount > basket.total) throw new NotPerformed(`The basket costs only ${dollars(basket.total)}.`);
      ledger.push({ to: SHOP, basketId, amount });
      return { status: 'PAID', amount, due: basket.total - amount };
    },
  );

  return { ledger, fillBasket, payGroceries };
}

/** In cents for one person. */
const PRICES: ReadonlyMap<string, number> = new Map([
  ['Burgers and sausages', 950],
  ['Vegetable skewers', 725],
  ['A bit of both', 850],
]);

export const FOODS: readonly string[] = [...PRICES.keys()];

export const dollars = (cents: number): string => `$${(cents / 100).toFixed(2)}`;
