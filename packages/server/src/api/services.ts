// The services that endpoints share.
import type { Countersign } from 'countersign';
import type { WhilePending } from 'countersign/ui';
import type { Access } from '../access.ts';
import type { OpenStreams } from '../http/open-streams.ts';
import type { Remarks } from '../insights/remarks.ts';
import type { AssigneeWatch } from '../live/assignee-watch.ts';
import type { Hub } from '../live/hub.ts';
import type { createRunEvents } from '../live/run-events.ts';
import type { Log } from '../log.ts';
import type { McpOptions } from '../mcp/own-requests.ts';
import type { GrantsOnCards } from './grants-on-cards.ts';

export type Services = {
  readonly ai: Countersign;
  readonly access: Access;
  readonly hub: Hub;
  readonly assignees: AssigneeWatch;
  readonly streams: OpenStreams;
  readonly followRun: ReturnType<typeof createRunEvents>;
  readonly log: Log;
  readonly remarks: Remarks;
  readonly grantsOn: GrantsOnCards;
  /** The address that the browser of this request uses: `publicUrl`, or that of the request. */
  readonly addressOf: (request: Request) => URL;
  /** The path below which the server is mounted; empty if it is not. */
  readonly basePath: string;
  /** Who may decide through MCP; false for nobody. */
  readonly mcp: McpOptions | false;
  /** What a message does to pending requests in chats, if the options of the server say it. */
  readonly whilePending: WhilePending | undefined;
  /** How often an idle stream sends a comment. */
  readonly keepAliveMs: number;
  /** The model in use, which `/me` shows. */
  readonly model: { readonly name: string; readonly demo: boolean };
};
