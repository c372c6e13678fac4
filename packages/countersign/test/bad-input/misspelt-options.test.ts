// A misspelt option, or one with a wrong value, is rejected: it was meant to protect something.
import { countersign, interrupt, memoryStore, tool, UsageError, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';

const ai = () => countersign({ model: scriptedModel(() => 'Hello.'), store: memoryStore() });
const pay = { name: 'pay', description: 'Pays.', inputSchema: z.object({ amount: z.number() }) };

/** Passes any value, as JavaScript would. */
const any = (value: unknown): any => value;

/** Returns the error of a call that throws or rejects. */
async function refusal(call: () => unknown): Promise<UsageError> {
  const error = await (async () => call())().then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(UsageError);
  return error as UsageError;
}

describe('an unknown option is rejected, with the known ones', () => {
  test.each([
    [{ needApproval: true }, 'The tool pay has no option needApproval (it takes name, '],
    [{ requiresApproval: true }, 'needsApproval'],
    [{ needs_approval: true }, 'needsApproval'],
    [{ approval: undefined }, 'needsApproval'],
    [{ expireIn: 5 }, 'expiresIn'],
    [{ settleWithin: 5 }, 'settlesWithin'],
    [{ execute: () => 1 }, 'has no option execute. Pass the function after the options'],
  ])('on a tool: %o', (config, message) => {
    expect(() => tool(any({ ...pay, ...config }), () => 1)).toThrow(
      expect.objectContaining({ code: 'invalid-options', message: expect.stringContaining(message) }),
    );
  });

  test.each([
    { needsApproval: true },
    { needsApproval: () => true },
    { idempotent: true },
    { commits: true },
    { verify: () => undefined },
    { settlesWithin: 5 },
  ])('on a tool whose body was forgotten: %o', (config) => {
    const [said] = Object.keys(config);
    expect(() => tool({ ...pay, ...config })).toThrow(
      expect.objectContaining({
        code: 'invalid-options',
        message: expect.stringContaining(`has ${said}, but no body`),
      }),
    );
  });

  test('options that are false do not make a question invalid', () => {
    expect(tool({ ...pay, needsApproval: false, idempotent: false }).name).toBe('pay');
  });

  test('settlesWithin without verify', () => {
    expect(() => tool({ ...pay, settlesWithin: 5 }, () => 1)).toThrow(
      expect.objectContaining({ code: 'invalid-options', message: expect.stringContaining('Add verify') }),
    );
  });

  test.each<readonly [string, () => unknown]>([
    ['defineTool', () => ai().defineTool(any({ ...pay, needApproval: true }), () => 1)],
    ['interrupt', () => interrupt(any({ ...pay, needsApproval: true }))],
    ['defineAgent', () => ai().defineAgent(any({ name: 'clerk', needsApproval: true }))],
    ['defineAgent, of what generate takes', () => ai().defineAgent(any({ name: 'clerk', returnToolRequests: true }))],
    ['defineAgent, of one run', () => ai().defineAgent(any({ name: 'clerk', runId: 'run' }))],
    ['definePrompt', () => ai().definePrompt(any({ name: 'p', prompt: 'x', maxTurn: 1 }))],
    ['countersign', () => countersign(any({ lease: 1 }))],
    ['retry', () => countersign({ retry: any({ retries: 1 }) })],
    ['generate', () => ai().generate(any({ prompt: 'x', whilePendin: 'refuse' }))],
    ['generateStream', () => ai().generateStream(any({ prompt: 'x', maxTurn: 1 })).response],
    ['chat', () => ai().chat(any({ whilePendin: 'refuse' }))],
    [
      'send',
      () =>
        ai()
          .chat()
          .send(any({ prompt: 'x', resumes: {} })),
    ],
    [
      'a stored chat',
      () =>
        ai()
          .defineAgent({ name: 'a' })
          .chat({ runId: 'r' })
          .send(any({ prompt: 'x', bye: 'ann' })),
    ],
    [
      'start',
      () =>
        ai()
          .defineAgent({ name: 'a' })
          .start('x', any({ runid: 'r' })),
    ],
    [
      'the start input',
      () =>
        ai()
          .defineAgent({ name: 'a' })
          .start(any({ prompt: 'x', tools: [] })),
    ],
    ['list', () => ai().runs.list(any({ state: 'done' }))],
    ['interrupts', () => ai().runs.requests(any({ labels: 'safe' }))],
    ['stats', () => ai().runs.stats(any({ startedby: 'ann' }))],
    ['cancel', () => ai().runs.cancel('r', any({ why: 'Enough.' }))],
    ['drive', () => ai().runs.drive('r', any({ contexts: {} }))],
    ['work', () => ai().runs.work(any({ concurency: 1 }))],
    [
      'events',
      () =>
        ai()
          .runs.events('r', any({ from: 3 }))
          .next(),
    ],
    [
      'follow',
      () =>
        ai()
          .runs.follow('r', any({ abortSignal: undefined }))
          .next(),
    ],
  ])('of %s', async (_of, call) => {
    expect(await refusal(call)).toMatchObject({
      code: 'invalid-options',
      message: expect.stringMatching(/has no option/),
    });
  });

  test('symbols are ignored, and metadata is free', () => {
    expect(tool({ ...pay, metadata: { anything: 1 }, ...{ [Symbol('own')]: 1 } }, () => 1).name).toBe('pay');
  });
});

describe('a wrong value is rejected', () => {
  test.each<readonly [string, () => unknown]>([
    ['needsApproval: undefined', () => tool(any({ ...pay, needsApproval: undefined }), () => 1)],
    ['needsApproval: {}', () => tool(any({ ...pay, needsApproval: {} }), () => 1)],
    [
      'a policy that was not found',
      () => tool(any({ ...pay, needsApproval: { policy: undefined, risk: 'low' } }), () => 1),
    ],
    ['a wrong option of needsApproval', () => tool(any({ ...pay, needsApproval: { risk: 'hihg' } }), () => 1)],
    ['verify: true', () => tool(any({ ...pay, verify: true }), () => 1)],
    ['idempotent: "yes"', () => tool(any({ ...pay, idempotent: 'yes' }), () => 1)],
    ['commits: 1', () => tool(any({ ...pay, commits: 1 }), () => 1)],
    ['whilePending', () => ai().generate(any({ prompt: 'x', whilePending: 'refuze' }))],
    ['onToolError', () => ai().generate(any({ prompt: 'x', onToolError: 'throws' }))],
    ['whilePending of an agent', () => ai().defineAgent(any({ name: 'clerk', whilePending: 'refuze' }))],
    ['onToolError of a prompt', () => ai().definePrompt(any({ name: 'p', onToolError: 'throws' }))],
    ['a controller', () => ai().generate(any({ prompt: 'x', abortSignal: new AbortController() }))],
    ['a controller to wait with', () => ai().runs.wait('r', any({ signal: new AbortController() }))],
    ['until', () => ai().runs.wait('r', any({ until: 'done' }))],
    ['a timeout of no time', () => ai().runs.wait('r', any({ timeoutMs: 0 }))],
    ['a prompt without a name', () => ai().definePrompt(any({ prompt: 'x' }))],
    ['drive: "false"', () => ai().runs.decide('r:c', 'approve', any({ drive: 'false' }))],
    ['onError of a worker', () => ai().runs.work(any({ onError: 'log' }))],
    ['contextFor', () => countersign(any({ contextFor: { user: 'ann' } }))],
    ['clock', () => countersign(any({ clock: 5 }))],
    ['newId', () => countersign(any({ newId: 'id' }))],
  ])('%s', async (_what, call) => {
    expect(await refusal(call)).toMatchObject({ code: 'invalid-options' });
  });
});

describe('missing options are rejected', () => {
  test.each<readonly [string, () => unknown]>([
    ['countersign', () => countersign(any(null))],
    ['defineTool', () => ai().defineTool(any(undefined), () => 1)],
    ['defineInterrupt', () => ai().defineInterrupt(any(undefined))],
    ['defineAgent', () => ai().defineAgent(any(undefined))],
    ['definePrompt', () => ai().definePrompt(any(undefined))],
    ['start', () => ai().defineAgent({ name: 'a' }).start(any(undefined))],
    ['options of start', () => ai().defineAgent({ name: 'a' }).start('x', any(null))],
    ['generate', () => ai().generate(any(undefined))],
    ['generate of an agent', () => ai().defineAgent({ name: 'a' }).generate(any(undefined))],
    ['generateStream', () => ai().generateStream(any(undefined)).response],
    ['send', () => ai().chat().send(any(undefined))],
  ])('%s', async (_what, call) => {
    expect(await refusal(call)).toMatchObject({ code: 'invalid-options' });
  });

  test.each(['respond', 'restart', 'approve', 'reject', 'cancel'] as const)('%s', (verb) => {
    expect(() => any(tool(pay, () => 1))[verb](undefined, { edit: { amount: 1 } })).toThrow(
      expect.objectContaining({ code: 'invalid-decision', message: expect.stringContaining('not on undefined') }),
    );
  });
});

describe('an edit that was lost on the way decides nothing', () => {
  async function asked() {
    const paid: number[] = [];
    const model = scriptedModel([{ calls: [{ name: 'pay', ref: 'p', input: { amount: 184 } }] }, 'Done.']);
    const ai = countersign({ model, store: memoryStore() });
    const gated = ai.defineTool({ ...pay, needsApproval: true }, ({ amount }) => paid.push(amount));
    const clerk = ai.defineAgent({ name: 'clerk', tools: [gated] });
    const { id } = await clerk.start('Pay.');
    const [card = ''] = (await ai.runs.wait(id)).pending;
    return { runs: ai.runs, id, card, paid };
  }

  test.each<readonly [string, unknown, object?]>([
    ['edits', { type: 'approve', edits: { amount: 1 } }],
    ['edits that are undefined', { type: 'approve', edits: undefined }],
    ['an edit that is undefined', { type: 'approve', edit: undefined }],
    ['a new input that is undefined', { type: 'restart', replaceInput: undefined }],
    ['no answer', { type: 'respond' }],
    ['an answer that is undefined', { type: 'respond', output: undefined }],
    ['a misspelt digest', 'approve', { digests: 'of another card' }],
  ])('stored: %s', async (_what, decision, options) => {
    const { runs, id, card, paid } = await asked();
    const code = options ? 'invalid-options' : 'invalid-decision';
    expect(await refusal(() => runs.decide(card, any(decision), any(options)))).toMatchObject({ code });
    expect({ status: (await runs.get(id)).status, paid }).toEqual({ status: 'waiting', paid: [] });
  });

  const question = { toolRequest: { name: 'pay', ref: 'p', input: { amount: 184 } } };
  const gated = tool(pay, () => 1);
  test.each<readonly [string, () => unknown]>([
    ['edits', () => gated.approve(question, any({ edits: { amount: 1 } }))],
    ['no options', () => gated.approve(question, any(null))],
    ['an input to restart with', () => gated.restart(question, true, any({ input: { amount: 1 } }))],
    ['a misspelt note', () => gated.reject(question, 'No.', any({ notes: 'x' }))],
    ['a misspelt signature', () => gated.respond(question, 1, any({ bye: 'ann' }))],
  ])('of a tool: %s', async (_what, call) => {
    expect(await refusal(call)).toMatchObject({ code: 'invalid-options' });
  });

  test.each<readonly [string, () => unknown]>([
    ['edit', () => gated.approve(question, any({ edit: undefined }))],
    ['replaceInput', () => gated.restart(question, true, any({ replaceInput: undefined }))],
  ])('of a tool: %s that is undefined', async (_what, call) => {
    expect(await refusal(call)).toMatchObject({ code: 'invalid-decision' });
  });
});

describe('turns of a scripted model', () => {
  test.each<readonly [string, unknown]>([
    ['a turn', { toolCalls: [{ name: 'pay', input: {} }] }],
    ['a call', { calls: [{ name: 'pay', args: {} }] }],
  ])('a misspelt %s is rejected: a test with it would test nothing', async (_what, turn) => {
    expect(await refusal(() => scriptedModel([any(turn)]))).toMatchObject({ code: 'invalid-options' });
    const ai = countersign({ model: scriptedModel(() => any(turn)) });
    expect(await refusal(() => ai.generate('Pay.'))).toMatchObject({ code: 'invalid-options' });
  });
});
