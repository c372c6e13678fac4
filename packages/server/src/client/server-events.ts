// Reads server-sent events from a response.

/** One event as it stood on the wire. */
export type ReceivedEvent = {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
  /** How long to wait before resuming, in milliseconds. */
  readonly retry?: number | undefined;
};

/** Throws if one event has more characters than `most`. */
export async function* readServerEvents(
  body: ReadableStream<Uint8Array>,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<ReceivedEvent> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      // The end of a block may have come in two parts.
      const seen = Math.max(0, rest.length - 3);
      rest += decoder.decode(value, { stream: true });
      for (let from = seen; ; from = 0) {
        const blank = /\r?\n\r?\n/g;
        blank.lastIndex = from;
        const end = blank.exec(rest);
        if (!end) break;
        const block = rest.slice(0, end.index);
        rest = rest.slice(end.index + end[0].length);
        if (block.length > most) throw new Error(`An event has more than ${most} characters.`);
        const event = readBlock(block);
        if (event) yield event;
      }
      if (rest.length > most) throw new Error(`An event has more than ${most} characters.`);
    }
  } finally {
    // Closes the connection when the caller stops reading.
    await reader.cancel().catch(() => undefined);
  }
}

/** Undefined for comments, which are signs of life. */
function readBlock(block: string): ReceivedEvent | undefined {
  const fields = { event: 'message', id: undefined as string | undefined, retry: undefined as number | undefined };
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const at = line.indexOf(':');
    if (at <= 0) continue;
    const value = line.slice(at + 1).replace(/^ /, '');
    const name = line.slice(0, at);
    if (name === 'data') data.push(value);
    if (name === 'event') fields.event = value;
    if (name === 'id') fields.id = value;
    if (name === 'retry' && /^\d+$/.test(value)) fields.retry = Number(value);
  }
  return data.length === 0 ? undefined : { ...fields, data: data.join('\n') };
}
