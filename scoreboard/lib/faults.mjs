// The faults. Each runs a system through one of them, and says what came of every payment.
import { setTimeout as sleep } from 'node:timers/promises';
import { AMOUNT } from './model.mjs';

/** How long an orphaned payment may still happen after its process was woken, and how often a person tries again. */
const SETTLE_MS = 700;
const ROUNDS = 5;

/** What came of one payment. `told`: what people were told, `final`: what the system says at the end. */
const sample = (id, told = [], more = {}) => ({ id, told, approved: true, ...more });

const tell = (answer) => answer.said ?? (answer.failed ? 'refused' : 'nothing');

/** After a crash: the person looks again, decides what is asked, and answers questions about the outcome from the bank's file. */
async function goOn(worker, bank, samples) {
  for (let round = 0; round < ROUNDS; round++) {
    const open = await Promise.all(samples.map((one) => lookAgain(worker, bank, one)));
    if (!open.includes(true)) return;
    await sleep(300);
  }
}

/** True if it was not over yet. */
async function lookAgain(worker, bank, one) {
  const { said: state = 'none' } = await worker.order('look', [one.id]);
  one.final = state;
  if (state === 'paid' || state === 'rejected') return false;
  if (state === 'waiting') {
    one.again = true;
    one.told.push(tell(await worker.order('decide', [one.id, 'approve'])));
    return true;
  }
  if (state === 'asked') {
    one.asked = true;
    const { failed } = await worker.order('answer', [one.id, bank.of(one.id).length > 0]);
    if (failed) one.unanswered = failed;
  }
  const answer = await worker.order('recover', [one.id]);
  if (answer.failed) one.failed = answer.failed;
  one.told.push(tell(answer));
  return true;
}

/** How long an approval usually takes. */
async function usual(worker) {
  const took = [];
  for (const id of ['pay-99-1', 'pay-99-2', 'pay-99-3']) {
    await worker.order('start', [id]);
    const from = performance.now();
    await worker.order('decide', [id, 'approve']);
    took.push(performance.now() - from);
  }
  return took.sort((a, b) => a - b)[1];
}

/** Approves each of them at a moment that the seed chooses, so that after `spanMs` each is somewhere in its work, or was not begun. */
async function approveWithin(spanMs, worker, samples, random, timeoutMs) {
  let isOver = false;
  const sent = samples.map(async (one) => {
    await sleep(random() * spanMs);
    if (!isOver) one.told.push(tell(await worker.order('decide', [one.id, 'approve'], timeoutMs)));
  });
  await sleep(spanMs);
  isOver = true;
  return async () => {
    await Promise.all(sent);
    // A person who got no answer knows nothing.
    for (const one of samples) one.told = one.told.filter((what) => what !== 'refused');
  };
}

/** Five payments are approved at a time, or as many as the system says, and the process is killed in the middle. */
async function killed({ start, ids, random, bank, atOnce = 5 }) {
  const samples = [];
  let worker = await start();
  const spanMs = 1.3 * (await usual(worker));
  for (const group of ids.inGroups(atOnce)) {
    for (const id of group) await worker.order('start', [id]);
    const several = group.map((id) => sample(id));
    const answers = await approveWithin(spanMs, worker, several, random);
    await worker.stop();
    await answers();
    worker = await start();
    await goOn(worker, bank, several);
    samples.push(...several);
  }
  await worker.stop();
  return samples;
}

/** The process stalls while it works on five approved payments, another one goes on, and the first one wakes. */
async function stalled({ start, ids, random, bank }) {
  const samples = [];
  let [first, second] = [await start(), await start('second')];
  const spanMs = 1.3 * (await usual(first));
  for (const [index, group] of ids.inGroups(5).entries()) {
    for (const id of group) await first.order('start', [id]);
    const several = group.map((id) => sample(id));
    const answers = await approveWithin(spanMs, first, several, random, 10_000);
    first.child.kill('SIGSTOP');
    await sleep(1_500);
    // The person's request got no answer: they try again, and reach the other process. Questions can wait.
    await Promise.all(several.map((one) => tryAgain(second, one)));
    first.child.kill('SIGCONT');
    await Promise.race([answers(), sleep(3_000)]);
    await sleep(SETTLE_MS);
    await first.stop();
    await answers();
    await goOn(second, bank, several);
    samples.push(...several);
    if ((index + 1) * 5 < ids.length) [first, second] = [second, await start(`${index}`)];
  }
  await second.stop();
  return samples;
}

