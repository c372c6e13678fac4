// Python programs behind the gate of a real server: each call runs at most once, with exactly what was approved.
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startServer, type TestServer } from '../server.ts';
import { place } from './python-program.ts';

const PAY = `
@gate.gated(tool="pay", title="Pay {amount} to {to}", key="invoice-{invoice}", risk="high", labels=["money"])
def pay(to: str, amount: int, invoice: int = 7) -> dict:
    act(to, amount)
    return {"paid": amount}
`;

async function open(through: (server: TestServer) => Promise<string> = async ({ url }) => url) {
  const server = await startServer({ maxStreamsPerPerson: 50 });
  const { runs } = server.ai;
  const programs = place(await through(server), await server.tokenFor('ci', { scopes: ['start'] }));
  const pending = async () => (await runs.requests()).items;
  /** Waits for as many requests, and decides them all. */
  const decide = async (decision: Parameters<typeof runs.decide>[1], count = 1) => {
    await expect.poll(async () => (await pending()).length, { timeout: 10_000 }).toBe(count);
    const items = await pending();
    for (const { id } of items) await runs.decide(id, decision, { by: 'ci' });
    return items;
  };
  return { ...programs, server, runs, pending, decide };
}

describe('a gated function', () => {
  test('asks, runs with the edited input, and is not run again by another start of the program', async () => {
    const { run, decide, effects } = await open();
    const program = `${PAY}\nshow(pay("ann", amount=950))`;
    const first = run(program);
    const [asked] = await decide({ type: 'approve', edit: { to: 'bob', amount: 900, invoice: 7 } });
    expect(asked).toMatchObject({
      title: 'Pay 950 to ann',
      risk: 'high',
      labels: ['money'],
    });
    expect(await first.ended).toMatchObject({ code: 0, out: [{ paid: 900 }], err: expect.stringContaining('http://') });
    expect(await run(program).ended).toMatchObject({ code: 0, out: [{ paid: 900 }] });
    expect(effects()).toEqual([['bob', 900]]);
  });

  test('may be a coroutine, and many wait at once', async () => {
    const { run, decide, effects } = await open();
    const program = run(`
@gate.gated(title="Send {n}")
async def send(n: int) -> int:
    await asyncio.sleep(0)
    act(n)
    return n * 2
async def main():
    ticks = 0
    waiting = asyncio.gather(*(send(n) for n in range(40)))
    while not waiting.done():
        await asyncio.sleep(0.01)
        ticks += 1
    show([await waiting, ticks > 5])
asyncio.run(main())
`);
    await decide('approve', 40);
    expect((await program.ended).out).toEqual([[Array.from({ length: 40 }, (_, n) => n * 2), true]]);
    expect(effects()).toHaveLength(40);
  });

  test('may be a method, leave out the context of a framework, and use the gate of the environment', async () => {
    const { run, decide, effects } = await open();
    const program = run(`
class Bank:
    @gated(leave_out=["ctx"], key="call-{ctx.real}")
    def pay(self, ctx, to): return [self is bank, ctx is marker, to]
bank, marker = Bank(), 7
show(bank.pay(marker, "ann"))
show(asking(bank.pay, key="second")(marker, to="ann"))
`);
    const [first] = await decide('approve');
    expect(first?.input).toEqual({ to: 'ann' });
    await decide('approve');
    expect((await program.ended).out).toEqual([
      [true, true, 'ann'],
      [true, true, 'ann'],
    ]);
    expect(effects()).toEqual([]);
  });

  test('an input and a result that are 0, empty, False or None survive', async () => {
    const { run, decide } = await open();
    const values = '[0, "", False, None, [], {}]';
    const program = `
ran = []
@gate.gated()
def echo(value):
    ran.append(value)
    return value
for value in ${values}: show(echo(value))
show(len(ran))
`;
    const first = run(program);
    for (let at = 0; at < 6; at++) await decide('approve');
    const out = [0, '', false, null, [], {}];
    expect((await first.ended).out).toEqual([...out, 6]);
    expect((await run(program).ended).out).toEqual([...out, 0]);
  });

  test('numbers are the same on the card, in the function and in the record', async () => {
    const { run, decide } = await open();
    const program = run(`
@gate.gated()
def echo(whole: int, part: float, large: float, small: float):
    return [whole, part, large, small, type(large).__name__]
show(echo(2**53 - 1, 0.1 + 0.2, 1e20, 5e-324))
fails(lambda: echo(2**53, 1.0, 1.0, 1.0))
fails(lambda: echo(1, float("nan"), 1.0, 1.0))
`);
    const [asked] = await decide('approve');
    expect(asked?.input).toEqual({ whole: 2 ** 53 - 1, part: 0.1 + 0.2, large: 1e20, small: 5e-324 });
    expect((await program.ended).out).toEqual([
      [2 ** 53 - 1, 0.1 + 0.2, 1e20, 5e-324, 'float'],
      ['NotExact', expect.stringContaining('whole is 9007199254740992')],
      ['NotExact', expect.stringContaining('part is nan')],
    ]);
  });

  test('an edit that does not fit its annotations is refused, and without a schema nothing runs', async () => {
    const { run, decide, runs, pending, effects } = await open();
    const program = run(`${PAY}\nfails(lambda: pay("ann", 950))
@gate.gated(schema=False)
def send(to): act(to)
fails(lambda: send("ann"))`);
    await expect.poll(async () => (await pending()).length, { timeout: 10_000 }).toBe(1);
    const [asked] = await pending();
    const edit = { type: 'approve', edit: { to: 'ann', amount: 'much', invoice: 7 } } as const;
    await expect(runs.decide(asked?.id ?? '', edit, { by: 'ci' })).rejects.toThrow();
    await runs.decide(asked?.id ?? '', { type: 'reject' }, { by: 'ci' });
    await decide({ type: 'approve', edit: { whom: 'ann' } });
    expect((await program.ended).out).toEqual([
      ['Rejected', expect.any(String)],
      ['NotPerformed', expect.stringContaining('has no to')],
    ]);
    expect(effects()).toEqual([]);
    expect((await runs.requests({ settled: true, tool: 'send' })).items[0]?.outcome).toMatchObject({
      state: 'failed',
    });
  });
});

