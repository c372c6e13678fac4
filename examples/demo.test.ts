// The demo as a user runs it: a separate process, fed through a pipe, or through a real terminal if available.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';

const DEMO = join(import.meta.dirname, 'demo.ts');
const ESCAPE = '\u001b';
const ENTER = '\r';
const DOWN = `${ESCAPE}[B`;

const environment = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => {
  const { NO_COLOR: _no, FORCE_COLOR: _force, NODE_DISABLE_COLORS: _node, CI: _ci, ...rest } = process.env;
  return { ...rest, TERM: 'xterm-256color', ...more };
};

const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** A process whose output can be waited for. */
function started(child: ChildProcess) {
  children.push(child);
  let output = '';
  let seen = 0;
  let look = () => {};
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      look();
    });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  /** Waits until a text appears after the last one that was waited for. */
  const shows = (text: string) =>
    new Promise<void>((resolve, reject) => {
      look = () => {
        const at = output.indexOf(text, seen);
        if (at < 0) return;
        seen = at + text.length;
        resolve();
      };
      look();
      const missing = () => reject(new Error(`“${text}” was not shown:\n${stripVTControlCharacters(output)}`));
      void ended.then(missing);
      setTimeout(missing, 20_000).unref();
    });
  return { output: () => output, ended, shows, send: (text: string) => child.stdin?.write(text) };
}