async function tryAgain(worker, one) {
  const { said: state } = await worker.order('look', [one.id], 5_000);
  if (state === 'paid' || state === 'rejected') return;
  const answer = state === 'waiting' ? ['decide', [one.id, 'approve']] : ['recover', [one.id]];
  one.told.push(tell(await worker.order(...answer, 5_000)));
}

/** One process, one payment after the other. */
const inTurn = (each, options) => async (context) => {
  const worker = await context.start('', options);
  const samples = [];
  for (const id of context.ids) {
    const begun = await worker.order('start', [id]);
    if (begun.failed) throw new Error(`${id} did not start: ${begun.failed}`);
    const one = await each(worker, id, context);
    if (one === undefined) {
      await worker.stop();
      return undefined;
    }
    await sleep(20);
    one.final ??= (await worker.order('look', [id])).said;
    samples.push(one);
  }
  await sleep(SETTLE_MS);
  await worker.stop();
  return samples;
};

const twoApprovals = inTurn(async (worker, id) => {
  const both = await Promise.all([worker.order('decide', [id, 'approve']), worker.order('decide', [id, 'approve'])]);
  return sample(id, both.map(tell));
});

const approveAndReject = inTurn(async (worker, id, { random }) => {
  const order = random() < 0.5 ? ['approve', 'reject'] : ['reject', 'approve'];
  const said = await Promise.all(order.map((decision) => worker.order('decide', [id, decision])));
  const told = said.map(tell);
  // Whoever was not refused was told that their decision counts.
  return sample(id, told, {
    approved: false,
    both: told.every((what) => what === 'paid' || what === 'rejected') && told[0] !== told[1],
  });
});

const changed = inTurn(async (worker, id) => {
  const answer = await worker.order('changed', [id, AMOUNT * 100]);
  return answer.missing ? undefined : sample(id, [tell(answer)], { approved: false, final: 'none', allowed: AMOUNT });
});

const forged = inTurn(async (worker, id) => {
  const answer = await worker.order('forged', [id]);
  return answer.missing
    ? undefined
    : sample(id, [tell(answer)], { approved: false, final: 'none', allowed: 'nothing' });
});

const replayed = inTurn(async (worker, id) => {
  const first = tell(await worker.order('decide', [id, 'approve']));
  const again = tell(await worker.order('replay', [id]));
  return sample(id, [first, ...(again === 'refused' ? [] : [again])]);
});

/** The requests are made, a new release is deployed, and then people approve. */
async function deployed({ start, ids, bank }) {
  const before = await start('', { version: 1 });
  for (const id of ids) await before.order('start', [id]);
  await before.stop();
  const after = await start('', { version: 2 });
  const samples = ids.map((id) => sample(id));
  await Promise.all(
    samples.map(async (one) => one.told.push(tell(await after.order('decide', [one.id, 'approve'], 6_000)))),
  );
  for (const one of samples) one.told = one.told.filter((what) => what !== 'refused');
  await goOn(after, bank, samples);
  await after.stop();
  return samples;
}

const late = inTurn(
  async (worker, id) => {
    const has = await worker.order('hasDeadline');
    if (has.missing) return undefined;
    // Long enough for a system that wakes once a second.
    await sleep(2_000);
    const answer = await worker.order('decide', [id, 'approve'], 5_000);
    // The program goes on with what the deadline decided.
    if ((await worker.order('look', [id])).said === 'unfinished') await worker.order('recover', [id], 5_000);
    return sample(
      id,
      [tell(answer)].filter((what) => what !== 'refused'),
      { approved: false, allowed: 'nothing' },
    );
  },
  { deadlineMs: 400 },
);

export const FAULTS = {
  kill: killed,
  'two approvals': twoApprovals,
  'approve and reject': approveAndReject,
  stall: stalled,
  'changed arguments': changed,
  'forged approval': forged,
  replay: replayed,
  deploy: deployed,
  late,
};

/** What is wrong with what came of one payment. */
export function faultsIn({ told, final, approved, both, allowed, payments }) {
  const count = payments.length;
  const unwanted = payments.filter(
    (amount) => allowed === 'nothing' || (typeof allowed === 'number' && amount !== allowed),
  );
  const isOver = final === 'paid' || final === 'rejected' || final === 'unknown' || final === 'none';
  return {
    doubled: count > 1,
    lost: approved && count === 0 && isOver,
    undecided: unwanted.length > 0,
    wrong:
      both === true ||
      (count === 0 && (told.includes('paid') || final === 'paid')) ||
      (count > 0 && (told.includes('rejected') || final === 'rejected')),
    stuck: !isOver,
  };
}