describe('what did not run is an exception that says what to do', () => {
  test('a rejection, changes asked for, and their revision', async () => {
    const { run, decide, effects } = await open();
    const program = run(`${PAY}
fails(lambda: pay("ann", 1, 1))
try: pay("ann", 2, 2)
except ChangesAsked as asked:
    show([asked.comment, asked.by, str(asked)])
    show(asking(pay, key="invoice-2b", revises=asked.run_id)("ann", 1, 2))
`);
    await decide({ type: 'reject', reason: 'Too late.' });
    await decide({ type: 'revise', comment: 'Less, please.' });
    const [revised] = await decide('approve');
    expect(revised?.previous).toMatchObject({ comment: 'Less, please.', round: 1 });
    expect((await program.ended).out).toEqual([
      ['Rejected', expect.stringContaining('Too late.')],
      ['Less, please.', 'ci', expect.stringContaining('another key')],
      { paid: 1 },
    ]);
    expect(effects()).toEqual([['ann', 1]]);
  });

  test('an expiry, a timeout, a withdrawal, a used key and a wrong token', async () => {
    const { run, effects } = await open();
    const program = run(`
@gate.gated(expires_in=1)
def late(): act("late")
@gate.gated(key="k", timeout=0.5)
def slow(n: int): act("slow")
fails(late)
try: slow(1)
except Waiting as waiting:
    show([isinstance(waiting, TimeoutError), gate.read(waiting.run_id)["status"]])
    fails(lambda: slow(2))
    gate.withdraw(waiting.run_id, "No longer needed.")
    fails(lambda: slow(1))
fails(lambda: Gate(os.environ["COUNTERSIGN_URL"], "cs_wrong").gated()(late)())
`);
    expect((await program.ended).out).toEqual([
      ['Expired', expect.stringContaining('another key')],
      [true, 'pending'],
      ['Conflict', expect.stringContaining('another input')],
      ['Rejected', expect.stringContaining('No longer needed.')],
      ['Refused', expect.stringContaining('COUNTERSIGN_TOKEN')],
    ]);
    expect(effects()).toEqual([]);
  });

  test('a function that raises has failed, and says whether it may have acted', async () => {
    const { run, decide } = await open();
    const program = run(`
@gate.gated()
def breaks():
    act("half")
    raise ValueError("disk full")
@gate.gated()
def declines(): raise NotPerformed("no money")
@gate.gated()
def returns_a_set():
    act("set")
    return {1}
for work in (breaks, declines, returns_a_set):
    try: work()
    except (ValueError, NotPerformed) as error: show([type(error).__name__, str(error)])
    try: work()
    except Failed as failed: show([failed.may_have_acted, failed.error])
`);
    for (let at = 0; at < 3; at++) await decide('approve');
    expect((await program.ended).out).toEqual([
      ['ValueError', 'disk full'],
      [true, expect.stringContaining('ValueError: disk full')],
      ['NotPerformed', 'no money'],
      [false, expect.stringContaining('no money')],
      ['NotExact', expect.stringContaining('result of returns_a_set is a set')],
      [true, expect.stringContaining('cannot be recorded')],
    ]);
  });
});