describe.concurrent('through a pipe', { timeout: 30_000 }, () => {
  async function answering(lines: readonly string[], env?: NodeJS.ProcessEnv) {
    const child = spawn(process.execPath, [DEMO], { env: environment(env) });
    const demo = started(child);
    child.stdin.end(lines.map((line) => `${line}\n`).join(''));
    const code = await demo.ended;
    return { code, output: demo.output() };
  }

  const QUESTIONS = ['2', '1', '1'];

  test('says that the model is scripted', async () => {
    expect((await answering(['2'])).output).toContain('The model is scripted');
  });

  test('an approved payment is made once', async () => {
    const { code, output } = await answering([...QUESTIONS, '1']);
    expect(output).toContain('I paid $260.00 to the Corner Grocery.');
    expect(output).toContain('payments made: 1');
    expect(code).toBe(0);
  });

  test('a rejected payment is not made, whatever the model says', async () => {
    const { code, output } = await answering([...QUESTIONS, '3', 'too dear']);
    expect(output).toContain('You rejected the payment (“too dear”), so I paid nothing.');
    expect(output).toContain('payments made: 0');
    expect(code).toBe(0);
  });

  test('a rejection needs no reason', async () => {
    const { output } = await answering([...QUESTIONS, 'reject', '']);
    expect(output).toContain('You rejected the payment, so I paid nothing.');
    expect(output).toContain('payments made: 0');
  });

  test('an edited payment is made with the edited amount', async () => {
    const { output } = await answering([...QUESTIONS, '2', 'a lot', '$100.50']);
    expect(output).toContain('Write an amount such as 120 or 99.50');
    expect(output).toMatch(/I paid \$100\.50 of \$260\.00/);
    expect(output).toMatch(/basket-1 +\$100\.50\n/);
    expect(output).toContain('payments made: 1');
  });

  test('an amount that the shop refuses is asked for again', async () => {
    const { output } = await answering([...QUESTIONS, '2', '999', '1']);
    expect(output).toContain('The shop did not take $999.00');
    expect(output).toContain('payments made: 1');
  });

  test('answers in own words are taken, and one without a number is asked for again', async () => {
    const { output } = await answering(['lots', 'Halloumi', '40', 'Onions', '1']);
    expect(output).toContain('I find no number from 1 to 100 in “lots”');
    expect(output).toContain('40 people, and on the grill: halloumi.');
    expect(output).toContain('Left out: onions.');
  });

  test('an invalid choice is rejected', async () => {
    const { output } = await answering([...QUESTIONS, '9', 'maybe', '', '1']);
    expect(output).toContain('“9” is none of the choices.');
    expect(output).toContain('“maybe” is none of the choices.');
    expect(output).toContain('An answer is needed.');
    expect(output).toContain('payments made: 1');
  });

  test('control characters in an answer do nothing', async () => {
    const { output } = await answering(['12', `${ESCAPE}[2JHalloumi\u0007`, '1', '3', '']);
    expect(output).not.toContain(ESCAPE);
    expect(output).toContain('✓ [2JHalloumi\n');
  });

  test('input that ends early is reported, with the payments so far and how to continue', async () => {
    const { code, output } = await answering(['2']);
    expect(output).toContain('The input ended before the question was answered.');
    expect(output).toContain('payments made: 0');
    expect(output).toContain("printf '2\\n1\\n1\\n1\\n' | npm run demo");
    expect(code).toBe(1);
  });

  test('the output has no colours, and lines fit 80 columns', async () => {
    const { output } = await answering([...QUESTIONS, '1']);
    expect(output).not.toContain(ESCAPE);
    expect(Math.max(...output.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  test('a signal stops it with the truth about payments', async () => {
    const child = spawn(process.execPath, [DEMO], { env: environment() });
    const demo = started(child);
    await demo.shows('own words.');
    child.kill('SIGINT');
    expect(await demo.ended).toBe(130);
    expect(demo.output()).toContain('Stopped.');
    expect(demo.output()).toContain('payments made: 0');
  });
});

// From util-linux: it runs a command in a pseudo-terminal.
const SCRIPT = 'script';
const hasScript = spawnSync(SCRIPT, ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux');

describe.runIf(hasScript)('in a terminal', { concurrent: true, timeout: 60_000 }, () => {
  const inTerminal = (columns: number, env?: NodeJS.ProcessEnv) => {
    const command = `stty cols ${columns}; "${process.execPath}" "${DEMO}"; code=$?; stty -a; exit $code`;
    return started(spawn(SCRIPT, ['-qec', command, '/dev/null'], { env: environment({ SHELL: '/bin/sh', ...env }) }));
  };
  const HINT = 'then Enter';

  test('arrow keys, numbers and write-ins answer; the approved payment is made', async () => {
    const { shows, send, ended, output } = inTerminal(80);
    await shows(HINT);
    send(DOWN);
    await shows(HINT);
    send(ENTER);
    await shows('12 people\r\n');
    await shows(HINT);
    send('4');
    await shows(HINT);
    send(ENTER);
    await shows('Esc goes back');
    send(`Hallumi${`${ESCAPE}[D`.repeat(3)}o${ENTER}`);
    await shows('anything to leave out?');
    await shows(HINT);
    send(ENTER);
    await shows('Approve: pay');
    await shows(HINT);
    send(ENTER);
    expect(await ended).toBe(0);
    const screen = stripVTControlCharacters(output());
    expect(screen).toContain('on the grill: halloumi.');
    expect(screen).toContain('I paid $254.00 to the Corner Grocery.');
    expect(screen).toContain('payments made: 1');
    expect(output()).toContain(`${ESCAPE}[32m`);
  });

  test('Esc cancels a rejection, and the terminal is restored', async () => {
    const { shows, send, ended, output } = inTerminal(80);
    for (const _question of ['guests', 'food', 'leave out']) {
      await shows(HINT);
      send(ENTER);
      await shows('✓');
    }
    await shows('Approve: pay');
    await shows(HINT);
    send('3');
    await shows(HINT);
    send(ENTER);
    await shows('Why not?');
    send(ESCAPE);
    await shows('Approve: pay');
    await shows(HINT);
    send('1');
    await shows(HINT);
    send(ENTER);
    expect(await ended).toBe(0);
    expect(stripVTControlCharacters(output())).toContain('payments made: 1');
    expect(output()).toMatch(/[^-]icanon/);
    expect(output()).toMatch(/[^-]echo /);
  });

  test('Enter pressed before the question is seen answers nothing', async () => {
    const { shows, send, ended, output } = inTerminal(80);
    send(ENTER.repeat(5));
    await shows(HINT);
    send('\u0003');
    expect(await ended).toBe(130);
    expect(stripVTControlCharacters(output())).not.toContain('✓');
  });

  test('Ctrl-C stops it cleanly with a hint', async () => {
    const { shows, send, ended, output } = inTerminal(80);
    await shows(HINT);
    send('\u0003');
    expect(await ended).toBe(130);
    const screen = stripVTControlCharacters(output());
    expect(screen).toContain('Stopped.');
    expect(screen).toContain('payments made: 0');
    expect(screen).toContain('Start again with: npm run demo');
    expect(output()).toMatch(/[^-]icanon/);
    expect(output().lastIndexOf(`${ESCAPE}[?25h`)).toBeGreaterThan(output().lastIndexOf(`${ESCAPE}[?25l`));
  });

  test('NO_COLOR turns colours off, and 40 columns are enough', async () => {
    const { shows, send, ended, output } = inTerminal(40, { NO_COLOR: '1' });
    for (const _question of ['guests', 'food', 'leave out', 'payment']) {
      await shows(HINT);
      send(ENTER);
      await shows('✓');
    }
    expect(await ended).toBe(0);
    expect(output()).not.toMatch(new RegExp(`${ESCAPE}\\[[0-9;]*m`));
    const [demo = ''] = stripVTControlCharacters(output()).split('speed ');
    expect(Math.max(...demo.split(/\r?\n/).map((line) => line.length))).toBeLessThanOrEqual(40);
    expect(demo).toContain('payments made: 1');
  });
});
