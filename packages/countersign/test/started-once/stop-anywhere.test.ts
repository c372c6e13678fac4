// Every run can be stopped after every event, saved as messages and resumed elsewhere: nothing runs twice, nothing is
// lost, and an unknown outcome is asked about.
import { countersign, type Message, NotPerformed, type Part, type Tool, type ToolRequestPart, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { loadMessages, messagesOf } from '../../src/core/messages/load-messages.ts';
import { findDecided, matchedOf } from '../../src/core/run/decide.ts';
import type { RunEvent } from '../../src/core/run/event.ts';
import { readResume } from '../../src/core/run/read-resume.ts';
import { fold } from '../../src/core/run/state.ts';
import { drive } from '../../src/loop/drive.ts';
import { applyDecisions, checkDecided } from '../../src/loop/resume.ts';
import { Run } from '../../src/loop/run.ts';

type World = { readonly effects: string[]; readonly tools: readonly Tool[] };

/** The tools write down their effects. */
function makeWorld(options: { idempotent: boolean }): World {
  const effects: string[] = [];
  const ai = countersign();
  const input = z.object({ n: z.number() });
  const base = { description: '', inputSchema: input, idempotent: options.idempotent };
  const tools = [
    ai.defineTool({ ...base, name: 'look' }, ({ n }) => {
      effects.push(`look ${n}`);
      return n === 0 ? 0 : false;
    }),
    ai.defineTool({ ...base, name: 'pay', needsApproval: true }, ({ n }) => {
      effects.push(`pay ${n}`);
      return { paid: n };
    }),
    ai.defineTool({ ...base, name: 'book' }, async ({ n }, { step, interrupt, resumed }) => {
      const seat = await step('reserve', () => {
        effects.push(`reserve ${n}`);
        return `seat ${n}`;
      });
      if (resumed === undefined) interrupt({ seat });
      effects.push(`book ${seat} ${String(resumed)}`);
      return seat;
    }),
    ai.defineTool({ ...base, name: 'refuse' }, () => {
      throw new NotPerformed('closed');
    }),
    ai.defineInterrupt({ name: 'ask', description: '', inputSchema: input, outputSchema: z.string() }),
  ];
  return { effects, tools: tools as readonly Tool[] };
}

const calls = ['look', 'pay', 'book', 'refuse', 'ask'].map((name, n) => ({ name, ref: `${name}-1`, input: { n } }));
const script = () =>
  scriptedModel(({ messages }) => {
    const results = messages.filter((message) => message.role === 'tool').length;
    if (results === 0) return { text: 'First.', calls };
    return results === 1 ? { calls: [{ name: 'look', ref: 'look-2', input: { n: 9 } }] } : 'Done.';
  });

function resumeFor(interrupts: readonly ToolRequestPart[], world: World) {
  const tool = (part: ToolRequestPart) => world.tools.find(({ name }) => name === part.toolRequest.name) as Tool;
  const of = (name: string) =>
    interrupts.filter((part) => part.toolRequest.name === name && part.metadata?.interruptKind !== 'doubt');
  const doubts = interrupts.filter((part) => part.metadata?.interruptKind === 'doubt');
  return {
    respond: [
      ...of('ask').map((part) => tool(part).respond(part, 'blue')),
      ...doubts.map((part) => tool(part).respond(part, 'settled by hand')),
    ],
    restart: of('book').map((part) => tool(part).restart(part, false)),
    approve: of('pay').map((part) => tool(part).approve(part)),
  };
}

/** Drives from the messages until the run ends, and decides every question. */
async function finish(messages: Message[], world: World) {
  const ai = countersign({ model: script(), retry: false });
  let response = await ai.generate({ messages, tools: world.tools });
  for (let round = 0; response.interrupts.length > 0 && round < 10; round++)
    response = await ai.generate({
      messages: JSON.parse(JSON.stringify(response.messages)),
      tools: world.tools,
      resume: resumeFor(response.interrupts, world),
    });
  return response;
}

const start: Message[] = [{ role: 'user', content: [{ text: 'go' }] }];

/** Records the events of a whole run with its pause and decisions, each with the number of effects so far. */
async function recordRun(world: World): Promise<readonly { event: RunEvent; effects: number }[]> {
  const recorded: { event: RunEvent; effects: number }[] = [];
  class Recorder extends Run {
    override record(...events: readonly RunEvent[]) {
      for (const event of events) recorded.push({ event, effects: world.effects.length });
      super.record(...events);
    }
  }
  const tools = new Map(world.tools.map((tool) => [tool.name, tool.definition]));
  const driver = {
    model: script(),
    tools,
    request: { tools: [], toolChoice: 'auto' as const, config: {} },
    context: {},
    limits: { maxTurns: 20 },
    newId: (() => {
      let id = 0;
      return () => `id-${id++}`;
    })(),
    policies: { named: new Map(), rules: [] },
    onToolError: 'tell' as const,
    clock: () => 0,
  };
  const run = new Recorder(loadMessages(start).state, {});
  await drive(run, driver);
  const paused = run.state;
  const open = messagesOf(fold(paused, { v: 1, type: 'run-ended', reason: 'stop' })).at(-1) as Message;
  const waiting = open.content.filter(
    (part): part is ToolRequestPart =>
      'toolRequest' in part && part.metadata !== undefined && 'interrupt' in part.metadata,
  );
  const found = findDecided(paused, readResume(resumeFor(waiting, world)));
  const leaves = await checkDecided(found, { tools, defined: tools });
  applyDecisions(run, matchedOf(leaves), undefined);
  await drive(run, driver);
  return recorded;
}

/** Returns the world and the saved messages of a process that dies right after event `index`. */
async function stopAfter(index: number, options: { idempotent: boolean }) {
  const world = makeWorld(options);
  const recorded = await recordRun(world);
  const survived = recorded.slice(0, index + 1);
  // Every effect before the next recorded event may have happened.
  world.effects.length = (recorded[index + 1] ?? { effects: world.effects.length }).effects;
  const state = survived.reduce((state, { event }) => fold(state, event), loadMessages(start).state);
  return {
    world,
    messages: JSON.parse(JSON.stringify(messagesOf(state))) as Message[],
    last: survived.at(-1)?.event.type,
  };
}

const total = (await recordRun(makeWorld({ idempotent: false }))).length;
const every = Array.from({ length: total }, (_, index) => index);

describe('a run stopped after any event', () => {
  test('has enough events to be a meaningful test', () => {
    expect(total).toBeGreaterThan(20);
  });

  test.each(every)('event %i: no effect happens twice, and the run ends', async (index) => {
    const { world, messages } = await stopAfter(index, { idempotent: false });
    const response = await finish(messages, world);
    expect(response.finishReason).toBe('stop');
    expect(response.text).toBe('Done.');
    const counted = new Map<string, number>();
    for (const effect of world.effects) counted.set(effect, (counted.get(effect) ?? 0) + 1);
    expect([...counted].filter(([, count]) => count > 1)).toEqual([]);
    const results = response.messages
      .filter((message) => message.role === 'tool')
      .flatMap((message) => message.content as Part[]);
    expect(results.map((part) => 'toolResponse' in part && part.toolResponse.ref)).toEqual([
      ...calls.map((call) => call.ref),
      'look-2',
    ]);
  });

  test.each(every)('event %i: idempotent tools run again without asking', async (index) => {
    const { world, messages } = await stopAfter(index, { idempotent: true });
    const response = await finish(messages, world);
    expect(response.text).toBe('Done.');
    const [first] = response.messages.filter((message) => message.role === 'tool');
    expect(first?.content.map((part) => 'toolResponse' in part && part.toolResponse.output)).toEqual([
      0,
      { paid: 1 },
      'seat 2',
      'The tool refuse did nothing: closed',
      'blue',
    ]);
  });
});