test('a block gets the approved input, reports its output or error, and does not begin again', async () => {
  const { run, decide, effects } = await open();
  const program = run(`
def block():
    with gate.call("pay", {"to": "ann"}, key="k") as call:
        act(call.input)
        call.output = 0
def bad():
    with gate.call("pay", [], key="bad") as call: raise NotPerformed("closed")
async def later():
    async with gate.call("pay", None, title="Nothing") as call: act(call.input)
block()
try: block()
except AlreadyDone as done: show(done.output)
fails(bad)
fails(bad)
asyncio.run(later())
`);
  await decide({ type: 'approve', edit: { to: 'bob' } });
  await decide('approve');
  await decide('approve');
  expect((await program.ended).out).toEqual([
    0,
    ['NotPerformed', 'closed'],
    ['Failed', expect.stringContaining('Nothing was done')],
  ]);
  expect(effects()).toEqual([[{ to: 'bob' }], [null]]);
});

test('a call that runs longer than its lease keeps it, and a second program waits for its result', async () => {
  const { run, decide, effects, pending } = await open();
  const program = `
@gate.gated(lease=2)
def slow():
    act("slow")
    time.sleep(6)
    return "done"
show(slow())
`;
  const both = [run(program), run(program)];
  await decide('approve');
  const ended = await Promise.all(both.map(({ ended }) => ended));
  expect(ended.map(({ out }) => out)).toEqual([['done'], ['done']]);
  expect(effects()).toHaveLength(1);
  expect(await pending()).toEqual([]);
});

describe('a program that is killed after its effect', () => {
  const program = `${PAY}
@gate.gated(key="k", lease=1)
def deploy():
    act("deployed")
    if os.environ.get("KILL"): os.kill(os.getpid(), signal.SIGKILL)
    return "deployed"
fails(deploy)
`;

  test('is in doubt, does not run again, and gets the result that a person enters', async () => {
    const { run, decide, runs, effects } = await open();
    const killed = run(program, { KILL: '1' });
    await decide('approve');
    expect(await killed.ended).toMatchObject({ signal: 'SIGKILL' });
    const doubt = await run(program).ended;
    expect(doubt.out).toEqual([['Doubt', expect.stringMatching(/Do not repeat it.*http:/)]]);
    expect((await run(program).ended).out).toEqual([['Doubt', expect.any(String)]]);
    expect(effects()).toHaveLength(1);
    const [asked] = (await runs.requests({ kind: 'doubt' })).items;
    await runs.decide(asked?.id ?? '', { type: 'respond', output: '' }, { by: 'ci' });
    expect((await run(program).ended).out).toEqual([['returned', '']]);
    expect(effects()).toHaveLength(1);
  });

  test('runs again only if a person says that it did not happen', async () => {
    const { run, decide, effects } = await open();
    const killed = run(program, { KILL: '1' });
    await decide('approve');
    await killed.ended;
    await run(program).ended;
    await decide('approve');
    expect((await run(program).ended).out).toEqual([['returned', 'deployed']]);
    expect(effects()).toHaveLength(2);
  });
});

describe('a program that is interrupted while it waits', () => {
  test('by Ctrl-C leaves its request open and says so; the next start goes on', async () => {
    const { run, decide, effects, pending } = await open();
    const program = `${PAY}\nshow(pay("ann", 1))`;
    const first = run(program);
    await first.said('pay waits for a decision');
    first.child.kill('SIGINT');
    const { code, signal, err } = await first.ended;
    expect(code === 130 || signal === 'SIGINT').toBe(true);
    expect(err).toMatch(/its request stays open: http.*Ask again with the same key/);
    expect(await pending()).toHaveLength(1);
    const second = run(program);
    await decide('approve');
    expect((await second.ended).out).toEqual([{ paid: 1 }]);
    expect(effects()).toHaveLength(1);
  });

  test('by the cancellation of its coroutine never runs it, even if it is approved at that moment', async () => {
    const { run, decide, effects, runs } = await open();
    const program = run(`
@gate.gated()
async def pay(): act("paid")
async def main():
    task = asyncio.create_task(pay())
    await asyncio.to_thread(sys.stdin.readline)
    task.cancel()
    try: await task
    except asyncio.CancelledError: show("cancelled")
    await asyncio.to_thread(sys.stdin.readline)
asyncio.run(main())
`);
    await program.said('pay waits for a decision');
    program.child.stdin?.write('cancel\n');
    await program.said('stays open');
    const [asked] = await decide('approve');
    program.child.stdin?.end('end\n');
    expect((await program.ended).out).toEqual(['cancelled']);
    expect(effects()).toEqual([]);
    expect((await runs.get(asked?.runId ?? '')).status).toBe('waiting');
  });
});

