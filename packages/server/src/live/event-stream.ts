// The streams of the API: named server-sent events, which end when the client has left. Hono's `streamSSE` ends a response as if it
// were complete when its source fails, and prints the error or sends it to the client.
import { type SseEvent, sseResponse, untilLeft } from 'countersign/ui';

/** One event on the wire. */
export type ServerEvent = { readonly event: string; readonly data: unknown; readonly id?: number };

/** Sends each value as one event, and a comment every `keepAliveMs`. `open` gets a signal that fires when the client has left. */
export function eventStream(
  open: (signal: AbortSignal) => AsyncGenerator<ServerEvent>,
  request: Request,
  keepAliveMs: number,
): Response {
  const { signal, onLeft } = untilLeft(request);
  const eventOf = ({ event, data, id }: ServerEvent): SseEvent => ({
    event,
    data: JSON.stringify(data),
    id: id?.toString(),
  });
  return sseResponse(open(signal), { announced: true, keepAliveMs, onLeft, eventOf });
}
