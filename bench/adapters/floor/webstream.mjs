// Case E only: the same deltas through one Web ReadableStream, the cheapest form in which a Web-Streams API can hand them out.

import { DELTA } from '../../lib/plan.mjs';
import { create as base, meta as m } from './adapter.mjs';
export const meta = { ...m, id: 'floor:webstream', label: 'floor (one ReadableStream)' };
export async function create(o) {
  const source = (make) => {
    let i = 0;
    return new ReadableStream({
      pull(c) {
        if (i++ < o.n) c.enqueue(make());
        else c.close();
      },
    });
  };
  return {
    ...(await base(o)),
    async stream(onDelta) {
      for await (const p of source(() => ({ type: 'text-delta', text: DELTA }))) onDelta(p.text);
    },
    async streamBytes(onBytes) {
      const enc = new TextEncoder();
      for await (const b of source(() =>
        enc.encode(`data: ${JSON.stringify({ type: 'text-delta', id: '0', delta: DELTA })}\n\n`),
      ))
        onBytes(b);
    },
  };
}
