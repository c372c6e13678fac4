// Every question and every payment that waits is put to the person, and becomes a decision.
import type { Resume, ToolRequestPart } from 'countersign';
import { askQuestion, type createShop, dollars, SHOP } from './barbecue.ts';
import type { Person } from './person.ts';
import type { Screen } from './screen.ts';

type PayTool = ReturnType<typeof createShop>['payGroceries'];

export async function decide(
  interrupts: readonly ToolRequestPart[],
  payGroceries: PayTool,
  screen: Screen,
  person: Person,
): Promise<Resume> {
  const respond = [];
  const approve = [];
  const reject = [];
  screen.item('■', `Paused: ${waiting(interrupts)}`, 'yellow');
  screen.line();
  for (const [index, interrupt] of interrupts.entries()) {
    if (interrupt.toolRequest.name === askQuestion.name) {
      const count = interrupts.length > 1 ? `${index + 1}/${interrupts.length} ` : '';
      respond.push(askQuestion.respond(interrupt, await answer(interrupt, count, screen, person)));
    } else {
      const decision = await decidePayment(interrupt, payGroceries, screen, person);
      if ('toolRequest' in decision) approve.push(decision);
      else reject.push(decision);
    }
    screen.line();
  }
  return { respond, approve, reject };
}

function waiting(interrupts: readonly ToolRequestPart[]): string {
  const questions = interrupts.filter(({ toolRequest }) => toolRequest.name === askQuestion.name).length;
  if (questions < interrupts.length) return 'a payment waits for your decision. Nothing is paid meanwhile.';
  return questions === 1 ? 'a question waits for you.' : `${questions} questions wait for you.`;
}

async function answer(interrupt: ToolRequestPart, count: string, screen: Screen, person: Person): Promise<string> {
  const { question, choices, allowOther } = interrupt.toolRequest.input;
  screen.paragraph(`${count}${question}`, 'bold');
  const choice = await person.choose(choices, allowOther === true);
  const text: string = 'text' in choice ? choice.text : choices[choice.option];
  screen.item('✓', text, 'green');
  return text;
}

async function decidePayment(interrupt: ToolRequestPart, payGroceries: PayTool, screen: Screen, person: Person) {
  const { basketId, amount } = interrupt.toolRequest.input;
  showCard(interrupt, screen);
  for (;;) {
    const choice = await person.choose([`Approve: pay ${dollars(amount)}`, 'Edit the amount', 'Reject'], false);
    const option = 'option' in choice ? choice.option : undefined;
    if (option === 0) {
      screen.item('✓', `Approved: ${dollars(amount)}`, 'green');
      return payGroceries.approve(interrupt, { by: 'you' });
    }
    if (option === 1) {
      const text = await person.write('The amount in dollars, then Enter', amountFault);
      if (text === undefined) continue;
      const edit = { basketId, amount: centsOf(text) };
      screen.item('✓', `Approved with an edit: ${dollars(edit.amount)} instead of ${dollars(amount)}`, 'green');
      return payGroceries.approve(interrupt, { by: 'you', edit });
    }
    const reason = await person.write('Why not? Enter alone gives no reason', () => undefined);
    if (reason === undefined) continue;
    screen.item('✗', reason === '' ? 'Rejected' : `Rejected: ${reason}`, 'red');
    return payGroceries.reject(interrupt, reason === '' ? undefined : reason, { by: 'you' });
  }
}

/** The card shows the input that is recorded and will run. */
function showCard({ toolRequest, metadata }: ToolRequestPart, { line, style, item }: Screen): void {
  const fields = [
    style('bold', toolRequest.name),
    `to      ${SHOP}`,
    `for     ${toolRequest.input.basketId}`,
    `amount  ${style('bold', dollars(toolRequest.input.amount))}`,
  ];
  for (const field of fields) line(`${style('yellow', '│')} ${field}`);
  const shown = metadata?.interrupt;
  if (typeof shown === 'object' && shown !== null && 'message' in shown)
    item('│', String(shown.message), 'yellow', '│');
  line();
}

const AMOUNT = /^\$?\s*(\d{1,7}(?:[.,]\d{1,2})?)$/;

const centsOf = (text: string): number => Math.round(Number(AMOUNT.exec(text)?.[1]?.replace(',', '.')) * 100);

const amountFault = (text: string): string | undefined =>
  centsOf(text) > 0 ? undefined : 'Write an amount such as 120 or 99.50';
