// Reads server-sent events from a response.

/** One event as it stood on the wire. */
export type ReceivedEvent = { readonly event: string; readonly data: string; readonly id: string | undefined };

export async function* readServerEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ReceivedEvent> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      for (;;) {
        const end = /\r?\n\r?\n/.exec(rest);
        if (!end) break;
        const block = rest.slice(0, end.index);
        rest = rest.slice(end.index + end[0].length);
        const event = readBlock(block);
        if (event) yield event;
      }
    }
  } finally {
    // Closes the connection when the caller stops reading.
    await reader.cancel().catch(() => undefined);
  }
}

/** Undefined for comments, which are signs of life. */
function readBlock(block: string): ReceivedEvent | undefined {
  const fields = { event: 'message', id: undefined as string | undefined };
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const at = line.indexOf(':');
    if (at <= 0) continue;
    const value = line.slice(at + 1).replace(/^ /, '');
    const name = line.slice(0, at);
    if (name === 'data') data.push(value);
    if (name === 'event') fields.event = value;
    if (name === 'id') fields.id = value;
  }
  return data.length === 0 ? undefined : { ...fields, data: data.join('\n') };
}