/** A proxy in front of the server: `change` answers a request itself, or drops the answer of the server. */
async function proxy(
  { server }: TestServer,
  change: (request: IncomingMessage, response: ServerResponse) => 'pass' | 'drop' | 'answered',
): Promise<string> {
  const between = createServer((incoming, response) => {
    const says = change(incoming, response);
    if (says === 'answered') return void incoming.resume();
    const { method, url: path, headers } = incoming;
    const onward = httpRequest({ host: '127.0.0.1', port: server.port, method, path, headers }, (answer) => {
      if (says === 'drop') return void answer.resume().on('end', () => response.destroy());
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    incoming.pipe(onward);
  });
  between.listen(0, '127.0.0.1');
  await once(between, 'listening');
  onTestFinished(() => {
    between.closeAllConnections();
    between.close();
  });
  return `http://127.0.0.1:${(between.address() as AddressInfo).port}`;
}

describe('a bad network', () => {
  test('each answer is lost once: the call is asked for, started and reported once', async () => {
    const lost = new Set<string>();
    const { run, decide, effects, runs } = await open((server) =>
      proxy(server, ({ method, url = '' }) => {
        const what = `${method} ${url.replace(/gate\.[\w-]+/, '').replace(/\?.*/, '')}`;
        if (lost.has(what)) return 'pass';
        lost.add(what);
        return 'drop';
      }),
    );
    const program = run(`${PAY}\nshow(pay("ann", 1))`);
    await program.said('pay waits for a decision');
    await decide('approve');
    expect((await program.ended).out).toEqual([{ paid: 1 }]);
    expect([...lost].sort()).toEqual([
      'GET /api/v1/gate/',
      'POST /api/v1/gate',
      'POST /api/v1/gate//result',
      'POST /api/v1/gate//started',
    ]);
    expect(effects()).toHaveLength(1);
    expect((await runs.list()).items).toMatchObject([{ status: 'done' }]);
  });

  test('a busy server is asked again, a refusal is not, and the token follows no redirect', async () => {
    const seen: string[] = [];
    let busy = 3;
    const { run, decide } = await open((server) =>
      proxy(server, ({ method, url = '', headers }, response) => {
        const { authorization = '' } = headers;
        seen.push(`${method} ${url} ${authorization.replace(/cs_.*/, 'token')}`);
        if (url.startsWith('/elsewhere')) response.writeHead(200).end('{}');
        else if (url.startsWith('/moved')) response.writeHead(307, { location: '/elsewhere' }).end();
        else if (busy-- > 0) response.writeHead(busy === 1 ? 429 : 503, { 'retry-after': '0' }).end('<html>');
        else return 'pass';
        return 'answered';
      }),
    );
    const program = run(`${PAY}
show(pay("ann", 1))
fails(lambda: gate.read("gate." + "x" * 22))
moved = Gate(os.environ["COUNTERSIGN_URL"] + "/moved", os.environ["COUNTERSIGN_TOKEN"])
fails(lambda: moved.read("gate." + "x" * 22))
`);
    await decide('approve');
    const { out } = await program.ended;
    expect(out).toEqual([{ paid: 1 }, ['Refused', expect.any(String)], ['Refused', expect.stringContaining('307')]]);
    expect(seen.filter((line) => line.startsWith('POST /api/v1/gate '))).toHaveLength(4);
    expect(seen.filter((line) => line.includes('x'.repeat(22)))).toHaveLength(2);
    expect(seen.filter((line) => line.includes('elsewhere'))).toEqual([]);
  });

  test('a result that cannot be reported is an exception with the result, and the call is in doubt', async () => {
    const { run, decide, runs, effects } = await open((server) =>
      proxy(server, ({ url = '' }, response) => {
        if (!/\/(?:result|renew)$/.test(url)) return 'pass';
        response.destroy();
        return 'answered';
      }),
    );
    const program = run(`
gate = Gate.from_environment(patience=1, lease=1)
@gate.gated(key="k")
def pay():
    act("paid")
    return 0
try: pay()
except Unreported as unreported: show([unreported.result, str(unreported)])
`);
    await decide('approve');
    expect((await program.ended).out).toEqual([[0, expect.stringContaining('Do not run it again')]]);
    await expect.poll(async () => (await runs.requests({ kind: 'doubt' })).items).toHaveLength(1);
    expect(effects()).toHaveLength(1);
  });
});
