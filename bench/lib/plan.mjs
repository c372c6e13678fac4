// The neutral "script" every mock model follows, so that each peer does the same work.
//
// A plan answers one question: given whether the last message the model sees is a tool
// result, what does the model say next? It answers { text } or { calls: [{id,name,args}] }.
// It is O(1) and allocation-light, so what is measured is the framework and not the mock.
//
//   approve   1 call of `transfer` (needs approval), then text "done"
//   parallel  n calls in one turn, alternating lookup / transfer, then text "done"
//   loop      n turns, each one call of `lookup` (no approval), then text "done"
//   text      just text "done" (cold start)
//   stream    n text deltas

export const DONE = 'done';
export const DELTA = 'lorem '; // one streamed text delta

let seq = 0;
export const callId = () => `call_${++seq}`;

export function makePlan(kind, n = 1) {
  let turn = 0;
  return {
    kind,
    n,
    next(lastIsTool) {
      switch (kind) {
        case 'text':
          return { text: DONE };
        case 'approve':
          return lastIsTool
            ? { text: DONE }
            : { calls: [{ id: callId(), name: 'transfer', args: { to: 'ABC123', amount: 100000 } }] };
        case 'parallel': {
          if (lastIsTool) return { text: DONE };
          const calls = [];
          for (let i = 0; i < n; i++)
            calls.push(
              i % 2
                ? { id: callId(), name: 'transfer', args: { to: `ABC${i}`, amount: i } }
                : { id: callId(), name: 'lookup', args: { key: `k${i}` } },
            );
          return { calls };
        }
        case 'loop':
          if (turn < n) return { calls: [{ id: callId(), name: 'lookup', args: { key: `k${turn++}` } }] };
          turn = 0;
          return { text: DONE };
        default:
          throw new Error(`plan ${kind} has no next()`);
      }
    },
  };
}

// What the two tools do, and how often they did it (checked after every round: an approved
// call must run exactly once, a plain call exactly once).
export function makeTools() {
  const counts = { lookup: 0, transfer: 0, model: 0 };
  return {
    counts,
    lookup: ({ key }) => {
      counts.lookup++;
      return { value: key.length };
    },
    transfer: ({ to, amount }) => {
      counts.transfer++;
      return { status: 'ok', to, amount };
    },
  };
}

export const SYSTEM = 'You are a bank clerk. Use the tools.';
export const PROMPT = 'Transfer $1000 to account ABC123';
const LINE =
  'The quick brown fox jumps over the lazy dog while the committee reviews the quarterly transfer report for account ';

// Neutral history of n text messages, alternating user / assistant, ending with a user message.
export function neutralHistory(n) {
  const out = [];
  for (let i = 0; i < n - 1; i++) out.push({ role: (n - 1 - i) % 2 ? 'assistant' : 'user', text: `${LINE}${i}.` });
  out.push({ role: 'user', text: PROMPT });
  return out;
}
