// The demo: a scripted model plans a barbecue in your terminal. It asks questions, and pays only what you approve.
// Run it with: npm run demo
import { setTimeout as wait } from 'node:timers/promises';
import { type Chunk, countersign } from 'countersign';
import { askQuestion, createShop, dollars, SHOP } from './demo/barbecue.ts';
import { decide } from './demo/decide.ts';
import { keyboardPerson } from './demo/keyboard.ts';
import { linePerson } from './demo/lines.ts';
import { EndOfInput } from './demo/person.ts';
import { createScreen } from './demo/screen.ts';
import { barbecueModel } from './demo/script.ts';

const PROMPT = 'Help me plan a backyard barbecue for Saturday.';

const { stdin, stdout } = process;
const canDraw = stdin.isTTY && stdout.isTTY && process.env.TERM !== 'dumb';
const screen = createScreen(stdout);
const { line, paragraph, style } = screen;
const person = canDraw ? keyboardPerson(stdin, stdout, screen, () => stop('Stopped.', 130)) : linePerson(stdin, screen);

process.on('SIGINT', () => stop('Stopped.', 130));
process.on('SIGTERM', () => stop('Stopped.', 143));
// A reader of the output may close it early, as `head` does.
stdout.on('error', () => process.exit());

const ai = countersign({ model: barbecueModel() });
const { ledger, fillBasket, payGroceries } = createShop();
const tools = [askQuestion, fillBasket, payGroceries];

try {
  greet();
  let { stream, response } = ai.generateStream({ prompt: PROMPT, tools });
  await show(stream);
  while ((await response).interrupts.length > 0) {
    const { messages, interrupts } = await response;
    const resume = await decide(interrupts, payGroceries, screen, person);
    ({ stream, response } = ai.generateStream({ messages, tools, resume }));
    await show(stream);
  }
  const { finishReason, finishMessage } = await response;
  if (finishReason !== 'stop') paragraph(finishMessage ?? finishReason, 'yellow');
  showLedger();
  paragraph('Decide otherwise: npm run demo. How it is made: examples/demo.ts.', 'dim');
  line();
  person.close();
} catch (error) {
  if (!(error instanceof EndOfInput)) throw error;
  stop('The input ended before the question was answered.', 1);
}

function greet(): void {
  line();
  line(style('bold', 'Countersign demo'));
  paragraph('A model plans a barbecue. It asks you what it does not know, and pays only what you approve.');
  paragraph('The model is scripted: no AI, no key, no network. What pauses and resumes it is the real library.', 'dim');
  screen.rule();
  line();
  line(style(['bold', 'green'], 'You'));
  paragraph(PROMPT);
  line();
}

/** What happens, as it happens. */
async function show(stream: AsyncIterable<Chunk>): Promise<void> {
  let speaking = false;
  for await (const chunk of stream) {
    if (chunk.type === 'text') {
      if (!speaking) line(style(['bold', 'magenta'], 'Model (scripted)'));
      speaking = true;
      screen.flow.add(chunk.text);
      // A script speaks at once; this is about the speed of a model.
      if (canDraw) await wait(30);
      continue;
    }
    if (speaking) endSpeech();
    speaking = false;
    if (chunk.type === 'tool-response') showResult(chunk.toolResponse.name, chunk.toolResponse.output);
  }
  if (speaking) endSpeech();
}

function endSpeech(): void {
  screen.flow.end();
  line();
}

function showResult(tool: string, output: any): void {
  if (tool === fillBasket.name) {
    screen.item('✓', `${tool} ran; it needs no approval`, 'green');
    for (const { name, cents } of output.items) screen.entry(name, dollars(cents));
    screen.entry('Total', dollars(output.total), 'bold');
  } else if (tool === payGroceries.name) {
    // Instead of a receipt, a text that says why nothing was paid.
    if (typeof output === 'string') screen.item('✗', `The model gets: ${output}`, 'red');
    else screen.item('✓', `${tool} ran: ${dollars(output.amount)} paid`, 'green');
  } else return;
  line();
}

function showLedger(): void {
  screen.rule();
  line(style('bold', `The ledger of the ${SHOP}`));
  for (const { basketId, amount } of ledger) screen.entry(basketId, dollars(amount));
  line(`payments made: ${style('bold', String(ledger.length))}`);
  line();
}

function stop(why: string, code: number): never {
  person.close();
  screen.flow.end();
  line();
  paragraph(why, 'yellow');
  line(`payments made: ${ledger.length}`);
  paragraph('Start again with: npm run demo', 'dim');
  if (!stdin.isTTY) paragraph("Answers can be piped in, one per line: printf '2\\n1\\n1\\n1\\n' | npm run demo", 'dim');
  line();
  process.exit(code);
}
