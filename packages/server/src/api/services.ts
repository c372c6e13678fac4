// What the endpoints work with.
import type { Countersign } from 'countersign';
import type { Access } from '../access.ts';
import type { StreamOptions } from '../live/event-stream.ts';
import type { ClaimWatch } from '../live/hold-watch.ts';
import type { Hub } from '../live/hub.ts';
import type { RunEvents } from '../live/run-events.ts';
import type { Log } from '../telemetry/log.ts';

export type Services = {
  readonly ai: Countersign;
  readonly access: Access;
  readonly hub: Hub;
  readonly claims: ClaimWatch;
  readonly runEvents: RunEvents;
  readonly log: Log;
  readonly streams: StreamOptions;
  /** The model in use, as `/me` tells it. */
  readonly model: { readonly name: string; readonly demo: boolean };
};
