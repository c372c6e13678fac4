// A wire between the browser and the server that the test can cut.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type Wire = {
  readonly port: number;
  /** Cuts everything as soon as the server says this; resolves when it has happened. Nothing comes through until `mend`. */
  cutAt(text: string): Promise<void>;
  /** Cuts everything now. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
};

export async function openWire(target: number): Promise<Wire> {
  const open = new Set<Socket>();
  let isCut = false;
  let trap: { readonly text: string; readonly sprung: () => void } | undefined;

  const server = createServer((client) => {
    if (isCut) return void client.destroy();
    const upstream = connect(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => {
        // A cut connection raises errors; the browser and the server handle them.
      });
      socket.on('close', () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    upstream.on('data', (data) => {
      if (!trap || !data.includes(trap.text)) return void client.write(data);
      const { sprung } = trap;
      trap = undefined;
      cut();
      sprung();
    });
  });

  function cut() {
    isCut = true;
    for (const socket of open) socket.destroy();
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    cutAt: (text) =>
      new Promise((sprung) => {
        trap = { text, sprung };
      }),
    mend() {
      isCut = false;
    },
    async close() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
