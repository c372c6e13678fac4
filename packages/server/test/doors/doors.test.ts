// Every attack against every door: one cell of the matrix is one test. `npm run doors` prints the matrix.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agui } from './agui.ts';
import { aiSdkGate } from './ai-sdk-gate.ts';
import { api } from './api.ts';
import { type Cell, CHECKS } from './attacks.ts';
import { chatSealed } from './chat-sealed.ts';
import { chatStored } from './chat-stored.ts';
import { cli } from './cli.ts';
import { ATTACKS, type AttackName, type Door, type OpenDoor, WITH_THE_HOUSE } from './door.ts';
import { hook } from './hook.ts';
import { httpGate } from './http-gate.ts';
import { links } from './links.ts';
import { mail } from './mail.ts';
import { Matrix } from './matrix.ts';
import { mcpGatewayHttp } from './mcp-gateway-http.ts';
import { mcpGatewayStdio } from './mcp-gateway-stdio.ts';
import { mcpInbox } from './mcp-inbox.ts';
import { permissionTool } from './permission-tool.ts';
import { slack } from './slack.ts';
import { webhook } from './webhook.ts';
import { type OwnWorld, openWorld } from './world.ts';

/** A new door gets every attack by its line here. */
const DOORS: readonly Door[] = [
  ...[chatStored, chatSealed, aiSdkGate, api, httpGate, links, slack, mail, webhook],
  ...[mcpGatewayStdio, mcpGatewayHttp, mcpInbox, agui, hook, permissionTool, cli],
];

let world: OwnWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

let cells = 0;
const names = Object.keys(ATTACKS) as AttackName[];
const matrix = new Matrix<AttackName>({
  heading: 'Hostile messages',
  says: 'Somebody sends what the door should never accept, or the right message at the wrong time.',
  columns: names,
  meanings: ATTACKS,
});

describe.each(DOORS)('$name', { timeout: 120_000 }, (door) => {
  let open: OpenDoor;
  beforeAll(async () => {
    open = await door.open(world);
  });
  afterAll(() => open?.close?.());

  for (const name of names) {
    test(`${door.name}: ${name}`, async () => {
      // What comes too late is the same.
      const hostile = open.hostile[name === 'sent back' ? 'after the end' : name];
      if (typeof hostile === 'object') {
        expect(hostile.notApplicable.length).toBeGreaterThan(20);
        matrix.set(door.name, name, hostile);
        return;
      }
      matrix.set(door.name, name, 'held');
      let messages = 0;
      const cell: Cell = {
        world,
        door: open,
        hostile: hostile === WITH_THE_HOUSE ? undefined : hostile,
        payment: { to: `payee-${++cells}`, amount: 500 },
        sent: () => {
          messages += 1;
        },
        mortal: async () => {
          const house = await world.mortal();
          return { world: house, door: await door.open(house) };
        },
      };
      await CHECKS[name](cell);
      expect(messages, 'The adapter sent no hostile message.').toBeGreaterThan(0);
    });
  }
});

test('docs/reference/doors.md has this matrix', () => matrix.compare(DOORS.length * names.length));
