// The agents of the example: an office that pays invoices after an approval, with its runs on Restate.
import { restateStore } from '@countersign/restate';
import { countersign, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { standInModel } from 'countersign/testing';

const { INGRESS = 'http://127.0.0.1:8080', ADMIN = 'http://127.0.0.1:9070', LISTS = 'lists.sqlite' } = process.env;

const ai = countersign({
  // Picks tools by the words of the user. Replace it by a model of your provider.
  model: standInModel(),
  store: restateStore({ ingress: INGRESS.split(','), admin: ADMIN, lists: sqliteStore(LISTS) }),
});

const payInvoice = ai.defineTool(
  {
    name: 'payInvoice',
    description: 'Pays an invoice to a supplier.',
    inputSchema: z.object({ supplier: z.string(), amount: z.number() }),
    needsApproval: true,
  },
  async ({ supplier, amount }) => `Paid ${amount} to ${supplier}.`,
);

ai.defineAgent({ name: 'office', system: 'You pay invoices.', tools: [payInvoice] });

export default ai;
